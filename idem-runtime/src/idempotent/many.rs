//! Many calls in one transaction: one claim, one body for those that are new, one statement that stores their results.

mod batch;

use serde::Serialize;

use self::batch::Batch;
use super::Begin;
use super::answer::{Answer, CarriesError, Once};
use super::end;
use super::once::{OnceCall, OnceTx, lend};
use crate::dialect::SqlDialect;
use crate::engine::{Idem, Inside};
use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::key::{Key, KeyParts};
use crate::on::Seat;
use crate::tx::Tx;

/// The keys and payloads of an [`OnceCall`] that is many calls.
#[derive(Debug)]
pub struct Many(Vec<(Key, Fingerprint)>);

impl Many {
    fn new<K: KeyParts, P: Serialize>(calls: impl IntoIterator<Item = (K, P)>) -> Self {
        Self(calls.into_iter().map(|(key, payload)| (key.key(), Fingerprint::new().part(&payload))).collect())
    }
}

impl<DB: SqlDialect> Idem<DB> {
    /// Begins many idempotent calls in one transaction, each with its key and its payload: a consumer that takes its
    /// messages by the hundred claims them in one statement. [`run`](OnceCall::run) says how.
    pub fn once_each<K: KeyParts, P: Serialize, T: Answer, E: CarriesError>(
        &self,
        scope: &'static str,
        calls: impl IntoIterator<Item = (K, P)>,
    ) -> OnceCall<&Self, Many, T, E> {
        OnceCall::new(self, scope, Many::new(calls))
    }
}

impl<'t, DB: SqlDialect> Tx<'t, DB> {
    /// Begins many idempotent calls in this transaction: an outer rollback undoes their records too.
    pub fn once_each<K: KeyParts, P: Serialize, T: Answer, E: CarriesError>(
        &mut self,
        scope: &'static str,
        calls: impl IntoIterator<Item = (K, P)>,
    ) -> OnceCall<&mut Tx<'t, DB>, Many, T, E> {
        OnceCall::new(self, scope, Many::new(calls))
    }
}

impl<B, T: Answer, E: CarriesError> OnceCall<B, Many, T, E> {
    /// Claims the keys and runs the body once for all that are new; gives the answers in the order of the calls.
    ///
    /// The body is told which calls are new, as places in their list, and gives their results in the same order. All of it
    /// is one transaction: an error of the body releases every key. Of calls with one key the first one is new, and the
    /// others are its duplicates.
    ///
    /// ```no_run
    /// # use idem_runtime::prelude::*;
    /// # #[derive(Debug, thiserror::Error)]
    /// # #[error(transparent)]
    /// # enum GrantError { Idem(#[from] Error), Sql(#[from] sqlx::Error) }
    /// # struct Message { id: i64, user: i64, points: i64 }
    /// # async fn f(idem: Idem<sqlx::Sqlite>, messages: Vec<Message>) -> Result<(), GrantError> {
    /// let calls = messages.iter().map(|message| (message.id, (message.user, message.points)));
    /// let answers = idem.once_each("points.grant", calls).run(async |mut tx, new| {
    ///     let mut granted = Vec::new();
    ///     for place in new {
    ///         let Message { user, points, .. } = messages[place];
    ///         let grant = sqlx::query("INSERT INTO grants (user, points) VALUES (?, ?)").bind(user).bind(points);
    ///         granted.push(grant.execute(&mut *tx).await?.last_insert_rowid());
    ///     }
    ///     Ok::<_, GrantError>(granted)
    /// });
    /// for (message, answer) in messages.iter().zip(answers.await?) {
    ///     match answer {
    ///         Ok(grant) => println!("{}: {}", message.id, *grant),
    ///         Err(error) => println!("{}: {error}", message.id), // `InProgress`, `Mismatch`, `Gone`, ..
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Of the calls together: what the body fails with; [`Error::InProgress`] when another process was at one of the keys
    /// for as long as we wait; [`Error::Configuration`] for a number of results that is not that of the new calls;
    /// [`Error::Retry`], [`Error::UnknownCommit`], [`Error::Database`]. What is about one call is that call's answer.
    pub async fn run<'t, DB, F>(
        self,
        body: impl FnOnce(OnceTx<'t, DB>, Vec<usize>) -> F,
    ) -> Result<Vec<Result<Once<T>, Error>>, E>
    where
        DB: SqlDialect,
        B: Begin<DB> + 't,
        F: Future<Output = Result<Vec<T>, E>>,
    {
        let Seat(seat) = self.begin.seat();
        let mut batch = Batch::new(self.spec, self.calls.0);
        let Some((tx, inside)) = batch.claim(seat).await.map_err(refused)? else {
            return Ok(batch.answers(Vec::new(), &self.codec));
        };
        let new = batch.new.clone();
        let (tx, results) = lend(tx, |tx| inside.run(body(tx, new))).await;
        let tx = tx.map_err(refused)?;
        match results {
            Ok(results) => {
                batch.complete(tx, &results, &self.codec).await.map_err(refused)?;
                Ok(batch.answers(results, &self.codec))
            }
            Err(error) => {
                end::release(tx).await.map_err(refused)?;
                Err(error)
            }
        }
    }
}

fn refused<E: CarriesError>(error: Error) -> E {
    Inside::note_error();
    E::carry(error)
}
