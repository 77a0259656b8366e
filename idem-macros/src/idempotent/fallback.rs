//! What is left of the item after an error: enough for its callers and the editor to go on.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Signature, Token};

use super::args::Args;
use super::ast::{First, Function, name_for_callers};
use super::expand;

/// The errors beside an item that is not a function.
pub(crate) fn item(error: &syn::Error, item: TokenStream) -> TokenStream {
    let mut tokens = error.to_compile_error();
    tokens.extend(item);
    tokens
}

/// The errors beside a function that has the signature of the good one. Its body is checked and claims nothing.
pub(crate) fn function(error: &syn::Error, args: &Args, function: &Function) -> TokenStream {
    let errors = error.to_compile_error();
    let Function { attrs, vis, .. } = function;
    let first = function.first().and_then(First::from_syn).filter(|_| !function.returns_a_future());
    let (body, arguments) = (expand::body(function), function.bound_after(usize::from(first.is_some())));
    let (signature, binding) = match &first {
        Some(first) => without_a_claim(args, function, first),
        None => (function.sig.clone(), TokenStream::new()),
    };
    let signature = awaitable(function, signature);
    // What only the key or the payload uses is not also an unused variable.
    quote!(#errors #(#attrs)* #vis #signature { #binding #(let _ = &#arguments;)* #body })
}

fn without_a_claim(args: &Args, function: &Function, first: &First<'_>) -> (Signature, TokenStream) {
    let signature = function.called_with(expand::begin(args, first));
    let runtime = args.runtime(Span::mixed_site());
    let (begin, binding) = (name_for_callers(&first.parameter.pat), expand::binding(first));
    let tokens = quote_spanned! {Span::mixed_site()=>
        let _ = #begin;
        #binding = #runtime::__private::never();
    };
    (signature, tokens)
}

/// Without `async`, each `.await` in the body and at a caller would be one more error.
fn awaitable(function: &Function, mut signature: Signature) -> Signature {
    if !function.returns_a_future() {
        signature.asyncness.get_or_insert_with(<Token![async]>::default);
    }
    signature
}
