//! What comes between a claim that was taken over in doubt and the body.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{ExprPath, Pat, Receiver};

use super::super::ast::Function;
use super::super::check::{InDoubt, Model};
use super::{claimed, cloned};

/// Asks the probe, if there is one, what has come of the attempt before. Whatever is wrong with its signature is an error
/// at its path.
pub(super) fn probe(model: &Model<'_>) -> TokenStream {
    let InDoubt::Probed(path) = model.options.lease.in_doubt else { return TokenStream::new() };
    let (claimed, variables) = (claimed(model), variables(model.function));
    let clones = variables.iter().map(|variable| (variable, cloned(variable)));
    let clones = clones.map(|(variable, clone)| quote!(let #variable = #clone;));
    let (found, call) = (found(model, path), call(path, model.function, &variables));
    let settle = format_ident!("settle", span = at(path));
    quote_spanned! {Span::mixed_site()=>
        if __leased.is_in_doubt() {
            let __inside = __leased.inside();
            let __found: #found = {
                let __attempt = __leased.attempt();
                #(#clones)*
                #call
            };
            __leased = match __leased.#settle(__found, &__codec).await { #claimed };
        }
    }
}

/// The type of the probe's answer. What it finds may be anything that the result can be made from.
fn found(model: &Model<'_>, path: &ExprPath) -> TokenStream {
    let (runtime, output) = (model.args.runtime(at(path)), model.output);
    quote_spanned!(at(path)=> ::core::result::Result<#runtime::Probe<_>, __idem::ErrOf<#output>>)
}

/// A call with what the function was called with, and the attempt in its place.
fn call(path: &ExprPath, function: &Function, variables: &[&Ident]) -> TokenStream {
    let receiver = function.sig.receiver().map(this);
    let attempt = format_ident!("__attempt", span = Span::mixed_site());
    let arguments = receiver.iter().chain([&attempt]).chain(variables.iter().copied()).map(|argument| {
        let mut argument = argument.clone();
        argument.set_span(at(path).resolved_at(argument.span()));
        argument
    });
    quote_spanned!(at(path)=> __inside.run(async move { #path(#(#arguments),*).await }).await)
}

/// Where the path ends.
fn at(path: &ExprPath) -> Span {
    let last = path.path.segments.last();
    last.map_or_else(|| path.span(), |last| last.ident.span()).resolved_at(Span::mixed_site())
}

fn this(receiver: &Receiver) -> Ident {
    Ident::new("self", receiver.self_token.span)
}

/// The parameters behind the attempt, each of which is a variable.
fn variables(function: &Function) -> Vec<&Ident> {
    let variables = function.typed().skip(1).filter_map(|parameter| match &*parameter.pat {
        Pat::Ident(variable) => Some(&variable.ident),
        _ => None,
    });
    variables.collect()
}
