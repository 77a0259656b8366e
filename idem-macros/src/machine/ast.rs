//! The enum as it was written, with the tokens that an error underlines.

use std::collections::BTreeSet;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::{Attribute, Data, DeriveInput, Fields, Ident, LitInt, LitStr, Path, Type};

use super::case::RenameRule;
use super::{attr, model};
use crate::ctxt::Ctxt;

pub(super) struct Machine<'a> {
    pub(super) original: &'a DeriveInput,
    pub(super) options: Options,
    pub(super) states: Vec<State<'a>>,
    pub(super) transitions: Vec<Transition>,
    pub(super) create: Option<Create>,
    pub(super) unique_while: Vec<UniqueWhile>,
}

/// The attributes of the enum.
#[derive(Default)]
pub(super) struct Attributes {
    pub(super) options: Options,
    pub(super) transitions: Vec<Transition>,
    pub(super) create: Option<Create>,
    pub(super) unique_while: Vec<UniqueWhile>,
}

/// `#[create(column: Type, column = .., fresh_id)]`.
pub(super) struct Create {
    /// The attribute's own token.
    pub(super) word: Path,
    pub(super) columns: Vec<Assignment>,
    /// Each call makes another identifier, so that it is not compared.
    pub(super) fresh_id: Option<Ident>,
    /// Something in it was not understood.
    pub(super) broken: bool,
}

/// `#[unique_while(name: column, column in State | State)]`.
pub(super) struct UniqueWhile {
    pub(super) name: Ident,
    pub(super) columns: Vec<Ident>,
    pub(super) states: Vec<Ident>,
}

/// `#[machine(..)]`.
#[derive(Default)]
pub(super) struct Options {
    pub(super) table: Option<LitStr>,
    pub(super) id: Vec<IdColumn>,
    pub(super) status: Option<LitStr>,
    pub(super) version: Option<Version>,
    pub(super) history: Option<History>,
    pub(super) rename_all: Option<(Ident, RenameRule)>,
    pub(super) repr: Option<Repr>,
    pub(super) length: Option<LitInt>,
    pub(super) sqlx: bool,
    pub(super) display: bool,
    pub(super) module: Option<Ident>,
    pub(super) krate: Option<Path>,
    /// The options that the user meant to give, the misspelt ones too: none of them is missing.
    pub(super) meant: BTreeSet<&'static str>,
}

/// `order_id: i64` of `id(..)`.
pub(super) struct IdColumn {
    pub(super) name: Ident,
    pub(super) ty: Type,
}

/// `version = ".."` or `version = none`.
pub(super) enum Version {
    Column(LitStr),
    None(Ident),
}

/// `repr = text`, `repr = int`, `repr = native` or `repr = native("..")`.
pub(super) struct Repr {
    pub(super) word: Ident,
    pub(super) kind: ReprKind,
}

pub(super) enum ReprKind {
    Text,
    Int,
    /// An enum type of the database, and its name when it is written.
    Native(Option<LitStr>),
}

/// `history`, `history = ".."` or `history(..)`.
pub(super) struct History {
    /// The option's own token.
    pub(super) word: Ident,
    pub(super) name: Option<LitStr>,
    pub(super) once: bool,
    /// `actor` and `metadata`, when the entries have columns for them.
    pub(super) actor: Option<Ident>,
    pub(super) metadata: Option<Ident>,
}

pub(super) struct State<'a> {
    pub(super) ident: &'a Ident,
    pub(super) fields: &'a Fields,
    /// What the variant says to readers of the code: `#[doc]` and `#[deprecated]`.
    pub(super) notes: Vec<&'a Attribute>,
    /// The value that Rust gives to it, where it is written as a plain number.
    pub(super) discriminant: Option<Stored>,
    pub(super) marks: Marks,
}

/// `#[state(..)]`.
#[derive(Default)]
pub(super) struct Marks {
    pub(super) initial: Option<Ident>,
    pub(super) terminal: bool,
    pub(super) rename: Option<LitStr>,
    pub(super) aliases: Vec<Stored>,
    pub(super) value: Option<Stored>,
    /// Something in it was not understood.
    pub(super) broken: bool,
}

/// A value of the status column, with the tokens that say it.
#[derive(Clone)]
pub(super) enum Stored {
    Text(LitStr),
    Int(i64, TokenStream),
}

/// `#[transition(event: Source | Source => Target, set(..))]`, up to where it stops to make sense.
pub(super) struct Transition {
    pub(super) event: Ident,
    pub(super) sources: Vec<Ident>,
    pub(super) target: Option<Ident>,
    pub(super) sets: Vec<Assignment>,
    /// It stopped to make sense, so nobody knows where it leads.
    pub(super) broken: bool,
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
        // That a variant is there twice is rustc's to say.
        let mut named = BTreeSet::new();
        let variants = data.variants.iter().filter(|variant| named.insert(&variant.ident));
        let states = variants.map(|variant| State {
            ident: &variant.ident,
            fields: &variant.fields,
            notes: variant.attrs.iter().filter(|it| is_note(it)).collect(),
            discriminant: attr::discriminant(variant),
            marks: attr::marks(cx, &variant.attrs),
        });
        let states = states.collect();
        let Attributes { options, transitions, create, unique_while } = attr::machine(cx, &input.attrs);
        Some(Self { original: input, options, states, transitions, create, unique_while })
    }

    /// The names of all states, for a `help:` line.
    pub(super) fn state_names(&self) -> Vec<String> {
        self.states.iter().map(|state| state.ident.to_string()).collect()
    }
}

impl Options {
    /// Whether the status column holds numbers.
    pub(super) fn is_int(&self) -> bool {
        matches!(&self.repr, Some(Repr { kind: ReprKind::Int, .. }))
    }

    /// Whether an option was meant and is not there, because it could not be read: that was reported.
    pub(super) fn is_unread(&self, option: &str, is_there: bool) -> bool {
        !is_there && self.meant.contains(option)
    }

    /// The version's column, where it is written.
    pub(super) fn version_column(&self) -> Option<&LitStr> {
        match self.version.as_ref()? {
            Version::Column(name) => Some(name),
            Version::None(_) => None,
        }
    }
}

impl State<'_> {
    /// The number that somebody wrote down for it.
    pub(super) fn written_value(&self) -> Option<&Stored> {
        self.marks.value.as_ref().or(self.discriminant.as_ref())
    }
}

impl Stored {
    pub(super) fn resolve(&self) -> model::Stored {
        match self {
            Self::Text(text) => model::Stored::Text(text.value()),
            Self::Int(value, _) => model::Stored::Int(*value),
        }
    }
}

impl ToTokens for Stored {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Text(text) => text.to_tokens(tokens),
            Self::Int(_, written) => written.to_tokens(tokens),
        }
    }
}

fn is_note(attribute: &Attribute) -> bool {
    attribute.path().is_ident("doc") || attribute.path().is_ident("deprecated")
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
