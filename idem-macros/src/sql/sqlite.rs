//! SQLite.

use super::writer::Writer;
use super::{Bind, Dialect, Statement, Version, order};
use crate::machine::model::{Event, Model};

/// The compare-and-swap.
pub(super) fn fire(model: &Model, event: &Event, version: Version) -> Statement {
    let mut w = Writer::new(Dialect::Sqlite, model, event.fields().count(), &order(&[Bind::Fields, Bind::Id], version));
    let update = w.update(event, version, |column| format!("{column} + 1"));
    let new = w.version_as("", "applied");
    w.finish(format!("{update}\nRETURNING {new}"))
}
