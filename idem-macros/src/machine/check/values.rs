//! Rules about what the status column holds.

use std::collections::BTreeMap;

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::Ident;

use super::super::ast::{Machine, ReprKind, State, Stored};
use super::super::model;
use super::super::model::Stored as Value;
use crate::ctxt::Ctxt;

/// The longest `length`: the history's columns on MySQL hold no more.
const LONGEST_COLUMN: usize = 255;
/// The longest label of an enum type that PostgreSQL takes.
const LONGEST_LABEL: usize = 63;

pub(super) fn check(cx: &Ctxt, machine: &Machine<'_>) {
    check_stored_values(cx, machine);
    check_integer_values(cx, machine);
    check_value_kinds(cx, machine);
    check_rename_unused(cx, machine);
    check_equal_values(cx, machine);
    check_length(cx, machine);
    check_value_length(cx, machine);
}

/// The value stands in statements as a literal, which a backslash ends differently in each dialect.
fn check_stored_values(cx: &Ctxt, machine: &Machine<'_>) {
    let marks = || machine.states.iter().map(|state| &state.marks);
    let aliases = marks().flat_map(|marks| &marks.aliases).filter_map(|alias| match alias {
        Stored::Text(text) => Some(text),
        Stored::Int(..) => None,
    });
    for text in marks().filter_map(|marks| marks.rename.as_ref()).chain(aliases) {
        if let Some(fault) = super::columns::literal_fault(&text.value()) {
            cx.error(text, format_args!("a stored value {fault}"));
        }
    }
}

/// A number that nobody wrote down would change with the order of the variants, and with it every row's meaning.
fn check_integer_values(cx: &Ctxt, machine: &Machine<'_>) {
    let Some(repr) = machine.options.repr.as_ref().filter(|_| machine.options.is_int()) else { return };
    report_two_values(cx, machine);
    let missing: Vec<_> = machine.states.iter().filter(|it| it.written_value().is_none() && !it.marks.broken).collect();
    if missing.len() == machine.states.len() {
        let help = "write `#[state(value = 1)]` above the first state, and so on";
        cx.error(&repr.word, format_args!("`repr = int` wants a value for every state\nhelp: {help}"));
    } else {
        for state in missing {
            let name = state.ident;
            let help = "write the number that the status column holds: `#[state(value = 3)]`";
            cx.error(name, format_args!("missing `value` of state `{name}`\nhelp: {help}"));
        }
    }
}

fn report_two_values(cx: &Ctxt, machine: &Machine<'_>) {
    for state in &machine.states {
        let (Some(value), Some(number)) = (&state.marks.value, &state.discriminant) else { continue };
        if value.resolve() != number.resolve() {
            let (name, number) = (state.ident, number.resolve().raw());
            let help = format!("keep one of them: Rust's own number of `{name}` is {number}");
            cx.error(value, format_args!("state `{name}` has two values\nhelp: {help}"));
        }
    }
}

/// What the column cannot hold would never be found in it.
fn check_value_kinds(cx: &Ctxt, machine: &Machine<'_>) {
    if machine.options.is_unread("repr", machine.options.repr.is_some()) {
        return;
    }
    let is_int = machine.options.is_int();
    // All of them are there because of one `repr = int` that is not.
    if let Some(value) = machine.states.iter().find_map(|state| state.marks.value.as_ref()).filter(|_| !is_int) {
        let help = "write `repr = int` in `#[machine(..)]`, or `rename = \"..\"` for a text";
        cx.error(value, format_args!("a status column of text holds no number\nhelp: {help}"));
    }
    for state in &machine.states {
        for alias in &state.marks.aliases {
            match alias {
                Stored::Text(_) if is_int => cx.error(alias, ALIAS_OF_INT),
                Stored::Int(..) if !is_int => cx.error(alias, ALIAS_OF_TEXT),
                _ => {}
            }
        }
    }
}

const ALIAS_OF_INT: &str = "a status column of integers holds no text\nhelp: write the number: `alias = 7`";
const ALIAS_OF_TEXT: &str = "a status column of text holds no number\nhelp: write the text: `alias = \"7\"`";

/// An option without effect is one that was meant to have another.
fn check_rename_unused(cx: &Ctxt, machine: &Machine<'_>) {
    let options = &machine.options;
    if !options.is_int() || options.display || options.is_unread("display", options.display) {
        return;
    }
    let rule = machine.options.rename_all.as_ref().map(|(word, _)| ("rename_all", word.to_token_stream()));
    let names =
        machine.states.iter().filter_map(|state| Some(("rename", state.marks.rename.as_ref()?.into_token_stream())));
    for (option, token) in rule.into_iter().chain(names) {
        let help = "remove it, or write `display`, which shows it";
        cx.error(token, format_args!("`{option}` has no effect on a status column of integers\nhelp: {help}"));
    }
}

/// One value of the column and whose it is.
struct Meaning<'a> {
    state: &'a Ident,
    value: Value,
    is_alias: bool,
    token: TokenStream,
}

/// The usual collations of MySQL compare without case and without trailing spaces, and `CHAR` of PostgreSQL without
/// the latter: to them two such values are one.
fn check_equal_values(cx: &Ctxt, machine: &Machine<'_>) {
    let mut seen: BTreeMap<String, Meaning<'_>> = BTreeMap::new();
    let known = machine.states.iter().filter(|state| has_known_values(machine, state));
    for meaning in known.flat_map(|state| meanings(machine, state)) {
        let folded = meaning.value.raw().trim_end_matches(' ').to_lowercase();
        match seen.get(&folded) {
            Some(first) => report_equal(cx, first, &meaning),
            None => drop(seen.insert(folded, meaning)),
        }
    }
}

/// What could not be read was reported, and nobody knows which value it was meant to be.
fn has_known_values(machine: &Machine<'_>, state: &State<'_>) -> bool {
    let options = &machine.options;
    let follows_a_rule = state.marks.rename.is_none() && !options.is_int();
    let is_unread = follows_a_rule && options.is_unread("rename_all", options.rename_all.is_some());
    !state.marks.broken && !is_unread
}

fn meanings<'a>(machine: &Machine<'_>, state: &'a State<'a>) -> Vec<Meaning<'a>> {
    let value = model::stored(machine, state);
    let is_missing = machine.options.is_int() && matches!(value, Value::Text(_));
    let named = state.marks.rename.as_ref().map(ToTokens::to_token_stream);
    let numbered = state.written_value().filter(|_| machine.options.is_int()).map(ToTokens::to_token_stream);
    let token = numbered.or(named).unwrap_or_else(|| state.ident.to_token_stream());
    let own = (!is_missing).then_some(Meaning { state: state.ident, value, is_alias: false, token });
    let aliases = state.marks.aliases.iter().map(|alias| Meaning {
        state: state.ident,
        value: alias.resolve(),
        is_alias: true,
        token: alias.to_token_stream(),
    });
    own.into_iter().chain(aliases).collect()
}

fn report_equal(cx: &Ctxt, first: &Meaning<'_>, again: &Meaning<'_>) {
    let (one, other) = (first.value.raw(), again.value.raw());
    let how = if one != other {
        format!("stored values `{one}` and `{other}` differ by case or trailing spaces only")
    } else if first.state == again.state {
        format!("`{other}` stands for state `{}` already", again.state)
    } else if first.is_alias || again.is_alias {
        format!("`{other}` stands for state `{}` and for state `{}`", first.state, again.state)
    } else {
        format!("states `{}` and `{}` are both stored as `{other}`", first.state, again.state)
    };
    let help = match &again.value {
        _ if again.is_alias => "remove the alias".to_owned(),
        Value::Text(_) => "give one of them another value: `#[state(rename = \"..\")]`".to_owned(),
        Value::Int(_) => "give one of them another value".to_owned(),
    };
    cx.error(&again.token, format_args!("{how}\nhelp: {help}"));
}

/// The length is that of a column which exists, and which the history can copy.
fn check_length(cx: &Ctxt, machine: &Machine<'_>) {
    let Some(length) = &machine.options.length else { return };
    if machine.options.is_int() {
        cx.error(length, "a status column of integers has no length\nhelp: remove `length`");
    } else if !length.base10_parse().is_ok_and(is_length) {
        let help = "write how many characters the status column takes";
        cx.error(length, format_args!("`length` is not between 1 and {LONGEST_COLUMN}\nhelp: {help}"));
    }
}

fn is_length(length: usize) -> bool {
    (1..=LONGEST_COLUMN).contains(&length)
}

/// A database that is not strict cuts off what is too long, and what is left is no state, or another one.
fn check_value_length(cx: &Ctxt, machine: &Machine<'_>) {
    let native = machine.options.repr.as_ref().is_some_and(|repr| matches!(repr.kind, ReprKind::Native(_)));
    let length = model::length(&machine.options);
    if !is_length(length) || machine.options.is_unread("length", machine.options.length.is_some()) {
        return;
    }
    for meaning in machine.states.iter().flat_map(|state| meanings(machine, state)) {
        let Value::Text(text) = &meaning.value else { continue };
        if native && text.len() > LONGEST_LABEL {
            let help = format!("shorten it: an enum type of PostgreSQL takes {LONGEST_LABEL} bytes");
            cx.error(&meaning.token, format_args!("the stored value `{text}` has {} bytes\nhelp: {help}", text.len()));
        } else if text.chars().count() > length {
            report_too_long(cx, machine, &meaning, text);
        }
    }
}

fn report_too_long(cx: &Ctxt, machine: &Machine<'_>, meaning: &Meaning<'_>, text: &str) {
    let (characters, length) = (text.chars().count(), model::length(&machine.options));
    let help = match machine.options.length {
        Some(_) => "shorten it, or make the column longer and `length` with it".to_owned(),
        None => format!("shorten it, or say how long the column is: `#[machine(length = {characters})]`"),
    };
    let message = format_args!(
        "the stored value `{text}` has {characters} characters, more than the {length} of its column\nhelp: {help}"
    );
    cx.error(&meaning.token, message);
}
