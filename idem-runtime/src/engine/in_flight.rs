use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

/// Which call: its scope and its key.
type Call = (&'static str, String);

/// The calls that are running in this process: a second one with the same key waits here, in order and without a
/// connection.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    calls: Arc<Mutex<Calls>>,
}

type Calls = HashMap<Call, Arc<AsyncMutex<()>>>;

/// One call's turn. The next one comes when it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    // Declared in the order in which they are dropped: the queue is looked at after our place in it is free.
    _held: OwnedMutexGuard<()>,
    _place: Place,
}

/// A place in the queue of one call; the last one to leave removes the queue.
#[derive(Debug)]
struct Place {
    call: Call,
    queue: Option<Arc<AsyncMutex<()>>>,
    calls: Arc<Mutex<Calls>>,
}

impl InFlight {
    /// Waits for our turn, at most as long as `wait`.
    pub(crate) async fn turn(&self, scope: &'static str, key: &str, wait: Duration) -> Option<Turn> {
        let place = self.place((scope, key.to_owned()));
        let queue = Arc::clone(place.queue.as_ref()?);
        let held = tokio::time::timeout(wait, queue.lock_owned()).await.ok()?;
        Some(Turn { _held: held, _place: place })
    }

    fn place(&self, call: Call) -> Place {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let queue = Arc::clone(calls.entry(call.clone()).or_default());
        Place { call, queue: Some(queue), calls: Arc::clone(&self.calls) }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        self.queue = None;
        if calls.get(&self.call).is_some_and(|queue| Arc::strong_count(queue) == 1) {
            calls.remove(&self.call);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    const SOON: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn one_at_a_time_and_nothing_is_left_behind() {
        let running = InFlight::default();
        let first = running.turn("s", "k", SOON).await.expect("nobody is before us");
        assert!(running.turn("s", "k", SOON).await.is_none(), "the first one still runs");
        assert!(running.turn("s", "other", SOON).await.is_some(), "another key is free");
        drop(first);
        assert!(running.turn("s", "k", SOON).await.is_some());
        assert!(running.calls.lock().unwrap().is_empty());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn i77_ten_thousand_calls_of_a_hundred_keys() {
        const KEYS: usize = 100;
        let running = Arc::new(InFlight::default());
        let inside: Arc<Vec<_>> = Arc::new((0..KEYS).map(|_| AtomicBool::new(false)).collect());
        let mut calls = tokio::task::JoinSet::new();
        for call in 0..KEYS * 100 {
            let (running, inside) = (Arc::clone(&running), Arc::clone(&inside));
            calls.spawn(async move {
                let key = call % KEYS;
                let turn = running.turn("s", &key.to_string(), Duration::from_mins(1)).await.expect("a turn");
                assert!(!inside[key].swap(true, Ordering::SeqCst), "two at once");
                tokio::task::yield_now().await;
                inside[key].store(false, Ordering::SeqCst);
                drop(turn);
            });
        }
        calls.join_all().await;
        assert!(running.calls.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn a_dropped_waiter_leaves_its_place_to_the_next() {
        let running = InFlight::default();
        let first = running.turn("s", "k", SOON).await;
        let long = Duration::from_mins(1);
        let mut dropped = Box::pin(running.turn("s", "k", long));
        let mut next = Box::pin(running.turn("s", "k", long));
        assert!(futures_util::poll!(&mut dropped).is_pending());
        assert!(futures_util::poll!(&mut next).is_pending());
        drop(dropped);
        drop(first);
        assert!(next.await.is_some());
        assert!(running.calls.lock().unwrap().is_empty());
    }
}
