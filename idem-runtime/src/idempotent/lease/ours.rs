use std::sync::Arc;
use std::time::Duration;

use super::Hold;
use crate::dialect::SqlDialect;
use crate::engine::{Arrival, Beating, Idem};
use crate::error::Error;
use crate::finish::FinishOnDrop;
use crate::idempotent::call::new_owner;
use crate::record::lease::Seen;
use crate::record::{Claim, Ending, Status};
use crate::steps::{Step, reached};

/// A record that is ours. Dropped before its call has ended, it is let go by a task of its own.
pub(super) struct Ours<DB: SqlDialect> {
    pub(super) hold: Arc<Hold>,
    pub(super) arrival: Option<Arrival>,
    /// `None` once the end is on its way.
    held: Option<Held<DB>>,
}

/// What it takes to end it.
struct Held<DB: SqlDialect> {
    idem: Idem<DB>,
    beating: Beating<DB>,
}

/// Whoever waits for a call that has failed should not wait for a database that is away as well.
const PATIENCE: Duration = Duration::from_secs(2);

impl<DB: SqlDialect> Ours<DB> {
    pub(super) fn new(idem: &Idem<DB>, claim: Claim, attempt: i64, begun: Vec<String>) -> Self {
        let hold = Arc::new(Hold::new(claim, u64::try_from(attempt).unwrap_or_default(), begun));
        let beating = idem.heartbeat().beat(&hold);
        Self { hold, arrival: None, held: Some(Held { idem: idem.clone(), beating }) }
    }

    /// One whose claim we had no answer to.
    pub(super) fn of(idem: &Idem<DB>, claim: &Claim, seen: Seen) -> Self {
        Self::new(idem, claim.clone(), seen.attempt, seen.begun)
    }

    /// Frees the key if nothing has begun, and else lets others look at once what has become of it. Whether it worked changes
    /// no answer: the lease runs out.
    pub(super) fn let_go(mut self) -> FinishOnDrop<()> {
        FinishOnDrop::new(self.letting_go())
    }

    fn letting_go(&mut self) -> impl Future<Output = ()> + Send + 'static {
        let (hold, arrival, open) = (Arc::clone(&self.hold), self.arrival.take(), self.held.take());
        async move {
            let Some(Held { idem, beating }) = open else { return };
            drop(beating);
            let (begun, nobody) = (hold.let_go().names(), new_owner());
            let let_go = idem.ask_alone(PATIENCE, || hold.claim.let_go_query::<DB>(&begun, &nobody)).await;
            if let Err(error) = let_go {
                tracing::warn!(scope = hold.claim.spec.scope, error = %error, "a call was not let go: its lease runs out");
            }
            // The next one in this process comes when there is something to see.
            drop(arrival);
        }
    }

    /// Stores how the call has ended. It comes to its end whoever waits for it: the effect has happened.
    pub(super) fn complete(mut self, ending: Ending) -> FinishOnDrop<Result<(), Error>> {
        FinishOnDrop::new(async move {
            let stored = self.store(&ending).await;
            match stored {
                Ok(()) => {
                    reached(Step::Committed);
                    drop(self.held.take());
                    if let Some(arrival) = self.arrival.take() {
                        let claim = &self.hold.claim;
                        arrival.ended(claim, &Arc::new(ending.recorded(claim.fingerprint.clone())));
                    }
                    Ok(())
                }
                Err(error) => {
                    if !matches!(error, Error::UnknownCommit(_) | Error::StaleOwner) {
                        self.letting_go().await;
                    }
                    drop(self.held.take());
                    Err(error)
                }
            }
        })
    }

    async fn store(&self, ending: &Ending) -> Result<(), Error> {
        let Some(Held { idem, .. }) = &self.held else { return Err(Error::StaleOwner) };
        let claim = &self.hold.claim;
        ending.fit_alone(claim.spec.lease, idem).await?;
        let stored = idem.ask_alone(claim.spec.lease, || claim.complete_query::<DB>(ending)).await?;
        if stored.rows_affected() == 1 || self.is_stored(idem).await.map_err(unknown)? {
            Ok(())
        } else {
            Err(Error::StaleOwner)
        }
    }

    /// Whether a try before this one has stored it, to which we had no answer.
    async fn is_stored(&self, idem: &Idem<DB>) -> Result<bool, Error> {
        let (claim, mut lent) = (&self.hold.claim, idem.acquire().await?);
        let seen = Seen::read(claim.spec.scope, &claim.key, &mut lent).await.map_err(Error::statement::<DB>)?;
        let is_ended = |seen: Seen| matches!(seen.record.status, Status::Completed | Status::Failed);
        Ok(seen.is_some_and(|seen| seen.owner == claim.owner && is_ended(seen)))
    }
}

/// Nobody could be asked whether it is stored.
fn unknown(error: Error) -> Error {
    match error {
        Error::Retry(source) | Error::Database(source) => Error::UnknownCommit(source),
        other => other,
    }
}

impl<DB: SqlDialect> Drop for Ours<DB> {
    fn drop(&mut self) {
        if self.held.is_some() {
            // It runs on by itself.
            drop(FinishOnDrop::new(self.letting_go()));
        }
    }
}
