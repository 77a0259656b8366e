//! A thousand machines with a mistake in them: the macro refuses each, and says where.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use idem_random_machines::macros;
use proc_macro2::{Span, TokenStream, TokenTree};
use syn::{DeriveInput, LitStr};

#[test]
fn broken_machines_give_spanned_errors() {
    thread::scope(|scope| {
        for first in 0..4 {
            scope.spawn(move || check_refused(250, (first..).step_by(4)));
        }
    });
}

/// Goes on until so many machines were refused: some accidents do no harm.
fn check_refused(count: usize, numbers: impl Iterator<Item = u64>) {
    let refused = numbers.filter(|number| check(&macros::broken(1, *number)));
    assert_eq!(refused.take(count).count(), count);
}

/// Answers whether the machine was refused.
fn check(source: &str) -> bool {
    let Ok(item) = source.parse::<TokenStream>() else { return false };
    let expansion = catch_unwind(AssertUnwindSafe(|| macros::derive(item.clone())));
    let expansion = expansion.unwrap_or_else(|_| panic!("the macro panics:\n{source}"));
    // What is no item never comes to the macro: rustc refuses it.
    if syn::parse2::<DeriveInput>(item).is_err() {
        return false;
    }
    let parsed = syn::parse2::<syn::File>(expansion.clone());
    parsed.unwrap_or_else(|error| panic!("the expansion is not Rust: {error}\n{source}\n{expansion}"));
    let errors = errors(expansion);
    for error in &errors {
        check_error(error, source);
    }
    !errors.is_empty()
}

struct CompileError {
    span: Span,
    message: String,
}

/// Every `compile_error!`, wherever it is.
fn errors(expansion: TokenStream) -> Vec<CompileError> {
    let tokens: Vec<_> = expansion.into_iter().collect();
    let mut errors = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => errors.extend(self::errors(group.stream())),
            TokenTree::Ident(ident) if ident == "compile_error" => {
                let Some(TokenTree::Group(group)) = tokens.get(at + 2) else { panic!("compile_error without a text") };
                let message: LitStr = syn::parse2(group.stream()).expect("the text is a literal");
                errors.push(CompileError { span: ident.span(), message: message.value() });
            }
            _ => {}
        }
    }
    errors
}

/// An error says something, and underlines something that was written.
fn check_error(CompileError { span, message }: &CompileError, source: &str) {
    assert!(!message.lines().next().unwrap_or_default().trim().is_empty(), "{message:?}\n{source}");
    let Range { start, end } = span.byte_range();
    let underlined = source.get(start..end).unwrap_or_default();
    assert!(!underlined.is_empty(), "{message}: underlines nothing\n{source}");
    assert_eq!(span.source_text().as_deref(), Some(underlined), "{message}: underlines something else\n{source}");
}
