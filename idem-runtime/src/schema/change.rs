//! Texts in the order in which they run: for a new table, for one that has rows, and for a release that changes a machine.

use std::collections::BTreeSet;
use std::fmt;

use sha2::{Digest as _, Sha256};

use super::{columns, guard, history, status_type, unique_while, widen};
use crate::dialect::Dialect;
use crate::machine::{Repr, StateMachine};

/// One step of a migration. As text ([`Display`](fmt::Display)) it is a file for sqlx: a line that
/// [`Migrations`](super::Migrations) knows it by, the reason for its place, and the statements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migration {
    /// What it is for, the same in every release: `orders_status_guard`.
    pub name: String,
    /// Why it stands by itself, or what to know before it runs; a line or several.
    pub note: &'static str,
    /// The statements, separated by semicolons.
    pub sql: String,
    /// Whether it may run inside a transaction. The steps of one list may share none in any case.
    pub in_transaction: bool,
    /// What it brings about, as a text: steps of one name may come to the same by other statements.
    pub(super) result: String,
}

impl Migration {
    pub(super) fn new(name: impl Into<String>, note: &'static str, sql: impl Into<String>) -> Self {
        let sql = sql.into();
        Self { name: name.into(), note, result: sql.clone(), sql, in_transaction: true }
    }

    pub(super) fn with_result(self, result: impl Into<String>) -> Self {
        Self { result: result.into(), ..self }
    }

    /// The line that says that this text, and no former one of its name, stands in a file.
    #[must_use]
    pub fn marker(&self) -> String {
        let [a, b, c, d, ..]: [u8; 32] = Sha256::digest(&self.result).into();
        format!("{MARKER}{} {a:02x}{b:02x}{c:02x}{d:02x}", self.name)
    }
}

/// How the line begins that names a text.
pub(super) const MARKER: &str = "-- idem: ";

impl fmt::Display for Migration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // sqlx looks for these words at the very beginning of the file.
        if !self.in_transaction {
            writeln!(f, "-- no-transaction")?;
        }
        writeln!(f, "{}", self.marker())?;
        self.note.lines().try_for_each(|line| writeln!(f, "-- {line}"))?;
        writeln!(f, "{};", self.sql.trim_end().trim_end_matches(';'))
    }
}

/// A new table: the type of its status, where it has one of its own, and the table with the columns that are the user's
/// own before those of [`columns`]. [`install`] comes after it.
///
/// ```
/// # use idem_runtime::prelude::*;
/// # #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
/// # #[machine(table = "orders", id(order_id: i64), history, rename_all = "snake_case")]
/// # #[transition(pay: Pending => Paid, set(trade_no: String))]
/// # pub enum OrderStatus { #[state(initial)] Pending, #[state(terminal)] Paid }
/// use idem_runtime::schema;
///
/// let own = "order_id BIGINT NOT NULL PRIMARY KEY,\n  trade_no TEXT";
/// let text = schema::table::<OrderStatus>(Dialect::Postgres, own);
/// assert!(text.starts_with("CREATE TABLE \"orders\" (\n  order_id BIGINT NOT NULL PRIMARY KEY,\n  trade_no TEXT,\n  status TEXT"));
/// ```
#[must_use]
pub fn table<M: StateMachine>(dialect: Dialect, own_columns: &str) -> String {
    let table = format!(
        "CREATE TABLE {} (\n  {},\n  {}\n)",
        quoted(dialect, M::TABLE),
        own_columns.trim().trim_end_matches(','),
        columns::<M>(dialect)
    );
    status_type::<M>(dialect).map_or(table.clone(), |status_type| format!("{status_type};\n{table}"))
}

/// What a table needs that has the columns: history, rules and guard, as far as the machine has them.
#[must_use]
pub fn install<M: StateMachine>(dialect: Dialect) -> Vec<Migration> {
    let history = history::<M>(dialect).map(|sql| Migration::new(name::<M>("history"), HISTORY, sql));
    let rules = unique_while::<M>(dialect).map(|sql| Migration::new(name::<M>("unique_while"), RULES, sql));
    history.into_iter().chain(rules).chain([guard_of::<M>(dialect)]).collect()
}

/// What a release that changes a machine needs, on the table that it has: the values of the status column, then the guard.
///
/// A release that adds a state or a transition is preceded by it, one that removes some is followed by it: texts that are
/// wider than a release let it and the one before run side by side. Do both in two releases. On PostgreSQL the column's
/// constraint is changed by a statement that looks at no row, and the rows are looked at by one that lets others write;
/// values of an enum type are added outside of a transaction, since the one that adds them cannot use them.
///
/// A rule `#[unique_while(..)]` is none of it. One whose states, or their values, are others is dropped and made again by
/// [`unique_while`], before a release stores a value that its index does not name.
#[must_use]
pub fn change<M: StateMachine>(dialect: Dialect) -> Vec<Migration> {
    values::<M>(dialect).into_iter().chain([guard_of::<M>(dialect)]).collect()
}

/// What a table with rows needs to become a machine's: the version, the values of the status column, then what
/// [`install`] gives. Columns that events set are the user's own; leave out a step whose work is done, such as the
/// version of a table that has one.
///
/// [`unknown_values`](super::unknown_values) has to find nothing first: on PostgreSQL and MySQL the constraint is refused
/// otherwise, on SQLite such rows answer `UnknownState`. On MySQL and MariaDB the status column is made to compare as
/// bytes, which copies the table. SQLite cannot make it `NOT NULL`; the guard refuses it there as everywhere. An enum type of PostgreSQL is taken to be there, by the name in `repr = native(..)`.
///
/// Programs that know nothing of idem go on writing meanwhile: a row that they insert begins at version 0, one that they
/// move keeps its version and has no entry. Until they are gone
///
/// - a version that was read says nothing of what they did since: `.expect_version(..)` and typed rows notice another
///   status, but not one that went and came back, nor other columns;
/// - a cause that they have seen is unknown: what they moved answers `OtherCause { recorded: None }`, or `Illegal` without
///   `passed`, and what is delivered to both can happen twice where a row can come back to a state;
/// - the constraint, the rules and the guard hold for them too, from the step that makes them: a transition of theirs that
///   the machine does not declare is refused. The guard comes last, and can come later.
#[must_use]
pub fn adopt<M: StateMachine>(dialect: Dialect) -> Vec<Migration> {
    let mut values = values::<M>(dialect);
    if let Some(first) = values.first_mut() {
        first.sql = adopting::<M>(dialect, &first.sql);
    }
    let columns = version::<M>(dialect).into_iter().chain(values).chain(not_null::<M>(dialect));
    columns.chain(install::<M>(dialect)).collect()
}

/// Rewrites rows that hold a former value of a state to the one that `M` writes: a statement an alias, each of which
/// moves at most `rows` rows. Run each until it moves none.
///
/// Nothing but the status is written: the version stays, since the state does, the guard takes it for no change, and a
/// row that somebody moves meanwhile is left alone. (`ON UPDATE` columns and triggers of one's own take part as in any
/// `UPDATE`.) The history keeps the words that were written. Two releases of which each writes another of the values may
/// run at the time; the rows are done when no release writes the former value any more and the statements move none.
#[must_use]
pub fn rewrite_aliases<M: StateMachine>(dialect: Dialect, rows: u32) -> Vec<String> {
    let aliases = M::ALIASES.iter();
    aliases
        .map(|(alias, state)| rewrite::<M>(dialect, &literal::<M>(alias), &literal::<M>(state.stored()), rows))
        .collect()
}

/// The outer condition is the one that PostgreSQL asks again of a row that it had to wait for. In the order of the
/// identifier, as everybody locks several rows.
fn rewrite<M: StateMachine>(dialect: Dialect, alias: &str, stored: &str, rows: u32) -> String {
    let (table, status) = (quoted(dialect, M::TABLE), quoted_name(dialect, M::SPEC.columns.status));
    let id: Vec<_> = M::SPEC.columns.id.iter().map(|(column, _)| quoted_name(dialect, column)).collect();
    let id = id.join(", ");
    let set = format!("UPDATE {table}\n   SET {status} = {stored}\n WHERE {status} = {alias}");
    let lock = if dialect == Dialect::Postgres { " FOR UPDATE" } else { "" };
    match dialect {
        Dialect::MySql => format!("{set}\n ORDER BY {id}\n LIMIT {rows}"),
        Dialect::Postgres | Dialect::Sqlite => format!(
            "{set}\n   AND ({id}) IN (SELECT {id} FROM {table} WHERE {status} = {alias} ORDER BY {id} LIMIT {rows}{lock})"
        ),
    }
}

fn guard_of<M: StateMachine>(dialect: Dialect) -> Migration {
    let guard = Migration::new(name::<M>("guard"), GUARD, guard::<M>(dialect));
    guard.with_result(M::SQL.guard.of(dialect).name)
}

fn version<M: StateMachine>(dialect: Dialect) -> Option<Migration> {
    let column = quoted_name(dialect, M::SPEC.columns.version?);
    let ty = if dialect == Dialect::Sqlite { "INTEGER" } else { "BIGINT" };
    let sql = format!("ALTER TABLE {}\n  ADD COLUMN {column} {ty} NOT NULL DEFAULT 0", quoted(dialect, M::TABLE));
    Some(Migration::new(name::<M>("version"), VERSION, sql))
}

/// The values that the status column takes, and by a step of its own that all rows have one of them.
pub(super) fn values<M: StateMachine>(dialect: Dialect) -> Vec<Migration> {
    let Some(text) = widen::<M>(dialect) else { return Vec::new() };
    if dialect == Dialect::Postgres && matches!(M::REPR, Repr::Native(_)) {
        let values = Migration::new(name::<M>("values"), ENUM_VALUES, text).with_result(all_values::<M>());
        return vec![Migration { in_transaction: false, ..values }];
    }
    let (values, validation) = text.rsplit_once(";\n").map_or((text, None), |(sql, other)| (sql, Some(other)));
    let values = Migration::new(name::<M>("values"), VALUES, values);
    let validation = validation.map(|sql| Migration::new(name::<M>("values_validated"), VALIDATION, sql));
    [values].into_iter().chain(validation).map(|step| step.with_result(all_values::<M>())).collect()
}

/// The column's definition says it on MySQL, and nothing can on SQLite.
fn not_null<M: StateMachine>(dialect: Dialect) -> Option<Migration> {
    let (table, status) = (quoted(dialect, M::TABLE), quoted_name(dialect, M::SPEC.columns.status));
    let sql = format!("ALTER TABLE {table}\n  ALTER COLUMN {status} SET NOT NULL");
    (dialect == Dialect::Postgres).then(|| Migration::new(name::<M>("not_null"), NOT_NULL, sql))
}

/// Every value that stands for a state, whichever release writes it: one that begins to write an alias changes nothing.
fn all_values<M: StateMachine>() -> String {
    let written = M::STATES.iter().map(M::stored);
    let values: BTreeSet<_> = written.chain(M::ALIASES.iter().map(|(alias, _)| *alias)).collect();
    format!("{values:?}")
}

/// The table has no constraint yet that could be dropped; its column gets the definition that a new table's has.
fn adopting<M: StateMachine>(dialect: Dialect, widen: &str) -> String {
    let definition = columns::<M>(dialect).lines().next().unwrap_or_default().trim_end_matches(',');
    let lines = widen.lines().map(|line| {
        let drops = dialect == Dialect::MySql && line.trim_start().starts_with("DROP CONSTRAINT ");
        if drops { format!("  MODIFY {definition},") } else { line.to_owned() }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// `orders_status_guard`, as a part of a file's name.
fn name<M: StateMachine>(part: &str) -> String {
    let plain = |it: char| if it.is_alphanumeric() { it } else { '_' };
    format!("{}_{}_{part}", M::TABLE, M::SPEC.columns.status).chars().map(plain).collect()
}

/// The parts of a table's name, each in quotes.
fn quoted(dialect: Dialect, path: &str) -> String {
    path.split('.').map(|part| quoted_name(dialect, part)).collect::<Vec<_>>().join(".")
}

fn quoted_name(dialect: Dialect, name: &str) -> String {
    let quote = if dialect == Dialect::MySql { "`" } else { "\"" };
    format!("{quote}{}{quote}", name.replace(quote, &quote.repeat(2)))
}

/// A stored value. The rules of the machine keep backslashes and control characters out of it.
fn literal<M: StateMachine>(raw: &str) -> String {
    if M::REPR == Repr::Int { raw.to_owned() } else { format!("'{}'", raw.replace('\'', "''")) }
}

const VERSION: &str = "Programs that do not know the column go on: a row that they insert begins at 0.";
const VALUES: &str =
    "Before the release that adds a value, after the one that removes one. No row may hold another value.";
const ENUM_VALUES: &str = "Before the release that adds a value. Not in a transaction: the one that adds a value to an
enum type cannot use it. A value is never removed from the type.";
const VALIDATION: &str = "By itself: in one transaction with the step before, nobody could use the table meanwhile.";
const NOT_NULL: &str =
    "Nothing to do where it is so already. A column that may be NULL keeps everybody waiting while the rows are
looked at, unless a valid CHECK (status IS NOT NULL) says so before.";
const HISTORY: &str = "Before the first release of the machine.";
const RULES: &str = "It fails where rows break a rule, and keeps writers waiting while the index is made.";
const GUARD: &str = "Before the release that adds a transition or a state, after the one that removes one.";
