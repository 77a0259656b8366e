//! The transition table as a picture.

use std::fmt::Write as _;

use super::model::{Model, State};

/// A Mermaid state diagram.
pub(super) fn mermaid(model: &Model) -> String {
    let mut text = format!("stateDiagram-v2\n    [*] --> {}\n", model.state(model.initial).name());
    for (source, target, event) in arrows(model) {
        let _ = writeln!(text, "    {source} --> {target}: {event}");
    }
    for state in terminals(model) {
        let _ = writeln!(text, "    {state} --> [*]");
    }
    text
}

/// A Graphviz digraph.
pub(super) fn dot(model: &Model) -> String {
    let mut text = format!("digraph \"{}\" {{\n    rankdir = LR;\n    \"\" [shape = point];\n", model.name());
    for state in terminals(model) {
        let _ = writeln!(text, "    \"{state}\" [peripheries = 2];");
    }
    let _ = writeln!(text, "    \"\" -> \"{}\";", model.state(model.initial).name());
    for (source, target, event) in arrows(model) {
        let _ = writeln!(text, "    \"{source}\" -> \"{target}\" [label = \"{event}\"];");
    }
    text.push_str("}\n");
    text
}

fn arrows(model: &Model) -> impl Iterator<Item = (String, String, String)> {
    model
        .edges()
        .map(|(event, source)| (model.state(source.state).name(), model.state(event.target).name(), event.name()))
}

fn terminals(model: &Model) -> impl Iterator<Item = String> {
    model.states.iter().filter(|state| state.terminal).map(State::name)
}
