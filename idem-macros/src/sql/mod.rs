//! From a model to its statements, as text that a reviewer reads: keywords in upper case, one clause a line.

mod bulk;
mod columns;
mod create;
mod guard;
mod history;
mod keywords;
mod lock;
mod mysql;
mod postgres;
mod repair;
mod sqlite;
#[cfg(test)]
#[expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]
mod tests;
mod unique;
mod writer;

pub(crate) use self::bulk::BulkSql;
pub(crate) use self::writer::Names;
use self::writer::Writer;
use crate::machine::model::{Event, Model};

pub(crate) use self::guard::GuardSql;
pub(crate) use self::repair::RepairSql;

/// How many bytes of a name PostgreSQL keeps.
pub(crate) const LONGEST_NAME: usize = 63;

/// What a statement's next parameters are; the runtime's type of that name says more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bind {
    Fields,
    Id,
    Version,
    Cause,
    Fingerprint,
    Note,
    /// One field of a new row, by its place.
    Value(usize),
    Wait,
    Ids,
    EventName,
    Target,
}

/// One statement of one dialect.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) sql: String,
    pub(crate) binds: Vec<Bind>,
}

/// One value for each dialect.
pub(crate) struct PerDialect<T> {
    pub(crate) postgres: T,
    pub(crate) mysql: T,
    pub(crate) sqlite: T,
}

/// The statements of one event; the runtime's type of that name says what each of them is.
pub(crate) struct EventSql {
    pub(crate) fire: PerDialect<Statement>,
    pub(crate) fire_at: PerDialect<Statement>,
    pub(crate) enter: PerDialect<Option<Statement>>,
    pub(crate) enter_at: PerDialect<Option<Statement>>,
    pub(crate) explain: PerDialect<Statement>,
    pub(crate) blocked: Option<PerDialect<Statement>>,
    pub(crate) fire_all: PerDialect<Statement>,
}

/// The statements of a creation; the runtime's type of that name says what each of them is.
pub(crate) struct CreateSql {
    pub(crate) enter: PerDialect<Option<Statement>>,
    pub(crate) insert: PerDialect<Statement>,
    pub(crate) caused: Option<PerDialect<Statement>>,
    pub(crate) met: Vec<PerDialect<Statement>>,
}

/// The rules `#[unique_while(..)]` of a machine.
pub(crate) struct UniqueWhileSql {
    pub(crate) names: Vec<String>,
    pub(crate) ddl: PerDialect<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Postgres,
    MySql,
    Sqlite,
}

/// Which version a row has to have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    Any,
    Expected,
}

impl<T> PerDialect<T> {
    fn new(make: impl Fn(Dialect) -> T) -> Self {
        Self { postgres: make(Dialect::Postgres), mysql: make(Dialect::MySql), sqlite: make(Dialect::Sqlite) }
    }

    fn of(&self, dialect: Dialect) -> &T {
        match dialect {
            Dialect::Postgres => &self.postgres,
            Dialect::MySql => &self.mysql,
            Dialect::Sqlite => &self.sqlite,
        }
    }
}

/// Reads `status` and `version` of one row.
pub(crate) fn load(model: &Model) -> PerDialect<Statement> {
    PerDialect::new(|dialect| select_row(dialect, model, ""))
}

/// Locks one row and reads `status` and `version`: with a bound on the wait, and without a wait.
pub(crate) fn lock(model: &Model) -> [PerDialect<Statement>; 2] {
    [PerDialect::new(|dialect| lock::lock(dialect, model)), PerDialect::new(|dialect| lock::lock_now(dialect, model))]
}

/// What MySQL and SQLite say of many rows besides moving them.
pub(crate) fn bulk(model: &Model) -> PerDialect<Option<BulkSql>> {
    PerDialect::new(|dialect| bulk::rows(dialect, model))
}

/// Creates the history's table, when the machine keeps one.
pub(crate) fn history(model: &Model) -> Option<PerDialect<String>> {
    let history = model.history.as_ref()?;
    Some(PerDialect::new(|dialect| history::create_table(dialect, model, history)))
}

/// The name of PostgreSQL's enum type as its statements take it.
pub(crate) fn type_name(model: &Model, name: &str) -> String {
    Writer::new(Dialect::Postgres, model, 0, &[]).quoted_path(name)
}

/// What a migration says of the status and version columns.
pub(crate) struct ColumnsSql {
    pub(crate) status_type: PerDialect<Option<String>>,
    pub(crate) definitions: PerDialect<String>,
    pub(crate) widen: PerDialect<Option<String>>,
    pub(crate) unknown_values: PerDialect<String>,
}

/// The columns of the machine.
pub(crate) fn columns(model: &Model) -> ColumnsSql {
    ColumnsSql {
        status_type: PerDialect::new(|dialect| columns::status_type(dialect, model)),
        definitions: PerDialect::new(|dialect| columns::definitions(dialect, model)),
        widen: PerDialect::new(|dialect| columns::widen(dialect, model)),
        unknown_values: PerDialect::new(|dialect| columns::unknown_values(dialect, model)),
    }
}

/// The guard of the machine's table.
pub(crate) fn guard(model: &Model) -> PerDialect<GuardSql> {
    PerDialect::new(|dialect| guard::guard(dialect, model))
}

/// How a row is put right past the guard, when the machine keeps a history.
pub(crate) fn repair(model: &Model) -> Option<PerDialect<RepairSql>> {
    let history = model.history.as_ref()?;
    Some(PerDialect::new(|dialect| repair::repair(dialect, model, history)))
}

/// All statements of one event.
pub(crate) fn event(model: &Model, event: &Event) -> EventSql {
    EventSql {
        fire: PerDialect::new(|dialect| fire(dialect, model, event, Version::Any)),
        fire_at: PerDialect::new(|dialect| fire(dialect, model, event, Version::Expected)),
        enter: PerDialect::new(|dialect| history::enter(dialect, model, event, Version::Any)),
        enter_at: PerDialect::new(|dialect| history::enter(dialect, model, event, Version::Expected)),
        explain: PerDialect::new(|dialect| match &model.history {
            Some(history) => history::explain(dialect, model, event, history),
            None => select_row(dialect, model, row_lock(dialect)),
        }),
        blocked: unique::blocked(model, event),
        fire_all: PerDialect::new(|dialect| bulk::fire(dialect, model, event)),
    }
}

/// All statements of a creation, when the machine has one.
pub(crate) fn create(model: &Model) -> Option<CreateSql> {
    model.create.as_ref().map(|it| create::create(model, it))
}

/// The rules of the machine, when it has some.
pub(crate) fn unique_while(model: &Model) -> Option<UniqueWhileSql> {
    unique::rules(model)
}

fn fire(dialect: Dialect, model: &Model, event: &Event, version: Version) -> Statement {
    match dialect {
        Dialect::Postgres => postgres::fire(model, event, version),
        Dialect::MySql => mysql::fire(model, event, version),
        Dialect::Sqlite => sqlite::fire(model, event, version),
    }
}

fn select_row(dialect: Dialect, model: &Model, lock: &str) -> Statement {
    let mut writer = Writer::new(dialect, model, 0, &[Bind::Id]);
    let sql = writer.select_row(lock);
    writer.finish(sql)
}

/// A snapshot would show a MySQL transaction the row as it was before its rival: only a locking read is current.
fn row_lock(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::MySql => "FOR UPDATE",
        Dialect::Postgres | Dialect::Sqlite => "",
    }
}

/// After a collision too only a locking read is current; it shares the lock that the collision left, so that duplicates
/// do not wait for one another in a circle.
fn shared_lock(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::MySql => "LOCK IN SHARE MODE",
        Dialect::Postgres | Dialect::Sqlite => "",
    }
}

/// The parameters of a statement in the order of their numbers.
fn order(binds: &[Bind], version: Version) -> Vec<Bind> {
    let at = (version == Version::Expected).then_some(Bind::Version);
    binds.iter().copied().chain(at).collect()
}
