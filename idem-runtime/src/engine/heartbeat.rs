use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::{Either, select};
use sqlx::Pool;
use tokio::sync::{Mutex as AsyncMutex, Notify};
// Not the system's: a test that stops the clock stops it for the leases too.
use tokio::time::Instant;

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
    /// A lease may be due before those that the task knows of.
    taken: Notify,
    /// A renewal that was on its way has ended.
    renewed: Notify,
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
    /// A renewal is on its way.
    is_beating: bool,
    /// The transactions of its attempt that are open.
    transactions: usize,
}

/// The task. Should its runtime end before it, the next lease begins another one.
struct Task<DB: SqlDialect> {
    shared: Arc<Shared<DB>>,
    is_over: bool,
}

/// A lease that is renewed until this is dropped.
pub(crate) struct Beating<DB: SqlDialect> {
    shared: Arc<Shared<DB>>,
    owner: String,
}

impl<DB: SqlDialect> Heartbeat<DB> {
    pub(super) fn new(pool: Pool<DB>, writer: Option<Arc<AsyncMutex<()>>>) -> Self {
        let (leases, taken, renewed) = Default::default();
        Self { shared: Arc::new(Shared { pool, writer, leases, taken, renewed }) }
    }

    /// Renews the lease of a claim from now on.
    pub(crate) fn beat(&self, claim: &Claim) -> Beating<DB> {
        let Self { shared } = self;
        let mut leases = shared.leases();
        leases.held.insert(claim.owner.clone(), Lease::new(claim));
        if !leases.is_running {
            leases.is_running = true;
            tokio::spawn(Task { shared: Arc::clone(shared), is_over: false }.run());
        }
        drop(leases);
        shared.taken.notify_one();
        Beating { shared: Arc::clone(shared), owner: claim.owner.clone() }
    }

    /// Begins a transaction of an attempt, whose commit a renewal would be a rival of: one that is on its way is waited
    /// for, and the next one comes a third of the lease later.
    pub(crate) async fn quiet(&self, owner: &str) -> Quiet<DB> {
        let Self { shared } = self;
        let quiet = Quiet { shared: Arc::clone(shared), owner: owner.to_owned() };
        shared.with(owner, |lease| lease.transactions += 1);
        // On SQLite it waits itself, for our turn to write. Elsewhere not for ever: the worst is a commit that is refused.
        if shared.writer.is_none() {
            let _ = tokio::time::timeout(QUIET_SOON, shared.beaten(owner)).await;
        }
        quiet
    }
}

const QUIET_SOON: Duration = Duration::from_millis(500);

/// A transaction of an attempt, beside which its lease is renewed later.
pub(crate) struct Quiet<DB: SqlDialect> {
    shared: Arc<Shared<DB>>,
    owner: String,
}

impl<DB: SqlDialect> Drop for Quiet<DB> {
    fn drop(&mut self) {
        self.shared.with(&self.owner, |lease| lease.transactions -= 1);
        self.shared.taken.notify_one();
    }
}

impl Lease {
    fn new(claim: &Claim) -> Self {
        Self { claim: claim.clone(), due: Instant::now() + period(claim), is_beating: false, transactions: 0 }
    }

    fn due(&self) -> Instant {
        if self.transactions > 0 { self.due + period(&self.claim) } else { self.due }
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

impl<DB: SqlDialect> Task<DB> {
    async fn run(mut self) {
        let shared = Arc::clone(&self.shared);
        while let Some(due) = shared.next() {
            let (sleep, taken) = (pin!(tokio::time::sleep_until(due)), pin!(shared.taken.notified()));
            if let Either::Left(_) = select(sleep, taken).await {
                shared.renew_due().await;
            }
        }
        self.is_over = true;
    }
}

impl<DB: SqlDialect> Drop for Task<DB> {
    fn drop(&mut self) {
        if !self.is_over {
            let mut leases = self.shared.leases();
            leases.is_running = false;
            leases.held.values_mut().for_each(|lease| lease.is_beating = false);
        }
    }
}

impl<DB: SqlDialect> Shared<DB> {
    /// Waits for a renewal of a lease that is on its way.
    async fn beaten(&self, owner: &str) {
        loop {
            let renewed = self.renewed.notified();
            if self.with(owner, |lease| lease.is_beating) != Some(true) {
                return;
            }
            renewed.await;
        }
    }

    fn with<T>(&self, owner: &str, work: impl FnOnce(&mut Lease) -> T) -> Option<T> {
        self.leases().held.get_mut(owner).map(work)
    }

    /// When the next lease is due. None when there is none: the task ends, and the next lease begins another one.
    fn next(&self) -> Option<Instant> {
        let mut leases = self.leases();
        let next = leases.held.values().map(Lease::due).min();
        leases.is_running = next.is_some();
        next
    }

    async fn renew_due(&self) {
        let due = self.take_due();
        let Some(shortest) = due.iter().map(period).min() else { return };
        if !self.renew(&due, shortest).await && due.len() > 1 {
            // One that cannot be renewed, such as a record that is locked, must not cost the others theirs.
            for claim in &due {
                self.renew(std::slice::from_ref(claim), shortest).await;
            }
        }
        for claim in due {
            self.with(&claim.owner, |lease| lease.is_beating = false);
        }
        self.renewed.notify_waiters();
    }

    /// The claims whose leases are to be renewed now.
    fn take_due(&self) -> Vec<Claim> {
        let now = Instant::now();
        let mut leases = self.leases();
        let due = leases.held.values_mut().filter(|lease| lease.due() <= now);
        let renewed = due.map(|lease| {
            (lease.due, lease.is_beating) = (now + period(&lease.claim), true);
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
        let late = |_| Error::Database(std::io::Error::from(std::io::ErrorKind::TimedOut).into());
        let _turn = match &self.writer {
            Some(writer) => {
                let turn = tokio::time::timeout_at(end, Arc::clone(writer).lock_owned());
                Some(turn.await.map_err(late)?)
            }
            None => None,
        };
        let mut lent = tokio::time::timeout_at(end, Lent::acquire(&self.pool)).await.map_err(late)??;
        let query = renew_query::<DB>(claims).map_err(Error::Database)?;
        match tokio::time::timeout_at(end, lent.ask(query)).await {
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
