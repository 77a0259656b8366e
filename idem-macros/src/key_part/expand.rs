//! The implementation. Everything that users do not name stands in a scope, where `_idem` is the runtime.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Data, WherePredicate, parse_quote};

use super::ast::Item;
use super::check::Model;

/// The value as the text of one part.
pub(super) fn key_part(item: &Item<'_>, model: &Model<'_>) -> TokenStream {
    match model {
        Model::Newtype { member, ty } => {
            // Only a type parameter leaves open what the field is: otherwise the call says it, at the field's type.
            let is_generic = item.original.generics.type_params().next().is_some();
            let bound = is_generic.then(|| parse_quote!(#ty: _idem::__private::KeyPart));
            implementation(item, bound, &quote!(<#ty as _idem::__private::KeyPart>::write(&self.#member, __part)))
        }
        Model::Texts(texts) => {
            let arms = texts.iter().map(|(variant, text)| quote!(Self::#variant => #text));
            implementation(item, None, &quote!(_idem::__private::Part::text(__part, match self { #(#arms),* })))
        }
    }
}

/// The errors, and an implementation that is never run.
pub(super) fn fallback(item: &Item<'_>, error: &syn::Error) -> TokenStream {
    let errors = error.to_compile_error();
    let implementation = implementation(item, None, &quote!(let _ = __part; ::core::panic!()));
    quote!(#errors #implementation)
}

fn implementation(item: &Item<'_>, bound: Option<WherePredicate>, body: &TokenStream) -> TokenStream {
    let (name, deprecated) = (&item.original.ident, allow_deprecated(item));
    let mut generics = item.original.generics.clone();
    generics.make_where_clause().predicates.extend(bound);
    let (parameters, arguments, bounds) = generics.split_for_impl();
    let runtime = item.krate.as_ref().map_or_else(|| quote!(::idem_runtime), |path| quote!(#path));
    quote! {
        #deprecated
        const _: () = {
            use #runtime as _idem;
            #[automatically_derived]
            impl #parameters _idem::__private::KeyPart for #name #arguments #bounds {
                fn write(&self, __part: &mut _idem::__private::Part) {
                    #body
                }
            }
        };
    }
}

/// Whoever deprecates a value still has it in keys.
fn allow_deprecated(item: &Item<'_>) -> Option<TokenStream> {
    let of_variants = match &item.original.data {
        Data::Enum(data) => data.variants.iter().flat_map(|variant| &variant.attrs).collect(),
        _ => Vec::new(),
    };
    let is_deprecated = |attribute: &Attribute| attribute.path().is_ident("deprecated");
    item.original.attrs.iter().chain(of_variants).any(is_deprecated).then(|| quote!(#[allow(deprecated)]))
}
