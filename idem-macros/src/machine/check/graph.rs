//! Rules about the graph. They run only when every name is resolved.

use std::collections::BTreeSet;

use super::super::ast::{Machine, Version};
use super::super::model::{Model, StateId};
use crate::ctxt::Ctxt;

pub(super) fn check(cx: &Ctxt, machine: &Machine<'_>, model: &Model) {
    check_version_none(cx, machine, model);
    check_unreachable(cx, model);
    check_dead_end(cx, model);
    check_terminal_left(cx, model);
}

/// A row that comes back to a state looks as it did before: without a version a late duplicate would move it again.
fn check_version_none(cx: &Ctxt, machine: &Machine<'_>, model: &Model) {
    let (Some(Version::None(word)), Some(event)) =
        (&machine.options.version, model.events.iter().find(|event| event.repeats))
    else {
        return;
    };
    let event = &event.ident;
    let help = "name a column that counts the row's changes: `version = \"version\"`";
    cx.error(word, format_args!("event `{event}` could move one row twice, and no version tells\nhelp: {help}"));
}

/// No row can ever be in such a state, so either a transition is missing or the state is not needed. Only the roots
/// are reported: what follows them is mended with them.
fn check_unreachable(cx: &Ctxt, model: &Model) {
    let reached = model.reach(model.initial);
    let lost: BTreeSet<_> = model.state_ids().filter(|state| !reached.contains(state)).collect();
    let initial = model.state(model.initial).name();
    for root in lost.iter().filter(|state| is_root(model, &lost, **state)) {
        let state = &model.state(*root).ident;
        let followers = match model.reach(*root).intersection(&lost).count() - 1 {
            0 => String::new(),
            1 => ", and so is 1 state that follows".to_owned(),
            more => format!(", and so are {more} states that follow"),
        };
        let help = format!("add a transition to it, for example `#[transition(event: {initial} => {state})]`");
        let message =
            format_args!("state `{state}` is unreachable from the initial state `{initial}`{followers}\nhelp: {help}");
        cx.error(state, message);
    }
}

/// Whatever leads to it also follows from it; of such a circle the first one stands for all.
fn is_root(model: &Model, lost: &BTreeSet<StateId>, state: StateId) -> bool {
    let mut before = lost.iter().filter(|other| **other != state && model.reach(**other).contains(&state));
    before.all(|other| *other > state && model.reach(state).contains(other))
}

/// A row that stays in a state for ever is the goal of some states and an oversight in others.
fn check_dead_end(cx: &Ctxt, model: &Model) {
    let left: BTreeSet<_> = model.edges().map(|(_, source)| source.state).collect();
    let entered: BTreeSet<_> = model.edges().map(|(event, _)| event.target).chain([model.initial]).collect();
    // A state that nothing enters either is reported as unreachable: one fault, one error.
    for id in entered.difference(&left).filter(|id| !model.state(**id).terminal) {
        let state = &model.state(*id).ident;
        let help = format!("write `#[state(terminal)]` above it, or add `#[transition(event: {state} => Target)]`");
        cx.error(state, format_args!("no transition leads out of state `{state}`\nhelp: {help}"));
    }
}

/// `terminal` is a promise to readers: nothing happens to such a row any more.
fn check_terminal_left(cx: &Ctxt, model: &Model) {
    for (event, source) in model.edges().filter(|(_, source)| model.state(source.state).terminal) {
        let (event, source) = (&event.ident, &source.written);
        let help = format!("remove `terminal` from `{source}`, or this transition");
        cx.error(source, format_args!("transition `{event}` leads out of the terminal state `{source}`\nhelp: {help}"));
    }
}
