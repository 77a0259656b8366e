//! The tables of idem as text, to review and to put into a migration of one's own.

use crate::dialect::{Dialect, PerDialect};
use crate::machine::StateMachine;
use crate::record;

/// The table of records.
const DDL: PerDialect<&str> = PerDialect {
    postgres: include_str!("schema/postgres.sql"),
    mysql: include_str!("schema/mysql.sql"),
    sqlite: include_str!("schema/sqlite.sql"),
};

/// The same, safe when instances start together: on PostgreSQL two `CREATE TABLE IF NOT EXISTS` at once collide in its
/// catalogue. The statements of one text are one transaction there.
const MIGRATION: PerDialect<&str> = PerDialect {
    postgres: concat!("SELECT pg_advisory_xact_lock(hashtext('idem_migrate'));\n", include_str!("schema/postgres.sql")),
    ..DDL
};

/// The statements that create the tables of idem, each ended by a semicolon.
#[must_use]
pub const fn ddl(dialect: Dialect) -> &'static str {
    DDL.of(dialect)
}

pub(crate) const fn migration(dialect: Dialect) -> &'static str {
    MIGRATION.of(dialect)
}

/// The statement that creates the history of a machine, if it keeps one.
#[must_use]
pub fn history<M: StateMachine>(dialect: Dialect) -> Option<&'static str> {
    M::SQL.history.as_ref().map(|history| *history.of(dialect))
}

/// Every statement that idempotent functions run, with its name.
#[must_use]
pub const fn statements(dialect: Dialect) -> [(&'static str, &'static str); 4] {
    let sql = record::SQL.of(dialect);
    [("claim", sql.claim), ("read", sql.read), ("complete", sql.complete), ("doubt", sql.doubt)]
}
