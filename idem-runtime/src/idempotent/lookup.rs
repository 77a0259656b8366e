use serde::de::DeserializeOwned;

use super::answer::{Answer, read};
use super::kind;
use crate::dialect::SqlDialect;
use crate::engine::{Idem, Inside};
use crate::error::Error;
use crate::json;
use crate::key::KeyParts;
use crate::record::lease::Seen;
use crate::record::{Record, Status, Stored};

/// What is known of a call, by [`Idem::lookup`].
#[derive(Debug)]
#[non_exhaustive]
pub enum Lookup<T> {
    /// No record is committed. A call may still run: in another process, or as part of a transaction that is not committed
    /// yet.
    Absent,
    /// A call runs, in this process or under a lease in another one; or it ran, its process has died before anything had
    /// begun, and the next call takes it over.
    InProgress,
    /// The call has ended with this result.
    Completed(T),
    /// The call has ended with an error that was recorded.
    Failed(RecordedError),
    /// The call has ended in a way that leaves open whether its effect happened.
    InDoubt,
    /// The call has ended for good, and its answer is not kept any more.
    Gone,
}

/// An error that a call has recorded.
#[derive(Debug)]
pub struct RecordedError(Stored);

impl RecordedError {
    /// Reads it as the error type of the function that has recorded it.
    ///
    /// # Errors
    ///
    /// [`Error::ScopeClash`] for an error of another type, [`Error::Undecodable`] for another shape of this one.
    pub fn decode<E: DeserializeOwned>(&self) -> Result<E, Error> {
        read(&self.0, kind::of::<E>, json::from_str, None)
    }

    /// It as JSON.
    #[must_use]
    pub fn json(&self) -> &str {
        &self.0.text
    }
}

impl<DB: SqlDialect> Idem<DB> {
    /// Looks a call up, and starts none. The key is written as that of the function: one value, or a tuple of its parts.
    ///
    /// That nothing is found never shows that nothing will happen: after [`Error::UnknownCommit`] the COMMIT may be on its
    /// way. Call the function again with the same key instead.
    ///
    /// ```no_run
    /// # use idem_runtime::prelude::*;
    /// # async fn f(idem: Idem<sqlx::Sqlite>) -> Result<(), idem_runtime::Error> {
    /// match idem.lookup::<i64>("order.settle", &("tenant", 42)).await? {
    ///     Lookup::Completed(paid) => println!("paid {paid}"),
    ///     other => println!("{other:?}"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidKey`], [`Error::ScopeClash`] and [`Error::Undecodable`] for a result of another type or shape,
    /// [`Error::SecondConnection`] inside a body that holds the only connection, [`Error::Database`].
    pub async fn lookup<T: Answer>(&self, scope: &str, key: &(impl KeyParts + ?Sized)) -> Result<Lookup<T>, Error> {
        let found = self.look_up(scope, key).await;
        found.inspect_err(|_| Inside::note_error())
    }

    async fn look_up<T: Answer>(&self, scope: &str, key: &(impl KeyParts + ?Sized)) -> Result<Lookup<T>, Error> {
        let key = key.key().finish()?;
        // Asked before the table is: a call that ends in between is in it.
        let is_running = self.in_flight().is_running(scope, &key);
        let mut lent = self.acquire().await?;
        match Seen::read(scope, &key, &mut lent).await.map_err(Error::statement::<DB>)? {
            Some(seen) => seen.found(),
            None if is_running => Ok(Lookup::InProgress),
            None => Ok(Lookup::Absent),
        }
    }
}

impl Seen {
    fn found<T: Answer>(self) -> Result<Lookup<T>, Error> {
        let Record { status, answer, is_gone, is_leased, .. } = self.record;
        match (status, answer) {
            (Status::InProgress | Status::InDoubt, _) if is_leased => Ok(Lookup::InProgress),
            (Status::InProgress, _) if self.attempt > 0 => Ok(Lookup::InProgress),
            // Nothing commits the claim of a transaction without its answer but a statement that nobody saw.
            (Status::InProgress | Status::InDoubt, _) => Ok(Lookup::InDoubt),
            (_, None) => Ok(Lookup::Gone),
            _ if is_gone => Ok(Lookup::Gone),
            (Status::Completed, Some(stored)) => read(&stored, T::kind, T::restore, None).map(Lookup::Completed),
            (Status::Failed, Some(stored)) => Ok(Lookup::Failed(RecordedError(stored))),
        }
    }
}
