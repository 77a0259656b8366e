//! Statements as data: the text, and what each of its parameters is.

use Bind::{Cause, EventName, Fields, Fingerprint, Id, Ids, Note, Target, Version};

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
    /// What the history's entry says beside that, one value for each of [`Columns::notes`](super::Columns::notes).
    Note,
    /// One field of a new row, by its place.
    Value(usize),
    /// How long to wait for a lock, as PostgreSQL's settings have it.
    Wait,
    /// The identifiers of many rows, a list in JSON.
    Ids,
    /// The event's name.
    EventName,
    /// The stored value of the event's target, as text.
    Target,
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
    /// The same, and keeps the row from all others until the transaction ends; the wait for it has a bound.
    pub lock: PerDialect<Statement>,
    /// The same without a wait.
    pub lock_now: PerDialect<Statement>,
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
    /// What is said of many rows besides moving them, where that is a statement of its own.
    pub bulk: BulkSql,
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

/// The statements about many rows that belong to no event. Their answers have a row for each of the rows that they find,
/// and `nth` is its place in the list, from 1 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BulkSql {
    /// Locks the rows in the order of the list and reads `nth`, `status` and `version`. PostgreSQL needs none, and MySQL
    /// has none where the type of the identifier is not known: each row is then moved by itself.
    pub read: PerDialect<Option<Statement>>,
    /// Reads the entries that hold the event with the cause: `nth`, `caused`, `caused_fingerprint`, `caused_here`.
    pub caused: PerDialect<Option<Statement>>,
    /// Writes the entries of rows that were locked and found in a source.
    pub enter: PerDialect<Option<Statement>>,
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
    /// The compare-and-swap of many rows at any version. On PostgreSQL it locks them in the order of the list, writes the
    /// history, and answers for each of them in the columns of [`fire`](Self::fire) with `nth`, its place in the list.
    pub fire_all: PerDialect<Statement>,
}

/// The texts of an event's statements in one dialect: `fire`, `fire_at`, `explain`, `fire_all`.
type Texts = [&'static str; 4];
/// The same, then `enter` and `enter_at`.
type TextsWithEntry = [&'static str; 6];
/// The texts of `read`, and with a history `caused` and `enter`.
type BulkTexts = (&'static str, Option<[&'static str; 2]>);

const MOVE: &[Bind] = &[Fields, Id];
const MOVE_AT: &[Bind] = &[Fields, Id, Version];
const MOVE_AND_ENTER: &[Bind] = &[Fields, Id, Cause, Fingerprint, Note];
const MOVE_AND_ENTER_AT: &[Bind] = &[Fields, Id, Cause, Fingerprint, Note, Version];
const ENTER: &[Bind] = &[Cause, Fingerprint, Note, Id];
const ENTER_AT: &[Bind] = &[Cause, Fingerprint, Note, Id, Version];
const READ: &[Bind] = &[Id];
const EXPLAIN: &[Bind] = &[Id, Cause];
const MOVE_ALL: &[Bind] = &[Fields, Ids];
const MOVE_ALL_AND_ENTER: &[Bind] = &[Fields, Ids, Cause, Fingerprint, Note];
const MOVE_ALL_MYSQL: &[Bind] = &[Ids, Fields];
const READ_ALL: &[Bind] = &[Ids];
const CAUSED_ALL: &[Bind] = &[Ids, EventName, Cause];
const ENTER_ALL: &[Bind] = &[Target, EventName, Cause, Fingerprint, Note, Ids];
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

#[doc(hidden)]
impl BulkSql {
    /// Those of MySQL and of SQLite.
    #[must_use]
    pub const fn new(mysql: Option<BulkTexts>, sqlite: Option<BulkTexts>) -> Self {
        let ([m1, m2, m3], [s1, s2, s3]) = (bulk_statements(mysql), bulk_statements(sqlite));
        Self {
            read: PerDialect { postgres: None, mysql: m1, sqlite: s1 },
            caused: PerDialect { postgres: None, mysql: m2, sqlite: s2 },
            enter: PerDialect { postgres: None, mysql: m3, sqlite: s3 },
        }
    }
}

const fn bulk_statements(texts: Option<BulkTexts>) -> [Option<Statement>; 3] {
    match texts {
        None => [None, None, None],
        Some((read, None)) => [Some(Statement { sql: read, binds: READ_ALL }), None, None],
        Some((read, Some([caused, enter]))) => [
            Some(Statement { sql: read, binds: READ_ALL }),
            Some(Statement { sql: caused, binds: CAUSED_ALL }),
            Some(Statement { sql: enter, binds: ENTER_ALL }),
        ],
    }
}

/// An expansion holds the texts only: their parameters are the same for every event.
#[doc(hidden)]
impl EventSql {
    /// Without a history.
    #[must_use]
    pub const fn without_history([p1, p2, p3, p4]: Texts, [m1, m2, m3, m4]: Texts, [s1, s2, s3, s4]: Texts) -> Self {
        Self {
            fire: statements!(p1: MOVE, m1: MOVE, s1: MOVE),
            fire_at: statements!(p2: MOVE_AT, m2: MOVE_AT, s2: MOVE_AT),
            enter: PerDialect { postgres: None, mysql: None, sqlite: None },
            enter_at: PerDialect { postgres: None, mysql: None, sqlite: None },
            explain: statements!(p3: READ, m3: READ, s3: READ),
            blocked: None,
            fire_all: statements!(p4: MOVE_ALL, m4: MOVE_ALL_MYSQL, s4: MOVE_ALL),
        }
    }

    /// With a history, of which a cause has one entry only or one a row.
    #[must_use]
    pub const fn with_history(
        once: bool,
        [p1, p2, p3, p4]: Texts,
        [m1, m2, m3, m4, m5, m6]: TextsWithEntry,
        [s1, s2, s3, s4, s5, s6]: TextsWithEntry,
    ) -> Self {
        let explain_mysql = if once { EXPLAIN_MYSQL_ONCE } else { EXPLAIN_MYSQL };
        Self {
            fire: statements!(p1: MOVE_AND_ENTER, m1: MOVE, s1: MOVE),
            fire_at: statements!(p2: MOVE_AND_ENTER_AT, m2: MOVE_AT, s2: MOVE_AT),
            enter: entries!(m5, s5: ENTER),
            enter_at: entries!(m6, s6: ENTER_AT),
            explain: statements!(p3: EXPLAIN, m3: explain_mysql, s3: EXPLAIN),
            blocked: None,
            fire_all: statements!(p4: MOVE_ALL_AND_ENTER, m4: MOVE_ALL_MYSQL, s4: MOVE_ALL),
        }
    }
}
