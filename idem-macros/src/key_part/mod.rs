//! `#[derive(KeyPart)]`.

mod ast;
mod check;
mod expand;
#[cfg(test)]
mod tests;

use proc_macro2::TokenStream;
use syn::DeriveInput;

use crate::ctxt::Ctxt;

/// The implementation of the trait; after errors, all of them and an implementation that keeps the uses of the type quiet.
pub(crate) fn derive(input: TokenStream) -> TokenStream {
    match syn::parse2(input) {
        Ok(input) => derive_for(&input),
        Err(error) => error.into_compile_error(),
    }
}

fn derive_for(input: &DeriveInput) -> TokenStream {
    let cx = Ctxt::new();
    let item = ast::Item::from_syn(&cx, input);
    let model = check::resolve(&cx, &item);
    match cx.finish(model) {
        Ok(model) => expand::key_part(&item, &model),
        Err(error) => expand::fallback(&item, &error),
    }
}
