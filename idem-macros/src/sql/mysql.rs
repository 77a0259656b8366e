//! MySQL and MariaDB.

use super::writer::Writer;
use super::{Dialect, Statement, Version};
use crate::machine::model::{Event, Model};

/// The compare-and-swap. `LAST_INSERT_ID` hands the new version back in the answer: neither database has
/// `UPDATE .. RETURNING`.
pub(super) fn fire(model: &Model, event: &Event, version: Version) -> Statement {
    let mut w = Writer::new(Dialect::MySql, model, event.fields().count(), &[]);
    let sql = w.update(event, version, |column| format!("LAST_INSERT_ID({column} + 1)"));
    w.finish(sql)
}
