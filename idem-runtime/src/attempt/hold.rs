use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::record::Claim;

/// What is known of a claim that is ours.
#[derive(Debug)]
pub(crate) struct Hold {
    pub(crate) claim: Claim,
    /// Which attempt at the call.
    pub(crate) number: u64,
    /// Nobody but the owner writes it, so that the record says nothing else.
    begun: Mutex<Begun>,
    /// How often that was written, or may have been.
    writes: AtomicI64,
}

/// What may have happened already, each step as often as it has begun.
#[derive(Debug, Clone, Default)]
pub(crate) struct Begun {
    /// In an attempt before this one. What came of it is not this one's to say.
    before: Vec<String>,
    ours: Vec<String>,
}

impl Hold {
    pub(crate) fn new(claim: Claim, number: u64, before: Vec<String>) -> Self {
        Self { claim, number, begun: Mutex::new(Begun { before, ours: Vec::new() }), writes: AtomicI64::new(0) }
    }

    pub(crate) fn begun(&self) -> Begun {
        self.lock().clone()
    }

    pub(crate) fn set_begun(&self, begun: Begun) {
        *self.lock() = begun;
    }

    /// The number of the next write.
    pub(crate) fn next_write(&self) -> i64 {
        self.writes.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn lock(&self) -> MutexGuard<'_, Begun> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Begun {
    /// With one more step.
    pub(crate) fn with(mut self, step: &str) -> Self {
        self.ours.push(step.to_owned());
        self
    }

    /// Without the last of this attempt's steps of that name, whose others stay.
    pub(crate) fn without(mut self, step: &str) -> Self {
        if let Some(last) = self.ours.iter().rposition(|it| it == step) {
            self.ours.remove(last);
        }
        self
    }

    /// The names, each once.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for step in self.before.iter().chain(&self.ours) {
            if !names.contains(step) {
                names.push(step.clone());
            }
        }
        names
    }
}
