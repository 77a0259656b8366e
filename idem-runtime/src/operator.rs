//! Records that need a person: shown, completed or released by hand, with an entry in the audit.
//!
//! A record is *open* when its call is in doubt (an outside call may have happened, and nobody knows), or when its lease is
//! over and nobody has called again. Look up what happened in the world, at the bank for example; then
//! [`complete`](Operator::complete) the record with the result, or [`release`](Operator::release) it if certainly nothing
//! happened.
//!
//! ```no_run
//! # use std::time::Duration;
//! # use idem_runtime::prelude::*;
//! # use idem_runtime::operator::OperatorError;
//! # async fn f(idem: Idem<sqlx::Sqlite>) -> Result<(), OperatorError> {
//! let operator = idem.operator("alice");
//! for record in operator.open(Duration::from_mins(10)).await? {
//!     println!("{} {} {:?} for {:?}", record.scope, record.key, record.begun, record.age);
//! }
//! operator.complete("transfer.send", "7", &31_i64, "the bank shows it as paid, ticket 12").await?;
//! operator.release("transfer.send", "8", "the bank never saw it, ticket 13").await?;
//! # Ok(())
//! # }
//! ```

mod act;
mod error;
mod sql;
mod stored;

use std::fmt;
use std::time::Duration;

use self::act::{Act, select};
use self::stored::Found;
use crate::dialect::SqlDialect;
use crate::engine::Idem;
use crate::error::Error;
use crate::idempotent::Answer;
use crate::key::KeyParts;
use crate::record::{Ending, Stored, bind};
use crate::tx::Lent;

pub use self::error::OperatorError;
pub(crate) use self::sql::SQL;
pub use self::stored::{AuditEntry, ShownRecord, StoredRecord};
pub use crate::record::Status;

/// Longer than any service runs, and not so long that no database can subtract it.
const AGES: Duration = Duration::from_hours(24 * 365 * 100);

/// The verbs of a person, or of a tool in a person's name. Made by [`Idem::operator`].
///
/// The key is a text as it is stored and as [`open`](Self::open) lists it; [`stored_key`] makes it of typed parts.
///
/// # Errors
///
/// Each verb: [`OperatorError`]; what it was to change is then as it was. Inside of a body of the same engine
/// [`Error::SecondConnection`], where that holds the only connection.
#[must_use = "an operator does nothing without a verb"]
pub struct Operator<DB: SqlDialect> {
    idem: Idem<DB>,
    actor: String,
    seen: Option<StoredRecord>,
    even_running: bool,
}

/// The text as which a key is stored: of the parts that the function has in its `key`, one value or a tuple.
///
/// ```
/// # use idem_runtime::operator::stored_key;
/// assert_eq!(stored_key(&("tenant a", 42))?, "tenant a/42");
/// # Ok::<_, idem_runtime::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::InvalidKey`].
pub fn stored_key(key: &(impl KeyParts + ?Sized)) -> Result<String, Error> {
    key.key().finish()
}

impl<DB: SqlDialect> Idem<DB> {
    /// What a person does to records. The actor, at most 191 characters, stands in the audit: a name that says who it was.
    pub fn operator(&self, actor: impl Into<String>) -> Operator<DB> {
        Operator { idem: self.clone(), actor: actor.into(), seen: None, even_running: false }
    }
}

impl<DB: SqlDialect> Operator<DB> {
    /// Acts on a record whose lease goes on, too. Its attempt may be in the middle of an outside call, and it is made stale:
    /// it neither completes nor releases the record any more. What it does outside, nothing can stop.
    pub fn even_running(mut self) -> Self {
        self.even_running = true;
        self
    }

    /// Acts on a record only if it is as it was when it was read: between the look at it and the verb, while the person asks
    /// the bank, another attempt may have begun and ended. Otherwise [`OperatorError::Changed`].
    pub fn as_seen(mut self, record: &StoredRecord) -> Self {
        self.seen = Some(record.clone());
        self
    }

    /// The open records that began so long ago, the oldest first and 1,000 at most: those in doubt, and those in progress
    /// whose lease is over or that never had one. One in doubt may have a lease that goes on: its outside call takes that
    /// long.
    ///
    /// It reads the whole table of records once.
    ///
    /// # Errors
    ///
    /// [`OperatorError::Runtime`].
    pub async fn open(&self, older_than: Duration) -> Result<Vec<StoredRecord>, OperatorError> {
        let age = i64::try_from(older_than.min(AGES).as_millis()).unwrap_or(i64::MAX);
        let mut arguments = DB::Arguments::default();
        bind::<DB, _>(&mut arguments, &age).map_err(Error::Database)?;
        let rows = self.idem.acquire().await?.rows((SQL.of(DB::DIALECT).open, Some(arguments))).await;
        let rows = rows.map_err(Error::statement::<DB>)?;
        let records = rows.iter().map(|row| Ok(Found::of::<DB>(row)?.record));
        Ok(records.collect::<Result<_, _>>().map_err(Error::Database)?)
    }

    /// One record, whatever has become of it.
    ///
    /// # Errors
    ///
    /// [`OperatorError::Runtime`].
    pub async fn show(&self, scope: &str, key: &str) -> Result<Option<ShownRecord>, OperatorError> {
        let Some(query) = select::<DB>(SQL.of(DB::DIALECT).show, scope, key)? else { return Ok(None) };
        let mut lent = self.idem.acquire().await?;
        let Some(row) = lent.ask(query).await.map_err(Error::statement::<DB>)?.row else { return Ok(None) };
        let found = Found::of::<DB>(&row).map_err(Error::Database)?;
        Ok(Some(found.shown(audit(scope, key, &mut lent).await?)))
    }

    /// What operators have done to a record, the oldest first. It outlives the record.
    ///
    /// # Errors
    ///
    /// [`OperatorError::Runtime`].
    pub async fn audit(&self, scope: &str, key: &str) -> Result<Vec<AuditEntry>, OperatorError> {
        audit(scope, key, &mut self.idem.acquire().await?).await
    }

    /// Completes an open record: the effect happened, and this is the result that each later call is given. It is kept for
    /// ever, whatever the function's `retain` says.
    ///
    /// # Errors
    ///
    /// Each of [`OperatorError`], and [`Error::ResultTooLarge`], [`Error::Unencodable`].
    pub async fn complete<T: Answer>(
        &self,
        scope: &str,
        key: &str,
        result: &T,
        reason: &str,
    ) -> Result<(), OperatorError> {
        let text = result.store().map_err(|source| Error::Unencodable { what: "the result", source })?;
        self.act(scope, key, Some(Stored { text, kind: Some(T::kind()) }), reason).await
    }

    /// Completes as [`complete`](Self::complete) does, with JSON from somewhere else, such as a command line. Whether it
    /// fits the function's result, only the next call tells: [`Error::Undecodable`] if it does not.
    ///
    /// # Errors
    ///
    /// Each of [`OperatorError`], and [`Error::ResultTooLarge`].
    pub async fn complete_json(&self, scope: &str, key: &str, json: &str, reason: &str) -> Result<(), OperatorError> {
        serde_json::from_str::<serde_json::Value>(json).map_err(OperatorError::NoJson)?;
        self.act(scope, key, Some(Stored { text: json.to_owned(), kind: None }), reason).await
    }

    /// Releases an open record: the effect certainly did not happen. The record is deleted, and the next call runs.
    ///
    /// # Errors
    ///
    /// Each of [`OperatorError`].
    pub async fn release(&self, scope: &str, key: &str, reason: &str) -> Result<(), OperatorError> {
        self.act(scope, key, None, reason).await
    }

    async fn act(&self, scope: &str, key: &str, result: Option<Stored>, reason: &str) -> Result<(), OperatorError> {
        let ending = result.map(|answer| Ending { status: Status::Completed, answer, is_unit: false });
        let (actor, seen, even_running) = (self.actor.as_str(), self.seen.as_ref(), self.even_running);
        Act { scope, key, actor, reason, ending, seen, even_running }.run(&self.idem).await
    }
}

async fn audit<DB: SqlDialect>(scope: &str, key: &str, lent: &mut Lent<DB>) -> Result<Vec<AuditEntry>, OperatorError> {
    let Some(query) = select::<DB>(SQL.of(DB::DIALECT).audit, scope, key)? else { return Ok(Vec::new()) };
    let rows = lent.rows(query).await.map_err(Error::statement::<DB>)?;
    Ok(rows.iter().map(AuditEntry::of::<DB>).collect::<Result<_, _>>().map_err(Error::Database)?)
}

impl<DB: SqlDialect> fmt::Debug for Operator<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { actor, seen, even_running, .. } = self;
        let mut debug = f.debug_struct("Operator");
        debug.field("actor", actor).field("seen", seen).field("even_running", even_running).finish_non_exhaustive()
    }
}
