//! Lists between parentheses. What is wrong in one element is reported, and parsing goes on behind the next comma.

use std::collections::BTreeSet;

use proc_macro2::TokenTree;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Attribute, Ident, Token};

use crate::ctxt::Ctxt;
use crate::suggest;

/// What may stand more than once.
const REPEATED: &[&str] = &["alias"];

/// Parses what stands in the parentheses of an attribute; answers whether there were any.
pub(crate) fn arguments(cx: &Ctxt, attribute: &Attribute, parse: impl FnOnce(ParseStream<'_>)) -> bool {
    let parsed = attribute.parse_args_with(|input: ParseStream<'_>| {
        parse(input);
        Ok(())
    });
    parsed.map_err(|error| cx.push(error)).is_ok()
}

/// Parses the elements of a list; answers whether all of them were right.
pub(crate) fn each(
    cx: &Ctxt,
    input: ParseStream<'_>,
    mut element: impl FnMut(ParseStream<'_>) -> syn::Result<()>,
) -> bool {
    let mut whole = true;
    while !input.is_empty() {
        if let Err(error) = element(input).and_then(|()| end_of_element(input)) {
            cx.push(error);
            whole = false;
            skip_element(input);
        }
    }
    whole
}

/// Parses a list of options, each at most once unless it may be repeated, and notes which ones the user meant to give.
pub(crate) fn each_option(
    cx: &Ctxt,
    input: ParseStream<'_>,
    valid: &[&'static str],
    meant: &mut BTreeSet<&'static str>,
    mut option: impl FnMut(&Ident, ParseStream<'_>) -> syn::Result<()>,
) -> bool {
    each(cx, input, |input| {
        let name = input.call(Ident::parse_any)?;
        let Some(known) = valid.iter().find(|valid| name == **valid) else {
            meant.extend(similar_option(&name, valid));
            return Err(unknown_option(&name, valid));
        };
        if !meant.insert(known) && !REPEATED.contains(known) {
            return Err(syn::Error::new(name.span(), format!("duplicate option `{name}`\nhelp: keep one of them")));
        }
        option(&name, input)
    })
}

fn end_of_element(input: ParseStream<'_>) -> syn::Result<()> {
    if input.is_empty() { Ok(()) } else { input.parse::<Token![,]>().map(drop) }
}

fn skip_element(input: ParseStream<'_>) {
    while let Ok(token) = input.parse::<TokenTree>() {
        if matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',') {
            break;
        }
    }
}

fn similar_option(name: &Ident, valid: &[&'static str]) -> Option<&'static str> {
    suggest::similar(&name.to_string(), valid.iter().copied())
}

pub(crate) fn unknown_option(name: &Ident, valid: &[&'static str]) -> syn::Error {
    let help = suggest::nearest(&name.to_string(), valid.iter().copied(), "an option", "the options are");
    syn::Error::new(name.span(), format!("unknown option `{name}`\nhelp: {help}"))
}
