//! The rules, one function each. What passes them is a [`Model`].

mod lease;
mod options;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::{Ident, LitStr, PatType, Signature, Type};

pub(crate) use lease::InDoubt;
pub(crate) use options::Options;

use super::args::{Args, Names, Parts};
use super::ast::{First, Function, ungrouped, without_mut};
use super::docs::tidy;
use crate::ctxt::Ctxt;
use crate::suggest;

/// A function that can be made idempotent.
pub(crate) struct Model<'a> {
    pub(crate) function: &'a Function,
    pub(crate) args: &'a Args,
    pub(crate) scope: &'a LitStr,
    pub(crate) key: &'a Parts,
    pub(crate) payload: Option<&'a Parts>,
    pub(crate) first: First<'a>,
    pub(crate) output: &'a Type,
    pub(crate) options: Options<'a>,
}

impl Model<'_> {
    /// The signature that callers see. The body of a function that can run again changes clones of its arguments.
    pub(crate) fn called_with(&self, ty: TokenStream) -> Signature {
        let signature = self.function.called_with(ty);
        if self.options.reruns.is_some() { without_mut(signature) } else { signature }
    }
}

/// Applies every rule, so that all mistakes are reported in one build.
pub(crate) fn resolve<'a>(cx: &Ctxt, args: &'a Args, function: &'a Function) -> Option<Model<'a>> {
    check_not_async(cx, function);
    let output = check_no_result(cx, function);
    let first = check_first_parameter(cx, function);
    let scope = check_missing_scope(cx, args, function);
    let key = check_missing_key(cx, args, function);
    check_unknown_name(cx, "payload", args.payload.as_ref(), function);
    let options = options::resolve(cx, args, function, first.as_ref());
    Some(Model {
        function,
        args,
        scope: scope?,
        key: key?,
        payload: args.payload.as_ref(),
        first: first?,
        output: output?,
        options,
    })
}

/// The message for a method of a trait: its signature is the trait's, so it cannot become the one that callers see.
pub(crate) fn delegate(name: &Ident) -> String {
    format!("`{name}` is a method of a trait, whose signature cannot change\nhelp: let it call an idempotent function")
}

/// The body waits for the database. What `#[async_trait]` has made of an `async fn` returns a `Pin`.
fn check_not_async(cx: &Ctxt, function: &Function) {
    let name = &function.sig.ident;
    if function.sig.asyncness.is_some() {
        return;
    }
    if function.output().is_some_and(is_pin) {
        cx.error(name, delegate(name));
    } else {
        cx.error(function.sig.fn_token, format_args!("`{name}` is not async\nhelp: write `async fn {name}`"));
    }
}

fn is_pin(output: &Type) -> bool {
    matches!(ungrouped(output), Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "Pin"))
}

/// A duplicate can be in progress or have another payload, so there must be a place for an error. A path may be an
/// alias: that is the compiler's to judge.
fn check_no_result<'a>(cx: &Ctxt, function: &'a Function) -> Option<&'a Type> {
    let name = &function.sig.ident;
    let fault: &dyn ToTokens = match function.output() {
        Some(output) if may_be_a_result(output) || function.returns_a_future() => return Some(output),
        Some(output) => output,
        None => name,
    };
    cx.error(fault.to_token_stream(), format_args!("`{name}` does not return a `Result`\nhelp: {RESULT}"));
    None
}

const RESULT: &str = "write `-> Result<T, E>`, where `E: From<idem_runtime::Error>`";

fn may_be_a_result(output: &Type) -> bool {
    match ungrouped(output) {
        Type::Path(path) => !path.path.segments.last().is_some_and(|last| is_never_a_result(&last.ident)),
        output => matches!(output, Type::Macro(_)),
    }
}

/// Names of the language and its prelude that nobody gives to an alias of a `Result`.
fn is_never_a_result(name: &Ident) -> bool {
    let names = ["bool", "i32", "i64", "u32", "u64", "String", "Option", "Vec", "Box", "Once"];
    names.iter().any(|other| name == other)
}

/// The first parameter says how the body runs.
fn check_first_parameter<'a>(cx: &Ctxt, function: &'a Function) -> Option<First<'a>> {
    let first = function.first().and_then(First::from_syn);
    if first.is_none() {
        report_first_parameter(cx, &function.sig.ident, function.first());
    }
    first
}

fn report_first_parameter(cx: &Ctxt, name: &Ident, first: Option<&PatType>) {
    let fault = first.map_or_else(|| name.to_token_stream(), |parameter| parameter.ty.to_token_stream());
    cx.error(
        fault,
        format_args!(
            "the first parameter of `{name}` is neither a transaction nor an attempt\n\
             help: write `tx: &mut Tx<'_, Sqlite>`, or `attempt: &mut Attempt<'_, Sqlite>` if the body calls the outside world, \
             with your database in place of `Sqlite`"
        ),
    );
}

/// The scope is written out, because renaming the function must not change it.
fn check_missing_scope<'a>(cx: &Ctxt, args: &'a Args, function: &Function) -> Option<&'a LitStr> {
    match &args.scope {
        Some(scope) if scope.value().trim().is_empty() => report_empty_scope(cx, scope, &function.sig.ident),
        Some(scope) => return Some(scope),
        None if args.meant("scope") => {}
        None => report_missing_scope(cx, args, function),
    }
    None
}

fn report_empty_scope(cx: &Ctxt, scope: &LitStr, name: &Ident) {
    cx.error(scope, format_args!("empty `scope`\nhelp: name what the function does, for example `\"{name}\"`"));
}

fn report_missing_scope(cx: &Ctxt, args: &Args, function: &Function) {
    let attribute = suggested_attribute(args, function);
    missing(cx, &format!("missing `scope`\nhelp: write `{attribute}`"));
}

/// The attribute as written, with a scope that is made from the function's name and a key that the function can have.
fn suggested_attribute(args: &Args, function: &Function) -> String {
    let scope = format!("scope = \"{}\"", function.sig.ident);
    let key = if args.key.is_none() { example_key(function) } else { None };
    let written = args.written().map(|option| tidy(option.clone()));
    let options = std::iter::once(scope).chain(key.map(|argument| format!("key = {argument}"))).chain(written);
    format!("#[idempotent({})]", options.collect::<Vec<_>>().join(", "))
}

fn example_key(function: &Function) -> Option<String> {
    function.arguments().into_iter().find(|argument| argument != "self")
}

/// The key names what is the same on every retry and different for other work: at least one argument.
fn check_missing_key<'a>(cx: &Ctxt, args: &'a Args, function: &Function) -> Option<&'a Parts> {
    match &args.key {
        Some(key) if !check_unknown_name(cx, "key", Some(key), function) => None,
        Some(key) if !names_an_argument(key, function) => {
            let name = &function.sig.ident;
            cx.error(&key.0, format_args!("`key` names no argument of `{name}`\nhelp: {}", key_help(function)));
            None
        }
        Some(key) => Some(key),
        None if args.meant("key") => None,
        None => {
            missing(cx, &format!("missing `key`\nhelp: {}", key_help(function)));
            None
        }
    }
}

fn names_an_argument(key: &Parts, function: &Function) -> bool {
    let (names, arguments) = (key.names(), function.arguments());
    let is_one = |name: &Ident| arguments.contains(&name.to_string()) || function.is_in_place_of_first(name);
    names.hidden || names.free().any(is_one)
}

fn key_help(function: &Function) -> String {
    match example_key(function) {
        Some(argument) => format!("name what is the same on every retry, for example `key = {argument}`"),
        None => "give the function an argument that is the same on every retry, for example `order_id: i64`".to_owned(),
    }
}

/// Reports every name in the option that is not an argument; answers whether there was none.
fn check_unknown_name(cx: &Ctxt, option: &str, parts: Option<&Parts>, function: &Function) -> bool {
    let arguments = function.arguments();
    let mut all_known = true;
    for name in parts.map(Parts::names).iter().flat_map(Names::free) {
        let is_known = arguments.contains(&name.to_string()) || function.is_in_place_of_first(name);
        if !is_known && !is_constant(name) {
            report_unknown_name(cx, option, name, &arguments, &function.sig.ident);
            all_known = false;
        }
    }
    all_known
}

/// Constants and variants begin with a capital letter; an argument does not.
fn is_constant(name: &Ident) -> bool {
    name.to_string().starts_with(char::is_uppercase)
}

fn report_unknown_name(cx: &Ctxt, option: &str, name: &Ident, arguments: &[String], function: &Ident) {
    let arguments = || arguments.iter().map(String::as_str);
    let help = match suggest::similar(&name.to_string(), arguments()) {
        Some(similar) => format!("an argument with a similar name exists: `{similar}`"),
        None if arguments().next().is_none() => format!("`{function}` has no arguments that `{option}` can name"),
        None => format!("the arguments are {}", suggest::list(arguments())),
    };
    cx.error(
        name,
        format_args!("`{option}` refers to `{name}`, which is not an argument of `{function}`\nhelp: {help}"),
    );
}

/// What is missing is missing in the attribute.
fn missing(cx: &Ctxt, message: &str) {
    cx.push(syn::Error::new(Span::call_site(), message));
}
