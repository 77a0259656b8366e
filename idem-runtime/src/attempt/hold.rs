use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::record::Claim;

/// What is known of a claim that is ours.
#[derive(Debug)]
pub(crate) struct Hold {
    pub(crate) claim: Claim,
    /// Which attempt at the call.
    pub(crate) number: u64,
    /// What may have happened already. Nobody but the owner writes it, so that the record has no other.
    begun: Mutex<Vec<String>>,
}

impl Hold {
    pub(crate) fn new(claim: Claim, number: u64, begun: Vec<String>) -> Self {
        Self { claim, number, begun: Mutex::new(begun) }
    }

    pub(crate) fn begun(&self) -> Vec<String> {
        self.lock().clone()
    }

    pub(crate) fn set_begun(&self, begun: Vec<String>) {
        *self.lock() = begun;
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
