//! At most one row with a key in some states: the index, and the statement that finds the row that holds it.

use super::writer::{Writer, clause, cut, is_one_of, literal, value};
use super::{Bind, Dialect, LONGEST_NAME, PerDialect, Statement, UniqueWhileSql, shared_lock};
use crate::machine::model::{Event, Model, UniqueWhile, without_schema};

/// The rules of the machine.
pub(super) fn rules(model: &Model) -> Option<UniqueWhileSql> {
    (!model.unique_while.is_empty()).then(|| UniqueWhileSql {
        names: model.unique_while.iter().map(|rule| rule.name.clone()).collect(),
        ddl: PerDialect::new(|dialect| {
            let all = model.unique_while.iter().map(|rule| ddl(dialect, model, rule));
            all.collect::<Vec<_>>().join(";\n")
        }),
    })
}

/// What the table needs for one rule: the index, and that no column of its key is NULL, which would switch it off.
fn ddl(dialect: Dialect, model: &Model, rule: &UniqueWhile) -> String {
    let w = Writer::new(dialect, model, 0, &[]);
    match dialect {
        Dialect::Postgres => postgres(&w, model, rule),
        Dialect::MySql => mysql(&w, model, rule),
        Dialect::Sqlite => sqlite(&w, model, rule),
    }
}

fn postgres(w: &Writer<'_>, model: &Model, rule: &UniqueWhile) -> String {
    let (table, key, under) = (w.table(), key(w, rule), under_rule(w, model, rule, ""));
    let nullable = not_in_primary_key(model, rule).map(|it| format!("ALTER COLUMN {} SET NOT NULL", w.column(it)));
    let nullable: Vec<_> = nullable.collect();
    let not_null = match nullable.as_slice() {
        [] => String::new(),
        columns => format!("ALTER TABLE {table}\n  {};\n", columns.join(",\n  ")),
    };
    let index = w.column(&name_of(model, rule, ""));
    format!("{not_null}CREATE UNIQUE INDEX {index}\n    ON {table} ({key})\n WHERE {under}")
}

/// MariaDB has neither partial nor functional indexes: a column says whether the row counts, and an index takes any
/// number of rows where it is NULL. It is stored, since MariaDB keeps mending indexes on virtual ones.
fn mysql(w: &Writer<'_>, model: &Model, rule: &UniqueWhile) -> String {
    let (table, key, under) = (w.table(), key(w, rule), under_rule(w, model, rule, ""));
    let (mark, index) = (w.column(&rule.name), w.column(&name_of(model, rule, "")));
    let parts: Vec<_> = not_in_primary_key(model, rule).map(|it| format!("{} IS NOT NULL", w.column(it))).collect();
    let check = w.column(&name_of(model, rule, "_key"));
    let not_null = match parts.as_slice() {
        [] => String::new(),
        parts => format!("\n  ADD CONSTRAINT {check} CHECK ({}),", parts.join(" AND ")),
    };
    format!(
        "ALTER TABLE {table}
  ADD COLUMN {mark} TINYINT AS (CASE WHEN {under} THEN 1 END) STORED,{not_null}
  ADD UNIQUE INDEX {index} ({key}, {mark})"
    )
}

/// No constraint can be added to a table of SQLite, and there even a primary key can be NULL: triggers refuse it.
fn sqlite(w: &Writer<'_>, model: &Model, rule: &UniqueWhile) -> String {
    // An index and a trigger are named with the schema, and their table then without.
    let schema = model.table.rsplit_once('.').map_or_else(String::new, |(schema, _)| format!("{}.", w.column(schema)));
    let (table, key, under) = (w.table_name(), key(w, rule), under_rule(w, model, rule, ""));
    let index = w.column(&name_of(model, rule, ""));
    let null = rule.columns.iter().map(|it| format!("NEW.{} IS NULL", w.column(it))).collect::<Vec<_>>().join(" OR ");
    let message = literal(&format!("a column of the key of {} is NULL", rule.name));
    let triggers = ["INSERT", "UPDATE"].map(|act| {
        let trigger = w.column(&name_of(model, rule, &format!("_{}", act.to_lowercase())));
        format!(
            ";
CREATE TRIGGER {schema}{trigger}
BEFORE {act} ON {table} WHEN {null}
BEGIN SELECT RAISE(ABORT, {message}); END"
        )
    });
    format!("CREATE UNIQUE INDEX {schema}{index}\n    ON {table} ({key})\n WHERE {under}{}", triggers.concat())
}

/// A primary key is never NULL on PostgreSQL and MySQL.
fn not_in_primary_key<'m>(model: &'m Model, rule: &'m UniqueWhile) -> impl Iterator<Item = &'m String> {
    rule.columns.iter().filter(|name| model.id.iter().all(|column| column.name() != **name))
}

/// With the table's name, since a schema has one index of a name.
fn name_of(model: &Model, rule: &UniqueWhile, suffix: &str) -> String {
    let name = format!("{}_{}", without_schema(&model.table), rule.name);
    cut(name, LONGEST_NAME - suffix.len()) + suffix
}

fn key(w: &Writer<'_>, rule: &UniqueWhile) -> String {
    rule.columns.iter().map(|column| w.column(column)).collect::<Vec<_>>().join(", ")
}

/// The predicate of the index: every value that stands for one of the states.
fn under_rule(w: &Writer<'_>, model: &Model, rule: &UniqueWhile, of: &str) -> String {
    let dot = if of.is_empty() { "" } else { "." };
    let values = rule.states.iter().flat_map(|state| model.state(*state).values());
    is_one_of(&format!("{of}{dot}{}", w.status()), &values.map(value).collect::<Vec<_>>())
}

/// The condition on the row that holds the key. On MySQL it is found by the whole key of the index, so that no row beside
/// it is locked: those that are closed have the rest of the key too.
pub(super) fn holds(w: &Writer<'_>, dialect: Dialect, model: &Model, rule: &UniqueWhile, of: &str) -> String {
    match dialect {
        Dialect::MySql => format!("{of}.{} = 1", w.column(&rule.name)),
        Dialect::Postgres | Dialect::Sqlite => under_rule(w, model, rule, of),
    }
}

/// Names the rules under which another row has the key of the row, of those that the event could bring it under.
pub(super) fn blocked(model: &Model, event: &Event) -> Option<PerDialect<Statement>> {
    let rules: Vec<_> = model.unique_while.iter().filter(|rule| rule.is_entered_by(event)).collect();
    (!rules.is_empty()).then(|| PerDialect::new(|dialect| holders(dialect, model, &rules)))
}

fn holders(dialect: Dialect, model: &Model, rules: &[&UniqueWhile]) -> Statement {
    let mut w = Writer::new(dialect, model, 0, &[Bind::Id]);
    let parts: Vec<_> = rules.iter().map(|rule| holder(&mut w, dialect, model, rule)).collect();
    match parts.as_slice() {
        [part] => w.finish(part.clone()),
        // MySQL takes a lock inside of parentheses only, and SQLite takes no parentheses.
        parts if dialect == Dialect::MySql => w.finish(format!("({})", parts.join(")\nUNION ALL\n("))),
        parts => w.finish(parts.join("\nUNION ALL\n")),
    }
}

fn holder(w: &mut Writer<'_>, dialect: Dialect, model: &Model, rule: &UniqueWhile) -> String {
    let (table, name, under) = (w.table(), literal(&rule.name), holds(w, dialect, model, rule, "other"));
    let keys = rule.columns.iter().map(|column| w.column(column));
    let same = keys.map(|column| format!("other.{column} = seen.{column}")).collect::<Vec<_>>().join(" AND ");
    let (seen, another) = (w.id_is("seen"), w.same_id("other", "seen"));
    let lock = clause(shared_lock(dialect));
    format!(
        "SELECT {name} AS rule
  FROM {table} AS seen
  JOIN {table} AS other
    ON {same} AND {under} AND NOT ({another})
 WHERE {seen}{lock}"
    )
}
