//! A lease on a name: work that one instance does at a time, such as a report, a sweep or a job by the clock.
//!
//! It is a hint about who works, and no proof: a process may be stopped for longer than its lease. What proves it is
//! [`Lease::tx`], which commits only while the lease is still this owner's, or the [`token`](Lease::token), which rises with
//! each owner, where something else than this database is written.
//!
//! ```no_run
//! # use std::time::Duration;
//! # use idem_runtime::prelude::*;
//! # use idem_runtime::lease::Turn;
//! # async fn find(_: i64) -> Result<Option<String>, Error> { Ok(None) }
//! # async fn make(_: &mut Tx<'_, sqlx::Sqlite>, _: i64) -> Result<String, Error> { Ok(String::new()) }
//! # async fn f(idem: Idem<sqlx::Sqlite>, month: i64) -> Result<String, Error> {
//! let lease = idem.lease(&("report", month), Duration::from_secs(30));
//! match lease.or_wait(Duration::from_millis(200), async || find(month).await).await? {
//!     Turn::Found(report) => Ok(report), // another instance has made it meanwhile
//!     Turn::Ours(mut lease) => {
//!         let mut tx = lease.tx().await?;
//!         let report = make(&mut tx, month).await?;
//!         tx.commit().await?;
//!         lease.release().await?;
//!         Ok(report)
//!     }
//! }
//! # }
//! ```

mod hold;
mod sql;

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::dialect::{Class, SqlDialect};
use crate::engine::{Beating, Idem, Inside, Quiet};
use crate::error::Error;
use crate::finish::FinishOnDrop;
use crate::idempotent::new_owner;
use crate::key::{Key, KeyParts};
use crate::tx::{Answer, Tx};

pub(crate) use hold::Hold;
pub(crate) use sql::SQL;

/// For how long a statement is asked again whose answer was lost.
const PATIENCE: Duration = Duration::from_secs(2);

/// A lease that is asked for. Made by [`Idem::lease`].
#[must_use = "nothing is asked before `try_take` or `or_wait`"]
pub struct LeaseCall<'i, DB: SqlDialect> {
    idem: &'i Idem<DB>,
    name: Key,
    ttl: Duration,
    wait: Duration,
}

/// A lease that is ours, and is renewed until it is released or dropped.
#[must_use = "it is released when it is dropped"]
pub struct Lease<DB: SqlDialect> {
    idem: Idem<DB>,
    hold: Arc<Hold>,
    token: i64,
    /// `None` once its release is on its way.
    beating: Option<Beating<DB>>,
}

/// Whose turn it is, by [`LeaseCall::or_wait`].
#[derive(Debug)]
pub enum Turn<DB: SqlDialect, T> {
    /// Ours: there is no result yet, and nobody else is at it.
    Ours(Lease<DB>),
    /// Another one's, who has made the result.
    Found(T),
}

impl<DB: SqlDialect> Idem<DB> {
    /// Asks for a lease on a name, one value or a tuple of parts, for so long after it was last renewed. It is renewed three
    /// times in that time while it is held.
    pub fn lease(&self, name: &(impl KeyParts + ?Sized), ttl: Duration) -> LeaseCall<'_, DB> {
        LeaseCall { idem: self, name: name.key(), ttl, wait: 2 * ttl }
    }
}

impl<DB: SqlDialect> LeaseCall<'_, DB> {
    /// How long [`or_wait`](Self::or_wait) waits at most: twice the lease's time unless it is set.
    pub fn wait(self, wait: Duration) -> Self {
        Self { wait, ..self }
    }

    /// Takes the lease if nobody has it.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidKey`] for a name that no key can be made of, [`Error::SecondConnection`] inside a body that holds the
    /// only connection, [`Error::Retry`], [`Error::UnknownCommit`], [`Error::Database`].
    pub async fn try_take(self) -> Result<Option<Lease<DB>>, Error> {
        let taken = match self.name.finish() {
            Ok(name) => take(self.idem, name, self.ttl).await,
            Err(error) => Err(error),
        };
        taken.inspect_err(|_| Inside::note_error())
    }

    /// Takes the lease, or waits while another one has it: asks again and again, each time after a brief while, whether the
    /// result is there by now, and takes the lease if its owner has released it, or is not heard of any more, without one.
    ///
    /// Nobody is told that there is a result before the query says so: it has to see what the owner has committed, and
    /// nothing else.
    ///
    /// # Errors
    ///
    /// Those of the query, those of [`try_take`](Self::try_take), and [`Error::InProgress`] when the other one was at it for as
    /// long as we wait.
    pub async fn or_wait<T, E, F>(self, brief: Duration, mut requery: impl FnMut() -> F) -> Result<Turn<DB, T>, E>
    where
        E: From<Error>,
        F: Future<Output = Result<Option<T>, E>>,
    {
        let end = Instant::now() + self.wait;
        let name = self.name.finish().inspect_err(|_| Inside::note_error())?;
        loop {
            let taken = take(self.idem, name.clone(), self.ttl).await.inspect_err(|_| Inside::note_error())?;
            // Asked after the lease was taken: what its last owner committed is seen.
            match (requery().await?, taken) {
                (Some(found), taken) => {
                    if let Some(lease) = taken {
                        lease.release().await?;
                    }
                    return Ok(Turn::Found(found));
                }
                (None, Some(lease)) => return Ok(Turn::Ours(lease)),
                (None, None) if Instant::now() >= end => {
                    Inside::note_error();
                    return Err(Error::InProgress { retry_after: brief }.into());
                }
                (None, None) => tokio::time::sleep(brief).await,
            }
        }
    }
}

/// A future that is dropped on the way leaves no lease behind that nobody holds.
async fn take<DB: SqlDialect>(idem: &Idem<DB>, name: String, ttl: Duration) -> Result<Option<Lease<DB>>, Error> {
    let idem = idem.clone();
    let taken = FinishOnDrop::new(async move {
        let hold = Arc::new(Hold::new(name, new_owner(), ttl));
        let token = taken(&idem, &hold).await?;
        Ok(token.map(|token| Lease { beating: Some(idem.heartbeat().beat_name(&hold)), idem, hold, token }))
    });
    taken.await
}

/// The token, if the lease is ours now.
async fn taken<DB: SqlDialect>(idem: &Idem<DB>, hold: &Hold) -> Result<Option<i64>, Error> {
    let seen = idem.ask_alone(PATIENCE, || hold.seen_query::<DB>()).await?;
    let (_, is_leased) = read(&seen).map_err(Error::Database)?;
    if is_leased {
        return Ok(None);
    }
    let taken = idem.ask_alone(PATIENCE, || hold.take_query::<DB>()).await?;
    if taken.rows_affected() == 0 {
        match idem.ask_alone(PATIENCE, || hold.insert_query::<DB>()).await {
            Err(Error::Database(error)) if DB::classify(&error) == Class::Duplicate => {}
            inserted => drop(inserted?),
        }
    }
    // Whatever became of the answers to these two, the row tells.
    let seen = idem.ask_alone(PATIENCE, || hold.seen_query::<DB>()).await?;
    Ok(read(&seen).map_err(Error::Database)?.0)
}

/// The token if it is ours, and whether its owner is let alone.
fn read<DB: SqlDialect>(seen: &Answer<DB>) -> Result<(Option<i64>, bool), sqlx::Error> {
    let Some(row) = &seen.row else { return Ok((None, false)) };
    let token = if DB::integer(row, "ours")?.is_some() { DB::integer(row, "token")? } else { None };
    Ok((token, DB::integer(row, "leased")?.is_some()))
}

/// It comes to its end whoever waits for it.
fn release<DB: SqlDialect>(idem: Idem<DB>, hold: Arc<Hold>) -> FinishOnDrop<Result<(), Error>> {
    FinishOnDrop::new(async move {
        let nobody = new_owner();
        idem.ask_alone(PATIENCE, || hold.release_query::<DB>(&nobody)).await.map(drop)
    })
}

impl<DB: SqlDialect> Lease<DB> {
    /// The fencing token: it rises with each owner of the name. Where something else than this database is written, send it
    /// along, and let that refuse a token that is smaller than one that it has seen.
    #[must_use]
    pub fn token(&self) -> i64 {
        self.token
    }

    /// For how long nobody else can have it, by this process's own clock since it was last renewed; zero when a renewal has
    /// found another owner. A process that is stopped after the question is stopped with an answer that is out of date.
    #[must_use]
    pub fn trusted_for(&self) -> Duration {
        self.hold.trusted_for()
    }

    /// Opens a transaction that commits only while the lease is still ours. Keep it shorter than a third of the lease: for so
    /// long the lease is not renewed beside it.
    ///
    /// # Errors
    ///
    /// Those of [`Idem::begin`].
    pub async fn tx(&mut self) -> Result<LeaseTx<'_, DB>, Error> {
        let tx = self.idem.open().await.inspect_err(|_| Inside::note_error())?;
        let quiet = self.idem.heartbeat().quiet(&self.hold.owner).await;
        Ok(LeaseTx { tx, hold: &self.hold, _quiet: quiet })
    }

    /// Gives the lease back, if it is still ours. A lease that is dropped is given back too, by a task of its own.
    ///
    /// # Errors
    ///
    /// When the database cannot be reached; the lease then runs out.
    pub async fn release(mut self) -> Result<(), Error> {
        drop(self.beating.take());
        release(self.idem.clone(), Arc::clone(&self.hold)).await.inspect_err(|_| Inside::note_error())
    }
}

impl<DB: SqlDialect> Drop for Lease<DB> {
    fn drop(&mut self) {
        if self.beating.take().is_some() {
            drop(release(self.idem.clone(), Arc::clone(&self.hold)));
        }
    }
}

/// A transaction of an owner. It commits only while the lease is still ours, and rolls back when it is dropped.
///
/// Write `&mut *tx` wherever idem or sqlx takes a [`Tx`].
pub struct LeaseTx<'a, DB: SqlDialect> {
    tx: Tx<'static, DB>,
    hold: &'a Hold,
    _quiet: Quiet<DB>,
}

impl<DB: SqlDialect> LeaseTx<'_, DB> {
    /// Keeps everything, if the lease is still ours, or fails and keeps nothing.
    ///
    /// # Errors
    ///
    /// [`Error::StaleOwner`] when another owner has the lease; otherwise those of [`Tx::commit`].
    pub async fn commit(self) -> Result<(), Error> {
        let Self { tx, hold, _quiet } = self;
        let renew = hold.renew_query::<DB>().map_err(Error::Database)?;
        tx.commit_fenced(renew).await.inspect_err(|_| Inside::note_error())
    }

    /// Undoes everything.
    ///
    /// # Errors
    ///
    /// Those of [`Tx::rollback`].
    pub async fn rollback(self) -> Result<(), Error> {
        self.tx.rollback().await
    }
}

impl<DB: SqlDialect> Deref for LeaseTx<'_, DB> {
    type Target = Tx<'static, DB>;

    fn deref(&self) -> &Self::Target {
        &self.tx
    }
}

impl<DB: SqlDialect> DerefMut for LeaseTx<'_, DB> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.tx
    }
}

impl<DB: SqlDialect> fmt::Debug for LeaseCall<'_, DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseCall").field("name", &self.name).field("ttl", &self.ttl).finish_non_exhaustive()
    }
}

impl<DB: SqlDialect> fmt::Debug for Lease<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").field("name", &self.hold.name).field("token", &self.token).finish_non_exhaustive()
    }
}

impl<DB: SqlDialect> fmt::Debug for LeaseTx<'_, DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.tx, f)
    }
}
