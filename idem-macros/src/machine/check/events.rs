//! Rules about the names in `#[transition(..)]`.

use std::collections::{BTreeMap, BTreeSet};

use syn::Ident;

use super::super::ast::{Machine, Transition};
use super::super::model::{self, type_ident, unraw};
use crate::ctxt::Ctxt;
use crate::suggest;

/// Answers whether the graph may be looked at.
pub(super) fn check(cx: &Ctxt, machine: &Machine<'_>) -> bool {
    check_duplicate_transition(cx, machine);
    // `&`, not `&&`: each of them reports.
    let known = check_event_once(cx, machine) & check_type_names(cx, machine) & check_unknown_state(cx, machine);
    known && all_read(machine)
}

/// A transition that could not be read, and was reported, may be the one that enters or leaves a state.
fn all_read(machine: &Machine<'_>) -> bool {
    let written = machine.original.attrs.iter().filter(|attribute| attribute.path().is_ident("transition"));
    written.count() == machine.transitions.len() && machine.transitions.iter().all(|it| !it.broken)
}

/// A state that does not exist can never be entered or left.
fn check_unknown_state(cx: &Ctxt, machine: &Machine<'_>) -> bool {
    let names = machine.state_names();
    if names.is_empty() {
        // Then every name is unknown, and the enum is what is wrong.
        return false;
    }
    let mut known = true;
    for transition in &machine.transitions {
        let sources = transition.sources.iter().map(|name| ("source", name));
        let target = transition.target.iter().map(|name| ("target", name));
        for (role, name) in sources.chain(target).filter(|(_, name)| !names.iter().any(|known| *name == known)) {
            known = false;
            let help = nearest_state(machine, &name.to_string(), &names);
            let event = &transition.event;
            cx.error(name, format_args!("unknown {role} state `{name}` in transition `{event}`\nhelp: {help}"));
        }
    }
    known
}

/// A misspelt state counts as the one that was meant: that it is misspelt is another rule's.
fn meant_state(machine: &Machine<'_>, name: &Ident) -> String {
    let (written, names) = (name.to_string(), machine.state_names());
    suggest::similar(&written, names.iter().map(String::as_str)).map_or(written.clone(), str::to_owned)
}

pub(super) fn nearest_state(machine: &Machine<'_>, name: &str, names: &[String]) -> String {
    let all = format!("the states of `{}` are", machine.original.ident);
    suggest::nearest(name, names.iter().map(String::as_str), "a state", &all)
}

/// Two edges of one event out of one state are either the same twice, or nobody knows which one is taken.
fn check_duplicate_transition(cx: &Ctxt, machine: &Machine<'_>) {
    for transition in &machine.transitions {
        for (at, source) in transition.sources.iter().enumerate() {
            if transition.sources[..at].contains(source) {
                report_duplicate(cx, transition, source);
            }
        }
    }
}

fn report_duplicate(cx: &Ctxt, transition: &Transition, source: &Ident) {
    let event = &transition.event;
    cx.error(source, format_args!("duplicate transition `{event}` from `{source}`\nhelp: keep one of them"));
}

/// An event is one type and one statement: it has one target, and all its sources stand together.
fn check_event_once(cx: &Ctxt, machine: &Machine<'_>) -> bool {
    let mut declared: BTreeMap<String, &Transition> = BTreeMap::new();
    let mut once = true;
    for transition in &machine.transitions {
        if let Some(first) = declared.get(&unraw(&transition.event)) {
            once = false;
            report_twice(cx, machine, first, transition);
        } else {
            declared.insert(unraw(&transition.event), transition);
        }
    }
    once
}

fn report_twice(cx: &Ctxt, machine: &Machine<'_>, first: &Transition, again: &Transition) {
    let event = &again.event;
    let meant = |target: &Option<Ident>| target.as_ref().map(|name| meant_state(machine, name));
    let (Some(first_target), Some(target)) = (meant(&first.target), meant(&again.target)) else { return };
    let shared = again.sources.iter().find(|source| first.sources.contains(source));
    if first_target != target {
        let help = format!("name the one that leads to `{target}` differently: an event has one target");
        cx.error(event, format_args!("event `{event}` is declared twice with different targets\nhelp: {help}"));
    } else if let Some(source) = shared {
        report_duplicate(cx, again, source);
    } else {
        let mut listed = BTreeSet::new();
        let sources = first.sources.iter().chain(&again.sources).filter(|source| listed.insert(*source));
        let sources: Vec<_> = sources.map(Ident::to_string).collect();
        let help = format!("write `#[transition({event}: {} => {target})]`", sources.join(" | "));
        cx.error(event, format_args!("event `{event}` is declared twice\nhelp: {help}"));
    }
}

/// The types of the states and of the events share one module.
fn check_type_names(cx: &Ctxt, machine: &Machine<'_>) -> bool {
    let states = machine.states.iter().map(|state| (unraw(state.ident), format!("state `{}`", state.ident)));
    let mut types: BTreeMap<String, String> = states.collect();
    let (mut events, mut differ) = (BTreeSet::new(), check_by_state(cx, machine));
    types.entry(model::BY_STATE.to_owned()).or_insert_with(|| "the enum of all states".to_owned());
    // The same event again is another rule's.
    for event in machine.transitions.iter().map(|it| &it.event).filter(|event| events.insert(unraw(event))) {
        let (name, role) = (unraw(&type_ident(event)), format!("event `{event}`"));
        if let Some(other) = types.get(&name) {
            differ = false;
            cx.error(event, clash(&role, other, &name));
        } else {
            types.insert(name, role);
        }
    }
    differ
}

/// The enum that holds a row by its state stands there too.
fn check_by_state(cx: &Ctxt, machine: &Machine<'_>) -> bool {
    let named = machine.states.iter().find(|state| unraw(state.ident) == model::BY_STATE);
    if let Some(state) = named {
        let (name, help) = (state.ident, "rename the state; `rename = \"..\"` keeps its stored value");
        cx.error(
            name,
            format_args!("state `{name}` and the enum of all states both make a type `{name}`\nhelp: {help}"),
        );
    }
    named.is_none()
}

fn clash(event: &str, other: &str, name: &str) -> String {
    format!("{event} and {other} both make a type `{name}`\nhelp: rename the event, for example to a verb")
}
