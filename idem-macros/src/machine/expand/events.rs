//! What an event is to its machine.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::Type;
use syn::spanned::Spanned;

use super::super::model::{Event, Model, Source, unraw};
use super::module::at;

/// All implementations of all events.
pub(super) fn all(model: &Model) -> TokenStream {
    let events = model.events.iter().enumerate().map(|(index, event)| {
        let edges = event.sources.iter().map(|source| edge(model, event, source));
        let (event_of, fields) = (event_of(model, index, event), fields(model, event));
        let traits = event.fields().next().is_none().then(|| traits_of_unit(model, event));
        quote!(#event_of #(#edges)* #fields #traits)
    });
    quote!(#(#events)*)
}

/// `Debug` and `Clone` of an event without fields.
fn traits_of_unit(model: &Model, event: &Event) -> TokenStream {
    let (module, ident) = (at(model, event.ident.span()), &event.type_ident);
    let name = unraw(ident);
    quote_spanned! {event.ident.span()=>
        #[automatically_derived]
        impl ::core::fmt::Debug for #module::#ident {
            fn fmt(&self, __formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                __formatter.write_str(#name)
            }
        }
        #[automatically_derived]
        impl ::core::clone::Clone for #module::#ident {
            fn clone(&self) -> Self {
                Self
            }
        }
    }
}

fn event_of(model: &Model, index: usize, event: &Event) -> TokenStream {
    let (machine, module) = (&model.ident, at(model, event.ident.span()));
    let (ident, target) = (&event.type_ident, &model.state(event.target).ident);
    let sources = event.sources.iter().map(|source| &model.state(source.state).ident);
    let fire = if event.repeats {
        quote!(_idem::__private::Fire<#machine, Self, _idem::__private::Unpinned>)
    } else {
        quote!(_idem::__private::Fire<#machine, Self>)
    };
    let (repeats, fingerprint) = (event.repeats, fingerprint(model, event));
    quote_spanned! {event.ident.span()=>
        #[automatically_derived]
        impl _idem::__private::EventOf<#machine> for #module::#ident {
            type Target = #module::#target;
            type Fire = #fire;
            type FireAt = _idem::__private::Fire<#machine, Self>;
            const SPEC: &'static _idem::__private::EventSpec<#machine> = &_idem::__private::EventSpec {
                index: #index,
                sources: &[#(#machine::#sources),*],
                repeats: #repeats,
            };
            #fingerprint
        }
    }
}

/// The fields are hashed only where a history keeps the hash, so that only there they have to be `Serialize`.
fn fingerprint(model: &Model, event: &Event) -> TokenStream {
    if model.history.is_none() || event.fields().next().is_none() {
        return TokenStream::new();
    }
    // The event and its fields may come from different macros, each with a `self` of its own: the event's is taken.
    let span = |ty: &Type| ty.span().resolved_at(event.ident.span());
    let parts = event.fields().map(|(name, ty)| quote_spanned!(span(ty)=> .part(&self.#name)));
    quote_spanned! {event.ident.span()=>
        fn fingerprint(&self) -> ::core::option::Option<_idem::__private::Fingerprint> {
            ::core::option::Option::Some(_idem::__private::Fingerprint::new() #(#parts)*)
        }
    }
}

/// One implementation a source, at the token that names it: rustc underlines it when it says what the event does accept.
fn edge(model: &Model, event: &Event, source: &Source) -> TokenStream {
    let span = source.written.span();
    let (machine, module, source) = (&model.ident, at(model, span), &model.state(source.state).ident);
    let mut event = event.type_ident.clone();
    event.set_span(span);
    quote_spanned! {span=>
        #[automatically_derived]
        impl _idem::__private::Event<#module::#source, #machine> for #module::#event {}
    }
}

/// The fields, bound on any database that can store their types; nothing is said of an event without fields.
fn fields(model: &Model, event: &Event) -> TokenStream {
    let (module, ident) = (at(model, event.ident.span()), &event.type_ident);
    let types = distinct(event.fields().map(|(_, ty)| ty));
    let values: Vec<_> = event.fields().map(|(name, ty)| (ty, quote!(&self.#name))).collect();
    let bind = bind(&quote!(bind), &quote!(&self), &values);
    quote_spanned! {event.ident.span()=>
        impl<__DB> _idem::__private::Fields<__DB> for #module::#ident
        where
            __DB: _idem::__private::sqlx::Database #(+ _idem::__private::Binds<#types>)*,
        {
            #bind
        }
    }
}

/// The method that adds values to a statement's arguments; none without values. The last result is the method's own: a
/// `?` costs the compiler as much as all the rest.
pub(super) fn bind(name: &TokenStream, from: &TokenStream, values: &[(&Type, TokenStream)]) -> TokenStream {
    let call =
        |(ty, value): &(&Type, TokenStream)| quote!(<__DB as _idem::__private::Binds<#ty>>::bind(__arguments, #value));
    let Some((last, first)) = values.split_last() else {
        return TokenStream::new();
    };
    let (first, last) = (first.iter().map(call), call(last));
    quote! {
        fn #name(
            #from,
            __arguments: &mut __DB::Arguments,
        ) -> ::core::result::Result<(), _idem::__private::BoxDynError> {
            #(#first?;)*
            #last
        }
    }
}

/// Each type once, in the order of their first use.
pub(super) fn distinct<'t>(types: impl Iterator<Item = &'t Type>) -> impl Iterator<Item = &'t Type> {
    let mut seen = BTreeSet::new();
    types.filter(move |ty| seen.insert(ty.to_token_stream().to_string()))
}
