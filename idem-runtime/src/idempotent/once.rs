use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::answer::{self, Answer, CarriesError, Codec};
use super::call::{Claimed, Opened, open};
use super::final_error::{self, FinalError};
use super::lease::{Leased, Probe, lease};
use super::{Begin, LONGEST, OnExpired, Spec};
use crate::attempt::Attempt;
use crate::dialect::SqlDialect;
use crate::engine::Idem;
use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::key::{Key, KeyParts};
use crate::tx::Tx;

/// An idempotent call, without the macro: what [`Idem::once`] and [`Tx::once`] begin, and [`Idem::once_each`] and
/// [`Tx::once_each`] for many of them.
///
/// ```no_run
/// # use idem_runtime::prelude::*;
/// # #[derive(Debug, thiserror::Error)]
/// # #[error(transparent)]
/// # enum PayError { Idem(#[from] Error), Sql(#[from] sqlx::Error) }
/// # async fn f(idem: Idem<sqlx::Sqlite>, tenant_id: i64, order_id: i64, amount: i64) -> Result<(), PayError> {
/// let receipt: i64 = idem
///     .once("order.pay", &(tenant_id, order_id))
///     .payload(&amount)
///     .run(async |mut tx| {
///         let paid = sqlx::query("INSERT INTO payments (order_id, amount) VALUES (?, ?)").bind(order_id).bind(amount);
///         Ok::<_, PayError>(paid.execute(&mut *tx).await?.last_insert_rowid())
///     })
///     .await?;
/// # drop(receipt);
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is claimed before `run`"]
#[derive(Debug)]
pub struct OnceCall<B, C, T, E> {
    pub(super) begin: B,
    pub(super) spec: Spec,
    pub(super) calls: C,
    pub(super) codec: Codec<Result<T, E>, T, E>,
}

/// The key and the payload of an [`OnceCall`] that is one call.
#[derive(Debug)]
pub struct One {
    key: Key,
    payload: Fingerprint,
}

impl<DB: SqlDialect> Idem<DB> {
    /// Begins an idempotent call in a transaction of its own: what `#[idempotent(scope = .., key = ..)]` does for a
    /// function, for one block. The key is one value or a tuple of parts.
    pub fn once<T: Answer, E: CarriesError>(
        &self,
        scope: &'static str,
        key: &(impl KeyParts + ?Sized),
    ) -> OnceCall<&Self, One, T, E> {
        OnceCall::new(self, scope, One::new(key))
    }
}

impl<'t, DB: SqlDialect> Tx<'t, DB> {
    /// Begins an idempotent call in this transaction: an outer rollback undoes its record too.
    pub fn once<T: Answer, E: CarriesError>(
        &mut self,
        scope: &'static str,
        key: &(impl KeyParts + ?Sized),
    ) -> OnceCall<&mut Tx<'t, DB>, One, T, E> {
        OnceCall::new(self, scope, One::new(key))
    }
}

impl One {
    fn new(key: &(impl KeyParts + ?Sized)) -> Self {
        Self { key: key.key(), payload: Fingerprint::new() }
    }
}

impl<B, C, T: Answer, E: CarriesError> OnceCall<B, C, T, E> {
    pub(super) fn new(begin: B, scope: &'static str, calls: C) -> Self {
        Self { begin, spec: Spec::new(scope), calls, codec: answer::codec() }
    }

    /// How long to wait for another call with the key, two seconds unless it is set, and a day at most.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.spec.wait = wait.min(LONGEST);
        self
    }

    /// Keeps the result for so long after the call has ended, for ever unless it is set; then later calls get
    /// [`Error::Gone`], and none runs. Whole seconds: a part of one counts as one.
    pub fn retain_result(mut self, lifetime: Duration) -> Self {
        self.spec.retention.result = Some(whole_seconds(lifetime));
        self
    }

    /// Keeps the record for so long after the call has ended, for ever unless it is set. A cleanup may remove it then; as
    /// long as it is there it answers.
    pub fn retain_key(mut self, lifetime: Duration) -> Self {
        self.spec.retention.key = Some(whole_seconds(lifetime));
        self
    }

    /// Reads results of an older shape as well: what is not today's `T` is read as an `Old` and converted.
    pub fn upgrade<Old: DeserializeOwned + 'static>(mut self, upgrade: fn(Old) -> T) -> Self
    where
        T: 'static,
    {
        self.codec = answer::upgrade(self.codec, upgrade);
        self
    }
}

impl<B, T: Answer, E: CarriesError> OnceCall<B, One, T, E> {
    /// What the key stands for, and what is compared on every later call: the same key with another payload is
    /// [`Error::Mismatch`]. Several calls add up, as the parts of a tuple do.
    pub fn payload(mut self, part: &(impl Serialize + ?Sized)) -> Self {
        self.calls.payload = self.calls.payload.part(part);
        self
    }

    /// Looks for the record before the key is claimed: a duplicate then costs one statement, and a first call one more.
    /// Worth it where most calls are duplicates. In a `Tx` it changes nothing.
    pub fn read_first(mut self) -> Self {
        self.spec.reads_first = true;
        self
    }

    /// Records the errors that `is_final` says yes to, and replays them.
    pub fn record_err(mut self, is_final: fn(&E) -> bool) -> Self
    where
        E: FinalError,
    {
        self.codec = final_error::record_err(self.codec, is_final);
        self
    }

    /// Claims the key and runs the body, or gives what an earlier call has left.
    ///
    /// The body owns its transaction for as long as it runs; write `&mut *tx` wherever a call takes it.
    ///
    /// # Errors
    ///
    /// What the body fails with, and every [`Error`] of an idempotent call, as an `E`.
    pub async fn run<'t, DB, F>(self, body: impl FnOnce(OnceTx<'t, DB>) -> F) -> Result<T, E>
    where
        DB: SqlDialect,
        B: Begin<DB> + 't,
        F: Future<Output = Result<T, E>>,
    {
        match open(self.begin, &self.spec, self.calls.key, self.calls.payload, &self.codec).await {
            Opened::Run(claimed) => match run(claimed, body, &self.codec).await {
                Ok((claimed, out)) => claimed.finish(out, &self.codec).await,
                Err(refused) => refused,
            },
            Opened::Done(answer) => answer,
        }
    }

    /// The same for a body that runs again, up to `reruns` times, when the database gives its transaction up (a deadlock, a
    /// serialization failure): it must do nothing but what is in its transaction.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run).
    pub async fn rerun<'t, DB, F>(mut self, reruns: u32, mut body: impl FnMut(OnceTx<'t, DB>) -> F) -> Result<T, E>
    where
        DB: SqlDialect,
        B: Begin<DB> + 't,
        F: Future<Output = Result<T, E>>,
    {
        self.spec.reruns = reruns;
        let mut opened = open(self.begin, &self.spec, self.calls.key, self.calls.payload, &self.codec).await;
        loop {
            let claimed = match opened {
                Opened::Run(claimed) => claimed,
                Opened::Done(answer) => return answer,
            };
            opened = match run(claimed, &mut body, &self.codec).await {
                Ok((claimed, out)) => claimed.finish_or_rerun(out, &self.codec).await,
                Err(refused) => return refused,
            };
        }
    }
}

impl<'t, DB: SqlDialect, T: Answer, E: CarriesError> OnceCall<&'t Idem<DB>, One, T, E> {
    /// Makes it a call whose body reaches outside of the database, and is let alone for so long after it was last heard of.
    /// Its body gets an [`Attempt`] instead of a transaction.
    ///
    /// A lease is renewed three times in its length for as long as the body runs. A lease of zero, or of less than a
    /// millisecond, is over when it is written: the next call takes over. The longest is a day.
    pub fn lease(mut self, lease: Duration) -> LeasedCall<'t, DB, T, E> {
        self.spec.lease = lease.min(LONGEST);
        LeasedCall { call: self }
    }
}

/// An idempotent call whose body reaches outside of the database, without the macro: what [`OnceCall::lease`] begins.
///
/// ```no_run
/// # use std::time::Duration;
/// # use idem_runtime::prelude::*;
/// # #[derive(Debug, thiserror::Error)]
/// # #[error(transparent)]
/// # enum SendError { Idem(#[from] Error), Bank(#[from] std::io::Error) }
/// # struct Bank;
/// # impl Bank { async fn send(&self, _key: &str, _amount: i64) -> std::io::Result<i64> { Ok(1) } }
/// # async fn f(idem: Idem<sqlx::Sqlite>, bank: Bank, transfer_id: i64, amount: i64) -> Result<i64, SendError> {
/// let call = idem.once("transfer.send", &transfer_id).payload(&amount).lease(Duration::from_secs(30));
/// call.run(async |mut attempt| {
///     let key = attempt.external("bank.send").await?;
///     Ok(bank.send(&key, amount).await?)
/// })
/// .await
/// # }
/// ```
#[must_use = "nothing is claimed before `run`"]
#[derive(Debug)]
pub struct LeasedCall<'t, DB: SqlDialect, T, E> {
    call: OnceCall<&'t Idem<DB>, One, T, E>,
}

impl<'t, DB: SqlDialect, T: Answer, E: CarriesError> LeasedCall<'t, DB, T, E> {
    /// Runs the body again when an attempt is not heard of any more, whatever it has begun: the provider honours the
    /// downstream key, and what the body commits is idempotent by itself.
    pub fn take_over(mut self) -> Self {
        self.call.spec.on_expired = OnExpired::Takeover;
        self
    }

    /// Claims the key and runs the body, or gives what an earlier call has left.
    ///
    /// # Errors
    ///
    /// What the body fails with, and every [`Error`] of an idempotent call, as an `E`.
    pub async fn run<F>(self, body: impl FnOnce(Attempt<'t, DB>) -> F) -> Result<T, E>
    where
        F: Future<Output = Result<T, E>>,
    {
        let OnceCall { begin, spec, calls, codec } = self.call;
        match lease(begin, &spec, calls.key, calls.payload, &codec).await {
            Opened::Run(leased) => attempt(leased, body, &codec).await,
            Opened::Done(answer) => answer,
        }
    }

    /// The same for a call whose provider can be asked: when something has begun and the attempt is not heard of any more,
    /// the probe finds out whether it happened.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run), and what the probe fails with.
    pub async fn run_or_probe<P, F>(
        mut self,
        probe: impl FnOnce(Attempt<'t, DB>) -> P,
        body: impl FnOnce(Attempt<'t, DB>) -> F,
    ) -> Result<T, E>
    where
        P: Future<Output = Result<Probe<T>, E>>,
        F: Future<Output = Result<T, E>>,
    {
        self.call.spec.on_expired = OnExpired::Probe;
        let OnceCall { begin, spec, calls, codec } = self.call;
        let opened = match lease(begin, &spec, calls.key, calls.payload, &codec).await {
            Opened::Run(leased) if leased.is_in_doubt() => {
                let found = leased.inside().run(probe(leased.own_attempt())).await;
                leased.settle(found, &codec).await
            }
            opened => opened,
        };
        match opened {
            Opened::Run(leased) => attempt(leased, body, &codec).await,
            Opened::Done(answer) => answer,
        }
    }
}

async fn attempt<'t, DB: SqlDialect, T, E, F>(
    leased: Leased<'t, DB>,
    body: impl FnOnce(Attempt<'t, DB>) -> F,
    codec: &Codec<Result<T, E>, T, E>,
) -> Result<T, E>
where
    F: Future<Output = Result<T, E>>,
{
    let out = leased.inside().run(body(leased.own_attempt())).await;
    leased.finish(out, codec).await
}

/// Lends the claim's transaction to the body; gives both the claim and the body's answer.
async fn run<'t, DB, T, E, F>(
    claimed: Claimed<'t, DB>,
    body: impl FnOnce(OnceTx<'t, DB>) -> F,
    codec: &Codec<Result<T, E>, T, E>,
) -> Result<(Claimed<'t, DB>, Result<T, E>), Result<T, E>>
where
    DB: SqlDialect,
    F: Future<Output = Result<T, E>>,
{
    let inside = claimed.inside();
    let (tx, without_tx) = claimed.part();
    let (tx, out) = lend(tx, |tx| inside.run(body(tx))).await;
    match tx {
        Ok(tx) => Ok((without_tx.with(tx), out)),
        Err(error) => Err(codec.refuse(error)),
    }
}

/// Lends the transaction to a body, and takes it back.
pub(super) async fn lend<'t, DB: SqlDialect, F: Future>(
    tx: Tx<'t, DB>,
    body: impl FnOnce(OnceTx<'t, DB>) -> F,
) -> (Result<Tx<'t, DB>, Error>, F::Output) {
    let home = Home::default();
    let out = body(OnceTx { tx: Some(tx), home: Arc::clone(&home) }).await;
    // One that is kept is rolled back where it is dropped.
    let kept = Error::Configuration("a body has kept its transaction for longer than it ran");
    (take(&home).ok_or(kept), out)
}

/// Where a body's transaction goes back to.
type Home<'t, DB> = Arc<Mutex<Option<Tx<'t, DB>>>>;

fn take<'t, DB: SqlDialect>(home: &Home<'t, DB>) -> Option<Tx<'t, DB>> {
    home.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// The transaction of a body that a builder runs: a [`Tx`] that goes back when it is dropped.
///
/// It is owned and not borrowed, so that a body is a plain closure, whose future can go to another thread.
pub struct OnceTx<'t, DB: SqlDialect> {
    /// `None` only while it is dropped.
    tx: Option<Tx<'t, DB>>,
    home: Home<'t, DB>,
}

impl<'t, DB: SqlDialect> Deref for OnceTx<'t, DB> {
    type Target = Tx<'t, DB>;

    fn deref(&self) -> &Self::Target {
        self.tx.as_ref().expect(NOT_DROPPED)
    }
}

impl<DB: SqlDialect> DerefMut for OnceTx<'_, DB> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.tx.as_mut().expect(NOT_DROPPED)
    }
}

const NOT_DROPPED: &str = "only `drop` takes it";

impl<DB: SqlDialect> Drop for OnceTx<'_, DB> {
    fn drop(&mut self) {
        *self.home.lock().unwrap_or_else(PoisonError::into_inner) = self.tx.take();
    }
}

impl<DB: SqlDialect> fmt::Debug for OnceTx<'_, DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

const fn whole_seconds(lifetime: Duration) -> u64 {
    lifetime.as_secs() + (lifetime.subsec_nanos() > 0) as u64
}
