//! The tables of idem as text, to review and to put into a migration of one's own.
//!
//! Each text by itself is [`columns`], [`status_type`], [`widen`], [`history`], [`unique_while`] and [`guard`]. In the order
//! in which a migration runs them they are [`table`] and [`install`] for a new table, [`adopt`] for one that has rows, and
//! [`change`] for a release that changes the machine; [`rewrite_aliases`] renames a state in the rows. [`Migrations`] holds
//! a folder of files against them.
//!
//! ```
//! # use idem_runtime::prelude::*;
//! # #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
//! # #[machine(table = "orders", id(order_id: i64), history, rename_all = "snake_case")]
//! # #[transition(pay: Pending => Paid, set(trade_no: String))]
//! # pub enum OrderStatus { #[state(initial)] Pending, #[state(terminal)] Paid }
//! use idem_runtime::schema;
//!
//! fn migration(dialect: Dialect) -> Vec<String> {
//!     let own_columns = "order_id BIGINT PRIMARY KEY,\n  trade_no TEXT";
//!     let table = schema::table::<OrderStatus>(dialect, own_columns);
//!     let others = schema::install::<OrderStatus>(dialect); // the history, the guard
//!     [table].into_iter().chain(others.into_iter().map(|step| step.sql)).collect()
//! }
//! # assert_eq!(migration(Dialect::Postgres).len(), 3);
//! ```

mod change;
mod migrations;
mod upgrade;

pub use change::{Migration, adopt, change, install, rewrite_aliases, table};
pub use migrations::{Behind, Migrations, MigrationsError};
pub(crate) use upgrade::migrate;
pub use upgrade::upgrade;

use crate::dialect::{Dialect, PerDialect};
use crate::lease;
use crate::machine::StateMachine;
use crate::operator;
use crate::record;
use crate::token;

/// The table of records, and that of what operators did to them.
const DDL: PerDialect<&str> = PerDialect {
    postgres: concat!(include_str!("schema/postgres.sql"), include_str!("schema/beside/postgres.sql")),
    mysql: concat!(include_str!("schema/mysql.sql"), include_str!("schema/beside/mysql.sql")),
    sqlite: concat!(include_str!("schema/sqlite.sql"), include_str!("schema/beside/sqlite.sql")),
};

/// The statements that create the tables of idem, each ended by a semicolon. [`upgrade`] brings tables that a former release
/// has created to the same shape.
#[must_use]
pub const fn ddl(dialect: Dialect) -> &'static str {
    DDL.of(dialect)
}

/// The statement that creates the history of a machine, if it keeps one; where the machine also creates rows, on
/// PostgreSQL and SQLite followed by that of an index, after a semicolon.
///
/// The index keeps a creation's cause to one row; on MySQL it is one on a generated column of the table. A history that was
/// made before its machine created rows gets it by this text on PostgreSQL and SQLite, and on MySQL by
/// `ALTER TABLE .. ADD COLUMN create_cause .., ADD UNIQUE (create_cause)` with the definition that stands in this text.
#[must_use]
pub fn history<M: StateMachine>(dialect: Dialect) -> Option<&'static str> {
    M::SQL.history.as_ref().map(|history| *history.of(dialect))
}

/// The statement that creates the enum type of a machine's status column, if it has one of its own: `repr = native` on
/// PostgreSQL.
#[must_use]
pub const fn status_type<M: StateMachine>(dialect: Dialect) -> Option<&'static str> {
    *M::SQL.status_type.of(dialect)
}

/// The definitions of a machine's status and version columns for `CREATE TABLE`, one a line and separated by commas.
///
/// The status compares as bytes and is of no other value than the machine's (aliases included): by its type, or by a
/// constraint that [`widen`] changes. SQLite cannot change a constraint, so that there is none there.
#[must_use]
pub const fn columns<M: StateMachine>(dialect: Dialect) -> &'static str {
    M::SQL.columns.of(dialect)
}

/// The statements that make the status column of a table that exists hold the machine's values, separated by semicolons;
/// none on SQLite, where nothing keeps other values out.
///
/// A release that adds a state is preceded by this text, so that the rows of the new release never meet the constraint
/// of the old one. One that removes a state is followed by it: where the column has a constraint, or is an `ENUM` of
/// MySQL, no other value is held from then on. (An enum type of PostgreSQL can only grow.)
///
/// On PostgreSQL run each statement in a transaction of its own: the first one locks the table, and the one that looks at
/// the rows takes its time; and what adds a value to an enum type cannot use it. [`change`] gives them apart.
#[must_use]
pub const fn widen<M: StateMachine>(dialect: Dialect) -> Option<&'static str> {
    *M::SQL.widen.of(dialect)
}

/// The query for rows that no state describes: `status`, a value that is no state of the machine, as text, and `held`, how
/// many rows hold it. A check before a release that finds none has seen that every row can be read.
#[must_use]
pub const fn unknown_values<M: StateMachine>(dialect: Dialect) -> &'static str {
    M::SQL.unknown_values.of(dialect)
}

/// The statements that a machine's rules `#[unique_while(..)]` need, separated by semicolons, if it has some: they come
/// after the table. They fail where rows are there that break a rule, or the rule's name is taken.
///
/// PostgreSQL and SQLite get a partial unique index, MySQL and MariaDB a stored generated column by the rule's name, which
/// copies the table, and a unique index; and a `NULL` in a column of the key is refused. A rule whose states change is
/// dropped and made again: an old one would go on to bound what it did.
#[must_use]
pub fn unique_while<M: StateMachine>(dialect: Dialect) -> Option<&'static str> {
    M::SQL.unique_while.as_ref().map(|rules| *rules.ddl.of(dialect))
}

/// The text that installs the guard of a machine's table, or puts it in place of the guard of another release: triggers
/// that refuse every UPDATE to a status that no declared transition leads to, and every INSERT of a row that is not in the
/// initial state. The refusal is one that [`guard_refusal`](crate::machine::guard_refusal) knows.
///
/// Several statements, separated by semicolons; on MySQL they are not one transaction, so that there is no guard for a
/// moment when one is replaced. Beside the triggers, MySQL and SQLite have a table `idem_repair`.
///
/// A release that adds a transition or a state is preceded by this text, and one that removes a transition is followed by
/// it: a guard that is wider than a release lets it and the one before run side by side.
///
/// MySQL and MariaDB ask for the privilege `TRIGGER`, and with binary logging on also for `SUPER` or
/// `log_bin_trust_function_creators = 1`.
#[must_use]
pub const fn guard<M: StateMachine>(dialect: Dialect) -> &'static str {
    M::SQL.guard.of(dialect).install
}

/// The text that removes the guard of a machine's table. The table `idem_repair`, of all guards, stays.
#[must_use]
pub const fn guard_removal<M: StateMachine>(dialect: Dialect) -> &'static str {
    M::SQL.guard.of(dialect).remove
}

/// A statement and its name.
type Named = (&'static str, &'static str);

/// The statements of idempotent functions that run in a transaction: `tx: &mut Tx<'_, DB>`.
#[must_use]
pub const fn transaction_statements(dialect: Dialect) -> [Named; 9] {
    let sql = record::SQL.of(dialect);
    [
        ("claim", sql.claim),
        ("read", sql.read),
        ("look", sql.look),
        ("end", sql.end),
        ("doubt", sql.doubt),
        ("claim all", sql.claim_all),
        ("read all", sql.read_all),
        ("look all", sql.look_all),
        ("end all", sql.end_all),
    ]
}

/// The statements of idempotent functions that hold a lease: `attempt: &mut Attempt<'_, DB>`.
#[must_use]
pub const fn attempt_statements(dialect: Dialect) -> [Named; 8] {
    let sql = record::lease::SQL.of(dialect);
    [
        ("lease", sql.lease),
        ("seen", sql.seen),
        ("take over", sql.take_over),
        ("mark", sql.mark),
        ("renew", sql.renew),
        ("complete", sql.complete),
        ("release", sql.release),
        ("let go", sql.let_go),
    ]
}

/// The statements of [operators](crate::operator), [tokens](crate::token) and [leases on names](crate::lease).
#[must_use]
pub const fn other_statements(dialect: Dialect) -> [Named; 14] {
    let (operator, token, lease) = (operator::SQL.of(dialect), token::SQL.of(dialect), lease::SQL.of(dialect));
    [
        ("operator, open", operator.open),
        ("operator, show", operator.show),
        ("operator, audit", operator.audit),
        ("operator, complete", operator.complete),
        ("operator, release", operator.release),
        ("operator, enter", operator.enter),
        ("token, issue", token.issue),
        ("token, consume", token.consume),
        ("token, read", token.read),
        ("lease, seen", lease.seen),
        ("lease, take", lease.take),
        ("lease, insert", lease.insert),
        ("lease, renew", lease.renew),
        ("lease, release", lease.release),
    ]
}

/// Every statement on the tables of idem, with its name.
pub fn statements(dialect: Dialect) -> impl Iterator<Item = Named> {
    let functions = transaction_statements(dialect).into_iter().chain(attempt_statements(dialect));
    functions.chain(other_statements(dialect))
}
