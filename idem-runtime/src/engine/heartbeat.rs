use std::collections::HashMap;
use std::pin::pin;
use std::slice;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::{Either, select};
use sqlx::Pool;
use tokio::sync::{Mutex as AsyncMutex, Notify};

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
    of: Of,
    due: Instant,
}

/// What a lease is on.
#[derive(Clone)]
enum Of {
    Call(Claim),
    Name(Arc<lease::Hold>),
}

impl Of {
    fn owner(&self) -> &str {
        match self {
            Self::Call(claim) => &claim.owner,
            Self::Name(hold) => &hold.owner,
        }
    }

    /// Twice in a lease it may fail. However short a lease is, the database has other things to do too.
    fn period(&self) -> Duration {
        const SHORTEST: Duration = Duration::from_millis(10);
        let lease = match self {
            Self::Call(claim) => claim.spec.lease,
            Self::Name(hold) => hold.ttl,
        };
        (lease / 3).max(SHORTEST)
    }
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
        self.begin(Of::Call(claim.clone()))
    }

    /// Renews the lease on a name.
    pub(crate) fn beat_lock(&self, hold: &Arc<lease::Hold>) -> Beating<DB> {
        self.begin(Of::Name(Arc::clone(hold)))
    }

    fn begin(&self, of: Of) -> Beating<DB> {
        let Self { shared } = self;
        let owner = of.owner().to_owned();
        let mut leases = shared.leases();
        leases.held.insert(owner.clone(), Lease { due: Instant::now() + of.period(), of });
        if !leases.is_running {
            leases.is_running = true;
            tokio::spawn(Arc::clone(shared).run());
        }
        drop(leases);
        shared.taken.notify_one();
        Beating { shared: Arc::clone(shared), owner }
    }
}

impl<DB: SqlDialect> Drop for Beating<DB> {
    fn drop(&mut self) {
        self.shared.leases().held.remove(&self.owner);
    }
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
        let Some(shortest) = due.iter().map(Of::period).min() else { return };
        let (mut calls, mut names) = (Vec::new(), Vec::new());
        for of in due {
            match of {
                Of::Call(claim) => calls.push(claim),
                Of::Name(hold) => names.push(hold),
            }
        }
        self.renew_calls(&calls, shortest).await;
        for hold in names {
            let sent_at = Instant::now();
            let renewed = self.renew(|| hold.renew_query::<DB>(), sent_at + shortest).await;
            // Without an answer it is trusted for as long as it was.
            if let Ok(rows) = renewed {
                hold.renewed(sent_at, rows == 1);
            }
        }
    }

    async fn renew_calls(&self, claims: &[Claim], bound: Duration) {
        if claims.is_empty() || self.renew(|| renew_query::<DB>(claims), Instant::now() + bound).await.is_ok() {
            return;
        }
        // One that cannot be renewed, such as a record that is locked, must not cost the others theirs.
        for claim in claims.iter().filter(|_| claims.len() > 1) {
            // What it does not find is another owner's by now; what fails comes again.
            let _ = self.renew(|| renew_query::<DB>(slice::from_ref(claim)), Instant::now() + bound).await;
        }
    }

    /// What is to be renewed now.
    fn take_due(&self) -> Vec<Of> {
        let now = Instant::now();
        let mut leases = self.leases();
        let due = leases.held.values_mut().filter(|lease| lease.due <= now);
        let renewed = due.map(|lease| {
            lease.due = now + lease.of.period();
            lease.of.clone()
        });
        renewed.collect()
    }

    /// The number of rows that were renewed, if the database has answered in time.
    async fn renew(&self, query: impl Fn() -> Result<Query<DB>, sqlx::Error>, end: Instant) -> Result<u64, Error> {
        let renewed = self.try_renew(query, end).await;
        renewed.inspect_err(|error| tracing::warn!(error = %error, "leases were not renewed"))
    }

    async fn try_renew(&self, query: impl Fn() -> Result<Query<DB>, sqlx::Error>, end: Instant) -> Result<u64, Error> {
        let late = |_| Error::Database(sqlx::Error::PoolTimedOut);
        let _turn = match &self.writer {
            Some(writer) => {
                let turn = tokio::time::timeout_at(end.into(), Arc::clone(writer).lock_owned());
                Some(turn.await.map_err(late)?)
            }
            None => None,
        };
        let mut lent = tokio::time::timeout_at(end.into(), Lent::acquire(&self.pool)).await.map_err(late)??;
        let query = query().map_err(Error::Database)?;
        match tokio::time::timeout_at(end.into(), lent.ask(query)).await {
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
