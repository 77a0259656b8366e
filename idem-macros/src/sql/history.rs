//! The history: its table, and the statements in which it stands beside the row.

use super::writer::{Writer, clause, cut, literal};
use super::{Bind, Dialect, LONGEST_NAME, Statement, Version, order, row_lock};
use crate::machine::model::{CREATE, Column, Event, History, Model, Note};

/// The types of one dialect's history.
struct Types {
    version: &'static str,
    /// An identifier that is a text.
    name: &'static str,
    /// Short, since MySQL's keys hold 3,072 bytes: those of three such identifiers, an event and a cause.
    event: &'static str,
    /// A value of the status column.
    status: &'static str,
    /// Compared as bytes: a cause is equal to itself and to nothing else.
    cause: &'static str,
    fingerprint: &'static str,
    at: &'static str,
    actor: &'static str,
    metadata: &'static str,
}

const POSTGRES: Types = Types {
    version: "BIGINT",
    name: "TEXT",
    event: "TEXT",
    status: "TEXT",
    cause: "TEXT COLLATE \"C\"",
    fingerprint: "TEXT",
    at: "TIMESTAMPTZ",
    actor: "TEXT",
    metadata: "JSONB",
};

const MYSQL: Types = Types {
    version: "BIGINT",
    name: "VARCHAR(191) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    event: "VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    status: "VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    cause: "VARBINARY(512)",
    fingerprint: "VARCHAR(80) CHARACTER SET ascii COLLATE ascii_bin",
    at: "DATETIME(6)",
    actor: "VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    metadata: "JSON",
};

const SQLITE: Types = Types {
    version: "INTEGER",
    name: "TEXT",
    event: "TEXT",
    status: "TEXT",
    cause: "TEXT",
    fingerprint: "TEXT",
    at: "TEXT",
    actor: "TEXT",
    metadata: "TEXT",
};

/// Creates the history's table, whose unique keys say how often a cause moves a row.
pub(super) fn create_table(dialect: Dialect, model: &Model, history: &History) -> String {
    let writer = Writer::new(dialect, model, 0, &[]);
    let types = types(dialect);
    let (table, key) = (writer.quoted_path(&history.table), writer.id_list(""));
    let ids = model.id.iter().map(|it| format!("{} {} NOT NULL", writer.column(&it.name()), id_type(dialect, it)));
    let own = [
        format!("version {} NOT NULL", types.version),
        format!("source {} NOT NULL", types.status),
        format!("target {} NOT NULL", types.status),
        format!("event {} NOT NULL", types.event),
        format!("cause {}", types.cause),
        format!("fingerprint {}", types.fingerprint),
        format!("at {} NOT NULL", types.at),
    ];
    let keys = [
        format!("PRIMARY KEY ({key}, version)"),
        if history.once { "UNIQUE (event, cause)".to_owned() } else { format!("UNIQUE ({key}, event, cause)") },
    ];
    let (created, unique) = created_by(dialect, model, history).unzip();
    let notes = history.notes.iter().map(|note| match note {
        Note::Actor => format!("actor {}", types.actor),
        Note::Metadata => format!("metadata {}", types.metadata),
    });
    let lines: Vec<_> = ids.chain(own).chain(notes).chain(created).chain(keys).chain(unique).collect();
    let index = created_index(dialect, model, history, &writer);
    format!("CREATE TABLE IF NOT EXISTS {table} (\n  {}\n){index}", lines.join(",\n  "))
}

/// MySQL has no partial index: a column holds the causes of creations, and NULL for every other entry.
fn created_by(dialect: Dialect, model: &Model, history: &History) -> Option<(String, String)> {
    if !has_created_column(dialect, model, history) {
        return None;
    }
    let created = format!("CASE WHEN event = {} THEN cause END", literal(CREATE));
    let column = format!("create_cause {} AS ({created}) STORED", MYSQL.cause);
    Some((column, "UNIQUE (create_cause)".to_owned()))
}

/// A cause creates one row, whatever identifier a second call brings.
fn created_index(dialect: Dialect, model: &Model, history: &History, w: &Writer<'_>) -> String {
    if dialect == Dialect::MySql || !has_created_index(model, history) {
        return String::new();
    }
    let (schema, table) = history.table.rsplit_once('.').unwrap_or(("", &history.table));
    let name = cut(format!("{table}_create"), LONGEST_NAME);
    let (index, event) = (w.column(&name), literal(CREATE));
    // SQLite names the index with the schema, PostgreSQL the table.
    let (index, table) = match dialect {
        Dialect::Sqlite if !schema.is_empty() => (format!("{}.{index}", w.column(schema)), w.column(table)),
        _ => (index, w.quoted_path(&history.table)),
    };
    format!(";\nCREATE UNIQUE INDEX IF NOT EXISTS {index}\n    ON {table} (cause)\n WHERE event = {event}")
}

/// Whether a column of their own holds the causes of creations.
pub(super) fn has_created_column(dialect: Dialect, model: &Model, history: &History) -> bool {
    dialect == Dialect::MySql && has_created_index(model, history)
}

/// Where a cause moves one row only, that index is there already.
fn has_created_index(model: &Model, history: &History) -> bool {
    model.create.is_some() && !history.once
}

fn types(dialect: Dialect) -> Types {
    match dialect {
        Dialect::Postgres => POSTGRES,
        Dialect::MySql => MYSQL,
        Dialect::Sqlite => SQLITE,
    }
}

/// The column type of an identifier, by the name of its Rust type.
fn id_type(dialect: Dialect, column: &Column) -> &'static str {
    let types = match column.type_name().as_deref() {
        Some("i16") => ["SMALLINT", "SMALLINT", "INTEGER"],
        Some("i32") => ["INTEGER", "INTEGER", "INTEGER"],
        Some("i64" | "u32") => ["BIGINT", "BIGINT", "INTEGER"],
        Some("Uuid") => ["UUID", "BINARY(16)", "BLOB"],
        _ => [POSTGRES.name, MYSQL.name, SQLITE.name],
    };
    match dialect {
        Dialect::Postgres => types[0],
        Dialect::MySql => types[1],
        Dialect::Sqlite => types[2],
    }
}

/// The columns of an entry.
pub(super) fn columns(writer: &Writer<'_>) -> String {
    format!("{}, version, source, target, event, cause, fingerprint, {}at", writer.id_list(""), writer.note_columns())
}

/// What every entry ends with.
pub(super) fn values(w: &mut Writer<'_>) -> String {
    let (cause, fingerprint) = (w.text(Bind::Cause), w.text(Bind::Fingerprint));
    format!("{cause}, {fingerprint}, {}{}", w.note_values(), w.now())
}

/// Where the history is a statement of its own, the entry of a row that is about to move. It is written from the locked
/// row, so that it names the true source.
pub(super) fn enter(dialect: Dialect, model: &Model, event: &Event, version: Version) -> Option<Statement> {
    let history = model.history.as_ref().filter(|_| dialect != Dialect::Postgres)?;
    let mut writer =
        Writer::new(dialect, model, 0, &order(&[Bind::Cause, Bind::Fingerprint, Bind::Note, Bind::Id], version));
    let sql = insert_from_row(&mut writer, event, version, history, row_lock(dialect));
    Some(writer.finish(sql))
}

fn insert_from_row(w: &mut Writer<'_>, event: &Event, version: Version, history: &History, lock: &str) -> String {
    let (entries, columns, table) = (w.quoted_path(&history.table), columns(w), w.table());
    let old = w.source_text(event, w.status_text(""));
    let (id, source, next) = (w.id_list(""), w.is_source(event, ""), w.version_value(""));
    let (target, name, values) = (w.stored_text(event.target), literal(&event.name()), values(w));
    let (id_is, at, lock) = (w.id_is(""), w.and_version(version, ""), clause(lock));
    format!(
        "INSERT INTO {entries} ({columns})
SELECT {id}, {next} + 1, {old}, {target}, {name}, {values}
  FROM {table}
 WHERE {id_is} AND {source}{at}{lock}"
    )
}

/// Reads the row, the entry that holds the cause, the latest entry, and the last one that led to the target.
pub(super) fn explain(dialect: Dialect, model: &Model, event: &Event, history: &History) -> Statement {
    let mut writer = Writer::new(dialect, model, 0, &[Bind::Id, Bind::Cause]);
    let sql = select_all(&mut writer, dialect, event, history);
    writer.finish(sql)
}

fn select_all(w: &mut Writer<'_>, dialect: Dialect, event: &Event, history: &History) -> String {
    let (table, entries, lock) = (w.table(), w.quoted_path(&history.table), row_lock(dialect));
    let (status, version, here) = (w.status_text("seen"), w.version_value("seen"), here(w, history));
    let caused = is_caused(w, "caused", event, history);
    let latest = is_last(w, "latest", &entries, "", lock);
    let to_target = format!(" AND {}", w.is_target(event));
    let passed = is_last(w, "passed", &entries, &to_target, lock);
    let (latest_cause, passed_cause) = (cause_text(dialect, "latest"), cause_text(dialect, "passed"));
    let (seen, lock) = (w.id_is("seen"), clause(lock));
    format!(
        "SELECT {status} AS status, {version} AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       {here} AS caused_here,
       latest.target AS latest_target, {latest_cause} AS latest_cause,
       passed.version AS passed, {passed_cause} AS passed_cause
  FROM {table} AS seen
  LEFT JOIN {entries} AS caused
    ON {caused}
  LEFT JOIN {entries} AS latest
    ON {latest}
  LEFT JOIN {entries} AS passed
    ON {passed}
 WHERE {seen}{lock}"
    )
}

/// Whether the entry that holds the cause is one of this row.
fn here(w: &Writer<'_>, history: &History) -> String {
    if history.once { format!("CASE WHEN {} THEN 1 ELSE 0 END", w.same_id("caused", "seen")) } else { "1".to_owned() }
}

/// The condition on the entry that holds the cause.
pub(super) fn is_caused(w: &mut Writer<'_>, of: &str, event: &Event, history: &History) -> String {
    let dot = if of.is_empty() { String::new() } else { format!("{of}.") };
    let row = if history.once { String::new() } else { format!("{} AND ", w.id_is(of)) };
    let (name, cause) = (literal(&event.name()), w.text(Bind::Cause));
    format!("{row}{dot}event = {name} AND {dot}cause = {cause}")
}

/// The condition on the row's last entry of a kind.
fn is_last(w: &mut Writer<'_>, of: &str, entries: &str, kind: &str, lock: &str) -> String {
    let (outer, inner) = (w.id_is(of), w.id_is(""));
    let lock = if lock.is_empty() { String::new() } else { format!(" {lock}") };
    format!("{outer}\n   AND {of}.version = (SELECT MAX(version) FROM {entries} WHERE {inner}{kind}{lock})")
}

/// MySQL keeps causes as bytes.
fn cause_text(dialect: Dialect, of: &str) -> String {
    match dialect {
        Dialect::MySql => format!("CONVERT({of}.cause USING utf8mb4)"),
        Dialect::Postgres | Dialect::Sqlite => format!("{of}.cause"),
    }
}
