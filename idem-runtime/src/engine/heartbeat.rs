use std::collections::HashMap;
use std::pin::pin;
use std::slice;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::{Either, select};
use sqlx::Pool;
use tokio::sync::{Mutex as AsyncMutex, Notify};
// Not the system's: a test that stops the clock stops it for the leases too.
use tokio::time::Instant;

use crate::attempt;
use crate::dialect::SqlDialect;
use crate::error::Error;
use crate::lease;
use crate::record::lease::renew_query;
use crate::record::{Claim, Query};
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
    of: Of,
    due: Instant,
    /// A renewal is on its way.
    is_beating: bool,
    /// The transactions of its attempt that are open.
    transactions: usize,
}

/// What a lease is on.
#[derive(Clone)]
enum Of {
    Call(Arc<attempt::Hold>),
    Name(Arc<lease::Hold>),
}

impl Of {
    fn owner(&self) -> &str {
        match self {
            Self::Call(hold) => &hold.claim.owner,
            Self::Name(hold) => &hold.owner,
        }
    }

    /// Twice in a lease it may fail. However short a lease is, the database has other things to do too.
    fn period(&self) -> Duration {
        const SHORTEST: Duration = Duration::from_millis(10);
        let lease = match self {
            Self::Call(hold) => hold.claim.spec.lease,
            Self::Name(hold) => hold.ttl,
        };
        (lease / 3).max(SHORTEST)
    }
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
    pub(crate) fn beat(&self, hold: &Arc<attempt::Hold>) -> Beating<DB> {
        self.begin(Of::Call(Arc::clone(hold)))
    }

    /// Renews the lease on a name.
    pub(crate) fn beat_name(&self, hold: &Arc<lease::Hold>) -> Beating<DB> {
        self.begin(Of::Name(Arc::clone(hold)))
    }

    fn begin(&self, of: Of) -> Beating<DB> {
        let (Self { shared }, owner) = (self, of.owner().to_owned());
        let mut leases = shared.leases();
        leases.held.insert(owner.clone(), Lease::new(of));
        if !leases.is_running {
            leases.is_running = true;
            tokio::spawn(Task { shared: Arc::clone(shared), is_over: false }.run());
        }
        drop(leases);
        shared.taken.notify_one();
        Beating { shared: Arc::clone(shared), owner }
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
    fn new(of: Of) -> Self {
        Self { due: Instant::now() + of.period(), of, is_beating: false, transactions: 0 }
    }

    fn due(&self) -> Instant {
        if self.transactions > 0 { self.due + self.of.period() } else { self.due }
    }
}

impl<DB: SqlDialect> Drop for Beating<DB> {
    fn drop(&mut self) {
        self.shared.leases().held.remove(&self.owner);
    }
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
        let Some(shortest) = due.iter().map(Of::period).min() else { return };
        self.renew_calls(&due, shortest).await;
        for of in &due {
            if let Of::Name(hold) = of {
                self.renew_name(hold, shortest).await;
            }
        }
        for of in due {
            self.with(of.owner(), |lease| lease.is_beating = false);
        }
        self.renewed.notify_waiters();
    }

    /// What is to be renewed now.
    fn take_due(&self) -> Vec<Of> {
        let now = Instant::now();
        let mut leases = self.leases();
        let due = leases.held.values_mut().filter(|lease| lease.due() <= now);
        let renewed = due.map(|lease| {
            (lease.due, lease.is_beating) = (now + lease.of.period(), true);
            lease.of.clone()
        });
        renewed.collect()
    }

    /// What is not found is another owner's by now.
    async fn renew_calls(&self, due: &[Of], bound: Duration) {
        let calls = due.iter().filter_map(|of| if let Of::Call(hold) = of { Some(&hold.claim) } else { None });
        let claims: Vec<_> = calls.collect();
        let renew = async |claims: &[&Claim]| self.renew(renew_query::<DB>(claims), Instant::now() + bound).await;
        if claims.is_empty() || renew(&claims).await.is_some() || claims.len() == 1 {
            return;
        }
        // One that cannot be renewed, such as a record that is locked, must not cost the others theirs.
        for claim in &claims {
            renew(slice::from_ref(claim)).await;
        }
    }

    async fn renew_name(&self, hold: &lease::Hold, bound: Duration) {
        let sent_at = Instant::now();
        // Without an answer it is trusted for as long as it was.
        if let Some(rows) = self.renew(hold.renew_query::<DB>(), sent_at + bound).await {
            hold.renewed(sent_at, rows == 1);
        }
    }

    /// The number of rows that were renewed, if the database has answered in time.
    async fn renew(&self, query: Result<Query<DB>, sqlx::Error>, end: Instant) -> Option<u64> {
        let renewed = match query {
            Ok(query) => self.try_renew(query, end).await,
            Err(error) => Err(Error::Database(error)),
        };
        renewed.inspect_err(|error| tracing::warn!(error = %error, "a lease was not renewed")).ok()
    }

    async fn try_renew(&self, query: Query<DB>, end: Instant) -> Result<u64, Error> {
        let late = |_| Error::Database(std::io::Error::from(std::io::ErrorKind::TimedOut).into());
        let _turn = match &self.writer {
            Some(writer) => {
                let turn = tokio::time::timeout_at(end, Arc::clone(writer).lock_owned());
                Some(turn.await.map_err(late)?)
            }
            None => None,
        };
        let mut lent = tokio::time::timeout_at(end, Lent::acquire(&self.pool)).await.map_err(late)??;
        match tokio::time::timeout_at(end, lent.ask(query)).await {
            Ok(answer) => Ok(answer.map_err(Error::statement::<DB>)?.rows_affected()),
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
