//! Long texts as tokens.

extern crate proc_macro;

use proc_macro2::{Literal, TokenStream};
use quote::ToTokens as _;

/// A raw literal, which the compiler takes as it stands. In one with escapes every character is looked at twice, when the
/// literal is written and when it is read: a tenth of what a machine costs.
pub(super) fn literal(text: &str) -> TokenStream {
    // What a raw literal cannot hold.
    if text.contains('\r') {
        return Literal::string(text).into_token_stream();
    }
    let hashes = "#".repeat(hashes(text));
    parse(&format!("r{hashes}\"{text}\"{hashes}")).unwrap_or_else(|| Literal::string(text).into_token_stream())
}

/// By the compiler's own parser where there is one: `proc_macro2` would have the tokens read by its own first.
fn parse(tokens: &str) -> Option<TokenStream> {
    if proc_macro::is_available() {
        return tokens.parse::<proc_macro::TokenStream>().ok().map(Into::into);
    }
    tokens.parse().ok()
}

/// How many `#` keep every quote in the text from ending the literal.
fn hashes(text: &str) -> usize {
    let after_quotes = text.split('"').skip(1);
    after_quotes.map(|it| it.len() - it.trim_start_matches('#').len() + 1).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use syn::LitStr;

    use super::*;

    #[test]
    fn a_text_is_read_as_it_was_written() {
        for text in ["", "a\nb", "a \"name\"", "\"#\"## \\n", "'", "\r\n", "\"\"\"####"] {
            let read: LitStr = syn::parse2(literal(text)).expect("it is a literal");
            assert_eq!(read.value(), text);
        }
    }
}
