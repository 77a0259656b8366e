//! The errors of one macro call, collected so that the user sees all of them in one build.

use std::cell::RefCell;
use std::fmt::Display;

use quote::ToTokens;

/// Collects errors; consumed by [`Ctxt::finish`].
#[derive(Default)]
pub(crate) struct Ctxt {
    errors: RefCell<Vec<syn::Error>>,
}

impl Ctxt {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// An error that underlines `node`.
    pub(crate) fn error(&self, node: impl ToTokens, message: impl Display) {
        self.push(syn::Error::new_spanned(node, message));
    }

    pub(crate) fn push(&self, error: syn::Error) {
        self.errors.borrow_mut().push(error);
    }

    /// `value` if nothing was reported, otherwise every error in one.
    pub(crate) fn finish<T>(self, value: Option<T>) -> syn::Result<T> {
        let all = self.errors.into_inner().into_iter().reduce(|mut all, error| {
            all.extend(error);
            all
        });
        match (all, value) {
            (None, Some(value)) => Ok(value),
            (Some(error), _) => Err(error),
            (None, None) => unreachable!("a stage that gives no value reports why"),
        }
    }
}
