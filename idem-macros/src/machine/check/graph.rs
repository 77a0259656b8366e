//! Rules about the graph. They run only when every name is resolved.

use std::collections::BTreeSet;

use syn::Ident;

use super::super::ast::{Machine, Version};
use super::super::model::{Model, StateId};
use crate::ctxt::Ctxt;

pub(super) fn check(cx: &Ctxt, machine: &Machine<'_>, model: &Model) {
    check_version_none(cx, machine, model);
    check_unreachable(cx, model);
    check_dead_end(cx, model);
    check_terminal_left(cx, model);
}

/// A row that comes back to a state looks as it did before: without a version a late duplicate would move it again. A
/// history, which needs the version as well, has said so.
fn check_version_none(cx: &Ctxt, machine: &Machine<'_>, model: &Model) {
    if machine.options.history.is_some() {
        return;
    }
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
    let initial = model.state(model.initial).name();
    let gaps = gaps(model);
    for root in roots(model) {
        let (state, followers) = (&model.state(root).ident, followers(model, root));
        let from = gaps.iter().find(|(_, to)| *to == root).map(|(end, _)| &model.state(*end).ident);
        let example = match from {
            Some(end) => format!("`#[transition(event: {end} => {state})]`: none leads out of `{end}` yet"),
            None => format!("`#[transition(event: {initial} => {state})]`"),
        };
        let message = format_args!(
            "state `{state}` is unreachable from the initial state `{initial}`{followers}\n\
             help: add a transition to it, for example {example}"
        );
        cx.error(state, message);
    }
}

fn followers(model: &Model, root: StateId) -> String {
    match model.reach(root).difference(model.reach(model.initial)).count() - 1 {
        0 => String::new(),
        1 => ", and so is 1 state that follows".to_owned(),
        more => format!(", and so are {more} states that follow"),
    }
}

fn roots(model: &Model) -> Vec<StateId> {
    let reached = model.reach(model.initial);
    let lost: BTreeSet<_> = model.state_ids().filter(|state| !reached.contains(state)).collect();
    lost.iter().copied().filter(|state| is_root(model, &lost, *state)).collect()
}

/// Whatever leads to it also follows from it; of such a circle the first one stands for all.
fn is_root(model: &Model, lost: &BTreeSet<StateId>, state: StateId) -> bool {
    let mut before = lost.iter().filter(|other| **other != state && model.reach(**other).contains(&state));
    before.all(|other| *other > state && model.reach(state).contains(other))
}

/// A row that stays in a state for ever is the goal of some states and an oversight in others.
fn check_dead_end(cx: &Ctxt, model: &Model) {
    let gaps = gaps(model);
    for id in dead_ends(model).into_iter().filter(|id| !gaps.iter().any(|(end, _)| end == id)) {
        let state = &model.state(id).ident;
        let help = format!("write `#[state(terminal)]` above it, or add `#[transition(event: {state} => Target)]`");
        cx.error(state, format_args!("no transition leads out of state `{state}`\nhelp: {help}"));
    }
}

fn dead_ends(model: &Model) -> Vec<StateId> {
    let left: BTreeSet<_> = model.edges().map(|(_, source)| source.state).collect();
    let entered: BTreeSet<_> = model.edges().map(|(event, _)| event.target).chain([model.initial]).collect();
    // A state that nothing enters either is reported as unreachable: one fault, one error.
    entered.difference(&left).copied().filter(|id| !model.state(*id).terminal).collect()
}

/// A transition that was forgotten has left a dead end behind it and an unreachable state before it: they are told
/// together, in pairs.
fn gaps(model: &Model) -> Vec<(StateId, StateId)> {
    let ends = dead_ends(model).into_iter().filter(|end| model.reach(model.initial).contains(end));
    ends.zip(roots(model)).collect()
}

/// `terminal` is a promise to readers: nothing happens to such a row any more. A state that is left many times has one
/// mark too many, so it is told once.
fn check_terminal_left(cx: &Ctxt, model: &Model) {
    for id in model.state_ids().filter(|id| model.state(*id).terminal) {
        let mut edges = model.edges().filter(|(_, source)| source.state == id);
        if let Some((event, source)) = edges.next() {
            report_terminal_left(cx, &event.ident, &source.written, edges.count());
        }
    }
}

fn report_terminal_left(cx: &Ctxt, event: &Ident, source: &Ident, more: usize) {
    let (others, this) = match more {
        0 => (String::new(), "this transition"),
        1 => (", and so does 1 more".to_owned(), "these transitions"),
        more => (format!(", and so do {more} more"), "these transitions"),
    };
    let help = format!("remove `terminal` from `{source}`, or {this}");
    let message = format!("transition `{event}` leads out of the terminal state `{source}`{others}");
    cx.error(source, format_args!("{message}\nhelp: {help}"));
}
