//! The type as it was written, with the tokens that an error underlines.

use std::collections::BTreeSet;

use syn::parse::ParseStream;
use syn::{Attribute, Data, DataEnum, DeriveInput, Fields, Ident, LitStr, Path, Token};

use crate::ctxt::Ctxt;
use crate::list::{arguments, each_option};

const OF_THE_ITEM: &[&str] = &["crate"];
const OF_A_VARIANT: &[&str] = &["rename"];

pub(super) struct Item<'a> {
    pub(super) original: &'a DeriveInput,
    pub(super) krate: Option<Path>,
    pub(super) shape: Shape<'a>,
}

pub(super) enum Shape<'a> {
    Struct(&'a Fields),
    Enum(Vec<Variant<'a>>),
    Union(Token![union]),
}

pub(super) struct Variant<'a> {
    pub(super) ident: &'a Ident,
    pub(super) fields: &'a Fields,
    pub(super) rename: Option<LitStr>,
    /// Something in its attributes was not understood.
    pub(super) broken: bool,
}

impl<'a> Item<'a> {
    /// Reads the attributes; one that cannot be read is reported and left out.
    pub(super) fn from_syn(cx: &Ctxt, original: &'a DeriveInput) -> Self {
        let mut krate = None;
        options(cx, &original.attrs, OF_THE_ITEM, |input| {
            input.parse::<Token![=]>()?;
            krate = Some(input.call(Path::parse_mod_style)?);
            Ok(())
        });
        Self { original, krate, shape: Shape::from_syn(cx, &original.data) }
    }
}

impl<'a> Shape<'a> {
    fn from_syn(cx: &Ctxt, data: &'a Data) -> Self {
        match data {
            Data::Struct(data) => {
                data.fields.iter().for_each(|field| misplaced(cx, &field.attrs));
                Self::Struct(&data.fields)
            }
            Data::Enum(data) => Self::Enum(variants(cx, data)),
            Data::Union(data) => Self::Union(data.union_token),
        }
    }
}

/// That a variant is there twice is rustc's to say.
fn variants<'a>(cx: &Ctxt, data: &'a DataEnum) -> Vec<Variant<'a>> {
    let mut named = BTreeSet::new();
    let variants = data.variants.iter().filter(|variant| named.insert(&variant.ident));
    variants.map(|variant| Variant::from_syn(cx, variant)).collect()
}

impl<'a> Variant<'a> {
    fn from_syn(cx: &Ctxt, variant: &'a syn::Variant) -> Self {
        variant.fields.iter().for_each(|field| misplaced(cx, &field.attrs));
        let mut rename = None;
        let whole = options(cx, &variant.attrs, OF_A_VARIANT, |input| {
            input.parse::<Token![=]>()?;
            rename = Some(input.parse()?);
            Ok(())
        });
        Self { ident: &variant.ident, fields: &variant.fields, rename, broken: !whole }
    }
}

/// Reads the one option that may stand in `#[key(..)]` here; answers whether all of it was right.
fn options(
    cx: &Ctxt,
    attributes: &[Attribute],
    valid: &[&'static str],
    mut value: impl FnMut(ParseStream<'_>) -> syn::Result<()>,
) -> bool {
    let (mut meant, mut whole) = (BTreeSet::new(), true);
    for attribute in attributes.iter().filter(|it| is_ours(it)) {
        let read = arguments(cx, attribute, |input| {
            whole &= each_option(cx, input, valid, &mut meant, |_, input| value(input));
        });
        whole &= read;
    }
    whole
}

/// rustc accepts the attribute of a derive everywhere in its item: without this it would be ignored in silence.
fn misplaced(cx: &Ctxt, attributes: &[Attribute]) {
    for attribute in attributes.iter().filter(|it| is_ours(it)) {
        cx.error(attribute.path(), "misplaced attribute `key`\nhelp: write it above the type or a variant");
    }
}

fn is_ours(attribute: &Attribute) -> bool {
    attribute.path().is_ident("key")
}
