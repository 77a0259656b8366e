//! The columns of status and version, for the statement that creates the table.

use super::writer::{Writer, cut, literal, renamed};
use super::{Dialect, LONGEST_NAME};
use crate::machine::model::{Model, Repr, State, Stored, without_schema};

/// Every character, compared by its bytes, whatever the table's own default is.
const BYTES: &str = "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";
/// The longest list that stands on one line.
const LONG_LIST: usize = 80;

/// Creates the type of the status column, where it is one of its own.
pub(super) fn status_type(dialect: Dialect, model: &Model) -> Option<String> {
    match (&model.repr, dialect) {
        (Repr::Native(name), Dialect::Postgres) => {
            let name = Writer::new(dialect, model, 0, &[]).quoted_path(name);
            Some(format!("CREATE TYPE {name} AS ENUM ({})", values(model)))
        }
        _ => None,
    }
}

/// The definitions of both columns and, where it can be changed later, of the constraint on the status.
pub(super) fn definitions(dialect: Dialect, model: &Model) -> String {
    let writer = Writer::new(dialect, model, 0, &[]);
    let status = status_definition(&writer, dialect, model);
    let version = writer.version().map(|column| format!("{column} {} NOT NULL DEFAULT 0", version_type(dialect)));
    let check = has_check(dialect, model).then(|| check(&writer, model));
    [status].into_iter().chain(version).chain(check).collect::<Vec<_>>().join(",\n  ")
}

/// Lets the status column of a table that exists hold exactly the values of the machine, or at least these where
/// PostgreSQL can only add.
pub(super) fn widen(dialect: Dialect, model: &Model) -> Option<String> {
    let writer = Writer::new(dialect, model, 0, &[]);
    match (&model.repr, dialect) {
        (Repr::Native(name), Dialect::Postgres) => Some(add_values(model, &writer.quoted_path(name))),
        (Repr::Native(_), Dialect::MySql) => {
            let status = status_definition(&writer, dialect, model);
            Some(format!("ALTER TABLE {}\n  MODIFY {status}", writer.table()))
        }
        (Repr::Text | Repr::Int, Dialect::Postgres | Dialect::MySql) => Some(change_check(&writer, dialect, model)),
        (_, Dialect::Sqlite) => None,
    }
}

/// Lists the values that are no state of the machine, and how many rows hold each. MySQL's usual collations would take
/// `PAID` for `paid` here as everywhere: the bytes are compared.
pub(super) fn unknown_values(dialect: Dialect, model: &Model) -> String {
    let writer = Writer::new(dialect, model, 0, &[]);
    let (table, status, text) = (writer.table(), writer.status(), writer.status_text(""));
    let (shown, compared) = match (&model.repr, dialect) {
        (Repr::Text | Repr::Native(_), Dialect::MySql) => {
            (format!("MIN({status}) AS status"), format!("CAST({status} AS BINARY)"))
        }
        // A value that the type does not have yet cannot be compared with it.
        (Repr::Native(_), Dialect::Postgres) => (renamed(&text, "status"), text),
        _ => (renamed(&text, "status"), status.clone()),
    };
    let values = values(model);
    format!(
        "SELECT {shown}, COUNT(*) AS held
  FROM {table}
 WHERE {compared} NOT IN ({values}) OR {status} IS NULL
 GROUP BY {compared}
 ORDER BY {compared}"
    )
}

/// On PostgreSQL the rows are looked at by a statement of its own, which by itself lets everybody read and write.
fn change_check(writer: &Writer<'_>, dialect: Dialect, model: &Model) -> String {
    let (table, name, check) = (writer.table(), check_name(writer, model), check(writer, model));
    if dialect == Dialect::MySql {
        return format!("ALTER TABLE {table}\n  DROP CONSTRAINT {name},\n  ADD {check}");
    }
    format!(
        "ALTER TABLE {table}
  DROP CONSTRAINT IF EXISTS {name},
  ADD {check} NOT VALID;
ALTER TABLE {table}
  VALIDATE CONSTRAINT {name}"
    )
}

fn add_values(model: &Model, name: &str) -> String {
    let each = model.states.iter().flat_map(State::values);
    let each = each.map(|value| format!("ALTER TYPE {name} ADD VALUE IF NOT EXISTS {}", literal(&value.raw())));
    each.collect::<Vec<_>>().join(";\n")
}

fn status_definition(writer: &Writer<'_>, dialect: Dialect, model: &Model) -> String {
    let (column, initial) = (writer.status(), writer.stored(model.initial));
    format!("{column} {} NOT NULL DEFAULT {initial}", status_column_type(writer, dialect, model))
}

/// Compared as bytes everywhere: a database that takes two values for one would move rows that are elsewhere.
fn status_column_type(writer: &Writer<'_>, dialect: Dialect, model: &Model) -> String {
    match (&model.repr, dialect) {
        (Repr::Native(name), Dialect::Postgres) => writer.quoted_path(name),
        (Repr::Native(_), Dialect::MySql) => format!("ENUM ({}) {BYTES}", values(model)),
        (Repr::Int, Dialect::Sqlite) => "INTEGER".to_owned(),
        (Repr::Int, Dialect::Postgres | Dialect::MySql) => integer_type(model).to_owned(),
        (_, Dialect::Postgres | Dialect::Sqlite) => "TEXT".to_owned(),
        (Repr::Text, Dialect::MySql) => {
            format!("VARCHAR({}) {BYTES}", model.length)
        }
    }
}

/// The smallest integer that holds every value.
fn integer_type(model: &Model) -> &'static str {
    let numbers = model.states.iter().flat_map(State::values).filter_map(|value| match value {
        Stored::Int(number) => Some(*number),
        Stored::Text(_) => None,
    });
    let (small, normal) = numbers.fold((true, true), |(small, normal), number| {
        (small && i16::try_from(number).is_ok(), normal && i32::try_from(number).is_ok())
    });
    match (small, normal) {
        (true, _) => "SMALLINT",
        (false, true) => "INTEGER",
        (false, false) => "BIGINT",
    }
}

fn version_type(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres | Dialect::MySql => "BIGINT",
        Dialect::Sqlite => "INTEGER",
    }
}

/// An enum type is its own constraint, and SQLite cannot change the constraint of a table that has rows: a state that is
/// added later could never be stored.
fn has_check(dialect: Dialect, model: &Model) -> bool {
    dialect != Dialect::Sqlite && !matches!(model.repr, Repr::Native(_))
}

fn check(writer: &Writer<'_>, model: &Model) -> String {
    let (name, status) = (check_name(writer, model), writer.status());
    format!("CONSTRAINT {name} CHECK ({status} IN ({}))", values(model))
}

fn check_name(writer: &Writer<'_>, model: &Model) -> String {
    let name = format!("{}_{}_check", without_schema(&model.table), model.status);
    writer.column(&cut(name, LONGEST_NAME))
}

/// Every value that stands for a state, as a list of literals: on MySQL only a value at the end of an `ENUM` is added
/// without copying the table, so that those of former releases come last.
fn values(model: &Model) -> String {
    let written = model.states.iter().map(|state| &state.stored);
    let aliases = model.states.iter().flat_map(|state| &state.aliases);
    let values: Vec<_> = written.chain(aliases).map(super::writer::value).collect();
    let line = values.join(", ");
    if line.len() <= LONG_LIST { line } else { format!("\n    {}\n  ", values.join(",\n    ")) }
}
