//! The beginning of a row: its INSERT, the entry beside it, and the statements that tell what it met.

use syn::{GenericArgument, PathArguments, Type};

use super::history::{columns, has_created_column, values};
use super::unique::holds;
use super::writer::{Writer, clause, literal};
use super::{Bind, CreateSql, Dialect, PerDialect, Statement, shared_lock};
use crate::machine::model::{CREATE, Column, Create, History, Model, UniqueWhile, unraw};

/// The version of a new row. It is written, not left to the column, so that the entry has it too.
const FIRST: &str = "0";

/// All statements of a creation.
pub(super) fn create(model: &Model, create: &Create) -> CreateSql {
    let met = model.unique_while.iter().filter(|rule| rule.states.contains(&model.initial)).map(Some);
    CreateSql {
        enter: PerDialect::new(|dialect| enter(dialect, model, create)),
        insert: PerDialect::new(|dialect| insert(dialect, model, create)),
        caused: model.history.as_ref().map(|it| PerDialect::new(|dialect| caused(dialect, model, it))),
        met: [None].into_iter().chain(met).map(|rule| PerDialect::new(|it| found(it, model, create, rule))).collect(),
    }
}

/// Where the history is a statement of its own, the entry of the row that is about to be.
fn enter(dialect: Dialect, model: &Model, create: &Create) -> Option<Statement> {
    let history = model.history.as_ref().filter(|_| dialect != Dialect::Postgres)?;
    let ids = model.id.iter().filter_map(|column| create.position(&column.name())).map(Bind::Value);
    let order: Vec<_> = ids.clone().chain([Bind::Cause, Bind::Fingerprint, Bind::Note]).collect();
    let mut w = Writer::new(dialect, model, 0, &order);
    let (entries, columns) = (w.quoted_path(&history.table), columns(&w));
    let ids: Vec<_> = ids.map(|id| w.parameter(id)).collect();
    let entry = entry(&mut w, model, &ids.join(", "));
    Some(w.finish(format!("INSERT INTO {entries} ({columns})\nVALUES ({entry})")))
}

/// The values of the entry; it has no source.
fn entry(w: &mut Writer<'_>, model: &Model, ids: &str) -> String {
    let (initial, name, values) = (w.stored_text(model.initial), literal(CREATE), values(w));
    format!("{ids}, {FIRST}, '', {initial}, {name}, {values}")
}

/// The row; on PostgreSQL with its entry.
fn insert(dialect: Dialect, model: &Model, create: &Create) -> Statement {
    let values = (0..create.fields().count()).map(Bind::Value);
    let history = model.history.as_ref().filter(|_| dialect == Dialect::Postgres);
    let entry = history.map_or(&[][..], |_| &[Bind::Cause, Bind::Fingerprint, Bind::Note]);
    let order: Vec<_> = values.chain(entry.iter().copied()).collect();
    let mut w = Writer::new(dialect, model, 0, &order);
    let sql = match history {
        None => insert_row(&mut w, model, create),
        Some(history) => insert_with_entry(&mut w, model, create, history),
    };
    w.finish(sql)
}

fn insert_row(w: &mut Writer<'_>, model: &Model, create: &Create) -> String {
    let mut at = 0..;
    let values = create.columns.iter().map(|set| {
        let value = w.set_value(set).unwrap_or_else(|| w.parameter(Bind::Value(at.next().unwrap_or_default())));
        (w.column(&unraw(&set.column)), value)
    });
    let (mut columns, mut values): (Vec<_>, Vec<_>) = values.collect();
    columns.extend([w.status()].into_iter().chain(w.version()));
    values.push(w.stored(model.initial));
    values.extend(w.version().map(|_| FIRST.to_owned()));
    format!("INSERT INTO {} ({})\nVALUES ({})", w.table(), columns.join(", "), values.join(", "))
}

fn insert_with_entry(w: &mut Writer<'_>, model: &Model, create: &Create, history: &History) -> String {
    let (row, ids) = (insert_row(w, model, create).replace('\n', "\n  "), w.id_list(""));
    let (entries, columns, entry) = (w.quoted_path(&history.table), columns(w), entry(w, model, &ids));
    format!(
        "WITH created AS (
  {row}
  RETURNING {ids}
)
INSERT INTO {entries} ({columns})
SELECT {entry}
  FROM created"
    )
}

/// Finds the row that the cause created, wherever it is by now.
fn caused(dialect: Dialect, model: &Model, history: &History) -> Statement {
    let mut w = Writer::new(dialect, model, 0, &[Bind::Cause]);
    let (ids, status, version) = (ids(model, &w, "made"), w.status_text("seen"), w.version_if_any("seen"));
    let (table, entries, same) = (w.table(), w.quoted_path(&history.table), w.same_id("seen", "made"));
    let (cause, lock) = (w.text(Bind::Cause), clause(shared_lock(dialect)));
    // By the column that the index is on: MySQL does not see that it says the same, and would lock every entry.
    let caused = if has_created_column(dialect, model, history) {
        format!("made.create_cause = {cause}")
    } else {
        format!("made.event = {} AND made.cause = {cause}", literal(CREATE))
    };
    let sql = format!(
        "SELECT {ids}, {status} AS status, {version} AS version,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM {entries} AS made
  LEFT JOIN {table} AS seen
    ON {same}
 WHERE {caused}{lock}"
    );
    w.finish(sql)
}

/// Finds the row that has the identifier, or that is under the rule with the key; the predicate is the index's own.
fn found(dialect: Dialect, model: &Model, create: &Create, rule: Option<&UniqueWhile>) -> Statement {
    let key: Vec<_> = match rule {
        Some(rule) => rule.columns.clone(),
        None => model.id.iter().map(Column::name).collect(),
    };
    let key: Vec<_> = key.into_iter().filter_map(|name| Some((create.position(&name)?, name))).collect();
    let compared = compared(model, create);
    let order: Vec<_> = compared.iter().map(|(at, _)| *at).chain(key.iter().map(|(at, _)| *at)).collect();
    let mut w = Writer::new(dialect, model, 0, &distinct(&order));
    let same = same(&mut w, dialect, &compared);
    let (made, entry) = model.history.as_ref().map_or_else(Default::default, |history| made(&w, history));
    let key: Vec<_> = key.iter().map(|(at, name)| equal(&mut w, "=", *at, name)).collect();
    let under = rule.map(|rule| format!(" AND {}", holds(&w, dialect, model, rule, "seen"))).unwrap_or_default();
    let (ids, status, version) = (ids(model, &w, "seen"), w.status_text("seen"), w.version_value("seen"));
    let (table, key, lock) = (w.table(), key.join(" AND "), clause(shared_lock(dialect)));
    let sql = format!(
        "SELECT {ids}, {status} AS status, {version} AS version,
       {same} AS same{made}
  FROM {table} AS seen{entry}
 WHERE {key}{under}{lock}"
    );
    w.finish(sql)
}

/// The entry of the row's beginning, and where it comes from.
fn made(w: &Writer<'_>, history: &History) -> (String, String) {
    let (entries, same) = (w.quoted_path(&history.table), w.same_id("made", "seen"));
    let columns = ",\n       made.version AS made, made.fingerprint AS made_fingerprint".to_owned();
    (columns, format!("\n  LEFT JOIN {entries} AS made\n    ON {same} AND made.event = {}", literal(CREATE)))
}

/// The identifier under names of our own, which no column of the user's can meet.
fn ids(model: &Model, w: &Writer<'_>, of: &str) -> String {
    let ids = model.id.iter().enumerate().map(|(at, it)| format!("{of}.{} AS id_{at}", w.column(&it.name())));
    ids.collect::<Vec<_>>().join(", ")
}

/// Whether the row has what the call was given.
fn same(w: &mut Writer<'_>, dialect: Dialect, compared: &[(usize, String)]) -> String {
    let equals = match dialect {
        Dialect::Postgres => "IS NOT DISTINCT FROM",
        Dialect::MySql => "<=>",
        Dialect::Sqlite => "IS",
    };
    let parts: Vec<_> = compared.iter().map(|(at, name)| equal(w, equals, *at, name)).collect();
    if parts.is_empty() {
        "1".to_owned()
    } else {
        format!("CASE WHEN {} THEN 1 ELSE 0 END", parts.join("\n             AND "))
    }
}

fn equal(w: &mut Writer<'_>, equals: &str, at: usize, name: &str) -> String {
    format!("seen.{} {equals} {}", w.column(name), w.parameter(Bind::Value(at)))
}

/// The fields that a column can be compared with, each with its place.
fn compared(model: &Model, create: &Create) -> Vec<(usize, String)> {
    let fields = model.compared(create).filter(|(_, _, ty)| has_equality(ty));
    fields.map(|(at, name, _)| (at, unraw(name))).collect()
}

/// A float is not read back as it was written, and PostgreSQL's `json` has no equality.
fn has_equality(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return true };
    let Some(last) = path.path.segments.last() else { return true };
    match (&*last.ident.to_string(), &last.arguments) {
        ("Option", PathArguments::AngleBracketed(inner)) => inner.args.iter().all(|argument| match argument {
            GenericArgument::Type(ty) => has_equality(ty),
            _ => true,
        }),
        (name, _) => !["f32", "f64", "Json", "Value"].contains(&name),
    }
}

fn distinct(places: &[usize]) -> Vec<Bind> {
    let mut seen = std::collections::BTreeSet::new();
    places.iter().filter(|at| seen.insert(**at)).map(|at| Bind::Value(*at)).collect()
}
