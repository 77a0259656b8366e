//! `#[idempotent]`: the first call of a function runs its body, every later one replays the result.

mod args;
mod ast;
mod check;
mod docs;
mod expand;
mod fallback;
#[cfg(test)]
mod tests;

use proc_macro2::TokenStream;

use crate::ctxt::Ctxt;

/// The function that callers see, or every error at once beside a function that keeps its callers compiling.
pub(crate) fn attribute(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let cx = Ctxt::new();
    let args = args::Args::from_syn(&cx, arguments);
    let function = ast::Function::from_syn(&cx, &item);
    let model = function.as_ref().and_then(|function| check::resolve(&cx, &args, function));
    match (cx.finish(model), &function) {
        (Ok(model), _) => expand::function(&model),
        (Err(error), Some(function)) => fallback::function(&error, &args, function),
        (Err(error), None) => fallback::item(&error, item),
    }
}
