//! What the status and version columns hold.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::parse::ParseStream;
use syn::{Expr, Ident, Lit, LitInt, LitStr, Token, Variant, parenthesized};

use super::super::ast::{Repr, ReprKind, Stored, Version};
use crate::suggest;

const REPRS: &[&str] = &["text", "int", "native"];

/// `= ".."` or `= none`.
pub(super) fn version(input: ParseStream<'_>) -> syn::Result<Version> {
    input.parse::<Token![=]>()?;
    if input.peek(LitStr) {
        return input.parse().map(Version::Column);
    }
    match input.parse::<Ident>() {
        Ok(word) if word == "none" => Ok(Version::None(word)),
        Ok(word) => Err(no_version(word.span())),
        Err(_) => Err(no_version(input.span())),
    }
}

fn no_version(span: proc_macro2::Span) -> syn::Error {
    syn::Error::new(span, "expected a column's name or `none`\nhelp: write `version = \"version\"`")
}

/// `= text`, `= int`, `= native` or `= native("..")`.
pub(super) fn repr(input: ParseStream<'_>) -> syn::Result<Repr> {
    input.parse::<Token![=]>()?;
    let word: Ident = input.parse()?;
    let kind = match word.to_string().as_str() {
        "text" => ReprKind::Text,
        "int" => ReprKind::Int,
        "native" => ReprKind::Native(type_name(input)?),
        _ => return Err(unknown_repr(&word)),
    };
    Ok(Repr { word, kind })
}

fn type_name(input: ParseStream<'_>) -> syn::Result<Option<LitStr>> {
    if !input.peek(syn::token::Paren) {
        return Ok(None);
    }
    let content;
    parenthesized!(content in input);
    content.parse().map(Some)
}

fn unknown_repr(word: &Ident) -> syn::Error {
    let written = word.to_string();
    let help = suggest::nearest(&written, REPRS.iter().copied(), "a representation", "the representations are");
    syn::Error::new(word.span(), format!("unknown representation `{written}`\nhelp: {help}"))
}

/// `= ".."` or `= 7`.
pub(super) fn alias(input: ParseStream<'_>) -> syn::Result<Stored> {
    if input.peek2(LitStr) { super::text(input).map(Stored::Text) } else { stored_integer(input) }
}

/// `= 7`.
pub(super) fn stored_integer(input: ParseStream<'_>) -> syn::Result<Stored> {
    input.parse::<Token![=]>()?;
    let start = input.span();
    let minus = input.parse::<Option<Token![-]>>()?;
    match input.parse::<Lit>() {
        Ok(Lit::Int(digits)) => integer(minus.is_some(), &digits, quote!(#minus #digits)),
        Ok(other) if minus.is_none() => Err(no_integer(&other.into_token_stream())),
        _ => Err(syn::Error::new(start, NO_INTEGER)),
    }
}

const NO_INTEGER: &str = "expected an integer\nhelp: write the number that the status column holds: `value = 3`";

fn no_integer(token: &TokenStream) -> syn::Error {
    syn::Error::new_spanned(token, NO_INTEGER)
}

fn integer(negative: bool, digits: &LitInt, written: TokenStream) -> syn::Result<Stored> {
    let sign = if negative { "-" } else { "" };
    let Ok(value) = format!("{sign}{}", digits.base10_digits()).parse() else {
        let message = "an integer of the status column has 64 bits at most\nhelp: write a smaller one";
        return Err(syn::Error::new_spanned(written, message));
    };
    Ok(Stored::Int(value, written))
}

/// The value that Rust gives to the variant, where it is written as a plain number.
pub(in super::super) fn discriminant(variant: &Variant) -> Option<Stored> {
    let (_, value) = variant.discriminant.as_ref()?;
    let (negative, literal) = match value {
        Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Neg(_)) => (true, &*unary.expr),
        plain => (false, plain),
    };
    match literal {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(digits) => integer(negative, digits, value.to_token_stream()).ok(),
            _ => None,
        },
        _ => None,
    }
}
