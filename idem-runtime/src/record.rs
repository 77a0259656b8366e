//! The record of one idempotent call: claimed, read, ended.

pub(crate) mod lease;
mod many;
mod sql;

use std::fmt;
use std::time::Duration;

use sqlx::SqlStr;

use crate::dialect::{Binds, Class, Dialect, Leaves, SqlDialect};
use crate::engine::Idem;
use crate::error::Error;
use crate::idempotent::{Retention, Spec};
use crate::tx::{Answer, Lent, Root};

pub(crate) use many::{claim_all, end_all, fit_all, look_all};
pub(crate) use sql::SQL;

/// Which record, whose, and what for.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    pub(crate) spec: Spec,
    pub(crate) key: String,
    pub(crate) fingerprint: String,
    pub(crate) owner: String,
}

/// A record as it was found.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) status: Status,
    pub(crate) fingerprint: String,
    /// None where the call has not ended, or a cleanup took it.
    pub(crate) answer: Option<Stored>,
    /// Whether the answer's time is over.
    pub(crate) is_gone: bool,
    /// Whether the one who holds it is let alone.
    pub(crate) is_leased: bool,
}

/// The status of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// A call runs, or was running when its process ended.
    InProgress,
    /// The call has ended with a result.
    Completed,
    /// The call has ended with an error that was recorded.
    Failed,
    /// Whether the call's effect happened is not known.
    InDoubt,
}

impl Status {
    /// Its number in the table.
    pub(crate) const fn number(self) -> i64 {
        match self {
            Self::InProgress => 1,
            Self::Completed => 2,
            Self::Failed => 3,
            Self::InDoubt => 4,
        }
    }

    fn of(number: i64) -> Option<Self> {
        [Self::InProgress, Self::Completed, Self::Failed, Self::InDoubt].into_iter().find(|it| it.number() == number)
    }

    pub(crate) fn of_row<DB: SqlDialect>(row: &DB::Row) -> Result<Self, sqlx::Error> {
        // What no release has written, nobody can answer with.
        Ok(DB::integer(row, "status")?.and_then(Self::of).unwrap_or(Self::InDoubt))
    }

    /// Its name: `in progress`, `completed`, `failed`, `in doubt`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::InProgress => "in progress",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::InDoubt => "in doubt",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An answer as it is stored: of a completed call its result, of a failed one its error.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) text: String,
    /// What it was written from. None in records that are older than the column.
    pub(crate) kind: Option<String>,
}

/// How a call ends that answers every later one.
#[derive(Debug)]
pub(crate) struct Ending {
    pub(crate) status: Status,
    pub(crate) answer: Stored,
    /// Whether there is nothing to forget: the type has one value.
    pub(crate) is_unit: bool,
}

impl Ending {
    /// The record that holds it, once it is committed.
    pub(crate) fn recorded(self, fingerprint: String) -> Record {
        let Self { status, answer, .. } = self;
        Record { status, fingerprint, answer: Some(answer), is_gone: false, is_leased: false }
    }

    /// Fails for an answer that could not be stored whole, before the database is asked to.
    pub(crate) async fn fit<DB: SqlDialect>(&self, root: &mut Root<DB>) -> Result<(), Error> {
        let bytes = self.answer.text.len();
        fit(bytes, bytes, root).await
    }

    /// Likewise, where there is no transaction.
    pub(crate) async fn fit_alone<DB: SqlDialect>(&self, patience: Duration, idem: &Idem<DB>) -> Result<(), Error> {
        let bytes = self.answer.text.len();
        check_size(bytes, idem.result_limit())?;
        if DB::DIALECT == Dialect::MySql && bytes > SMALL {
            let answer = idem.ask_alone(patience, || Ok(PACKET)).await?;
            check_size(bytes, packet(&answer).map_err(Error::Database)?)?;
        }
        Ok(())
    }

    /// What its answer was written from, and for how many seconds the answer and the key are kept.
    fn bind_kind_and_lifetimes<DB: SqlDialect>(
        &self,
        retention: Retention,
        arguments: &mut DB::Arguments,
    ) -> Result<(), sqlx::Error> {
        bind::<DB, _>(arguments, &self.answer.kind)?;
        bind::<DB, _>(arguments, &seconds(retention.result.filter(|_| !self.is_unit)))?;
        bind::<DB, _>(arguments, &seconds(retention.key))
    }
}

/// Whether the largest of some answers may be stored, and all of them can be in one packet.
async fn fit<DB: SqlDialect>(largest: usize, all: usize, root: &mut Root<DB>) -> Result<(), Error> {
    check_size(largest, root.result_limit)?;
    if DB::DIALECT == Dialect::MySql && all > SMALL {
        let answer = root.ask(PACKET).await.map_err(Error::statement::<DB>)?;
        check_size(all, packet(&answer).map_err(Error::Database)?)?;
    }
    Ok(())
}

fn check_size(bytes: usize, limit: usize) -> Result<(), Error> {
    if bytes > limit { Err(Error::ResultTooLarge { bytes, limit }) } else { Ok(()) }
}

/// No server is set to take less in one packet.
const SMALL: usize = 512 * 1024;

/// What stands beside the answer in the packet that stores it.
const BESIDE: i64 = 1024;

/// The most bytes of a packet that MySQL takes. It closes the connection on one that is larger, as if it were lost.
const PACKET: &str = "SELECT @@max_allowed_packet AS packet";

fn packet<DB: SqlDialect>(answer: &Answer<DB>) -> Result<usize, sqlx::Error> {
    let packet = answer.row.as_ref().map(|row| DB::integer(row, "packet")).transpose()?.flatten();
    Ok(packet.map_or(usize::MAX, |packet| usize::try_from(packet - BESIDE).unwrap_or_default()))
}

/// How a try to claim ended.
#[derive(Debug)]
pub(crate) enum Claimed {
    Ours,
    Theirs(Record),
    /// A rival was in the way and is gone: its transaction was rolled back, or its record removed.
    Nobodys,
    /// A rival was in the way for as long as we may wait.
    Waited,
}

impl Claim {
    /// Writes the record, or finds the one that is there. A rival is waited for no longer than `wait`, on MariaDB rounded up
    /// to whole seconds.
    pub(crate) async fn make<DB: SqlDialect>(
        &self,
        wait: Duration,
        root: &mut Root<DB>,
    ) -> Result<Claimed, sqlx::Error> {
        let answer = match root.ask(self.claim_query::<DB>(wait)?).await {
            Ok(answer) => answer,
            Err(error) => return self.not_claimed(error, root).await,
        };
        match DB::DIALECT {
            Dialect::Postgres => match &answer.row {
                Some(row) if DB::integer(row, "claimed")?.is_some() => Ok(Claimed::Ours),
                Some(row) if DB::integer(row, "status")?.is_some() => Ok(Claimed::Theirs(Record::of::<DB>(row)?)),
                _ => self.read(root).await,
            },
            Dialect::Sqlite if answer.row.is_none() => self.read(root).await,
            _ => Ok(Claimed::Ours),
        }
    }

    /// A duplicate is read; a lock that was not granted is no error of the call, and nothing was written.
    async fn not_claimed<DB: SqlDialect>(
        &self,
        error: sqlx::Error,
        root: &mut Root<DB>,
    ) -> Result<Claimed, sqlx::Error> {
        match DB::classify(&error) {
            Class::Duplicate if DB::leaves(&error) == Leaves::Transaction => self.read(root).await,
            Class::LockTimeout => Ok(Claimed::Waited),
            _ => Err(error),
        }
    }

    async fn read<DB: SqlDialect>(&self, root: &mut Root<DB>) -> Result<Claimed, sqlx::Error> {
        match root.ask(select::<DB>(SQL.of(DB::DIALECT).read, self.spec.scope, &self.key)?).await?.row {
            Some(row) => Ok(Claimed::Theirs(Record::of::<DB>(&row)?)),
            None => Ok(Claimed::Nobodys),
        }
    }

    /// Stores the answer. It is the last statement, and the fence: no row means that this is not our transaction.
    pub(crate) async fn end<DB: SqlDialect>(&self, ending: &Ending, root: &mut Root<DB>) -> Result<(), Error> {
        let query = self.end_query::<DB>(ending).map_err(Error::Database)?;
        let answer = root.ask(query).await.map_err(Error::statement::<DB>)?;
        if answer.rows_affected() == 1 { Ok(()) } else { Err(Error::Indeterminate) }
    }

    fn end_query<DB: SqlDialect>(&self, ending: &Ending) -> Result<Query<DB>, sqlx::Error> {
        Ok((SQL.of(DB::DIALECT).end, Some(self.ending_arguments::<DB>(ending)?)))
    }

    fn ending_arguments<DB: SqlDialect>(&self, ending: &Ending) -> Result<DB::Arguments, sqlx::Error> {
        let mut arguments = DB::Arguments::default();
        bind::<DB, _>(&mut arguments, &ending.status.number())?;
        bind::<DB, _>(&mut arguments, &ending.answer.text)?;
        ending.bind_kind_and_lifetimes::<DB>(self.spec.retention, &mut arguments)?;
        bind_texts::<DB>(&mut arguments, &[self.spec.scope, &self.key, &self.owner])?;
        Ok(arguments)
    }

    /// Marks a record that a statement of the body committed before its time, or writes the one that it took away.
    pub(crate) async fn doubt<DB: SqlDialect>(&self, lent: &mut Lent<DB>) -> Result<(), sqlx::Error> {
        let arguments = texts::<DB>(&[self.spec.scope, &self.key, &self.fingerprint, &self.owner])?;
        lent.ask((SQL.of(DB::DIALECT).doubt, Some(arguments))).await.map(drop)
    }

    fn claim_query<DB: SqlDialect>(&self, wait: Duration) -> Result<(SqlStr, Option<DB::Arguments>), sqlx::Error> {
        let mut arguments = texts::<DB>(&[self.spec.scope, &self.key, &self.fingerprint, &self.owner])?;
        if DB::DIALECT == Dialect::Postgres {
            bind::<DB, _>(&mut arguments, &milliseconds(wait))?;
        }
        Ok((sql::waiting(DB::DIALECT, SQL.of(DB::DIALECT).claim, wait), Some(arguments)))
    }
}

/// The time that a claim waits, as PostgreSQL sets it. Zero would be for ever.
fn milliseconds(wait: Duration) -> String {
    wait.as_millis().max(1).to_string()
}

fn seconds(lifetime: Option<u64>) -> Option<i64> {
    lifetime.map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX))
}

impl Record {
    /// Reads one by itself, as it was last committed.
    pub(crate) async fn look<DB: SqlDialect>(
        scope: &str,
        key: &str,
        lent: &mut Lent<DB>,
    ) -> Result<Option<Self>, sqlx::Error> {
        let row = lent.ask(select::<DB>(SQL.of(DB::DIALECT).look, scope, key)?).await?.row;
        row.as_ref().map(Self::of::<DB>).transpose()
    }

    fn of<DB: SqlDialect>(row: &DB::Row) -> Result<Self, sqlx::Error> {
        let kind = DB::text(row, "result_type")?;
        Ok(Self {
            status: Status::of_row::<DB>(row)?,
            fingerprint: DB::text(row, "fingerprint")?.unwrap_or_default(),
            answer: DB::text(row, "result")?.map(|text| Stored { text, kind }),
            is_gone: DB::integer(row, "gone")?.is_some(),
            is_leased: DB::integer(row, "leased")?.is_some(),
        })
    }
}

/// A statement and its parameters.
pub(crate) type Query<DB> = (&'static str, Option<<DB as sqlx::Database>::Arguments>);

fn select<DB: SqlDialect>(sql: &'static str, scope: &str, key: &str) -> Result<Query<DB>, sqlx::Error> {
    Ok((sql, Some(texts::<DB>(&[scope, key])?)))
}

fn texts<DB: SqlDialect>(values: &[&str]) -> Result<DB::Arguments, sqlx::Error> {
    let mut arguments = DB::Arguments::default();
    bind_texts::<DB>(&mut arguments, values)?;
    Ok(arguments)
}

pub(crate) fn bind_texts<DB: SqlDialect>(arguments: &mut DB::Arguments, values: &[&str]) -> Result<(), sqlx::Error> {
    values.iter().try_for_each(|value| bind::<DB, _>(arguments, &(*value).to_owned()))
}

pub(crate) fn bind<DB: SqlDialect + Binds<T>, T>(arguments: &mut DB::Arguments, value: &T) -> Result<(), sqlx::Error> {
    DB::bind(arguments, value).map_err(sqlx::Error::Encode)
}
