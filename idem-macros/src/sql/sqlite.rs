//! SQLite.

use super::writer::Writer;
use super::{Bind, Dialect, Statement, Version, order};
use crate::machine::model::{Event, Model};

/// The compare-and-swap.
pub(super) fn fire(model: &Model, event: &Event, version: Version) -> Statement {
    let mut w = Writer::new(Dialect::Sqlite, model, event.fields().count(), &order(&[Bind::Fields, Bind::Id], version));
    let next = format!("{} + 1", w.version());
    let update = w.update(event, version, &next);
    let new = w.version();
    w.finish(format!("{update}\nRETURNING {new} AS applied"))
}
