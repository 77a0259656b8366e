use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::task::futures::TaskLocalFuture;

tokio::task_local! {
    /// Of the body that the current call is made from.
    static HELD: Held;
}

/// What a body holds, and what it has met.
#[derive(Debug, Clone, Default)]
pub struct Held {
    /// The transactions that it and the bodies around it hold, by engine.
    transactions: Vec<Transactions>,
    /// Whether a call that it made was answered with an error of idem's own.
    met_error: Arc<AtomicBool>,
}

/// How many transactions of an engine a body holds.
#[derive(Debug, Clone)]
struct Transactions {
    engine: u64,
    open: Arc<AtomicUsize>,
}

/// Marks what a body does as done inside of it. Clones are the same mark.
#[derive(Debug, Clone)]
pub struct Inside {
    transactions: Option<Transactions>,
    met_error: Arc<AtomicBool>,
}

impl Inside {
    /// Of a body that holds a transaction for as long as it runs: of an engine, or of another body.
    pub(crate) fn new(engine: Option<u64>) -> Self {
        Self { transactions: engine.map(|engine| Transactions::new(engine, 1)), met_error: Arc::default() }
    }

    /// Of a body that opens transactions of an engine as it needs them.
    pub(crate) fn opening(engine: u64) -> Self {
        Self { transactions: Some(Transactions::new(engine, 0)), met_error: Arc::default() }
    }

    /// Counts a transaction that the body holds, until the mark is dropped.
    pub(crate) fn hold(&self) -> Option<Open> {
        self.transactions.as_ref().map(|transactions| {
            transactions.open.fetch_add(1, Ordering::Relaxed);
            Open(Arc::clone(&transactions.open))
        })
    }

    /// Whether the current call is made by a body that holds a transaction of the engine.
    pub(crate) fn is_inside(engine: u64) -> bool {
        HELD.try_with(|held| held.transactions.iter().any(|it| it.engine == engine && it.is_open())).unwrap_or(false)
    }

    /// Notes, for the body that the current call is made from, that idem has made an error.
    pub(crate) fn note_error() {
        // Outside of every body nobody asks.
        let _ = HELD.try_with(|held| held.met_error.store(true, Ordering::Relaxed));
    }

    /// Whether the body was given an error of idem's own.
    pub(crate) fn met_error(&self) -> bool {
        self.met_error.load(Ordering::Relaxed)
    }

    /// Runs a body.
    pub fn run<F: Future>(self, body: F) -> TaskLocalFuture<Held, F> {
        let mut transactions = HELD.try_with(|held| held.transactions.clone()).unwrap_or_default();
        transactions.extend(self.transactions);
        HELD.scope(Held { transactions, met_error: self.met_error }, body)
    }
}

impl Transactions {
    fn new(engine: u64, open: usize) -> Self {
        Self { engine, open: Arc::new(AtomicUsize::new(open)) }
    }

    fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed) > 0
    }
}

/// A transaction that a body holds.
#[derive(Debug)]
pub(crate) struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
