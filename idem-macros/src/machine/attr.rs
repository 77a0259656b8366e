//! From `#[machine(..)]`, `#[state(..)]` and `#[transition(..)]` to the ast.

mod create;
mod value;

use std::collections::BTreeSet;

use quote::ToTokens;
use syn::parse::ParseStream;
use syn::punctuated::Punctuated;
use syn::{Attribute, Ident, Lit, LitStr, Path, Token, parenthesized};

pub(super) use self::value::discriminant;
use self::value::{alias, repr, stored_integer, version};
use super::ast::{Assignment, Attributes, History, IdColumn, Marks, Options, Transition, Value};
use super::case::RenameRule;
use crate::ctxt::Ctxt;
use crate::list::{arguments, each, each_option};
use crate::suggest;

#[rustfmt::skip] // In the order of the documentation.
const MACHINE: &[&str] = &[
    "table", "id", "status", "version", "history", "repr", "rename_all", "length", "sqlx", "display", "module", "crate",
];
const HISTORY: &[&str] = &["name", "cause", "actor", "metadata"];
const STATE: &[&str] = &["initial", "terminal", "rename", "alias", "value"];
const TRANSITION: &[&str] = &["set"];

/// The attributes of the enum.
pub(super) fn machine(cx: &Ctxt, attributes: &[Attribute]) -> Attributes {
    let mut all = Attributes::default();
    for attribute in attributes {
        if attribute.path().is_ident("machine") {
            machine_options(cx, attribute, &mut all.options);
        } else if attribute.path().is_ident("transition") {
            all.transitions.extend(transition(cx, attribute));
        } else if attribute.path().is_ident("create") {
            create::create(cx, attribute, &mut all.create);
        } else if attribute.path().is_ident("unique_while") {
            all.unique_while.extend(create::unique_while(cx, attribute));
        } else if attribute.path().is_ident("state") {
            misplaced(cx, attribute, "a variant");
        }
    }
    all
}

/// What stands above the enum and nowhere else.
const OF_THE_ENUM: [&str; 4] = ["machine", "transition", "create", "unique_while"];

/// The attributes of a variant.
pub(super) fn marks(cx: &Ctxt, attributes: &[Attribute]) -> Marks {
    let (mut marks, mut meant) = (Marks::default(), BTreeSet::new());
    for attribute in attributes {
        if attribute.path().is_ident("state") {
            state_options(cx, attribute, &mut meant, &mut marks);
        } else if OF_THE_ENUM.iter().any(|name| attribute.path().is_ident(name)) {
            misplaced(cx, attribute, "the enum");
            marks.broken = true;
        }
    }
    marks
}

/// rustc accepts the attributes of a derive everywhere in its item: without this they would be ignored in silence.
fn misplaced(cx: &Ctxt, attribute: &Attribute, place: &str) {
    let name = attribute.path().to_token_stream();
    cx.error(attribute.path(), format_args!("misplaced attribute `{name}`\nhelp: write it above {place}"));
}

fn machine_options(cx: &Ctxt, attribute: &Attribute, options: &mut Options) {
    let mut meant = std::mem::take(&mut options.meant);
    arguments(cx, attribute, |input| {
        each_option(cx, input, MACHINE, &mut meant, |name, input| machine_option(cx, name, input, options));
    });
    options.meant = meant;
}

fn machine_option(cx: &Ctxt, name: &Ident, input: ParseStream<'_>, options: &mut Options) -> syn::Result<()> {
    match name.to_string().as_str() {
        "table" => options.table = Some(text(input)?),
        "id" => options.id = id_columns(cx, input)?,
        "status" => options.status = Some(text(input)?),
        "version" => options.version = Some(version(input)?),
        "history" => options.history = Some(history(cx, name, input)?),
        "repr" => options.repr = Some(repr(input)?),
        "rename_all" => options.rename_all = Some((name.clone(), rename_rule(&text(input)?)?)),
        "length" => options.length = Some(input.parse::<Token![=]>().and_then(|_| input.parse())?),
        "sqlx" => options.sqlx = true,
        "display" => options.display = true,
        "module" => options.module = Some(input.parse::<Token![=]>().and_then(|_| input.parse())?),
        _ => options.krate = Some(runtime_path(input)?),
    }
    Ok(())
}

fn text(input: ParseStream<'_>) -> syn::Result<LitStr> {
    input.parse::<Token![=]>()?;
    input.parse()
}

fn runtime_path(input: ParseStream<'_>) -> syn::Result<Path> {
    input.parse::<Token![=]>()?;
    input.call(Path::parse_mod_style)
}

fn id_columns(cx: &Ctxt, input: ParseStream<'_>) -> syn::Result<Vec<IdColumn>> {
    let content;
    let parentheses = parenthesized!(content in input);
    if content.is_empty() {
        let message = "`id` names no column\nhelp: write the primary key of the table: `id(order_id: i64)`";
        return Err(syn::Error::new(parentheses.span.join(), message));
    }
    let mut columns = Vec::new();
    each(cx, &content, |input| {
        let name = input.parse()?;
        input.parse::<Token![:]>()?;
        columns.push(IdColumn { name, ty: input.parse()? });
        Ok(())
    });
    Ok(columns)
}

fn history(cx: &Ctxt, word: &Ident, input: ParseStream<'_>) -> syn::Result<History> {
    let mut history = History { word: word.clone(), name: None, once: false, actor: None, metadata: None };
    if input.peek(Token![=]) {
        history.name = Some(text(input)?);
    } else if input.peek(syn::token::Paren) {
        let content;
        parenthesized!(content in input);
        each_option(cx, &content, HISTORY, &mut BTreeSet::new(), |name, input| {
            match name.to_string().as_str() {
                "name" => history.name = Some(text(input)?),
                "cause" => history.once = cause_once(input)?,
                "actor" => history.actor = Some(name.clone()),
                _ => history.metadata = Some(name.clone()),
            }
            Ok(())
        });
    }
    Ok(history)
}

fn cause_once(input: ParseStream<'_>) -> syn::Result<bool> {
    input.parse::<Token![=]>()?;
    let word: Ident = input.parse()?;
    if word == "once" {
        return Ok(true);
    }
    let help = "write `cause = once`, or leave it out when a cause may move several rows";
    Err(syn::Error::new(word.span(), format!("expected `once`, found `{word}`\nhelp: {help}")))
}

fn rename_rule(name: &LitStr) -> syn::Result<RenameRule> {
    let written = name.value();
    RenameRule::parse(&written).ok_or_else(|| {
        let names = RenameRule::ALL.iter().map(|(name, _)| *name);
        let help = suggest::nearest(&written, names, "a rule", "the rules are");
        syn::Error::new(name.span(), format!("unknown rule `{written}` for `rename_all`\nhelp: {help}"))
    })
}

fn state_options(cx: &Ctxt, attribute: &Attribute, meant: &mut BTreeSet<&'static str>, marks: &mut Marks) {
    let mut whole = false;
    arguments(cx, attribute, |input| {
        whole = each_option(cx, input, STATE, meant, |name, input| {
            match name.to_string().as_str() {
                "initial" => marks.initial = Some(name.clone()),
                "terminal" => marks.terminal = true,
                "alias" => marks.aliases.push(alias(input)?),
                "value" => marks.value = Some(stored_integer(input)?),
                _ => marks.rename = Some(text(input)?),
            }
            Ok(())
        });
    });
    marks.broken |= !whole;
}

fn transition(cx: &Ctxt, attribute: &Attribute) -> Option<Transition> {
    let mut transition = None;
    let parsed = attribute.parse_args_with(|input: ParseStream<'_>| {
        let event = input.parse()?;
        let written = Transition { event, sources: Vec::new(), target: None, sets: Vec::new(), broken: false };
        edges(cx, input, transition.insert(written))
    });
    if let Err(error) = parsed {
        if let Some(transition) = &mut transition {
            transition.broken = true;
        }
        let help = "write `#[transition(event: Source => Target)]`";
        cx.push(syn::Error::new(error.span(), format!("{error}\nhelp: {help}")));
    }
    transition
}

fn edges(cx: &Ctxt, input: ParseStream<'_>, transition: &mut Transition) -> syn::Result<()> {
    input.parse::<Token![:]>()?;
    transition.sources =
        Punctuated::<Ident, Token![|]>::parse_separated_nonempty_with(input, state)?.into_iter().collect();
    input.parse::<Token![=>]>()?;
    transition.target = Some(state(input)?);
    if input.is_empty() {
        return Ok(());
    }
    if input.peek(Token![|]) {
        return Err(input.error("an event has one target"));
    }
    input.parse::<Token![,]>()?;
    each_option(cx, input, TRANSITION, &mut BTreeSet::new(), |_, input| {
        let content;
        parenthesized!(content in input);
        each(cx, &content, |input| {
            transition.sets.push(assignment(input)?);
            Ok(())
        });
        Ok(())
    });
    Ok(())
}

/// A state's name; which enum it belongs to is known.
fn state(input: ParseStream<'_>) -> syn::Result<Ident> {
    let name = input.parse()?;
    if input.peek(Token![::]) { Err(input.error("expected the name of a state, found a path")) } else { Ok(name) }
}

fn assignment(input: ParseStream<'_>) -> syn::Result<Assignment> {
    let column = input.parse()?;
    if input.peek(Token![:]) {
        input.parse::<Token![:]>()?;
        return Ok(Assignment { column, value: Value::Field(Box::new(input.parse()?)) });
    }
    if !input.peek(Token![=]) {
        return Err(input
            .error("expected `:` or `=`\nhelp: write `column: RustType` for a field of the event, or `column = now`"));
    }
    input.parse::<Token![=]>()?;
    Ok(Assignment { column, value: value(input)? })
}

fn value(input: ParseStream<'_>) -> syn::Result<Value> {
    let ahead = input.fork();
    match ahead.parse::<Ident>() {
        Ok(word) if word == "now" => input.parse::<Ident>().map(|_| Value::Now),
        Ok(word) if word == "null" => input.parse::<Ident>().map(|_| Value::Null),
        _ => literal(input),
    }
}

fn literal(input: ParseStream<'_>) -> syn::Result<Value> {
    let start = input.span();
    let minus = input.parse::<Option<Token![-]>>()?;
    let sign = minus.map_or("", |_| "-");
    match input.parse::<Lit>() {
        Ok(Lit::Int(number)) => Ok(Value::Number(format!("{sign}{}", number.base10_digits()))),
        Ok(Lit::Float(number)) => Ok(Value::Number(format!("{sign}{}", number.base10_digits()))),
        Ok(Lit::Bool(flag)) if minus.is_none() => Ok(Value::Bool(flag.value)),
        Ok(Lit::Str(text)) if minus.is_none() => Ok(Value::Text(text)),
        _ => Err(syn::Error::new(
            start,
            "expected `now`, `null` or a literal\nhelp: write `column: RustType` for a value that comes with the event",
        )),
    }
}
