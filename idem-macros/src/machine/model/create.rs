//! How a row begins, and what at most one row may be.

use std::collections::BTreeSet;

use proc_macro2::Ident;
use syn::Type;

use super::super::ast;
use super::{Assignment, Event, Model, Names, State, StateId, unraw};

/// The type beside those of the states and events that holds what a new row begins with.
pub(crate) const NEW: &str = "New";
/// The event by which a history calls a row's beginning.
pub(crate) const CREATE: &str = "create";

/// The columns that the INSERT of a new row writes.
pub(crate) struct Create {
    pub(crate) columns: Vec<Assignment>,
    /// Each call makes another identifier, so that it is not compared.
    pub(crate) fresh_id: bool,
}

/// At most one row with these values in `columns` is in one of the states.
pub(crate) struct UniqueWhile {
    pub(crate) name: String,
    pub(crate) columns: Vec<String>,
    pub(crate) states: BTreeSet<StateId>,
}

impl Create {
    /// The columns whose values come with the call, in order.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&Ident, &Type)> {
        self.columns.iter().filter_map(|it| Some((&it.column, it.field()?)))
    }

    /// Where a column stands among them.
    pub(crate) fn position(&self, column: &str) -> Option<usize> {
        self.fields().position(|(name, _)| unraw(name) == column)
    }
}

impl UniqueWhile {
    /// Whether the event can bring a row under the rule, so that it can meet another one there.
    pub(crate) fn is_entered_by(&self, event: &Event) -> bool {
        let outside = |source: &super::Source| !self.states.contains(&source.state);
        self.states.contains(&event.target) && event.sources.iter().any(outside)
    }
}

impl Model {
    /// The fields of a new row whose values tell one creation from another: a fresh identifier is no sign of another.
    pub(crate) fn compared<'m>(&'m self, create: &'m Create) -> impl Iterator<Item = (usize, &'m Ident, &'m Type)> {
        let is_id = |name: &Ident| self.id.iter().any(|column| column.name() == unraw(name));
        let all = create.fields().enumerate().map(|(at, (name, ty))| (at, name, ty));
        all.filter(move |(_, name, _)| !(create.fresh_id && is_id(name)))
    }
}

/// What is written; none when a state already has the name of the type.
pub(super) fn create(machine: &ast::Machine<'_>, states: &[State]) -> Option<Create> {
    let written = machine.create.as_ref()?;
    let hides_a_state = states.iter().any(|state| state.name() == NEW);
    (!hides_a_state)
        .then(|| Create { columns: super::assignments(&written.columns), fresh_id: written.fresh_id.is_some() })
}

pub(super) fn unique_while(machine: &ast::Machine<'_>, names: &Names) -> Vec<UniqueWhile> {
    let rules = machine.unique_while.iter().map(|rule| UniqueWhile {
        name: unraw(&rule.name),
        columns: rule.columns.iter().map(unraw).collect(),
        states: rule.states.iter().filter_map(|state| names.find(state)).collect(),
    });
    rules.collect()
}
