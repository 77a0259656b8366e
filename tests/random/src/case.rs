//! A machine as data, whatever its type.

use crate::Walk;
use idem_runtime::dialect::{Dialect, PerDialect};
use idem_runtime::machine::{EventSql, MachineSql, StateMachine, Statement};

/// A machine that was compiled.
#[derive(Debug)]
pub struct Case {
    /// Its number, by which it can be made again.
    pub number: u64,
    /// Its text.
    pub source: &'static str,
    tables: PerDialect<&'static str>,
    pub(crate) walk: Option<Walk>,
    sql: &'static MachineSql,
    pub(crate) events: &'static [(&'static str, &'static EventSql)],
}

impl Case {
    /// The machine `M`, whose text is `source`, the statement that makes its table, and how its rows are moved, if they
    /// are.
    #[must_use]
    pub const fn new<M: StateMachine>(
        number: u64,
        source: &'static str,
        tables: PerDialect<&'static str>,
        walk: Option<Walk>,
    ) -> Self {
        Self { number, source, tables, walk, sql: M::SQL, events: M::EVENTS }
    }

    /// The statements that make its tables.
    pub(crate) fn tables(&self, dialect: Dialect) -> Vec<String> {
        let table = self.tables.of(dialect).replace("{columns}", self.sql.columns.of(dialect));
        let history = self.sql.history.as_ref().map(|history| (*history.of(dialect)).to_owned());
        [table].into_iter().chain(history).collect()
    }

    /// Every statement that changes the schema, in order.
    pub(crate) fn migration(&self, dialect: Dialect) -> Vec<String> {
        let status_type = self.sql.status_type.of(dialect).map(str::to_owned);
        let widen = self.sql.widen.of(dialect).map(str::to_owned);
        status_type.into_iter().chain(self.tables(dialect)).chain(widen).collect()
    }

    /// The statements that move its rows, each with the columns of its answer.
    pub(crate) fn statements(&self, dialect: Dialect) -> Vec<(&'static str, Vec<&'static str>)> {
        let load = (self.sql.load.of(dialect).sql, ROW.to_vec());
        let lock_now = (self.sql.lock_now.of(dialect).sql, ROW.to_vec());
        let lock = (self.sql.lock.of(dialect).sql, Self::lock(dialect));
        let unknown = (*self.sql.unknown_values.of(dialect), vec!["status", "held"]);
        let bulk = self.bulk(dialect);
        let events = self.events.iter().flat_map(|(_, sql)| self.event(sql, dialect));
        [load, lock, lock_now, unknown]
            .into_iter()
            .chain(bulk)
            .chain(events.map(|(statement, columns)| (statement.sql, columns)))
            .collect()
    }

    fn bulk(&self, dialect: Dialect) -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
        let bulk = &self.sql.bulk;
        let all =
            [(&bulk.read, [NTH, ROW].concat()), (&bulk.caused, [NTH, CAUSED].concat()), (&bulk.enter, Vec::new())];
        all.into_iter().filter_map(move |(statement, columns)| Some((statement.of(dialect).as_ref()?.sql, columns)))
    }

    fn lock(dialect: Dialect) -> Vec<&'static str> {
        let setting: &[_] = if dialect == Dialect::Postgres { &["lock_timeout"] } else { &[] };
        [ROW, setting].concat()
    }

    fn event(&self, sql: &'static EventSql, dialect: Dialect) -> Vec<(&'static Statement, Vec<&'static str>)> {
        let history = self.sql.history.is_some();
        let caused = if history { CAUSED } else { &[] };
        let past = if history { PAST } else { &[] };
        let fire = match dialect {
            Dialect::Postgres => [APPLIED, ROW, caused].concat(),
            Dialect::Sqlite => APPLIED.to_vec(),
            Dialect::MySql => Vec::new(),
        };
        let fire_all = if dialect == Dialect::Postgres { [NTH, APPLIED, ROW, caused].concat() } else { Vec::new() };
        let enter = sql.enter.of(dialect).iter().chain(sql.enter_at.of(dialect));
        let own = [
            (sql.fire.of(dialect), fire.clone()),
            (sql.fire_at.of(dialect), fire),
            (sql.explain.of(dialect), [ROW, caused, past].concat()),
            (sql.fire_all.of(dialect), fire_all),
        ];
        own.into_iter().chain(enter.map(|enter| (enter, Vec::new()))).collect()
    }
}

/// Which row of the list an answer is about.
const NTH: &[&str] = &["nth"];
const APPLIED: &[&str] = &["applied"];
/// The columns of a row that answers.
const ROW: &[&str] = &["status", "version"];
/// What a history adds to them.
const CAUSED: &[&str] = &["caused", "caused_fingerprint", "caused_here"];
/// What the reading of a whole history adds to those.
const PAST: &[&str] = &["latest_target", "latest_cause", "passed", "passed_cause"];
