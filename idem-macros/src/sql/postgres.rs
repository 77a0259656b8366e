//! PostgreSQL: the row, its entry in the history and all that the answer depends on in one statement, so that they stand
//! or fall together without a transaction around them.

use super::history::{columns, is_caused, values};
use super::writer::{Writer, literal, renamed};
use super::{Bind, Dialect, Statement, Version, order};
use crate::machine::model::{Event, History, Model};

/// The compare-and-swap, the entry that it writes and the answer that it gives.
pub(super) fn fire(model: &Model, event: &Event, version: Version) -> Statement {
    let fields = event.fields().count();
    match &model.history {
        None => {
            let mut w = Writer::new(Dialect::Postgres, model, fields, &order(&[Bind::Fields, Bind::Id], version));
            let sql = without_history(&mut w, event, version);
            w.finish(sql)
        }
        Some(history) => {
            let binds = [Bind::Fields, Bind::Id, Bind::Cause, Bind::Fingerprint, Bind::Note];
            let mut w = Writer::new(Dialect::Postgres, model, fields, &order(&binds, version));
            let sql = with_history(&mut w, event, version, history);
            w.finish(sql)
        }
    }
}

fn without_history(w: &mut Writer<'_>, event: &Event, version: Version) -> String {
    let moved = moved(w, event, version, "", "");
    let answer = answer(w, "", "");
    format!("WITH moved AS (\n{moved}\n)\n{answer}")
}

fn with_history(w: &mut Writer<'_>, event: &Event, version: Version, history: &History) -> String {
    let caused = caused(w, event, history);
    let row = match event.sources.as_slice() {
        [_] => {
            let ids = format!("{}, ", w.id_list(""));
            format!("moved AS (\n{}\n)", moved(w, event, version, " AND NOT EXISTS (SELECT FROM caused)", &ids))
        }
        _ => locked_and_moved(w, event, version),
    };
    let entered = entered(w, event, history);
    let answer = answer(
        w,
        ",\n       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here",
        "\n  LEFT JOIN caused ON TRUE",
    );
    format!("WITH caused AS MATERIALIZED (\n{caused}\n), {row}, entered AS (\n{entered}\n)\n{answer}")
}

/// The entry that holds the cause, as the statement's snapshot shows it.
fn caused(w: &mut Writer<'_>, event: &Event, history: &History) -> String {
    let here = if history.once { format!("CASE WHEN {} THEN 1 ELSE 0 END", w.id_is("")) } else { "1".to_owned() };
    let (entries, condition) = (w.quoted_path(&history.table), is_caused(w, "", event, history));
    format!(
        "  SELECT version, fingerprint, {here} AS here
    FROM {entries}
   WHERE {condition}"
    )
}

fn moved(w: &mut Writer<'_>, event: &Event, version: Version, unless: &str, ids: &str) -> String {
    let (table, sets) = (w.table(), w.assignments(event, |column| format!("{column} + 1")));
    let (id, source, at) = (w.id_is(""), w.is_source(event, ""), w.and_version(version, ""));
    let new = w.version_as("", "version");
    format!(
        "  UPDATE {table}
     SET {sets}
   WHERE {id} AND {source}{at}{unless}
  RETURNING {ids}{new}"
    )
}

/// Several sources: `RETURNING` shows only what the row has become, so the row is locked before it moves, and the entry
/// names the state in which the lock found it. The snapshot could name one that a rival has ended.
fn locked_and_moved(w: &mut Writer<'_>, event: &Event, version: Version) -> String {
    let (locked, moved) = (locked(w, event, version), moved_from_locked(w, event, version));
    format!("locked AS MATERIALIZED (\n{locked}\n), moved AS (\n{moved}\n)")
}

fn locked(w: &mut Writer<'_>, event: &Event, version: Version) -> String {
    // No column of the identifier has this name: the history has one of it.
    let (ids, status, table) = (w.id_list(""), renamed(&w.status(), "source"), w.table());
    let (id, source, at) = (w.id_is(""), w.is_source(event, ""), w.and_version(version, ""));
    format!(
        "  SELECT {ids}, {status}
    FROM {table}
   WHERE {id} AND {source}{at} AND NOT EXISTS (SELECT FROM caused)
     FOR UPDATE"
    )
}

fn moved_from_locked(w: &mut Writer<'_>, event: &Event, version: Version) -> String {
    let (table, name) = (w.table(), w.table_name());
    let sets = w.assignments(event, |column| format!("{name}.{column} + 1"));
    let (same, status, at) = (w.same_id(&name, "locked"), w.status(), w.and_version(version, &name));
    let (ids, new) = (w.id_list(&name), w.version_as(&name, "version"));
    let source = w.source_text(event, w.as_text("locked.source".to_owned()));
    format!(
        "  UPDATE {table}
     SET {sets}
    FROM locked
   WHERE {same} AND {name}.{status} = locked.source{at}
  RETURNING {ids}, {new}, {source} AS source"
    )
}

pub(super) fn entered(w: &mut Writer<'_>, event: &Event, history: &History) -> String {
    let (entries, columns, ids) = (w.quoted_path(&history.table), columns(w), w.id_list(""));
    let source = match event.sources.as_slice() {
        [source] => w.stored_text(source.state),
        _ => "source".to_owned(),
    };
    let (target, name, values) = (w.stored_text(event.target), literal(&event.name()), values(w));
    format!(
        "  INSERT INTO {entries} ({columns})
  SELECT {ids}, version, {source}, {target}, {name}, {values}
    FROM moved"
    )
}

/// One row in every case, so that each way in which nothing moved can be told from the others.
fn answer(w: &mut Writer<'_>, columns: &str, join: &str) -> String {
    let (table, status, version, seen) = (w.table(), w.status_text("seen"), w.version_if_any("seen"), w.id_is("seen"));
    format!(
        "SELECT moved.version AS applied, {status} AS status, {version} AS version{columns}
  FROM (SELECT 1) AS one
  LEFT JOIN {table} AS seen ON {seen}{join}
  LEFT JOIN moved ON TRUE"
    )
}
