//! The rules, one function each. What passes them is a [`Model`].

use proc_macro2::TokenStream;
use quote::ToTokens as _;
use syn::ext::IdentExt as _;
use syn::{Field, Fields, Ident, Member, Token, Type};

use super::ast::{Item, Shape, Variant};
use crate::ctxt::Ctxt;

/// A type whose values can be part of a key.
pub(super) enum Model<'a> {
    /// It is written as its field is.
    Newtype { member: Member, ty: &'a Type },
    /// Each variant has a text of its own.
    Texts(Vec<(&'a Ident, String)>),
}

/// Applies every rule, so that all mistakes are reported in one build.
pub(super) fn resolve<'a>(cx: &Ctxt, item: &Item<'a>) -> Option<Model<'a>> {
    let name = &item.original.ident;
    match &item.shape {
        Shape::Struct(fields) => check_one_field(cx, name, fields),
        Shape::Enum(variants) => {
            check_no_variants(cx, name, variants);
            check_variant_data(cx, variants);
            check_empty_texts(cx, variants);
            check_equal_texts(cx, variants);
            Some(Model::Texts(variants.iter().map(|variant| (variant.ident, variant.text())).collect()))
        }
        Shape::Union(word) => {
            check_union(cx, *word);
            None
        }
    }
}

impl Variant<'_> {
    /// What the key holds for it: its name as it is written, unless it has another text.
    fn text(&self) -> String {
        self.rename.as_ref().map_or_else(|| self.ident.unraw().to_string(), syn::LitStr::value)
    }

    /// The tokens that say the text.
    fn says(&self) -> TokenStream {
        self.rename.as_ref().map_or_else(|| self.ident.to_token_stream(), quote::ToTokens::to_token_stream)
    }
}

/// Several fields are several parts: joined into one, two of them could meet in one text. A `PhantomData` holds nothing.
fn check_one_field<'a>(cx: &Ctxt, name: &Ident, fields: &'a Fields) -> Option<Model<'a>> {
    let held: Vec<_> = fields.members().zip(fields).filter(|(_, field)| !is_phantom(field)).collect();
    match &held[..] {
        [(member, field)] => return Some(Model::Newtype { member: member.clone(), ty: &field.ty }),
        [] => {
            cx.error(name, format_args!("`{name}` holds nothing, and a part of a key is one value\nhelp: {NO_FIELD}"));
        }
        several => report_several(cx, name, several),
    }
    None
}

const NO_FIELD: &str = "give it one field, or write a text in the key instead";

fn is_phantom(field: &Field) -> bool {
    matches!(&field.ty, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "PhantomData"))
}

fn report_several(cx: &Ctxt, name: &Ident, fields: &[(Member, &Field)]) {
    let value = name.unraw().to_string().to_lowercase();
    let parts: Vec<_> = fields.iter().map(|(member, _)| format!("{value}.{}", member.to_token_stream())).collect();
    let (count, parts) = (fields.len(), parts.join(", "));
    cx.error(
        name,
        format_args!(
            "`{name}` has {count} fields, and a part of a key is one value\n\
             help: name them as parts of the key: `key = ({parts})`"
        ),
    );
}

/// Nothing could ever be written.
fn check_no_variants(cx: &Ctxt, name: &Ident, variants: &[Variant<'_>]) {
    if variants.is_empty() {
        cx.error(name, format_args!("`{name}` has no variants, so that no key can hold it\nhelp: add a variant"));
    }
}

/// A variant is one text; what it carries would be a second value.
fn check_variant_data(cx: &Ctxt, variants: &[Variant<'_>]) {
    for variant in variants.iter().filter(|variant| !matches!(variant.fields, Fields::Unit)) {
        let message = format!(
            "variant `{}` carries data, and a part of a key is one value\n\
             help: leave the data out of the enum, and make it a part of its own",
            variant.ident
        );
        cx.error(variant.fields, message);
    }
}

/// An empty part is refused in every key.
fn check_empty_texts(cx: &Ctxt, variants: &[Variant<'_>]) {
    for text in variants.iter().filter_map(|variant| variant.rename.as_ref()) {
        if text.value().trim().is_empty() {
            cx.error(text, "a variant cannot be written as nothing\nhelp: write what the key holds for it");
        }
    }
}

/// Two variants with one text would be one key.
fn check_equal_texts(cx: &Ctxt, variants: &[Variant<'_>]) {
    let known: Vec<_> = variants.iter().filter(|variant| !variant.broken).collect();
    for (index, again) in known.iter().enumerate() {
        let text = again.text();
        if let Some(first) = known[..index].iter().find(|first| first.text() == text) {
            let (one, other) = (first.ident, again.ident);
            cx.error(
                again.says(),
                format_args!("variants `{one}` and `{other}` are both written as `{text}`\nhelp: {ANOTHER}"),
            );
        }
    }
}

const ANOTHER: &str = "give one of them another text: `#[key(rename = \"..\")]`";

/// Nobody knows which of its fields holds the value.
fn check_union(cx: &Ctxt, word: Token![union]) {
    cx.error(word, "expected a struct or an enum, found a union\nhelp: write a struct with one field");
}
