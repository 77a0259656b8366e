//! What the status column holds, and the traits that read and write it.

use proc_macro2::TokenStream;
use quote::quote;

use super::super::model::{Model, Repr};
use crate::sql;

/// The implementations that were asked for.
pub(super) fn all(model: &Model) -> TokenStream {
    let sqlx = model.sqlx.then(|| sqlx(model));
    let display = model.display.then(|| display(model));
    quote!(#sqlx #display)
}

/// The runtime's `Repr`.
pub(super) fn repr(model: &Model) -> TokenStream {
    match &model.repr {
        Repr::Text => quote!(_idem::__private::Repr::Text),
        Repr::Int => quote!(_idem::__private::Repr::Int),
        Repr::Native(name) => {
            let name = sql::type_name(model, name);
            quote!(_idem::__private::Repr::Native(#name))
        }
    }
}

/// The other values that stand for a state.
pub(super) fn aliases(model: &Model) -> impl Iterator<Item = TokenStream> {
    model.states.iter().flat_map(|state| {
        let ident = &state.ident;
        state.aliases.iter().map(move |alias| {
            let raw = alias.raw();
            quote!((#raw, Self::#ident))
        })
    })
}

/// `Type`, `Encode` and `Decode` of sqlx, for every database that idem speaks.
fn sqlx(model: &Model) -> TokenStream {
    let machine = &model.ident;
    quote! {
        #[automatically_derived]
        impl<__DB: _idem::__private::SqlDialect> _idem::__private::sqlx::Type<__DB> for #machine {
            fn type_info() -> __DB::TypeInfo {
                _idem::__private::status_type::<Self, __DB>()
            }
            fn compatible(__column: &__DB::TypeInfo) -> ::core::primitive::bool {
                _idem::__private::reads_status::<Self, __DB>(__column)
            }
        }
        #[automatically_derived]
        impl<'__q, __DB: _idem::__private::SqlDialect> _idem::__private::sqlx::Encode<'__q, __DB> for #machine {
            fn encode_by_ref(
                &self,
                __buffer: &mut <__DB as _idem::__private::sqlx::Database>::ArgumentBuffer,
            ) -> ::core::result::Result<_idem::__private::sqlx::encode::IsNull, _idem::__private::BoxDynError> {
                _idem::__private::encode_status::<Self, __DB>(self, __buffer)
            }
        }
        #[automatically_derived]
        impl<'__r, __DB: _idem::__private::SqlDialect> _idem::__private::sqlx::Decode<'__r, __DB> for #machine {
            fn decode(
                __value: <__DB as _idem::__private::sqlx::Database>::ValueRef<'__r>,
            ) -> ::core::result::Result<Self, _idem::__private::BoxDynError> {
                _idem::__private::decode_status::<Self, __DB>(__value)
            }
        }
    }
}

/// `Display` and `FromStr`: the state's label.
fn display(model: &Model) -> TokenStream {
    let machine = &model.ident;
    quote! {
        #[automatically_derived]
        impl ::core::fmt::Display for #machine {
            fn fmt(&self, __formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                __formatter.pad(_idem::__private::StateMachine::label(self))
            }
        }
        #[automatically_derived]
        impl ::core::str::FromStr for #machine {
            type Err = _idem::__private::UnknownState;
            fn from_str(__label: &::core::primitive::str) -> ::core::result::Result<Self, _idem::__private::UnknownState> {
                _idem::__private::from_label(__label)
            }
        }
    }
}
