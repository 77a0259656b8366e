//! `#[derive(StateMachine)]`.

mod ast;
mod attr;
mod case;
mod check;
mod diagram;
mod expand;
mod fallback;
pub(crate) mod model;
#[cfg(test)]
mod tests;

use proc_macro2::TokenStream;
use syn::DeriveInput;

use crate::ctxt::Ctxt;

/// The expansion of the derive; after errors, all of them and enough of it to keep the uses of the type quiet.
pub(crate) fn derive(input: TokenStream) -> TokenStream {
    match syn::parse2(input) {
        Ok(input) => derive_for(&input),
        Err(error) => error.into_compile_error(),
    }
}

fn derive_for(input: &DeriveInput) -> TokenStream {
    let cx = Ctxt::new();
    let model = ast::Machine::from_syn(&cx, input).map(|machine| check::resolve(&cx, &machine));
    match (cx.finish(Some(())), model) {
        (Ok(()), Some(model)) => expand::machine(&model),
        (Err(error), Some(model)) => fallback::machine(input, model, &error),
        (Err(error), None) => error.into_compile_error(),
        (Ok(()), None) => unreachable!("an input that is no machine was reported"),
    }
}

/// The model of an enum without errors.
#[cfg(test)]
pub(crate) fn model_of(input: TokenStream) -> model::Model {
    let (cx, input) = (Ctxt::new(), syn::parse2(input).expect("the input is an enum"));
    let machine = ast::Machine::from_syn(&cx, &input).expect("the input is an enum");
    let model = check::resolve(&cx, &machine);
    cx.finish(Some(model)).expect("the enum is a machine")
}
