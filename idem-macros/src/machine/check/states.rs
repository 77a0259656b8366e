//! Rules about the variants.

use syn::Fields;

use super::super::ast::{Machine, State};
use crate::ctxt::Ctxt;

/// Answers whether the graph may be looked at.
pub(super) fn check(cx: &Ctxt, machine: &Machine<'_>) -> bool {
    check_variant_data(cx, machine);
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
