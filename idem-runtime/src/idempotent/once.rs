use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::answer::{self, Answer, CarriesError, Codec};
use super::call::{Opened, open};
use super::final_error::{self, FinalError};
use super::{Begin, Spec};
use crate::dialect::SqlDialect;
use crate::engine::Idem;
use crate::fingerprint::Fingerprint;
use crate::key::{Key, KeyParts};
use crate::tx::Tx;

/// One idempotent call, without the macro: what [`Idem::once`] and [`Tx::once`] begin.
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
///     .run(async |tx| {
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
pub struct OnceCall<B, T, E> {
    begin: B,
    spec: Spec,
    key: Key,
    payload: Fingerprint,
    codec: Codec<Result<T, E>, T, E>,
}

impl<DB: SqlDialect> Idem<DB> {
    /// Begins an idempotent call in a transaction of its own: what `#[idempotent(scope = .., key = ..)]` does for a
    /// function, for one block. The key is one value or a tuple of parts.
    pub fn once<T: Answer, E: CarriesError>(
        &self,
        scope: &'static str,
        key: &(impl KeyParts + ?Sized),
    ) -> OnceCall<&Self, T, E> {
        OnceCall::new(self, scope, key.key())
    }
}

impl<'t, DB: SqlDialect> Tx<'t, DB> {
    /// Begins an idempotent call in this transaction: an outer rollback undoes its record too.
    pub fn once<T: Answer, E: CarriesError>(
        &mut self,
        scope: &'static str,
        key: &(impl KeyParts + ?Sized),
    ) -> OnceCall<&mut Tx<'t, DB>, T, E> {
        OnceCall::new(self, scope, key.key())
    }
}

impl<B, T: Answer, E: CarriesError> OnceCall<B, T, E> {
    fn new(begin: B, scope: &'static str, key: Key) -> Self {
        Self { begin, spec: Spec::new(scope), key, payload: Fingerprint::new(), codec: answer::codec() }
    }

    /// What the key stands for, and what is compared on every later call: the same key with another payload is
    /// [`Error::Mismatch`](crate::Error::Mismatch). Several calls add up, as the parts of a tuple do.
    pub fn payload(mut self, part: &(impl Serialize + ?Sized)) -> Self {
        self.payload = self.payload.part(part);
        self
    }

    /// How long to wait for another call with this key, two seconds unless it is set.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.spec.wait = wait;
        self
    }

    /// Keeps the result for so long after the call has ended, for ever unless it is set; then later calls get
    /// [`Error::Gone`](crate::Error::Gone), and none runs. Whole seconds: a part of one counts as one.
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

    /// Reads results of an older shape as well: what is not today's `T` is read as an `Old` and converted.
    pub fn upgrade<Old: DeserializeOwned + 'static>(mut self, upgrade: fn(Old) -> T) -> Self
    where
        T: 'static,
    {
        self.codec = answer::upgrade(self.codec, upgrade);
        self
    }

    /// Claims the key and runs the body, or gives what an earlier call has left.
    ///
    /// # Errors
    ///
    /// What the body fails with, and every [`Error`](crate::Error) of an idempotent call, as an `E`.
    pub async fn run<'t, DB>(self, body: impl AsyncFnOnce(&mut Tx<'t, DB>) -> Result<T, E>) -> Result<T, E>
    where
        DB: SqlDialect,
        B: Begin<DB> + 't,
    {
        match open(self.begin, &self.spec, self.key, self.payload, &self.codec).await {
            Opened::Run(mut claimed) => {
                let inside = claimed.inside();
                let out = inside.run(body(claimed.tx())).await;
                claimed.finish(out, &self.codec).await
            }
            Opened::Done(answer) => answer,
        }
    }

    /// The same for a body that runs again, up to `reruns` times, when the database gives its transaction up (a deadlock, a
    /// serialization failure): it must do nothing but what is in `tx`.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run).
    pub async fn rerun<'t, DB>(
        mut self,
        reruns: u32,
        mut body: impl AsyncFnMut(&mut Tx<'t, DB>) -> Result<T, E>,
    ) -> Result<T, E>
    where
        DB: SqlDialect,
        B: Begin<DB> + 't,
    {
        self.spec.reruns = reruns;
        let mut opened = open(self.begin, &self.spec, self.key, self.payload, &self.codec).await;
        loop {
            let mut claimed = match opened {
                Opened::Run(claimed) => claimed,
                Opened::Done(answer) => return answer,
            };
            let inside = claimed.inside();
            let out = inside.run(body(claimed.tx())).await;
            opened = claimed.finish_or_rerun(out, &self.codec).await;
        }
    }
}

const fn whole_seconds(lifetime: Duration) -> u64 {
    lifetime.as_secs() + (lifetime.subsec_nanos() > 0) as u64
}
