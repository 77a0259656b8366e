//! Rules about the variants.

use std::collections::BTreeMap;

use quote::ToTokens;
use syn::Fields;

use super::super::ast::{Machine, State};
use super::super::model;
use crate::ctxt::Ctxt;

/// Answers whether the graph may be looked at.
pub(super) fn check(cx: &Ctxt, machine: &Machine<'_>) -> bool {
    check_variant_data(cx, machine);
    check_stored_values(cx, machine);
    check_equal_values(cx, machine);
    check_initial(cx, machine) && machine.states.iter().all(|state| !state.marks.broken && is_unit(state))
}

fn is_unit(state: &State<'_>) -> bool {
    matches!(state.fields, Fields::Unit)
}

/// A state is one value of one column: what else there is to say belongs in other columns.
fn check_variant_data(cx: &Ctxt, machine: &Machine<'_>) {
    for state in machine.states.iter().filter(|state| !is_unit(state)) {
        let message = format_args!(
            "state `{}` carries data\nhelp: keep it in a column of the row, written by `set(column: Type)` of a transition",
            state.ident
        );
        cx.error(state.fields, message);
    }
}

/// A new row has to be in some state, and in one only.
fn check_initial(cx: &Ctxt, machine: &Machine<'_>) -> bool {
    let mut initial = machine.states.iter().filter_map(|state| Some((state, state.marks.initial.as_ref()?)));
    let Some((first, _)) = initial.next() else {
        // The mark itself may be what could not be read.
        if machine.states.iter().all(|state| !state.marks.broken) {
            let name = &machine.original.ident;
            let help = "write `#[state(initial)]` above the state of a new row";
            cx.error(name, format_args!("missing initial state of `{name}`\nhelp: {help}"));
        }
        return false;
    };
    let mut others = initial.peekable();
    let only = others.peek().is_none();
    for (_, mark) in others {
        cx.error(mark, format_args!("duplicate initial state\nhelp: keep `{}` or this one", first.ident));
    }
    only
}

/// The value stands in statements as a literal, which a backslash ends differently in each dialect.
fn check_stored_values(cx: &Ctxt, machine: &Machine<'_>) {
    let renamed = machine.states.iter().filter_map(|state| state.marks.rename.as_ref());
    for name in renamed {
        if let Some(fault) = super::columns::literal_fault(&name.value()) {
            cx.error(name, format_args!("a stored value {fault}"));
        }
    }
}

/// The usual collations of MySQL compare without case and without trailing spaces, and `CHAR` of PostgreSQL without
/// the latter: to them two such values are one.
fn check_equal_values(cx: &Ctxt, machine: &Machine<'_>) {
    let mut seen: BTreeMap<String, &State<'_>> = BTreeMap::new();
    for state in &machine.states {
        let stored = model::stored(machine, state);
        if let Some(first) = seen.get(&folded(&stored)) {
            report_equal(cx, machine, state, first, &stored);
        } else {
            seen.insert(folded(&stored), state);
        }
    }
}

fn folded(stored: &str) -> String {
    stored.trim_end_matches(' ').to_lowercase()
}

fn report_equal(cx: &Ctxt, machine: &Machine<'_>, state: &State<'_>, first: &State<'_>, stored: &str) {
    let other = model::stored(machine, first);
    let how = if other == stored {
        format!("states `{}` and `{}` are both stored as `{stored}`", first.ident, state.ident)
    } else {
        format!("stored values `{other}` and `{stored}` differ by case or trailing spaces only")
    };
    let token = state.marks.rename.as_ref().map_or(state.ident.to_token_stream(), ToTokens::to_token_stream);
    cx.error(token, format_args!("{how}\nhelp: give one of them another value: `#[state(rename = \"..\")]`"));
}
