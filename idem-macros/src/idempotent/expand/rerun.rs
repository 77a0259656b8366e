//! A body that can run more than once.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::visit::{self, Visit};
use syn::{Attribute, Ident, PatIdent};

use super::super::check::Model;

/// Runs the body until its call has ended. Each run has the arguments for itself.
pub(super) fn calls(model: &Model<'_>) -> TokenStream {
    let (open, claimed, run) = (super::open(model), super::claimed(model), super::run(model, &clones(model)));
    quote_spanned! {Span::mixed_site()=>
        let mut __opened = #open;
        loop {
            let mut __claimed = match __opened { #claimed };
            #run
            __opened = __claimed.finish_or_rerun(__out, &__codec).await;
        }
    }
}

/// The variables of the parameters behind the transaction, once more. One whose name says that it is not used is left out:
/// clippy would find that it is used.
fn clones(model: &Model<'_>) -> TokenStream {
    let variables = model.function.typed().skip(1).flat_map(|parameter| {
        let mut variables = Variables::default();
        variables.visit_pat(&parameter.pat);
        variables.0.into_iter().map(|variable| (&*parameter.attrs, variable))
    });
    let used = variables.filter(|(_, variable)| !variable.ident.to_string().starts_with('_'));
    used.map(|(attrs, variable)| clone(attrs, variable, is_named(model, &variable.ident))).collect()
}

/// A clone for the body.
fn clone(attrs: &[Attribute], variable: &PatIdent, is_named: bool) -> TokenStream {
    let PatIdent { by_ref, mutability, ident, .. } = variable;
    let mutability = mutability.filter(|_| by_ref.is_none());
    let clone = super::cloned(ident);
    // What only the key or the payload uses is not an unused variable.
    let used = is_named.then(|| quote!(#(#attrs)* let _ = &#ident;));
    quote!(#(#attrs)* let #mutability #ident = #clone; #used)
}

/// Whether the key or the payload may name the variable.
fn is_named(model: &Model<'_>, variable: &Ident) -> bool {
    let options = [Some(model.key), model.payload];
    options.into_iter().flatten().any(|parts| {
        let names = parts.names();
        names.hidden || names.free().any(|name| name == variable)
    })
}

/// What a pattern binds; each once, however many alternatives it has.
#[derive(Default)]
struct Variables<'a>(Vec<&'a PatIdent>);

impl<'a> Visit<'a> for Variables<'a> {
    fn visit_pat_ident(&mut self, node: &'a PatIdent) {
        if self.0.iter().all(|other| other.ident != node.ident) {
            self.0.push(node);
        }
        visit::visit_pat_ident(self, node);
    }
}
