use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::{Either, select};
use sqlx::Pool;
use tokio::sync::{Mutex as AsyncMutex, Notify};

use crate::dialect::SqlDialect;
use crate::error::Error;
use crate::record::Claim;
use crate::record::lease::renew_query;
use crate::tx::Lent;

/// Renews the leases of this process, all by one task, which lives for as long as there is one. It has a connection of its
/// own: bodies that use up the pool must not lose their leases for it.
pub(crate) struct Heartbeat<DB: SqlDialect> {
    shared: Arc<Shared<DB>>,
}

struct Shared<DB: SqlDialect> {
    pool: Pool<DB>,
    /// The queue of writers, where there is one.
    writer: Option<Arc<AsyncMutex<()>>>,
    leases: Mutex<Leases>,
    /// A lease was taken that may be due before the others.
    taken: Notify,
}

#[derive(Default)]
struct Leases {
    /// By owner.
    held: HashMap<String, Lease>,
    is_running: bool,
}

struct Lease {
    claim: Claim,
    due: Instant,
}

/// A lease that is renewed until this is dropped.
pub(crate) struct Beating<DB: SqlDialect> {
    shared: Arc<Shared<DB>>,
    owner: String,
}

impl<DB: SqlDialect> Heartbeat<DB> {
    pub(super) fn new(pool: Pool<DB>, writer: Option<Arc<AsyncMutex<()>>>) -> Self {
        Self { shared: Arc::new(Shared { pool, writer, leases: Mutex::default(), taken: Notify::new() }) }
    }

    /// Renews the lease of a claim from now on.
    pub(crate) fn beat(&self, claim: &Claim) -> Beating<DB> {
        let Self { shared } = self;
        let mut leases = shared.leases();
        leases.held.insert(claim.owner.clone(), Lease { claim: claim.clone(), due: Instant::now() + period(claim) });
        if !leases.is_running {
            leases.is_running = true;
            tokio::spawn(Arc::clone(shared).run());
        }
        drop(leases);
        shared.taken.notify_one();
        Beating { shared: Arc::clone(shared), owner: claim.owner.clone() }
    }
}

impl<DB: SqlDialect> Drop for Beating<DB> {
    fn drop(&mut self) {
        self.shared.leases().held.remove(&self.owner);
    }
}

/// Twice in a lease it may fail. However short a lease is, the database has other things to do too.
fn period(claim: &Claim) -> Duration {
    const SHORTEST: Duration = Duration::from_millis(10);
    (claim.spec.lease / 3).max(SHORTEST)
}

impl<DB: SqlDialect> Shared<DB> {
    async fn run(self: Arc<Self>) {
        while let Some(due) = self.next() {
            let (sleep, taken) = (pin!(tokio::time::sleep_until(due.into())), pin!(self.taken.notified()));
            if let Either::Left(_) = select(sleep, taken).await {
                self.renew_due().await;
            }
        }
    }

    /// When the next lease is due. None when there is none: the task ends, and the next lease begins another one.
    fn next(&self) -> Option<Instant> {
        let mut leases = self.leases();
        let next = leases.held.values().map(|lease| lease.due).min();
        leases.is_running = next.is_some();
        next
    }

    async fn renew_due(&self) {
        let due = self.take_due();
        let Some(shortest) = due.iter().map(period).min() else { return };
        if self.renew(&due, shortest).await || due.len() == 1 {
            return;
        }
        // One that cannot be renewed, such as a record that is locked, must not cost the others theirs.
        for claim in due {
            self.renew(std::slice::from_ref(&claim), shortest).await;
        }
    }

    /// The claims whose leases are to be renewed now.
    fn take_due(&self) -> Vec<Claim> {
        let now = Instant::now();
        let mut leases = self.leases();
        let due = leases.held.values_mut().filter(|lease| lease.due <= now);
        let renewed = due.map(|lease| {
            lease.due = now + period(&lease.claim);
            lease.claim.clone()
        });
        renewed.collect()
    }

    /// Whether the database has answered in time. What it does not find is another owner's by now.
    async fn renew(&self, claims: &[Claim], bound: Duration) -> bool {
        let end = Instant::now() + bound;
        let renewed = self.try_renew(claims, end).await;
        if let Err(error) = &renewed {
            tracing::warn!(leases = claims.len(), error = %error, "leases were not renewed");
        }
        renewed.is_ok()
    }

    async fn try_renew(&self, claims: &[Claim], end: Instant) -> Result<(), Error> {
        let late = |_| Error::Database(sqlx::Error::PoolTimedOut);
        let _turn = match &self.writer {
            Some(writer) => {
                let turn = tokio::time::timeout_at(end.into(), Arc::clone(writer).lock_owned());
                Some(turn.await.map_err(late)?)
            }
            None => None,
        };
        let mut lent = tokio::time::timeout_at(end.into(), Lent::acquire(&self.pool)).await.map_err(late)??;
        let query = renew_query::<DB>(claims).map_err(Error::Database)?;
        match tokio::time::timeout_at(end.into(), lent.ask(query)).await {
            Ok(answer) => answer.map(drop).map_err(Error::statement::<DB>),
            Err(elapsed) => {
                // The answer may never come: the next one is asked for on another connection.
                lent.distrust();
                Err(late(elapsed))
            }
        }
    }

    fn leases(&self) -> MutexGuard<'_, Leases> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
