//! Rules about the variants.

use syn::Fields;

use super::super::ast::{Machine, State};
use crate::ctxt::Ctxt;

/// Answers whether the graph may be looked at.
pub(super) fn check(cx: &Ctxt, machine: &Machine<'_>) -> bool {
    check_no_states(cx, machine);
    check_variant_data(cx, machine);
    check_initial(cx, machine) && machine.states.iter().all(|state| !state.marks.broken && is_unit(state))
}

fn is_unit(state: &State<'_>) -> bool {
    matches!(state.fields, Fields::Unit)
}

/// A row is always in some state.
fn check_no_states(cx: &Ctxt, machine: &Machine<'_>) {
    if machine.states.is_empty() {
        let name = &machine.original.ident;
        let help = "write each state of the row as a variant, the first of them under `#[state(initial)]`";
        cx.error(name, format_args!("`{name}` has no states\nhelp: {help}"));
    }
}

/// A state is one value of one column: what else there is to say belongs in other columns.
fn check_variant_data(cx: &Ctxt, machine: &Machine<'_>) {
    for State { ident, fields, .. } in machine.states.iter().filter(|state| !is_unit(state)) {
        if fields.is_empty() {
            cx.error(fields, format_args!("state `{ident}` is more than a name\nhelp: write `{ident}` alone"));
        } else {
            let help = "keep it in a column of the row, written by `set(column: Type)` of a transition";
            cx.error(fields, format_args!("state `{ident}` carries data\nhelp: {help}"));
        }
    }
}

/// A new row has to be in some state, and in one only.
fn check_initial(cx: &Ctxt, machine: &Machine<'_>) -> bool {
    let mut initial = machine.states.iter().filter_map(|state| Some((state, state.marks.initial.as_ref()?)));
    let Some((first, _)) = initial.next() else {
        report_missing_initial(cx, machine);
        return false;
    };
    let mut others = initial.peekable();
    let only = others.peek().is_none();
    for (_, mark) in others {
        cx.error(mark, format_args!("duplicate initial state\nhelp: keep `{}` or this one", first.ident));
    }
    only
}

fn report_missing_initial(cx: &Ctxt, machine: &Machine<'_>) {
    let name = &machine.original.ident;
    // The mark may be what could not be read, or what stands above the enum; without states nothing could carry it.
    let is_known = machine.states.iter().any(|state| state.marks.broken) || is_above_enum(machine);
    if !is_known && !machine.states.is_empty() {
        let help = "write `#[state(initial)]` above the state of a new row";
        cx.error(name, format_args!("missing initial state of `{name}`\nhelp: {help}"));
    }
}

fn is_above_enum(machine: &Machine<'_>) -> bool {
    machine.original.attrs.iter().any(|attribute| attribute.path().is_ident("state"))
}
