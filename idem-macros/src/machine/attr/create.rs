//! `#[create(..)]` and `#[unique_while(..)]`.

use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::punctuated::Punctuated;
use syn::{Attribute, Ident, Token};

use super::super::ast::{Create, UniqueWhile};
use crate::ctxt::Ctxt;
use crate::list::{arguments, each, unknown_option};

const CREATE: &[&str] = &["fresh_id"];

/// The columns that the INSERT of a new row writes; of two attributes the second one is reported.
pub(super) fn create(cx: &Ctxt, attribute: &Attribute, create: &mut Option<Create>) {
    if create.is_some() {
        cx.error(attribute.path(), "duplicate `create`\nhelp: write all columns of a new row in one of them");
        return;
    }
    let mut written = Create { word: attribute.path().clone(), columns: Vec::new(), fresh_id: None, broken: false };
    let mut whole = false;
    written.broken = !arguments(cx, attribute, |input| {
        whole = each(cx, input, |input| element(input, &mut written));
    });
    written.broken |= !whole;
    *create = Some(written);
}

/// `column: Type`, `column = ..` or an option, which is a word by itself.
fn element(input: ParseStream<'_>, create: &mut Create) -> syn::Result<()> {
    let ahead = input.fork();
    let word = ahead.call(Ident::parse_any)?;
    if ahead.peek(Token![:]) || ahead.peek(Token![=]) {
        create.columns.push(super::assignment(input)?);
        return Ok(());
    }
    let word = input.call(Ident::parse_any).unwrap_or(word);
    if !CREATE.contains(&word.to_string().as_str()) {
        return Err(unknown_option(&word, CREATE));
    }
    match create.fresh_id.replace(word) {
        Some(first) => Err(syn::Error::new(first.span(), "duplicate option `fresh_id`\nhelp: keep one of them")),
        None => Ok(()),
    }
}

/// `name: column, column in State | State`, as far as it makes sense.
pub(super) fn unique_while(cx: &Ctxt, attribute: &Attribute) -> Option<UniqueWhile> {
    let parsed = attribute.parse_args_with(|input: ParseStream<'_>| {
        let name = input.parse()?;
        input.parse::<Token![:]>()?;
        let columns = key(input)?;
        input.parse::<Token![in]>()?;
        let states = Punctuated::<Ident, Token![|]>::parse_separated_nonempty(input)?;
        Ok(UniqueWhile { name, columns, states: states.into_iter().collect() })
    });
    parsed.map_err(|error| cx.push(with_help(&error))).ok()
}

fn key(input: ParseStream<'_>) -> syn::Result<Vec<Ident>> {
    let mut columns = vec![input.parse()?];
    while input.parse::<Option<Token![,]>>()?.is_some() {
        columns.push(input.parse()?);
    }
    Ok(columns)
}

fn with_help(error: &syn::Error) -> syn::Error {
    let help = "write `#[unique_while(one_open: tenant_id, item_id in Pending | Paid)]`";
    syn::Error::new(error.span(), format!("{error}\nhelp: {help}"))
}
