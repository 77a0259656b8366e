//! The enum as it was written, with the tokens that an error underlines.

use std::collections::BTreeSet;

use proc_macro2::Span;
use syn::{Data, DeriveInput, Fields, Ident, LitStr, Path, Type};

use super::attr;
use super::case::RenameRule;
use crate::ctxt::Ctxt;

pub(super) struct Machine<'a> {
    pub(super) original: &'a DeriveInput,
    pub(super) options: Options,
    pub(super) states: Vec<State<'a>>,
    pub(super) transitions: Vec<Transition>,
}

/// `#[machine(..)]`.
#[derive(Default)]
pub(super) struct Options {
    pub(super) table: Option<LitStr>,
    pub(super) id: Vec<IdColumn>,
    pub(super) status: Option<LitStr>,
    pub(super) version: Option<LitStr>,
    pub(super) history: Option<History>,
    pub(super) rename_all: Option<RenameRule>,
    pub(super) krate: Option<Path>,
    /// The options that the user meant to give, the misspelt ones too: none of them is missing.
    pub(super) meant: BTreeSet<&'static str>,
}

/// `order_id: i64` of `id(..)`.
pub(super) struct IdColumn {
    pub(super) name: Ident,
    pub(super) ty: Type,
}

/// `history`, `history = ".."` or `history(..)`.
pub(super) struct History {
    pub(super) name: Option<LitStr>,
    pub(super) once: bool,
}

pub(super) struct State<'a> {
    pub(super) ident: &'a Ident,
    pub(super) fields: &'a Fields,
    pub(super) marks: Marks,
}

/// `#[state(..)]`.
#[derive(Default)]
pub(super) struct Marks {
    pub(super) initial: Option<Ident>,
    pub(super) terminal: bool,
    pub(super) rename: Option<LitStr>,
    /// Something in it was not understood.
    pub(super) broken: bool,
}

/// `#[transition(event: Source | Source => Target, set(..))]`, up to where it stops to make sense.
pub(super) struct Transition {
    pub(super) event: Ident,
    pub(super) sources: Vec<Ident>,
    pub(super) target: Option<Ident>,
    pub(super) sets: Vec<Assignment>,
}

/// `column = now`, `column = <literal>` or `column: Type`.
pub(super) struct Assignment {
    pub(super) column: Ident,
    pub(super) value: Value,
}

pub(super) enum Value {
    Now,
    Null,
    Bool(bool),
    Number(String),
    Text(LitStr),
    Field(Box<Type>),
}

impl<'a> Machine<'a> {
    /// `None` when the item is no enum, which has been reported then.
    pub(super) fn from_syn(cx: &Ctxt, input: &'a DeriveInput) -> Option<Self> {
        let Data::Enum(data) = &input.data else {
            cx.push(not_an_enum(&input.data));
            return None;
        };
        let states = data.variants.iter().map(|variant| State {
            ident: &variant.ident,
            fields: &variant.fields,
            marks: attr::marks(cx, &variant.attrs),
        });
        let states = states.collect();
        let (options, transitions) = attr::machine(cx, &input.attrs);
        Some(Self { original: input, options, states, transitions })
    }

    /// The names of all states, for a `help:` line.
    pub(super) fn state_names(&self) -> Vec<String> {
        self.states.iter().map(|state| state.ident.to_string()).collect()
    }
}

fn not_an_enum(data: &Data) -> syn::Error {
    let (span, found): (Span, _) = match data {
        Data::Struct(data) => (data.struct_token.span, "a struct"),
        Data::Union(data) => (data.union_token.span, "a union"),
        Data::Enum(data) => (data.enum_token.span, "an enum"),
    };
    let message = format!("expected an enum, found {found}\nhelp: write the states of the row as variants of an enum");
    syn::Error::new(span, message)
}
