//! How a row begins: the type `New`, the call that makes a row of it, and what it is to its machine.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::Type;
use syn::spanned::Spanned;

use super::super::model::{Create, Model, NEW, unraw};
use super::module::{at, documentation, field, one_deeper};
use super::{events, statements, tuple};
use crate::sql::CreateSql;

/// Everything but the type itself.
pub(super) fn all(model: &Model, sql: Option<&CreateSql>) -> TokenStream {
    let (Some(create), Some(sql)) = (&model.create, sql) else { return TokenStream::new() };
    let sql = statements::create(sql);
    let items = [call(model), creates(model), new_row(model, create), values(model, create)];
    quote! {
        const __CREATE: _idem::__private::CreateSql = #sql;
        #(#items)*
    }
}

fn new(model: &Model) -> Ident {
    Ident::new(NEW, model.ident.span())
}

/// What a new row begins with.
pub(super) fn new_type(model: &Model, sql: &CreateSql) -> TokenStream {
    let (new, visibility) = (new(model), one_deeper(&model.visibility, model.ident.span()));
    let title = format!("A new row of `{}`, in state `{}`.", model.name(), model.state(model.initial).name());
    let (fields, documentation) =
        (model.create.iter().flat_map(Create::fields), documentation(&sql.enter, &sql.insert));
    let fields = fields.map(|(name, ty)| field(model, name, ty));
    quote! {
        #[doc = #title]
        #[doc = #documentation]
        #[derive(::core::fmt::Debug, ::core::clone::Clone)]
        #visibility struct #new { #(#fields,)* }
    }
}

fn call(model: &Model) -> TokenStream {
    let (machine, visibility, module, new) = (&model.ident, &model.visibility, &model.module, new(model));
    let documentation = format!("Begins a row in state `{}`.", model.state(model.initial).name());
    quote! {
        #[automatically_derived]
        #[allow(dead_code)]
        impl #machine {
            #[doc = #documentation]
            #visibility fn create(new: #module::#new) -> _idem::__private::Create<Self, #module::#new> {
                _idem::__private::Create::new(new)
            }
        }
    }
}

/// Whose rows can be found again by any database that can read their identifiers.
fn creates(model: &Model) -> TokenStream {
    let (machine, types) = (&model.ident, events::distinct(model.id.iter().map(|column| &column.ty)));
    let parts = model.id.iter().enumerate().map(|(index, column)| {
        let (ty, name) = (&column.ty, format!("id_{index}"));
        quote!(<__DB as _idem::__private::Reads<#ty>>::read(__row, #name))
    });
    let id = match parts.collect::<Vec<_>>().as_slice() {
        [part] => part.clone(),
        parts => quote!(::core::result::Result::Ok((#(#parts?),*))),
    };
    quote! {
        impl<__DB> _idem::__private::CreatesOn<__DB> for #machine
        where
            __DB: _idem::__private::SqlDialect #(+ _idem::__private::Reads<#types>)*,
        {
            fn read_id(__row: &__DB::Row) -> ::core::result::Result<Self::Id, _idem::__private::sqlx::Error> {
                #id
            }
        }
    }
}

fn new_row(model: &Model, create: &Create) -> TokenStream {
    let (machine, module, new) = (&model.ident, at(model, model.ident.span()), new(model));
    let (id, fingerprint) = (id(model, create), fingerprint(model, create));
    quote! {
        #[automatically_derived]
        impl _idem::__private::NewRow<#machine> for #module::#new {
            const SQL: &'static _idem::__private::CreateSql = &__CREATE;
            fn id(&self) -> <#machine as _idem::__private::StateMachine>::Id {
                #id
            }
            fn fingerprint(&self) -> ::core::option::Option<_idem::__private::Fingerprint> {
                #fingerprint
            }
        }
    }
}

/// The identifier, from the fields of its columns. (After an error one can be missing; nobody calls it then.)
fn id(model: &Model, create: &Create) -> TokenStream {
    let parts: Option<Vec<_>> = model
        .id
        .iter()
        .map(|column| {
            let (name, ty) = create.fields().find(|(name, _)| unraw(name) == column.name())?;
            Some(quote_spanned!(written_at(ty)=> ::core::clone::Clone::clone(&self.#name)))
        })
        .collect();
    parts.map_or_else(|| quote!(::core::panic!()), |parts| tuple(&parts))
}

/// Where an error about the field points. `self` is this expansion's, whichever macro wrote the type.
fn written_at(ty: &Type) -> Span {
    ty.span().resolved_at(Span::call_site())
}

/// As for events: hashed only where a history keeps the hash.
fn fingerprint(model: &Model, create: &Create) -> TokenStream {
    if model.history.is_none() {
        return quote!(::core::option::Option::None);
    }
    let parts = model.compared(create).map(|(_, name, ty)| quote_spanned!(written_at(ty)=> .part(&self.#name)));
    quote!(::core::option::Option::Some(_idem::__private::Fingerprint::new() #(#parts)*))
}

/// The fields one by one, bound on any database that can store their types.
fn values(model: &Model, create: &Create) -> TokenStream {
    let (module, new) = (at(model, model.ident.span()), new(model));
    let types = events::distinct(create.fields().map(|(_, ty)| ty));
    let binds = create.fields().enumerate().map(
        |(index, (name, ty))| quote!(#index => <__DB as _idem::__private::Binds<#ty>>::bind(__arguments, &self.#name)),
    );
    quote! {
        impl<__DB> _idem::__private::Values<__DB> for #module::#new
        where
            __DB: _idem::__private::SqlDialect #(+ _idem::__private::Binds<#types>)*,
        {
            fn bind(
                &self,
                __at: ::core::primitive::usize,
                __arguments: &mut __DB::Arguments,
            ) -> ::core::result::Result<(), _idem::__private::BoxDynError> {
                match __at {
                    #(#binds,)*
                    _ => ::core::result::Result::Ok(()),
                }
            }
        }
    }
}
