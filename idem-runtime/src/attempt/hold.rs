use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::Error;
use crate::record::Claim;

/// What is known of a claim that is ours.
#[derive(Debug)]
pub(crate) struct Hold {
    pub(crate) claim: Claim,
    /// Which attempt at the call.
    pub(crate) number: u64,
    /// Nobody but the owner writes it, so that the record says nothing else.
    known: Mutex<Known>,
    /// How often that was written, or may have been.
    writes: AtomicI64,
}

#[derive(Debug)]
struct Known {
    begun: Begun,
    /// The call is on its way to be let go with what had begun by then.
    is_let_go: bool,
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
        let known = Known { begun: Begun { before, ours: Vec::new() }, is_let_go: false };
        Self { claim, number, known: Mutex::new(known), writes: AtomicI64::new(0) }
    }

    pub(crate) fn begun(&self) -> Begun {
        self.lock().begun.clone()
    }

    /// Fails once the call is let go, though the record may still be ours: what that leaves behind does not know of this, and
    /// it must not be done.
    pub(crate) fn set_begun(&self, begun: Begun) -> Result<(), Error> {
        let mut known = self.lock();
        if known.is_let_go {
            return Err(Error::StaleOwner);
        }
        known.begun = begun;
        Ok(())
    }

    /// What has begun, for good: an attempt that is still worked with begins nothing any more.
    pub(crate) fn let_go(&self) -> Begun {
        let mut known = self.lock();
        known.is_let_go = true;
        known.begun.clone()
    }

    /// The number of the next write.
    pub(crate) fn next_write(&self) -> i64 {
        self.writes.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
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
