//! What an operator does to a record, in one transaction with the audit entry.

use super::error::OperatorError;
use super::sql::SQL;
use super::stored::{Found, StoredRecord};
use crate::dialect::{Dialect, SqlDialect};
use crate::engine::Idem;
use crate::error::Error;
use crate::idempotent::new_owner;
use crate::record::{Ending, Query, Status, bind, bind_texts};
use crate::tx::{Refused, Root};

/// As much as the column holds on every engine, in characters.
const LONGEST_ACTOR: usize = 191;

/// No reason needs more, and every engine holds it, in characters.
const LONGEST_REASON: usize = 10_000;

/// What is done, to which record, by whom and why.
pub(super) struct Act<'a> {
    pub(super) scope: &'a str,
    pub(super) key: &'a str,
    pub(super) actor: &'a str,
    pub(super) reason: &'a str,
    /// What the record is completed with. Without it, it is released.
    pub(super) ending: Option<Ending>,
    /// The record as the operator knows it.
    pub(super) seen: Option<&'a StoredRecord>,
    pub(super) even_running: bool,
}

impl Act<'_> {
    pub(super) async fn run<DB: SqlDialect>(&self, idem: &Idem<DB>) -> Result<(), OperatorError> {
        check("the actor", self.actor, LONGEST_ACTOR, "is longer than 191 characters")?;
        check("the reason", self.reason, LONGEST_REASON, "is longer than 10,000 characters")?;
        let mut tx = idem.open().await?;
        match self.write(tx.root()).await {
            Ok(()) => Ok(tx.commit().await?),
            Err(error) => {
                // Nothing is kept of it, whatever becomes of the rollback.
                let _ = tx.rollback().await;
                Err(error)
            }
        }
    }

    async fn write<DB: SqlDialect>(&self, root: &mut Root<DB>) -> Result<(), OperatorError> {
        if let Some(ending) = &self.ending {
            ending.fit(root).await?;
        }
        let found = self.find(root).await?;
        self.check_found(&found.record)?;
        let changed = root.ask(self.change::<DB>(&found).map_err(Error::Database)?).await;
        if changed.map_err(Error::statement::<DB>)?.rows_affected() != 1 {
            return Err(OperatorError::Changed);
        }
        let entered = root.ask(self.entry::<DB>(&found)?).await.map_err(Error::statement::<DB>)?;
        if entered.rows_affected() == 1 {
            return Ok(());
        }
        let kept = Refused::new("the audit did not take its entry; a trigger may have kept it");
        Err(Error::Database(kept.into()).into())
    }

    async fn find<DB: SqlDialect>(&self, root: &mut Root<DB>) -> Result<Found, OperatorError> {
        let Some(query) = select::<DB>(SQL.of(DB::DIALECT).show, self.scope, self.key)? else {
            return Err(OperatorError::NotFound);
        };
        let row = root.ask(query).await.map_err(Error::statement::<DB>)?.row;
        Ok(Found::of::<DB>(&row.ok_or(OperatorError::NotFound)?).map_err(Error::Database)?)
    }

    fn check_found(&self, record: &StoredRecord) -> Result<(), OperatorError> {
        match (record.status, record.lease_left) {
            (status @ (Status::Completed | Status::Failed), _) => Err(OperatorError::Ended { status }),
            _ if self.seen.is_some_and(|seen| !seen.is_as(record)) => Err(OperatorError::Changed),
            (_, Some(lease_left)) if !self.even_running => Err(OperatorError::InProgress { lease_left }),
            _ => Ok(()),
        }
    }

    /// The statement on the record. A new owner makes an attempt that still runs a stale one.
    fn change<DB: SqlDialect>(&self, found: &Found) -> Result<Query<DB>, sqlx::Error> {
        let (sql, record, mut arguments) = (SQL.of(DB::DIALECT), &found.record, DB::Arguments::default());
        if let Some(Ending { answer, .. }) = &self.ending {
            bind::<DB, _>(&mut arguments, &answer.text)?;
            bind::<DB, _>(&mut arguments, &answer.kind)?;
            bind::<DB, _>(&mut arguments, &new_owner())?;
        }
        bind_texts::<DB>(&mut arguments, &[self.scope, self.key, &record.owner])?;
        bind::<DB, _>(&mut arguments, &record.attempt)?;
        bind::<DB, _>(&mut arguments, &record.status.number())?;
        bind::<DB, _>(&mut arguments, &found.begun)?;
        bind::<DB, _>(&mut arguments, &self.even_running)?;
        Ok((if self.ending.is_some() { sql.complete } else { sql.release }, Some(arguments)))
    }

    /// The statement that enters it in the audit.
    fn entry<DB: SqlDialect>(&self, found: &Found) -> Result<Query<DB>, Error> {
        let was = found.json().map_err(|source| Error::Unencodable { what: "the record", source })?;
        let action = if self.ending.is_some() { "complete" } else { "release" };
        let result = self.ending.as_ref().map(|ending| ending.answer.text.clone());
        let mut arguments = DB::Arguments::default();
        bind_texts::<DB>(&mut arguments, &[self.actor, action, self.reason, self.scope, self.key, &was])
            .and_then(|()| bind::<DB, _>(&mut arguments, &result))
            .map_err(Error::Database)?;
        Ok((SQL.of(DB::DIALECT).enter, Some(arguments)))
    }
}

/// The statement that reads what belongs to one record. `None` where no such record can be: PostgreSQL keeps no NUL.
pub(super) fn select<DB: SqlDialect>(
    sql: &'static str,
    scope: &str,
    key: &str,
) -> Result<Option<Query<DB>>, OperatorError> {
    if DB::DIALECT == Dialect::Postgres && [scope, key].iter().any(|text| text.contains('\0')) {
        return Ok(None);
    }
    let mut arguments = DB::Arguments::default();
    bind_texts::<DB>(&mut arguments, &[scope, key]).map_err(Error::Database)?;
    Ok(Some((sql, Some(arguments))))
}

/// What a column of the audit can hold of a text, and a person can read.
fn check(what: &'static str, text: &str, longest: usize, too_long: &'static str) -> Result<(), OperatorError> {
    let fault = match text {
        _ if text.trim().is_empty() => "is empty",
        _ if text.chars().count() > longest => too_long,
        _ if text.contains('\0') => "holds NUL",
        _ => return Ok(()),
    };
    Err(OperatorError::Invalid { what, fault })
}
