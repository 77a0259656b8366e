use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::futures::TaskLocalFuture;

tokio::task_local! {
    /// Of the body that the current call is made from.
    static HELD: Held;
}

/// What a body holds, and what it has met.
#[derive(Debug, Clone, Default)]
pub struct Held {
    /// The engines whose transactions it and the bodies around it hold.
    engines: Vec<u64>,
    /// Whether a call that it made was answered with an error of idem's own.
    met_error: Arc<AtomicBool>,
}

/// Marks what a body does as done inside of it. Clones are the same mark.
#[derive(Debug, Clone)]
pub struct Inside {
    engine: Option<u64>,
    met_error: Arc<AtomicBool>,
}

impl Inside {
    pub(crate) fn new(engine: Option<u64>) -> Self {
        Self { engine, met_error: Arc::default() }
    }

    pub(crate) fn is_inside(engine: u64) -> bool {
        HELD.try_with(|held| held.engines.contains(&engine)).unwrap_or(false)
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
        let mut engines = HELD.try_with(|held| held.engines.clone()).unwrap_or_default();
        engines.extend(self.engine);
        HELD.scope(Held { engines, met_error: self.met_error }, body)
    }
}
