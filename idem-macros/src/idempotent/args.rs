//! The attribute as written: `scope = "..", key = ..`, and whatever else is in [`OPTIONS`].

mod values;

pub(crate) use values::{Kept, OnExpired, Retain, Time};

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::parse::{ParseBuffer, ParseStream, Parser as _};
use syn::visit::{self, Visit};
use syn::{Expr, ExprCall, ExprPath, Ident, LitInt, LitStr, Macro, PatIdent, Path, Token};

use crate::ctxt::Ctxt;
use crate::suggest;

/// The options, each with what it looks like.
const OPTIONS: [(&str, &str); 12] = [
    ("scope", "scope = \"order.pay\""),
    ("key", "key = (tenant_id, order_id)"),
    ("payload", "payload = (amount, currency)"),
    ("wait", "wait = \"2s\""),
    ("retain", "retain(result = \"7d\", key = forever)"),
    ("record_err", "record_err = PayError::is_final"),
    ("rerun", "rerun = 3"),
    ("lease", "lease = \"30s\""),
    ("on_expired", "on_expired = probe(ask_bank)"),
    ("downstream", "downstream = idempotent"),
    ("upgrade", "upgrade = Receipt::from_v1"),
    ("crate", "crate = path::to::idem_runtime"),
];

/// The attribute's options. One that cannot be read is reported and left out.
#[derive(Default)]
pub(crate) struct Args {
    pub(crate) scope: Option<LitStr>,
    pub(crate) key: Option<Parts>,
    pub(crate) payload: Option<Parts>,
    pub(crate) wait: Option<Time>,
    pub(crate) retain: Option<Retain>,
    pub(crate) record_err: Option<ExprPath>,
    pub(crate) rerun: Option<LitInt>,
    pub(crate) lease: Option<Time>,
    pub(crate) on_expired: Option<OnExpired>,
    pub(crate) downstream: Option<Ident>,
    pub(crate) upgrade: Option<ExprPath>,
    runtime: Option<Path>,
    written: Vec<Written>,
    /// The options that something unknown may have been meant to be: they are not also missing.
    guessed: Vec<&'static str>,
}

/// An option that was written.
struct Written {
    option: &'static str,
    name: Ident,
    /// The whole of it, unless that cannot be read.
    text: Option<TokenStream>,
}

impl Args {
    /// Reads all options; an error in one does not hide the others.
    pub(crate) fn from_syn(cx: &Ctxt, tokens: TokenStream) -> Self {
        let mut args = Self::default();
        let options = |input: ParseStream<'_>| {
            while !input.is_empty() {
                args.option(cx, input);
                skip_to_comma(input)?;
            }
            Ok(())
        };
        if let Err(error) = options.parse2(tokens) {
            cx.push(error);
        }
        args
    }

    /// Whether the option was written, or something that was meant to be it.
    pub(crate) fn meant(&self, option: &str) -> bool {
        self.name(option).is_some() || self.guessed.contains(&option)
    }

    /// The option's name where it was written.
    pub(crate) fn name(&self, option: &str) -> Option<&Ident> {
        self.find(option).map(|written| &written.name)
    }

    fn find(&self, option: &str) -> Option<&Written> {
        self.written.iter().find(|written| written.option == option)
    }

    /// The text of each option that was written and can be read, in the order in which one writes them.
    pub(crate) fn written(&self) -> impl Iterator<Item = &TokenStream> + '_ {
        OPTIONS.into_iter().filter_map(|(option, _)| self.find(option)?.text.as_ref())
    }

    /// The path of the runtime crate; where the macro makes it up, errors about it point at `span`.
    pub(crate) fn runtime(&self, span: Span) -> TokenStream {
        self.runtime.as_ref().map_or_else(|| quote_spanned!(span=> ::idem_runtime), ToTokens::to_token_stream)
    }

    fn option(&mut self, cx: &Ctxt, input: ParseStream<'_>) {
        let Ok(name) = input.call(Ident::parse_any) else { return self.not_an_option(cx, input) };
        let Some((option, example)) = known(&name) else { return self.guessed.extend(report_unknown(cx, &name)) };
        if self.name(option).is_some() {
            return cx.error(&name, format_args!("duplicate option `{option}`\nhelp: write each option once"));
        }
        let behind_name = input.fork();
        let value = self.value(cx, option, input);
        let text = value.is_ok().then(|| up_to(input, &behind_name)).map(|text| quote!(#name #text));
        if let Err(error) = value {
            let span = if input.is_empty() { name.span() } else { error.span() };
            cx.push(syn::Error::new(span, unreadable(option, example)));
        }
        self.written.push(Written { option, name, text });
    }

    /// Which option it was meant to be, nobody can tell.
    fn not_an_option(&mut self, cx: &Ctxt, input: ParseStream<'_>) {
        let names = OPTIONS.map(|(option, _)| option);
        self.guessed.extend(names);
        cx.push(input.error(format_args!("expected an option\nhelp: the options are {}", suggest::list(names))));
    }

    fn value(&mut self, cx: &Ctxt, option: &str, input: ParseStream<'_>) -> syn::Result<()> {
        if option != "retain" {
            input.parse::<Token![=]>()?;
        }
        match option {
            "scope" => self.scope = Some(input.parse()?),
            "key" => self.key = Some(Parts(input.parse()?)),
            "payload" => self.payload = Some(Parts(input.parse()?)),
            "wait" => self.wait = Some(input.parse()?),
            "retain" => self.retain = Some(Retain::from_syn(cx, input)?),
            "record_err" => self.record_err = Some(input.parse()?),
            "rerun" => self.rerun = Some(input.parse()?),
            "lease" => self.lease = Some(input.parse()?),
            "on_expired" => self.on_expired = Some(input.parse()?),
            "downstream" => self.downstream = Some(input.parse()?),
            "upgrade" => self.upgrade = Some(input.parse()?),
            _ => self.runtime = Some(input.call(Path::parse_mod_style)?),
        }
        if input.is_empty() || input.peek(Token![,]) { Ok(()) } else { Err(input.error("expected `,`")) }
    }
}

fn known(name: &Ident) -> Option<(&'static str, &'static str)> {
    OPTIONS.into_iter().find(|(option, _)| name == option)
}

/// Reports an option that does not exist; answers with the one that was meant, if there is one like it.
fn report_unknown(cx: &Ctxt, name: &Ident) -> Option<&'static str> {
    let names = OPTIONS.map(|(option, _)| option);
    let similar = suggest::similar(&name.to_string(), names);
    let help = match similar {
        Some(similar) => format!("an option with a similar name exists: `{similar}`"),
        None => format!("the options are {}", suggest::list(names)),
    };
    cx.error(name, format_args!("unknown option `{name}`\nhelp: {help}"));
    similar
}

fn unreadable(option: &str, example: &str) -> String {
    format!("unreadable option `{option}`\nhelp: write it as in `{example}`")
}

/// What stands from one place up to another.
fn up_to(end: ParseStream<'_>, start: &ParseBuffer<'_>) -> TokenStream {
    let mut tokens = TokenStream::new();
    while start.cursor() != end.cursor() {
        let Ok(token) = start.parse::<TokenTree>() else { break };
        tokens.extend([token]);
    }
    tokens
}

/// Options are separated by commas, and a comma inside of a value is inside of a group.
fn skip_to_comma(input: ParseStream<'_>) -> syn::Result<()> {
    while !input.is_empty() && !input.peek(Token![,]) {
        input.parse::<TokenTree>()?;
    }
    input.parse::<Option<Token![,]>>().map(|_| ())
}

/// What `key` or `payload` is made of: an expression, or a tuple of them.
pub(crate) struct Parts(pub(crate) Expr);

impl Parts {
    /// The parts, in order.
    pub(crate) fn iter(&self) -> Box<dyn Iterator<Item = &Expr> + '_> {
        match ungrouped(&self.0) {
            Expr::Tuple(tuple) => Box::new(tuple.elems.iter()),
            part => Box::new(std::iter::once(part)),
        }
    }

    /// The names that the parts use.
    pub(crate) fn names(&self) -> Names<'_> {
        let mut names = Names::default();
        names.visit_expr(&self.0);
        names
    }
}

/// An expression that came through a `macro_rules!` is inside of an invisible group.
fn ungrouped(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => ungrouped(&group.expr),
        expr => expr,
    }
}

/// The names in an expression that may be arguments.
#[derive(Default)]
pub(crate) struct Names<'a> {
    used: Vec<&'a Ident>,
    pub(crate) bound: Vec<&'a Ident>,
    /// Whether there is a macro, whose names only the compiler can tell.
    pub(crate) hidden: bool,
}

impl<'a> Names<'a> {
    /// The names that the expression does not bind itself, as a closure or a `match` does.
    pub(crate) fn free(&self) -> impl Iterator<Item = &'a Ident> + '_ {
        self.used.iter().copied().filter(|name| !self.bound.contains(name))
    }
}

impl<'a> Visit<'a> for Names<'a> {
    fn visit_expr_path(&mut self, node: &'a ExprPath) {
        self.used.extend(node.path.get_ident());
    }

    /// A function that is called by its name is not an argument.
    fn visit_expr_call(&mut self, node: &'a ExprCall) {
        if !matches!(*node.func, Expr::Path(_)) {
            self.visit_expr(&node.func);
        }
        node.args.iter().for_each(|argument| self.visit_expr(argument));
    }

    fn visit_pat_ident(&mut self, node: &'a PatIdent) {
        self.bound.push(&node.ident);
        visit::visit_pat_ident(self, node);
    }

    fn visit_macro(&mut self, _: &'a Macro) {
        self.hidden = true;
    }
}
