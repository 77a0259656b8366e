//! The paragraph that rustdoc shows below the user's own documentation.

use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Attribute, ExprPath, Signature};

use super::args::{Args, Kept, Retain, Time};
use super::ast::Form;
use super::check::{InDoubt, Model};

/// The lines: both signatures, and the errors unless the user has written about them.
pub(crate) fn lines(model: &Model<'_>) -> Vec<String> {
    let (scope, key) = (model.scope.value(), tidy(model.key.0.to_token_stream()));
    let (callers, options) = (callers(model), options(model));
    let errors = if documents_errors(&model.function.attrs) { "" } else { ERRORS };
    let text = format!(
        "\n\
         # Idempotent\n\
         \n\
         One effect for each `{key}` in the scope `{scope}`: the first call runs the body, every later one replays its\n\
         result. {callers}\n\
         \n\
         ```text\n\
         {}\n\
         ```\n\
         {options}{errors}",
        signatures(model),
    );
    text.lines().map(str::to_owned).collect()
}

/// What callers pass.
fn callers(model: &Model<'_>) -> String {
    let database = tidy(model.first.database.to_token_stream());
    match model.first.form {
        Form::Transaction => format!("Pass `&Idem<{database}>`, or `&mut *tx` inside of another idempotent body."),
        Form::Lease => format!("Pass `&Idem<{database}>`."),
    }
}

/// A line for each option behind the payload, and what holds under a lease.
fn options(model: &Model<'_>) -> String {
    let mut lines = written(model.args, model.first.form);
    if model.first.form == Form::Lease {
        lines.extend([leased(model.args.lease.as_ref()), in_doubt(&model.options.lease.in_doubt)]);
    }
    if lines.is_empty() { String::new() } else { format!("\n{}\n", lines.join("\n")) }
}

fn written(args: &Args, form: Form) -> Vec<String> {
    let lines = [
        args.wait.as_ref().map(waiting),
        args.retain.as_ref().map(retention),
        args.record_err.as_ref().map(|is_final| recorded(is_final, form)),
        args.rerun.as_ref().map(|reruns| {
            format!("When the database gives up its transaction, the body runs again, {reruns} times at most.")
        }),
        args.upgrade
            .as_ref()
            .map(|upgrade| format!("A result of an older shape is made a new one by `{}`.", code(upgrade))),
    ];
    lines.into_iter().flatten().collect()
}

/// The runtime's, where none is written.
const LEASE: &str = "30s";

fn leased(lease: Option<&Time>) -> String {
    let time = lease.map_or_else(|| LEASE.to_owned(), |lease| lease.text.value());
    format!("A call holds its key by a lease of `{time}`, which is renewed while the body runs.")
}

fn in_doubt(in_doubt: &InDoubt<'_>) -> String {
    let next = match in_doubt {
        InDoubt::Held => "every later one is `Indeterminate` until somebody has looked.",
        InDoubt::Probed(path) => &format!("the next one asks `{}` what has come of it.", code(path)),
        InDoubt::TakenOver => "the next one runs the body again, and the provider honours the downstream key.",
    };
    format!("A call that ends without a result after it has begun or committed something is in doubt:\n{next}")
}

fn waiting(wait: &Time) -> String {
    if wait.span.is_zero() {
        return "A duplicate of a running call does not wait for it.".to_owned();
    }
    format!("A duplicate of a running call waits for it, `{}` at most.", wait.text.value())
}

fn retention(retain: &Retain) -> String {
    let (result, key) = (retain.result.as_ref().map(kept), retain.key.as_ref().map(kept));
    match (result, key) {
        (None, Some(key)) => format!("The result and the key are kept {key}."),
        (result, key) => {
            let [result, key] = [result, key].map(|kept| kept.unwrap_or_else(|| EVER.to_owned()));
            format!("The result is kept {result}, the key {key}.")
        }
    }
}

const EVER: &str = "for ever";

fn kept(kept: &Kept) -> String {
    match kept {
        Kept::For(time) => format!("for `{}`", time.text.value()),
        Kept::Forever(_) => EVER.to_owned(),
    }
}

/// Which errors are answers.
fn recorded(is_final: &ExprPath, form: Form) -> String {
    let is_final = code(is_final);
    let rest = match form {
        Form::Transaction => "and nothing else of its call stays",
        Form::Lease => "and what its call has committed stays",
    };
    format!("An error that `{is_final}` says yes to is stored and replayed too, {rest}.")
}

fn code(written: &ExprPath) -> String {
    tidy(written.to_token_stream())
}

/// Without it, a function that had no documentation would now have some that says nothing about its errors, which
/// `clippy::missing_errors_doc` asks for.
const ERRORS: &str = "\n\
    # Errors\n\
    \n\
    Those of the body, and those of idem itself, such as a duplicate that is in progress or has another payload.\n";

fn documents_errors(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attr| attr.path().is_ident("doc") && attr.to_token_stream().to_string().contains("# Errors"))
}

/// As the body sees it, then as its callers do.
fn signatures(model: &Model<'_>) -> String {
    let database = model.first.database;
    let called = model.called_with(match model.first.form {
        Form::Transaction => quote!(impl Begin<#database>),
        Form::Lease => quote!(&Idem<#database>),
    });
    format!("{}\n{}", signature(&model.function.sig), signature(&called))
}

/// On one line, where nothing ends with a comma.
fn signature(sig: &Signature) -> String {
    let mut sig = sig.clone();
    sig.inputs.pop_punct();
    sig.generics.params.pop_punct();
    if let Some(bounds) = &mut sig.generics.where_clause {
        bounds.predicates.pop_punct();
    }
    tidy(sig.to_token_stream())
}

/// Code as a person would space it. Tokens that went through a parser have lost the spaces that the user wrote.
pub(crate) fn tidy(tokens: TokenStream) -> String {
    let mut text = String::new();
    for atom in atoms(tokens) {
        if spaced(&text, &atom) {
            text.push(' ');
        }
        text.push_str(&atom);
    }
    text
}

/// Words, operators of one or more characters, and groups.
fn atoms(tokens: TokenStream) -> Vec<String> {
    let (mut atoms, mut joint) = (Vec::<String>::new(), false);
    for token in tokens {
        let next_is_joint = matches!(&token, TokenTree::Punct(punct) if punct.spacing() == Spacing::Joint);
        let text = match token {
            TokenTree::Group(group) => grouped(&group),
            token => token.to_string(),
        };
        match atoms.last_mut() {
            Some(last) if joint => last.push_str(&text),
            _ => atoms.push(text),
        }
        joint = next_is_joint;
    }
    atoms
}

fn grouped(group: &Group) -> String {
    let inside = tidy(group.stream());
    match group.delimiter() {
        Delimiter::Parenthesis => format!("({inside})"),
        Delimiter::Bracket => format!("[{inside}]"),
        Delimiter::Brace => format!("{{ {inside} }}"),
        Delimiter::None => inside,
    }
}

fn spaced(before: &str, atom: &str) -> bool {
    let is_word = |char: char| char.is_alphanumeric() || char == '_' || char == '>';
    let after_colon = before.ends_with(':') && !before.ends_with("::");
    let opens = before.is_empty() || ["<", "&", "::", ".", "!", "*", "#"].iter().any(|end| before.ends_with(end));
    let closes = [",", ">", "::", ":", ".", "?", ";", "<", "!"].contains(&atom);
    let calls =
        (atom.starts_with('(') || atom.starts_with('[')) && before.ends_with(is_word) && !before.ends_with("->");
    after_colon || !(opens || closes || calls)
}
