//! One attempt at a call whose body reaches outside of the database.

mod downstream;
mod hold;

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use crate::dialect::SqlDialect;
use crate::engine::{Idem, Inside, Open, Quiet};
use crate::error::Error;
use crate::steps::{Step, reached};
use crate::tx::Tx;

pub use downstream::DownstreamKey;
pub(crate) use hold::{Begun, Hold};

/// How long a statement of an attempt is asked again whose answer was lost.
const PATIENCE: Duration = Duration::from_secs(2);

/// One attempt at an idempotent call that reaches outside of the database: what its body works with.
///
/// The claim is committed before the body runs, with a lease that is renewed for as long as it runs. Should the process
/// die, the lease runs out, and what becomes of the call depends on what has begun:
///
/// - Nothing, no outside call and no commit: the next call runs the body again.
/// - Something: the call is in doubt, and `on_expired` says who finds out. An error of the body leaves it in doubt as well,
///   unless it is one that `record_err` records, and so do a panic and a future that is dropped.
///
/// ```no_run
/// # use idem_runtime::prelude::*;
/// # #[derive(Debug, thiserror::Error)]
/// # #[error(transparent)]
/// # enum SendError { Idem(#[from] Error), Sql(#[from] sqlx::Error), Bank(#[from] std::io::Error) }
/// # struct Bank;
/// # impl Bank { async fn send(&self, _key: &str, _amount: i64) -> std::io::Result<i64> { Ok(1) } }
/// # async fn send(attempt: &mut Attempt<'_, sqlx::Sqlite>, bank: &Bank, transfer_id: i64, amount: i64) -> Result<i64, SendError> {
/// let key = attempt.external("bank.send").await?; // committed: in doubt from here on
/// let receipt = bank.send(&key, amount).await?;
/// let mut tx = attempt.tx().await?;
/// sqlx::query("UPDATE transfers SET receipt = ? WHERE transfer_id = ?")
///     .bind(receipt)
///     .bind(transfer_id)
///     .execute(&mut *tx)
///     .await?;
/// tx.commit().await?; // only while the claim is ours
/// Ok(receipt)
/// # }
/// ```
pub struct Attempt<'t, DB: SqlDialect> {
    idem: &'t Idem<DB>,
    hold: Arc<Hold>,
    inside: Inside,
}

impl<'t, DB: SqlDialect> Attempt<'t, DB> {
    pub(crate) fn new(idem: &'t Idem<DB>, hold: Arc<Hold>, inside: Inside) -> Self {
        Self { idem, hold, inside }
    }

    /// The engine that the call was made with: for reading, and for idempotent functions of their own.
    #[must_use]
    pub fn idem(&self) -> &'t Idem<DB> {
        self.idem
    }

    /// Which attempt at the call this is, from 1 on. It rises with each one that takes over.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.hold.number
    }

    /// What may have happened already, in this attempt or one before it: the steps of [`external`](Self::external) by name,
    /// and `tx` for a commit.
    #[must_use]
    pub fn begun(&self) -> Vec<String> {
        self.hold.begun().names()
    }

    /// The key that stands for a step of this call at a provider: the same at every attempt, and another one for each scope,
    /// key and step.
    #[must_use]
    pub fn downstream_key(&self, step: &str) -> DownstreamKey {
        DownstreamKey::of(self.hold.claim.spec.scope, &self.hold.claim.key, step)
    }

    /// Commits that an outside call is about to be made, and gives the key to send along with it. From now on the call is in
    /// doubt until it ends with a result: neither an error nor a lease that is over frees its key.
    ///
    /// The name tells the steps of a body apart, in the record and in the key. A step that is begun again has the same key:
    /// the provider takes it for the same call.
    ///
    /// # Errors
    ///
    /// [`Error::StaleOwner`] when the call is another attempt's by now or has ended; [`Error::InvalidKey`] for a name that is
    /// empty, longer than 100 bytes, or `tx`; [`Error::Retry`], [`Error::UnknownCommit`], [`Error::Database`]. The outside
    /// call must not be made then.
    pub async fn external(&mut self, step: &str) -> Result<DownstreamKey, Error> {
        let marked = self.mark_external(step).await;
        marked.map(|()| self.downstream_key(step)).inspect_err(|_| Inside::note_error())
    }

    async fn mark_external(&self, step: &str) -> Result<(), Error> {
        check_name(step)?;
        let begun = self.hold.begun().with(step);
        self.mark(&begun).await?;
        // Only what is known to be committed counts: without it nobody was given a key.
        self.hold.set_begun(begun)?;
        reached(Step::InDoubt);
        Ok(())
    }

    /// Takes a step back: its outside call certainly had no effect and never will have one, since nothing was sent or the
    /// provider has refused it. When nothing else has begun, an error of the body frees the key.
    ///
    /// It is about the last call of [`external`](Self::external) with this name. One before it stays begun, and so does a
    /// step of an earlier attempt: what came of those, this refusal does not say. A commit cannot be taken back.
    ///
    /// # Errors
    ///
    /// [`Error::StaleOwner`], [`Error::Retry`], [`Error::UnknownCommit`], [`Error::Database`], and [`Error::InvalidKey`] for
    /// what is no name of a step; then it stays begun.
    pub async fn retract(&mut self, step: &str) -> Result<(), Error> {
        self.mark_retracted(step).await.inspect_err(|_| Inside::note_error())
    }

    async fn mark_retracted(&self, step: &str) -> Result<(), Error> {
        check_name(step)?;
        let begun = self.hold.begun().without(step);
        self.mark(&begun).await?;
        self.hold.set_begun(begun)
    }

    /// Nothing of what had begun has happened.
    pub(crate) async fn forget_begun(&self) -> Result<(), Error> {
        self.mark(&Begun::default()).await?;
        self.hold.set_begun(Begun::default())
    }

    /// It renews the lease as well, and finds out whether the call is still ours.
    async fn mark(&self, begun: &Begun) -> Result<(), Error> {
        let write = self.hold.next_write();
        let query = || self.hold.claim.mark_query::<DB>(&begun.names(), write);
        let answer = self.idem.ask_alone(PATIENCE, query).await?;
        if answer.rows_affected() == 1 { Ok(()) } else { Err(Error::StaleOwner) }
    }

    /// Opens a transaction that commits only while the call is still this attempt's.
    ///
    /// What it commits has happened, and so it counts as begun: after it an error of the body does not free the key. What
    /// has to be written before an outside call and can be repeated belongs in an idempotent function of its own, which is
    /// called with [`idem`](Self::idem).
    ///
    /// Keep it shorter than a third of the lease. For so long the lease is not renewed beside it; a renewal is a rival of the
    /// commit, which above READ COMMITTED it makes [`Error::Retry`].
    ///
    /// # Errors
    ///
    /// Those of [`Idem::begin`].
    pub async fn tx(&mut self) -> Result<AttemptTx<'_, DB>, Error> {
        let tx = self.idem.open().await.inspect_err(|_| Inside::note_error())?;
        let quiet = self.idem.heartbeat().quiet(&self.hold.claim.owner).await;
        Ok(AttemptTx { tx, hold: &self.hold, _open: self.inside.hold(), _quiet: quiet })
    }
}

impl<DB: SqlDialect> fmt::Debug for Attempt<'_, DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt")
            .field("number", &self.hold.number)
            .field("begun", &self.begun())
            .finish_non_exhaustive()
    }
}

/// A commit, among the steps of an attempt.
const TX: &str = "tx";

/// What a column of every database holds, for a name that a person reads in a list.
const LONGEST_NAME: usize = 100;

fn check_name(step: &str) -> Result<(), Error> {
    let reason = match step {
        _ if step.trim().is_empty() => "the name of an outside step is empty",
        TX => "an outside step cannot be called `tx`, which stands for a commit",
        _ if step.len() > LONGEST_NAME => "the name of an outside step is longer than 100 bytes",
        _ => return Ok(()),
    };
    Err(Error::InvalidKey { reason })
}

/// A transaction of an attempt. It commits only while the call is still the attempt's, and rolls back when it is dropped.
///
/// Write `&mut *tx` wherever idem or sqlx takes a [`Tx`].
pub struct AttemptTx<'a, DB: SqlDialect> {
    tx: Tx<'static, DB>,
    hold: &'a Hold,
    _open: Option<Open>,
    _quiet: Quiet<DB>,
}

impl<DB: SqlDialect> AttemptTx<'_, DB> {
    /// Keeps everything, if the call is still this attempt's, or fails and keeps nothing.
    ///
    /// # Errors
    ///
    /// [`Error::StaleOwner`] when another attempt has taken the call over, an operator has settled it, or it has ended;
    /// otherwise those of [`Tx::commit`].
    pub async fn commit(self) -> Result<(), Error> {
        let Self { tx, hold, _open, _quiet } = self;
        fenced(tx, hold).await.inspect_err(|_| Inside::note_error())
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

/// The record is written last, and stays locked until the commit: whoever takes the call over comes before or after both.
async fn fenced<DB: SqlDialect>(tx: Tx<'static, DB>, hold: &Hold) -> Result<(), Error> {
    let (before, begun) = (hold.begun(), hold.begun().with(TX));
    let mark = hold.claim.mark_query::<DB>(&begun.names(), hold.next_write()).map_err(Error::Database)?;
    let mut tx = tx.fence(mark).await?;
    reached(Step::Fenced);
    if let Err(error) = tx.seal().await {
        if tx.unseen_end().is_some() {
            // A statement that nobody saw may have committed a part of it.
            let _ = hold.set_begun(begun);
        }
        return Err(Error::statement::<DB>(error));
    }
    // Before COMMIT is sent: whoever is dropped while it is on its way does not know whether it arrived.
    if let Err(stale) = hold.set_begun(begun) {
        let _ = tx.rollback().await;
        return Err(stale);
    }
    match tx.end().await {
        Ok(()) => {
            reached(Step::TxCommitted);
            Ok(())
        }
        Err(error) => {
            if !matches!(error, Error::UnknownCommit(_)) {
                // Whoever has let the call go meanwhile has counted it.
                let _ = hold.set_begun(before);
            }
            Err(error)
        }
    }
}

impl<DB: SqlDialect> Deref for AttemptTx<'_, DB> {
    type Target = Tx<'static, DB>;

    fn deref(&self) -> &Self::Target {
        &self.tx
    }
}

impl<DB: SqlDialect> DerefMut for AttemptTx<'_, DB> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.tx
    }
}

impl<DB: SqlDialect> fmt::Debug for AttemptTx<'_, DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.tx, f)
    }
}
