//! The values of options that are neither an expression nor a path.

use std::collections::BTreeSet;
use std::time::Duration;

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::parse::discouraged::Speculative as _;
use syn::parse::{Parse, ParseStream};
use syn::{ExprPath, Ident, LitStr, Token, parenthesized, token};

use super::unreadable;
use crate::ctxt::Ctxt;
use crate::list;

/// A span of time, as in `"2s"`.
pub(crate) struct Time {
    pub(crate) text: LitStr,
    pub(crate) span: Duration,
}

impl Parse for Time {
    /// Steps over nothing that is no span of time, so that the error points at it.
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let ahead = input.fork();
        let text: LitStr = ahead.parse()?;
        let span = humantime::parse_duration(&text.value()).map_err(|error| syn::Error::new(text.span(), error))?;
        input.advance_to(&ahead);
        Ok(Self { text, span })
    }
}

/// How long something is kept.
pub(crate) enum Kept {
    For(Time),
    Forever(Ident),
}

impl Parse for Kept {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.peek(LitStr) {
            return input.parse().map(Self::For);
        }
        let ahead = input.fork();
        let word: Ident = ahead.parse()?;
        if word != "forever" {
            return Err(syn::Error::new(word.span(), "expected `forever`"));
        }
        input.advance_to(&ahead);
        Ok(Self::Forever(word))
    }
}

impl ToTokens for Kept {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::For(time) => time.text.to_tokens(tokens),
            Self::Forever(word) => word.to_tokens(tokens),
        }
    }
}

/// What is kept of a call that has ended, each as in `"7d"` or `forever`.
#[derive(Default)]
pub(crate) struct Retain {
    pub(crate) result: Option<Kept>,
    pub(crate) key: Option<Kept>,
}

impl Retain {
    /// Reads what stands in the parentheses. What cannot be read in them is reported and left out.
    pub(super) fn from_syn(cx: &Ctxt, input: ParseStream<'_>) -> syn::Result<Self> {
        let content;
        parenthesized!(content in input);
        if content.is_empty() {
            return Err(content.error("expected `result` or `key`"));
        }
        let mut retain = Self::default();
        list::each_option(cx, &content, &["result", "key"], &mut BTreeSet::new(), |name, input| {
            let kept = kept(name, input)?;
            let place = if name == "result" { &mut retain.result } else { &mut retain.key };
            *place = Some(kept);
            Ok(())
        });
        Ok(retain)
    }
}

fn kept(name: &Ident, input: ParseStream<'_>) -> syn::Result<Kept> {
    let kept = input.parse::<Token![=]>().and_then(|_| input.parse());
    let example = if name == "result" { "result = \"7d\"" } else { "key = forever" };
    kept.map_err(|error| syn::Error::new(error.span(), unreadable(&name.to_string(), example)))
}

/// What becomes of a record whose lease is over while it is in doubt.
pub(crate) enum OnExpired {
    Hold,
    Probe(ExprPath),
    /// The word.
    Takeover(Ident),
    /// Another word.
    Unknown(Ident),
}

impl Parse for OnExpired {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let word: Ident = input.parse()?;
        match &word.to_string()[..] {
            "hold" => Ok(Self::Hold),
            "probe" => probe(input).map(Self::Probe),
            "takeover" => Ok(Self::Takeover(word)),
            _ => skip_parentheses(input).map(|()| Self::Unknown(word)),
        }
    }
}

fn probe(input: ParseStream<'_>) -> syn::Result<ExprPath> {
    let content;
    parenthesized!(content in input);
    let path = content.parse()?;
    if content.is_empty() { Ok(path) } else { Err(content.error("expected `)`")) }
}

fn skip_parentheses(input: ParseStream<'_>) -> syn::Result<()> {
    if input.peek(token::Paren) { input.parse::<TokenTree>().map(drop) } else { Ok(()) }
}
