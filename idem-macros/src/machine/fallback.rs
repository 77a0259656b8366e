//! After an error: what is known of the machine, so that the uses of the type report nothing of their own.

use proc_macro2::TokenStream;
use quote::quote;
use syn::DeriveInput;

use super::expand;
use super::model::{BY_STATE, Model};

/// The errors and the expansion of what could be resolved.
pub(super) fn machine(input: &DeriveInput, mut model: Model, error: &syn::Error) -> TokenStream {
    let errors = error.to_compile_error();
    let hides_an_item = model.module == model.ident || model.states.iter().any(|state| state.name() == BY_STATE);
    if model.states.is_empty() || hides_an_item || !input.generics.params.is_empty() {
        return errors;
    }
    // A missing edge may be the reason why an event seems to repeat, and calls without a cause would be errors then.
    model.events.iter_mut().for_each(|event| event.repeats = false);
    let row = if model.id.is_empty() { row_of_anything(&model) } else { expand::row(&model) };
    // A variant with data is no state.
    let other_variants = quote!(#[allow(unreachable_patterns)] _ => ::core::panic!());
    let (known, history) = (expand::with(&model, &row, &other_variants), history(&model));
    quote!(#errors #known #history)
}

/// A misspelt `history` would make each call with a cause one more error.
fn history(model: &Model) -> Option<TokenStream> {
    let (runtime, machine) = (expand::runtime(model), &model.ident);
    let has_none = model.history.is_none();
    has_none.then(|| quote!(const _: () = { impl #runtime::__private::HasHistory for #machine {} };))
}

/// `row` while nobody knows what identifies one.
fn row_of_anything(model: &Model) -> TokenStream {
    let visibility = &model.visibility;
    quote! {
        #visibility fn row<__Id>(_: __Id) -> _idem::__private::Handle<Self> {
            _idem::__private::Handle::new(())
        }
    }
}
