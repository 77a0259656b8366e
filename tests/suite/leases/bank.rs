//! A provider outside of the database, which a test can look into.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use idem_runtime::prelude::*;

use crate::settle::PayError;

/// It remembers the key of every request that it has got.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bank {
    requests: Arc<Mutex<Vec<String>>>,
}

impl Bank {
    /// Gets a request; answers with how many there were.
    pub(crate) fn send(&self, key: &DownstreamKey) -> usize {
        let mut requests = self.lock();
        requests.push(key.to_string());
        requests.len()
    }

    /// The keys of all requests.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.lock().clone()
    }

    /// The number of effects that a provider has which honours the key.
    pub(crate) fn effects(&self) -> usize {
        let mut requests = self.requests();
        requests.sort();
        requests.dedup();
        requests.len()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a test's body gives back.
pub(crate) type Sent = Result<i64, PayError>;
