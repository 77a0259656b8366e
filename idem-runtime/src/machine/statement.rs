//! Statements as data: the text, and what each of its parameters is.

use Bind::{Cause, Fields, Fingerprint, Id, Version};

use crate::dialect::PerDialect;

/// What a statement's next parameters are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bind {
    /// The fields of the event, in order.
    Fields,
    /// The columns of the identifier, in order.
    Id,
    /// The version that the caller expects.
    Version,
    /// The cause, `NULL` without one.
    Cause,
    /// The hash of the event's fields, `NULL` without fields.
    Fingerprint,
}

/// One statement of one dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement {
    /// Its text.
    pub sql: &'static str,
    /// Its parameters, in the order of `$1, $2, ..` or of the question marks.
    pub binds: &'static [Bind],
}

/// The statements that belong to a machine and not to an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MachineSql {
    /// Reads `status` and `version` of one row.
    pub load: PerDialect<Statement>,
    /// Creates the history's table, when the machine keeps one.
    pub history: Option<PerDialect<&'static str>>,
    /// Whether a cause moves one row only (`history(cause = once)`), not one per row.
    pub once: bool,
    /// Whether rows have a version.
    pub versions: bool,
    /// Creates the enum type of the status column, where it has one of its own.
    pub status_type: PerDialect<Option<&'static str>>,
    /// The definitions of the status and version columns for `CREATE TABLE`, with a constraint that names the values
    /// where it can be changed later.
    pub columns: PerDialect<&'static str>,
    /// Lets the status column of a table that exists hold the machine's values, and on MySQL and with a constraint no
    /// others.
    pub widen: PerDialect<Option<&'static str>>,
    /// Lists the values of the status column that are no state of the machine: the columns `status`, as text, and `held`,
    /// how many rows hold it.
    pub unknown_values: PerDialect<&'static str>,
}

/// The statements of one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventSql {
    /// The compare-and-swap. On PostgreSQL it also writes the history and answers with what it read: the columns
    /// `applied` (the new version, `NULL` when the row did not move), `status`, `version`, and with a history
    /// `caused` (the version of the entry that holds the cause), `caused_fingerprint`, `caused_here`.
    pub fire: PerDialect<Statement>,
    /// The same for a caller that names the version.
    pub fire_at: PerDialect<Statement>,
    /// Where the history is a statement of its own, it comes first, from the locked row itself: the entry then names
    /// the true source, and a refused entry leaves nothing to undo.
    pub enter: PerDialect<Option<Statement>>,
    /// The same for a caller that names the version.
    pub enter_at: PerDialect<Option<Statement>>,
    /// Reads, after a row has not moved, all that the answer depends on: the columns `status`, `version`, and with a
    /// history `caused`, `caused_fingerprint`, `caused_here`, `latest_target`, `latest_cause`, `passed` (a version)
    /// and `passed_cause`.
    pub explain: PerDialect<Statement>,
}

/// The text of an event's statements in a dialect whose history is part of the compare-and-swap, or that has none.
type Texts = [&'static str; 3];
/// The same where the entry in the history is a statement of its own.
type TextsWithEntry = [&'static str; 5];

/// The parameters are the same for every event, so that an expansion holds the texts only.
impl EventSql {
    /// Without a history: `fire`, `fire_at` and `explain` of each dialect.
    #[doc(hidden)]
    #[must_use]
    pub const fn without_history(postgres: Texts, mysql: Texts, sqlite: Texts) -> Self {
        Self {
            fire: statements([postgres[0], mysql[0], sqlite[0]], [MOVE; 3]),
            fire_at: statements([postgres[1], mysql[1], sqlite[1]], [MOVE_AT; 3]),
            enter: PerDialect { postgres: None, mysql: None, sqlite: None },
            enter_at: PerDialect { postgres: None, mysql: None, sqlite: None },
            explain: statements([postgres[2], mysql[2], sqlite[2]], [&[Id]; 3]),
        }
    }

    /// With a history: `fire`, `fire_at`, `explain` of each dialect, then `enter` and `enter_at` where they are.
    #[doc(hidden)]
    #[must_use]
    pub const fn with_history(once: bool, postgres: Texts, mysql: TextsWithEntry, sqlite: TextsWithEntry) -> Self {
        let mysql_explain: &[Bind] = if once { &EXPLAIN_MYSQL_ONCE } else { &EXPLAIN_MYSQL };
        Self {
            fire: statements([postgres[0], mysql[0], sqlite[0]], [MOVE_AND_ENTER, MOVE, MOVE]),
            fire_at: statements([postgres[1], mysql[1], sqlite[1]], [MOVE_AND_ENTER_AT, MOVE_AT, MOVE_AT]),
            enter: entries(mysql[3], sqlite[3], ENTER),
            enter_at: entries(mysql[4], sqlite[4], ENTER_AT),
            explain: statements([postgres[2], mysql[2], sqlite[2]], [&[Id, Cause], mysql_explain, &[Id, Cause]]),
        }
    }
}

const MOVE: &[Bind] = &[Fields, Id];
const MOVE_AT: &[Bind] = &[Fields, Id, Version];
const MOVE_AND_ENTER: &[Bind] = &[Fields, Id, Cause, Fingerprint];
const MOVE_AND_ENTER_AT: &[Bind] = &[Fields, Id, Cause, Fingerprint, Version];
const ENTER: &[Bind] = &[Cause, Fingerprint, Id];
const ENTER_AT: &[Bind] = &[Cause, Fingerprint, Id, Version];
// MySQL's parameters have no numbers: each occurrence is one.
const EXPLAIN_MYSQL: [Bind; 7] = [Id, Cause, Id, Id, Id, Id, Id];
const EXPLAIN_MYSQL_ONCE: [Bind; 6] = [Cause, Id, Id, Id, Id, Id];

const fn statements([postgres, mysql, sqlite]: Texts, binds: [&'static [Bind]; 3]) -> PerDialect<Statement> {
    PerDialect {
        postgres: Statement { sql: postgres, binds: binds[0] },
        mysql: Statement { sql: mysql, binds: binds[1] },
        sqlite: Statement { sql: sqlite, binds: binds[2] },
    }
}

const fn entries(mysql: &'static str, sqlite: &'static str, binds: &'static [Bind]) -> PerDialect<Option<Statement>> {
    PerDialect {
        postgres: None,
        mysql: Some(Statement { sql: mysql, binds }),
        sqlite: Some(Statement { sql: sqlite, binds }),
    }
}
