//! Statements as data: the text, and what each of its parameters is.

use Bind::{Cause, Fields, Fingerprint, Id, Version};

use super::fire::line::Query;
use super::{GuardSql, RepairSql};
use crate::dialect::{BoxDynError, PerDialect, SqlDialect};

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
    /// One field of a new row, by its place.
    Value(usize),
}

/// One statement of one dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement {
    /// Its text.
    pub sql: &'static str,
    /// Its parameters, in the order of `$1, $2, ..` or of the question marks.
    pub binds: &'static [Bind],
}

impl Statement {
    /// The statement with what `bind` gives for each of its parameters.
    pub(super) fn query<DB: SqlDialect>(
        &self,
        mut bind: impl FnMut(Bind, &mut DB::Arguments) -> Result<(), BoxDynError>,
    ) -> Result<Query<DB>, sqlx::Error> {
        let mut arguments = DB::Arguments::default();
        self.binds.iter().try_for_each(|it| bind(*it, &mut arguments)).map_err(sqlx::Error::Encode)?;
        Ok((self.sql, Some(arguments)))
    }
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
    /// The statements that make a row, when the machine does (`#[create(..)]`).
    pub create: Option<CreateSql>,
    /// The rules `#[unique_while(..)]`.
    pub unique_while: Option<UniqueWhileSql>,
    /// The guard of the table.
    pub guard: PerDialect<GuardSql>,
    /// The statements of a repair, when the machine keeps a history.
    pub repair: Option<PerDialect<RepairSql>>,
}

/// The statements of a creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CreateSql {
    /// Where the history is a statement of its own, it comes first.
    pub enter: PerDialect<Option<Statement>>,
    /// The INSERT; on PostgreSQL it also writes the history.
    pub insert: PerDialect<Statement>,
    /// With a history, reads the row that a cause made: the columns `id_0`, .. , `status`, `version` (`NULL` when the row
    /// is gone), `made` and `made_fingerprint`.
    pub caused: Option<PerDialect<Statement>>,
    /// After a collision, reads the row that has the identifier, then for each rule the one that has its key: the columns
    /// `id_0`, .. , `status`, `version`, `same` (1 when the columns hold what the call was given), and with a history
    /// `made` (the version of the entry of its beginning, if it has one) and `made_fingerprint`.
    pub met: &'static [PerDialect<Statement>],
}

/// The rules that bound how many rows with one key are in some states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UniqueWhileSql {
    /// Their names.
    pub names: &'static [&'static str],
    /// Adds their indexes to the table.
    pub ddl: PerDialect<&'static str>,
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
    /// For an event that can bring a row under a rule `#[unique_while(..)]`: reads, after a collision, under which rules
    /// another row has the row's key, in the column `rule`.
    pub blocked: Option<PerDialect<Statement>>,
}

/// The texts of an event's statements in one dialect: `fire`, `fire_at`, `explain`.
type Texts = [&'static str; 3];
/// The same, then `enter` and `enter_at`.
type TextsWithEntry = [&'static str; 5];

const MOVE: &[Bind] = &[Fields, Id];
const MOVE_AT: &[Bind] = &[Fields, Id, Version];
const MOVE_AND_ENTER: &[Bind] = &[Fields, Id, Cause, Fingerprint];
const MOVE_AND_ENTER_AT: &[Bind] = &[Fields, Id, Cause, Fingerprint, Version];
const ENTER: &[Bind] = &[Cause, Fingerprint, Id];
const ENTER_AT: &[Bind] = &[Cause, Fingerprint, Id, Version];
const READ: &[Bind] = &[Id];
const EXPLAIN: &[Bind] = &[Id, Cause];
// MySQL's parameters have no numbers: each occurrence is one.
const EXPLAIN_MYSQL: &[Bind] = &[Id, Cause, Id, Id, Id, Id, Id];
const EXPLAIN_MYSQL_ONCE: &[Bind] = &[Cause, Id, Id, Id, Id, Id];

/// The statements of the three dialects. No function: the compiler would interpret its call for each event.
macro_rules! statements {
    ($postgres:ident: $p:ident, $mysql:ident: $m:ident, $sqlite:ident: $s:ident) => {
        PerDialect {
            postgres: Statement { sql: $postgres, binds: $p },
            mysql: Statement { sql: $mysql, binds: $m },
            sqlite: Statement { sql: $sqlite, binds: $s },
        }
    };
}

/// The entries of the two dialects that have them apart.
macro_rules! entries {
    ($mysql:ident, $sqlite:ident: $binds:ident) => {
        PerDialect {
            postgres: None,
            mysql: Some(Statement { sql: $mysql, binds: $binds }),
            sqlite: Some(Statement { sql: $sqlite, binds: $binds }),
        }
    };
}

/// An expansion holds the texts only: their parameters are the same for every event.
#[doc(hidden)]
impl EventSql {
    /// Without a history.
    #[must_use]
    pub const fn without_history([p1, p2, p3]: Texts, [m1, m2, m3]: Texts, [s1, s2, s3]: Texts) -> Self {
        Self {
            fire: statements!(p1: MOVE, m1: MOVE, s1: MOVE),
            fire_at: statements!(p2: MOVE_AT, m2: MOVE_AT, s2: MOVE_AT),
            enter: PerDialect { postgres: None, mysql: None, sqlite: None },
            enter_at: PerDialect { postgres: None, mysql: None, sqlite: None },
            explain: statements!(p3: READ, m3: READ, s3: READ),
            blocked: None,
        }
    }

    /// With a history, of which a cause has one entry only or one a row.
    #[must_use]
    pub const fn with_history(
        once: bool,
        [p1, p2, p3]: Texts,
        [m1, m2, m3, m4, m5]: TextsWithEntry,
        [s1, s2, s3, s4, s5]: TextsWithEntry,
    ) -> Self {
        let explain_mysql = if once { EXPLAIN_MYSQL_ONCE } else { EXPLAIN_MYSQL };
        Self {
            fire: statements!(p1: MOVE_AND_ENTER, m1: MOVE, s1: MOVE),
            fire_at: statements!(p2: MOVE_AND_ENTER_AT, m2: MOVE_AT, s2: MOVE_AT),
            enter: entries!(m4, s4: ENTER),
            enter_at: entries!(m5, s5: ENTER_AT),
            explain: statements!(p3: EXPLAIN, m3: explain_mysql, s3: EXPLAIN),
            blocked: None,
        }
    }
}
