//! The record of a call that holds a lease: claimed, marked, renewed, taken over, ended. Each statement commits by itself
//! and may run twice: the owner is this call's alone.

mod sql;

use std::time::Duration;

use sqlx::SqlStr;

use super::{Claim, Ending, Record, Status, bind, bind_texts, select, sql as record_sql, texts};
use crate::dialect::SqlDialect;
use crate::tx::Lent;

pub(crate) use sql::SQL;

/// A record, and who holds it.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) record: Record,
    pub(crate) owner: String,
    /// Zero for the record of a transaction.
    pub(crate) attempt: i64,
    /// What may have happened already.
    pub(crate) begun: Vec<String>,
    /// The same as it is stored.
    stored_begun: Option<String>,
}

/// A statement of a length that is not fixed, and its parameters.
type Text<DB> = (SqlStr, Option<<DB as sqlx::Database>::Arguments>);
type Query<DB> = super::Query<DB>;

impl Seen {
    /// Reads one as it was last committed.
    pub(crate) async fn read<DB: SqlDialect>(
        scope: &str,
        key: &str,
        lent: &mut Lent<DB>,
    ) -> Result<Option<Self>, sqlx::Error> {
        let query = select::<DB>(SQL.of(DB::DIALECT).seen, scope, key)?;
        lent.ask(query).await?.row.as_ref().map(Self::of::<DB>).transpose()
    }

    fn of<DB: SqlDialect>(row: &DB::Row) -> Result<Self, sqlx::Error> {
        let stored_begun = DB::text(row, "begun")?;
        let begun = stored_begun.as_deref().map(serde_json::from_str).transpose();
        Ok(Self {
            record: Record::of::<DB>(row)?,
            owner: DB::text(row, "owner")?.unwrap_or_default(),
            attempt: DB::integer(row, "attempt")?.unwrap_or_default(),
            begun: begun.map_err(|error| sqlx::Error::Decode(error.into()))?.unwrap_or_default(),
            stored_begun,
        })
    }
}

/// The statements of one leased call. A row too few means that the record is another owner's by now.
impl Claim {
    pub(crate) fn lease_query<DB: SqlDialect>(&self, wait: Duration) -> Result<Text<DB>, sqlx::Error> {
        let mut arguments = texts::<DB>(&[self.spec.scope, &self.key, &self.fingerprint, &self.owner])?;
        bind::<DB, _>(&mut arguments, &self.lease_ms())?;
        Ok((record_sql::waiting(DB::DIALECT, SQL.of(DB::DIALECT).lease, wait), Some(arguments)))
    }

    pub(crate) fn take_over_query<DB: SqlDialect>(&self, seen: &Seen, wait: Duration) -> Result<Text<DB>, sqlx::Error> {
        let mut arguments = texts::<DB>(&[&self.owner])?;
        bind::<DB, _>(&mut arguments, &self.lease_ms())?;
        bind_texts::<DB>(&mut arguments, &[self.spec.scope, &self.key, &seen.owner])?;
        bind::<DB, _>(&mut arguments, &seen.record.status.number())?;
        bind::<DB, _>(&mut arguments, &seen.attempt)?;
        bind::<DB, _>(&mut arguments, &seen.stored_begun)?;
        Ok((record_sql::waiting(DB::DIALECT, SQL.of(DB::DIALECT).take_over, wait), Some(arguments)))
    }

    /// Something has begun: whether it happened is in doubt until the call ends. Nothing has: it is in progress. `write` is
    /// the number of this one among those of the attempt.
    pub(crate) fn mark_query<DB: SqlDialect>(&self, begun: &[String], write: i64) -> Result<Query<DB>, sqlx::Error> {
        let status = if begun.is_empty() { Status::InProgress } else { Status::InDoubt };
        let mut arguments = DB::Arguments::default();
        bind::<DB, _>(&mut arguments, &status.number())?;
        bind::<DB, _>(&mut arguments, &list(begun)?)?;
        bind::<DB, _>(&mut arguments, &write)?;
        bind::<DB, _>(&mut arguments, &self.lease_ms())?;
        self.bind_ours::<DB>(&mut arguments)?;
        bind::<DB, _>(&mut arguments, &write)?;
        Ok((SQL.of(DB::DIALECT).mark, Some(arguments)))
    }

    pub(crate) fn complete_query<DB: SqlDialect>(&self, ending: &Ending) -> Result<Query<DB>, sqlx::Error> {
        let arguments = self.ending_arguments::<DB>(ending)?;
        Ok((SQL.of(DB::DIALECT).complete, Some(arguments)))
    }

    /// Frees the key of a call of which nothing has begun; else lets others look at once what has become of it.
    pub(crate) fn let_go_query<DB: SqlDialect>(
        &self,
        begun: &[String],
        nobody: &str,
    ) -> Result<Query<DB>, sqlx::Error> {
        let mut arguments = DB::Arguments::default();
        if begun.is_empty() {
            self.bind_ours::<DB>(&mut arguments)?;
            return Ok((SQL.of(DB::DIALECT).release, Some(arguments)));
        }
        bind::<DB, _>(&mut arguments, &list(begun)?)?;
        bind::<DB, _>(&mut arguments, &nobody.to_owned())?;
        self.bind_ours::<DB>(&mut arguments)?;
        Ok((SQL.of(DB::DIALECT).let_go, Some(arguments)))
    }

    fn bind_ours<DB: SqlDialect>(&self, arguments: &mut DB::Arguments) -> Result<(), sqlx::Error> {
        bind_texts::<DB>(arguments, &[self.spec.scope, &self.key, &self.owner])
    }

    fn lease_ms(&self) -> i64 {
        milliseconds(self.spec.lease)
    }
}

/// Renews leases, each for as long as it was taken for.
pub(crate) fn renew_query<DB: SqlDialect>(claims: &[&Claim]) -> Result<Query<DB>, sqlx::Error> {
    let list: Vec<_> =
        claims.iter().map(|claim| (claim.spec.scope, &claim.key, &claim.owner, claim.lease_ms())).collect();
    let mut arguments = DB::Arguments::default();
    bind::<DB, _>(&mut arguments, &serde_json::to_string(&list).map_err(|error| sqlx::Error::Encode(error.into()))?)?;
    Ok((SQL.of(DB::DIALECT).renew, Some(arguments)))
}

/// Nothing is NULL, so that a list of none is told by the status.
fn list(begun: &[String]) -> Result<Option<String>, sqlx::Error> {
    if begun.is_empty() {
        return Ok(None);
    }
    serde_json::to_string(begun).map(Some).map_err(|error| sqlx::Error::Encode(error.into()))
}

/// A part of a millisecond is none: that lease is over as soon as it is written.
fn milliseconds(lease: Duration) -> i64 {
    i64::try_from(lease.as_millis()).unwrap_or(i64::MAX)
}
