//! The statements that put a row right past the guard.

use super::guard::{OPEN, schema};
use super::history::{columns, values};
use super::writer::Writer;
use super::{Bind, Dialect, Statement};
use crate::machine::model::{History, Model, Repr};

/// The event under which the history keeps a repair.
const REPAIR: &str = "repair";

/// The statements of a repair; the runtime's type of that name says what each of them is.
pub(crate) struct RepairSql {
    pub(crate) lock: Option<Statement>,
    pub(crate) read: Statement,
    pub(crate) open: String,
    pub(crate) enter: Statement,
    pub(crate) write: Statement,
    pub(crate) close: String,
}

/// The statements of a repair, where a history keeps it.
pub(super) fn repair(dialect: Dialect, model: &Model, history: &History) -> RepairSql {
    let (open, close) = open_and_close(dialect, model);
    RepairSql {
        lock: (dialect == Dialect::Postgres).then(|| lock(model)),
        read: read(dialect, model, history),
        open,
        enter: enter(dialect, model, history),
        write: write(dialect, model),
        close,
    }
}

fn open_and_close(dialect: Dialect, model: &Model) -> (String, String) {
    let table = format!("{}{OPEN}", schema(&Writer::new(dialect, model, 0, &[]), model));
    match dialect {
        Dialect::Postgres => (
            "SELECT set_config('idem.repair', txid_current()::text, true)".to_owned(),
            "SELECT set_config('idem.repair', '', true)".to_owned(),
        ),
        Dialect::MySql => (
            format!("INSERT INTO {table} (session) VALUES (CONNECTION_ID())"),
            format!("DELETE FROM {table} WHERE session = CONNECTION_ID()"),
        ),
        Dialect::Sqlite => (format!("INSERT INTO {table} (session) VALUES (0)"), format!("DELETE FROM {table}")),
    }
}

/// Before the row and its history are read: what one statement of PostgreSQL reads beside a row that it waits for is older
/// than the row.
fn lock(model: &Model) -> Statement {
    let mut w = Writer::new(Dialect::Postgres, model, 0, &[Bind::Id]);
    let (table, id) = (w.table(), w.id_is(""));
    w.finish(format!("SELECT 1 AS one\n  FROM {table}\n WHERE {id}\n   FOR UPDATE"))
}

fn read(dialect: Dialect, model: &Model, history: &History) -> Statement {
    let mut w = Writer::new(dialect, model, 0, &[Bind::Id, Bind::Cause]);
    let (table, entries) = (w.table(), w.quoted_path(&history.table));
    let (status, version, same) = (w.status_text("seen"), w.version_value("seen"), w.same_id("caused", "seen"));
    let of_row = if history.once { String::new() } else { format!("{same} AND ") };
    let (cause, id) = (w.text(Bind::Cause), w.id_is("seen"));
    let lock = if dialect == Dialect::MySql { "\n   FOR UPDATE" } else { "" };
    w.finish(format!(
        "SELECT {status} AS status, {version} AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN {same} THEN 1 ELSE 0 END AS caused_here
  FROM {table} AS seen
  LEFT JOIN {entries} AS caused
    ON {of_row}caused.event = '{REPAIR}' AND caused.cause = {cause}
 WHERE {id}{lock}"
    ))
}

/// The entry, from the locked row: what is no state stands in it as it was.
fn enter(dialect: Dialect, model: &Model, history: &History) -> Statement {
    let mut w = Writer::new(dialect, model, 1, &[Bind::Fields, Bind::Cause, Bind::Fingerprint, Bind::Note, Bind::Id]);
    let (entries, columns, table) = (w.quoted_path(&history.table), columns(&w), w.table());
    let (id, source, version) = (w.id_list(""), w.status_text(""), w.version_value(""));
    let (target, values) = (w.text(Bind::Fields), values(&mut w));
    let id_is = w.id_is("");
    w.finish(format!(
        "INSERT INTO {entries} ({columns})
SELECT {id}, {version} + 1, COALESCE({source}, ''), {target}, '{REPAIR}', {values}
  FROM {table}
 WHERE {id_is}"
    ))
}

fn write(dialect: Dialect, model: &Model) -> Statement {
    let mut w = Writer::new(dialect, model, 1, &[Bind::Fields, Bind::Id]);
    let (table, status, text) = (w.table(), w.status(), w.text(Bind::Fields));
    let target = match (&model.repr, dialect) {
        (Repr::Int, Dialect::Postgres) => format!("{text}::bigint"),
        (Repr::Int, Dialect::MySql) => format!("CAST({text} AS SIGNED)"),
        (Repr::Int, Dialect::Sqlite) => format!("CAST({text} AS INTEGER)"),
        (Repr::Native(name), Dialect::Postgres) => format!("{text}::{}", w.quoted_path(name)),
        (Repr::Text | Repr::Native(_), _) => text,
    };
    let version = w.version().map(|column| format!(", {column} = {column} + 1")).unwrap_or_default();
    let id = w.id_is("");
    w.finish(format!("UPDATE {table}\n   SET {status} = {target}{version}\n WHERE {id}"))
}
