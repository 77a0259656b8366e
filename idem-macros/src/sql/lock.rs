//! Locking one row: its state and version come from the locking read itself, and the wait has a bound.

use super::writer::Writer;
use super::{Bind, Dialect, Statement, select_row};
use crate::machine::model::Model;

/// Waits as long as the caller says. SQLite's transaction has the only write lock already.
pub(super) fn lock(dialect: Dialect, model: &Model) -> Statement {
    match dialect {
        Dialect::Postgres => {
            let mut writer = Writer::new(dialect, model, 0, &[Bind::Id, Bind::Wait]);
            let sql = bounded(&mut writer);
            writer.finish(sql)
        }
        // The runtime sets the session's bound before it: in the text there is no place for one that both servers take.
        Dialect::MySql => select_row(dialect, model, "FOR UPDATE"),
        Dialect::Sqlite => select_row(dialect, model, ""),
    }
}

/// Does not wait.
pub(super) fn lock_now(dialect: Dialect, model: &Model) -> Statement {
    select_row(dialect, model, if dialect == Dialect::Sqlite { "" } else { "FOR UPDATE NOWAIT" })
}

/// The bound holds for this statement only. The answer is a row in every case, since it is what gives the setting back.
fn bounded(w: &mut Writer<'_>) -> String {
    let (wait, table, id) = (w.text(Bind::Wait), w.table(), w.id_is("seen"));
    let (status, version) = (w.status_text("seen"), w.version_value("seen"));
    format!(
        "WITH patience AS MATERIALIZED (
  SELECT current_setting('lock_timeout') AS before, set_config('lock_timeout', {wait}, TRUE) AS now
), locked AS MATERIALIZED (
  SELECT {status} AS status, {version} AS version
    FROM patience, {table} AS seen
   WHERE {id}
     FOR UPDATE OF seen
)
SELECT locked.status AS status, locked.version AS version,
       set_config('lock_timeout', patience.before, TRUE) AS lock_timeout
  FROM patience
  LEFT JOIN locked ON TRUE"
    )
}
