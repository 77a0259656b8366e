use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use crate::dialect::SqlDialect;
use crate::engine::Idem;
use crate::error::Error;
use crate::tx::Tx;

/// What a script runs with: an engine of its own, with one connection, as if it were one more process.
pub struct Caller<DB: SqlDialect> {
    idem: Idem<DB>,
    place: Arc<Place>,
}

/// Where a script is. Shared by the script and the one who plays it.
#[derive(Debug, Default)]
pub(super) struct Place {
    at: Mutex<At>,
    in_queue: AtomicBool,
}

/// Where a script is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    /// Nothing of it ran.
    #[default]
    Outset,
    /// It goes on only when it is its turn.
    Step(&'static str),
    /// It runs, or waits for somebody.
    UnderWay,
    End,
}

tokio::task_local! {
    static PLACE: Arc<Place>;
}

impl<DB: SqlDialect> Caller<DB> {
    pub(super) const fn new(idem: Idem<DB>, place: Arc<Place>) -> Self {
        Self { idem, place }
    }

    /// Begins the script's next step, when the schedule says so. What stands before the first step runs before the
    /// schedule begins.
    pub async fn step(&self, name: &'static str) {
        self.place.set(At::Step(name));
        poll_fn(|_| match self.place.get() {
            At::Step(_) => Poll::Pending,
            _ => Poll::Ready(()),
        })
        .await;
    }

    /// The caller's engine, for calls that take `&idem`.
    #[must_use]
    pub const fn idem(&self) -> &Idem<DB> {
        &self.idem
    }

    /// Opens a transaction on the caller's connection.
    ///
    /// # Errors
    ///
    /// Those of [`Idem::begin`].
    pub async fn begin(&self) -> Result<Box<Tx<'static, DB>>, Error> {
        self.idem.begin().await
    }
}

impl<DB: SqlDialect> std::fmt::Debug for Caller<DB> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Caller").field("at", &self.place.get()).finish_non_exhaustive()
    }
}

impl Place {
    pub(super) fn get(&self) -> At {
        *self.lock()
    }

    pub(super) fn set(&self, at: At) {
        *self.lock() = at;
    }

    fn lock(&self) -> MutexGuard<'_, At> {
        self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it waits in the queue of writers.
    pub(super) fn is_in_queue(&self) -> bool {
        self.in_queue.load(Ordering::Relaxed)
    }

    /// Lets what a future does be known as done here.
    pub(super) async fn scope<F: Future>(self: Arc<Self>, future: F) -> F::Output {
        PLACE.scope(self, future).await
    }
}

/// A turn in the queue of writers, waited for in sight of the one who plays the schedule.
pub(crate) async fn in_queue<F: Future>(turn: F) -> F::Output {
    let _seen = PLACE.try_with(|place| Queued::new(Arc::clone(place))).ok();
    turn.await
}

struct Queued(Arc<Place>);

impl Queued {
    fn new(place: Arc<Place>) -> Self {
        place.in_queue.store(true, Ordering::Relaxed);
        Self(place)
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.0.in_queue.store(false, Ordering::Relaxed);
    }
}
