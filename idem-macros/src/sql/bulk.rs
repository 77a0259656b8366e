//! One event on many rows. The identifiers are one parameter, a list in JSON, so that the text does not depend on their
//! number; `nth` tells the rows of the answer apart.

use super::history;
use super::postgres;
use super::writer::{Writer, literal};
use super::{Bind, Dialect, Statement};
use crate::machine::model::{Column, Event, History, Model};

/// The statements in which MySQL and SQLite say what became of each row: they have no `UPDATE .. RETURNING` that tells.
pub(crate) struct BulkSql {
    pub(crate) read: Statement,
    /// The entries that hold the cause, and writing those of rows that are about to move.
    pub(crate) history: Option<[Statement; 2]>,
}

/// The compare-and-swap of all rows. On PostgreSQL it locks them in the order of the list and answers for each of them.
pub(super) fn fire(dialect: Dialect, model: &Model, event: &Event) -> Statement {
    let binds = [Bind::Fields, Bind::Ids, Bind::Cause, Bind::Fingerprint, Bind::Note];
    let binds = if dialect == Dialect::Postgres && model.history.is_some() { &binds[..] } else { &binds[..2] };
    let mut w = Writer::new(dialect, model, event.fields().count(), binds);
    let sql = match dialect {
        Dialect::Postgres => move_and_answer(&mut w, model, event),
        Dialect::MySql => move_joined(&mut w, model, event),
        Dialect::Sqlite => move_from(&mut w, model, event),
    };
    w.finish(sql)
}

/// None on PostgreSQL, which needs no more than one statement, and on MySQL where the identifier's type is not known: a
/// list of texts would be compared with numbers as fractions.
pub(super) fn rows(dialect: Dialect, model: &Model) -> Option<BulkSql> {
    let is_known = dialect == Dialect::Sqlite || model.id.iter().all(|column| mysql_type(column).is_some());
    (dialect != Dialect::Postgres && is_known).then(|| BulkSql {
        read: read(dialect, model),
        history: model.history.as_ref().map(|it| [caused(dialect, model, it), enter(dialect, model, it)]),
    })
}

/// Locks the rows in the order of the list.
fn read(dialect: Dialect, model: &Model) -> Statement {
    let mut w = Writer::new(dialect, model, 0, &[Bind::Ids]);
    let (given, join, same) = (given(&mut w, dialect, model), join(dialect), is_given(dialect, model, &w, "seen"));
    let (table, status, version) = (w.table(), w.status_text("seen"), w.version_value("seen"));
    let lock = if dialect == Dialect::MySql { "\n   FOR UPDATE" } else { "" };
    w.finish(format!(
        "SELECT given.nth AS nth, {status} AS status, {version} AS version
  FROM {given}
  {join} {table} AS seen ON {same}{lock}"
    ))
}

/// As the transaction's snapshot shows them. A locking read would lock the gaps in which the entries of others belong.
fn caused(dialect: Dialect, model: &Model, history: &History) -> Statement {
    let mut w = Writer::new(dialect, model, 0, &[Bind::Ids, Bind::EventName, Bind::Cause]);
    let (given, join, same) = (given(&mut w, dialect, model), join(dialect), is_given(dialect, model, &w, "entry"));
    let (entries, event, cause) = (w.quoted_path(&history.table), w.text(Bind::EventName), w.text(Bind::Cause));
    w.finish(format!(
        "SELECT given.nth AS nth, entry.version AS caused, entry.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM {given}
  {join} {entries} AS entry ON {same}
 WHERE entry.event = {event} AND entry.cause = {cause}"
    ))
}

/// The entries of rows that were locked and found in a source.
fn enter(dialect: Dialect, model: &Model, history: &History) -> Statement {
    let binds = [Bind::Target, Bind::EventName, Bind::Cause, Bind::Fingerprint, Bind::Note, Bind::Ids];
    let mut w = Writer::new(dialect, model, 0, &binds);
    let (entries, columns, table) = (w.quoted_path(&history.table), history::columns(&w), w.table());
    let (ids, next) = (w.id_list("seen"), w.version_value("seen"));
    let source = Writer::stored_of_text(w.status_text("seen"), &mut model.states.iter());
    let (target, event, values) = (w.text(Bind::Target), w.text(Bind::EventName), history::values(&mut w));
    let (given, join, same) = (given(&mut w, dialect, model), join(dialect), is_given(dialect, model, &w, "seen"));
    w.finish(format!(
        "INSERT INTO {entries} ({columns})
SELECT {ids}, {next} + 1, {source}, {target}, {event}, {values}
  FROM {given}
  {join} {table} AS seen ON {same}"
    ))
}

fn move_joined(w: &mut Writer<'_>, model: &Model, event: &Event) -> String {
    let (given, same) = (given(w, Dialect::MySql, model), is_given(Dialect::MySql, model, w, "seen"));
    let (table, sets) = (w.table(), w.assignments(event, |column| format!("seen.{column} + 1")));
    let source = w.is_source(event, "seen");
    format!(
        "UPDATE {given}
STRAIGHT_JOIN {table} AS seen ON {same}
   SET {sets}
 WHERE {source}"
    )
}

fn move_from(w: &mut Writer<'_>, model: &Model, event: &Event) -> String {
    let (table, name) = (w.table(), w.table_name());
    let sets = w.assignments(event, |column| format!("{name}.{column} + 1"));
    let (given, same) = (given(w, Dialect::Sqlite, model), is_given(Dialect::Sqlite, model, w, &name));
    let source = w.is_source(event, &name);
    format!(
        "UPDATE {table}
   SET {sets}
  FROM {given}
 WHERE {same} AND {source}"
    )
}

fn move_and_answer(w: &mut Writer<'_>, model: &Model, event: &Event) -> String {
    let (given, locked) = (given_with_types(w, model), locked(w));
    let caused =
        model.history.as_ref().map(|it| format!(", caused AS MATERIALIZED (\n{}\n)", caused_of_given(w, event, it)));
    let moved = moved(w, event, model.history.is_some());
    let entered = model.history.as_ref().map(|it| format!(", entered AS (\n{}\n)", postgres::entered(w, event, it)));
    let answer = answer(w, model);
    let (caused, entered) = (caused.unwrap_or_default(), entered.unwrap_or_default());
    format!(
        "WITH given AS MATERIALIZED (\n{given}\n){caused}, locked AS MATERIALIZED (\n{locked}\n), moved AS (\n{moved}\n){entered}\n{answer}"
    )
}

/// The list as values of the columns' own types, whatever these are: a row of the table is made of each element.
fn given_with_types(w: &mut Writer<'_>, model: &Model) -> String {
    let (ids, table, list) = (w.text(Bind::Ids), w.table(), w.id_list("id"));
    let members = model.id.iter().enumerate().map(|(at, column)| {
        let element = if model.id.len() == 1 { "list.it".to_owned() } else { format!("list.it -> {at}") };
        format!("{}, {element}", literal(&column.name()))
    });
    let members = members.collect::<Vec<_>>().join(", ");
    format!(
        "  SELECT list.nth, {list}
    FROM json_array_elements({ids}::json) WITH ORDINALITY AS list (it, nth),
         json_populate_record(NULL::{table}, json_build_object({members})) AS id"
    )
}

fn caused_of_given(w: &mut Writer<'_>, event: &Event, history: &History) -> String {
    let (entries, same) = (w.quoted_path(&history.table), w.same_id("entry", "given"));
    let (name, cause) = (literal(&event.name()), w.text(Bind::Cause));
    format!(
        "  SELECT given.nth, entry.version, entry.fingerprint
    FROM given
    JOIN {entries} AS entry ON {same}
   WHERE entry.event = {name} AND entry.cause = {cause}"
    )
}

/// What a lock found goes by names that no column of an identifier has.
fn locked(w: &Writer<'_>) -> String {
    let (table, ids, same) = (w.table(), w.id_list("seen"), w.same_id("seen", "given"));
    let (status, version) = (w.status(), w.version_value("seen"));
    format!(
        "  SELECT given.nth, {ids}, seen.{status} AS found_status, {version} AS found_version
    FROM given
    JOIN {table} AS seen ON {same}
   ORDER BY given.nth
     FOR UPDATE OF seen"
    )
}

fn moved(w: &mut Writer<'_>, event: &Event, has_history: bool) -> String {
    let (table, name) = (w.table(), w.table_name());
    let sets = w.assignments(event, |column| format!("{name}.{column} + 1"));
    let (same, status, source) = (w.same_id(&name, "locked"), w.status(), w.is_source(event, &name));
    let new = w.version_as(&name, "version");
    let (unless, entry) = if has_history {
        let text = w.source_text(event, w.as_text("locked.found_status".to_owned()));
        let unless = "\n     AND NOT EXISTS (SELECT FROM caused WHERE caused.nth = locked.nth)";
        (unless, format!(", {}, {text} AS source", w.id_list(&name)))
    } else {
        ("", String::new())
    };
    format!(
        "  UPDATE {table}
     SET {sets}
    FROM locked
   WHERE {same} AND {name}.{status} = locked.found_status AND {source}{unless}
  RETURNING locked.nth, {new}{entry}"
    )
}

/// A row for each element of the list.
fn answer(w: &Writer<'_>, model: &Model) -> String {
    let status = w.as_text("locked.found_status".to_owned());
    let (columns, join) = match &model.history {
        None => ("", ""),
        Some(_) => (
            ",\n       caused.version AS caused, caused.fingerprint AS caused_fingerprint, 1 AS caused_here",
            "\n  LEFT JOIN caused ON caused.nth = given.nth",
        ),
    };
    format!(
        "SELECT given.nth AS nth, moved.version AS applied, {status} AS status, locked.found_version AS version{columns}
  FROM given
  LEFT JOIN locked ON locked.nth = given.nth
  LEFT JOIN moved ON moved.nth = given.nth{join}"
    )
}

/// The list as a table `given`.
fn given(w: &mut Writer<'_>, dialect: Dialect, model: &Model) -> String {
    let ids = w.text(Bind::Ids);
    let columns = model.id.iter().enumerate().map(|(at, column)| {
        let path = if model.id.len() == 1 { "$".to_owned() } else { format!("$[{at}]") };
        let name = w.column(&column.name());
        match dialect {
            Dialect::MySql => format!("{name} {} PATH '{path}'", mysql_type(column).unwrap_or(MYSQL_TEXT)),
            _ if path == "$" => format!("list.value AS {name}"),
            _ => format!("json_extract(list.value, '{path}') AS {name}"),
        }
    });
    let columns = columns.collect::<Vec<_>>().join(", ");
    match dialect {
        Dialect::MySql => format!("JSON_TABLE({ids}, '$[*]' COLUMNS (nth FOR ORDINALITY, {columns})) AS given"),
        _ => format!("(SELECT list.key + 1 AS nth, {columns} FROM json_each({ids}) AS list) AS given"),
    }
}

/// MySQL must not begin with the table: it would lock all of it.
fn join(dialect: Dialect) -> &'static str {
    if dialect == Dialect::MySql { "STRAIGHT_JOIN" } else { "JOIN" }
}

/// `seen.order_id = given.order_id`, a UUID made of its text where it is stored as bytes.
fn is_given(dialect: Dialect, model: &Model, w: &Writer<'_>, of: &str) -> String {
    let parts = model.id.iter().map(|column| {
        let name = w.column(&column.name());
        let is_uuid = column.type_name().as_deref() == Some("Uuid");
        let value = match dialect {
            Dialect::MySql if is_uuid => format!("UNHEX(REPLACE(given.{name}, '-', ''))"),
            Dialect::Sqlite if is_uuid => format!("unhex(replace(given.{name}, '-', ''))"),
            _ => format!("given.{name}"),
        };
        format!("{of}.{name} = {value}")
    });
    parts.collect::<Vec<_>>().join(" AND ")
}

/// As long as a key can be, and compared by its bytes.
const MYSQL_TEXT: &str = "VARCHAR(768) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";

/// The type of an element, by the name of its Rust type.
fn mysql_type(column: &Column) -> Option<&'static str> {
    match column.type_name().as_deref() {
        Some("i16" | "i32" | "i64" | "u32") => Some("BIGINT"),
        Some("Uuid") => Some("CHAR(36)"),
        Some("String") => Some(MYSQL_TEXT),
        _ => None,
    }
}
