//! The paragraph that rustdoc shows below the user's own documentation.

use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Attribute, ExprPath, Signature};

use super::args::{Args, Kept, Retain, Time};
use super::check::Model;

/// The lines: both signatures, and the errors unless the user has written about them.
pub(crate) fn lines(model: &Model<'_>) -> Vec<String> {
    let (scope, key) = (model.scope.value(), tidy(model.key.0.to_token_stream()));
    let database = tidy(model.transaction.database.to_token_stream());
    let options = options(model.args);
    let errors = if documents_errors(&model.function.attrs) { "" } else { ERRORS };
    let text = format!(
        "\n\
         # Idempotent\n\
         \n\
         One effect for each `{key}` in the scope `{scope}`: the first call runs the body, every later one replays its\n\
         result. Pass `&Idem<{database}>`, or `&mut *tx` inside of another idempotent body.\n\
         \n\
         ```text\n\
         {}\n\
         ```\n\
         {options}{errors}",
        signatures(model),
    );
    text.lines().map(str::to_owned).collect()
}

/// A line for each option behind the payload.
fn options(args: &Args) -> String {
    let lines = [
        args.wait.as_ref().map(waiting),
        args.retain.as_ref().map(retention),
        args.record_err.as_ref().map(recorded),
        args.rerun.as_ref().map(|reruns| {
            format!("When the database gives up its transaction, the body runs again, {reruns} times at most.")
        }),
        args.upgrade
            .as_ref()
            .map(|upgrade| format!("A result of an older shape is made a new one by `{}`.", code(upgrade))),
    ];
    let lines: Vec<_> = lines.into_iter().flatten().collect();
    if lines.is_empty() { String::new() } else { format!("\n{}\n", lines.join("\n")) }
}

fn waiting(wait: &Time) -> String {
    if wait.span.is_zero() {
        return "A duplicate of a running call does not wait for it.".to_owned();
    }
    format!("A duplicate of a running call waits for it, `{}` at most.", wait.text.value())
}

fn retention(retain: &Retain) -> String {
    let (result, key) = (retain.result.as_ref().map(kept), retain.key.as_ref().map(kept));
    match (result, key) {
        (None, Some(key)) => format!("The result and the key are kept {key}."),
        (result, key) => {
            let [result, key] = [result, key].map(|kept| kept.unwrap_or_else(|| EVER.to_owned()));
            format!("The result is kept {result}, the key {key}.")
        }
    }
}

const EVER: &str = "for ever";

fn kept(kept: &Kept) -> String {
    match kept {
        Kept::For(time) => format!("for `{}`", time.text.value()),
        Kept::Forever(_) => EVER.to_owned(),
    }
}

/// Which errors are answers.
fn recorded(is_final: &ExprPath) -> String {
    let is_final = code(is_final);
    format!("An error that `{is_final}` says yes to is stored and replayed too, and nothing else of its call stays.")
}

fn code(written: &ExprPath) -> String {
    tidy(written.to_token_stream())
}

/// Without it, a function that had no documentation would now have some that says nothing about its errors, which
/// `clippy::missing_errors_doc` asks for.
const ERRORS: &str = "\n\
    # Errors\n\
    \n\
    Those of the body, and those of idem itself, such as a duplicate that is in progress or has another payload.\n";

fn documents_errors(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attr| attr.path().is_ident("doc") && attr.to_token_stream().to_string().contains("# Errors"))
}

/// As the body sees it, then as its callers do.
fn signatures(model: &Model<'_>) -> String {
    let database = model.transaction.database;
    let called = model.called_with(quote!(impl Begin<#database>));
    format!("{}\n{}", signature(&model.function.sig), signature(&called))
}

/// On one line, where nothing ends with a comma.
fn signature(sig: &Signature) -> String {
    let mut sig = sig.clone();
    sig.inputs.pop_punct();
    sig.generics.params.pop_punct();
    if let Some(bounds) = &mut sig.generics.where_clause {
        bounds.predicates.pop_punct();
    }
    tidy(sig.to_token_stream())
}

/// Code as a person would space it. Tokens that went through a parser have lost the spaces that the user wrote.
pub(crate) fn tidy(tokens: TokenStream) -> String {
    let mut text = String::new();
    for atom in atoms(tokens) {
        if spaced(&text, &atom) {
            text.push(' ');
        }
        text.push_str(&atom);
    }
    text
}

/// Words, operators of one or more characters, and groups.
fn atoms(tokens: TokenStream) -> Vec<String> {
    let (mut atoms, mut joint) = (Vec::<String>::new(), false);
    for token in tokens {
        let next_is_joint = matches!(&token, TokenTree::Punct(punct) if punct.spacing() == Spacing::Joint);
        let text = match token {
            TokenTree::Group(group) => grouped(&group),
            token => token.to_string(),
        };
        match atoms.last_mut() {
            Some(last) if joint => last.push_str(&text),
            _ => atoms.push(text),
        }
        joint = next_is_joint;
    }
    atoms
}

fn grouped(group: &Group) -> String {
    let inside = tidy(group.stream());
    match group.delimiter() {
        Delimiter::Parenthesis => format!("({inside})"),
        Delimiter::Bracket => format!("[{inside}]"),
        Delimiter::Brace => format!("{{ {inside} }}"),
        Delimiter::None => inside,
    }
}

fn spaced(before: &str, atom: &str) -> bool {
    let is_word = |char: char| char.is_alphanumeric() || char == '_' || char == '>';
    let after_colon = before.ends_with(':') && !before.ends_with("::");
    let opens = before.is_empty() || ["<", "&", "::", ".", "!", "*", "#"].iter().any(|end| before.ends_with(end));
    let closes = [",", ">", "::", ":", ".", "?", ";", "<", "!"].contains(&atom);
    let calls =
        (atom.starts_with('(') || atom.starts_with('[')) && before.ends_with(is_word) && !before.ends_with("->");
    after_colon || !(opens || closes || calls)
}
