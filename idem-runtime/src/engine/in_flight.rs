use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::{Either, select};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard, watch};

use crate::record::Record;

/// Which call: its scope and its key.
type Call = (&'static str, String);

/// The calls that are running in this process. Another one with the same key joins: it waits here, without a connection,
/// and hears how the first one has ended.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    calls: Arc<Mutex<Calls>>,
}

type Calls = HashMap<Call, Arc<Flight>>;

/// One call, and those that have joined it.
#[derive(Debug)]
struct Flight {
    /// Whose turn it is to ask the database; the others wait in order.
    turn: Arc<AsyncMutex<()>>,
    /// The record that answers all of them, once it is committed.
    ended: watch::Sender<Option<Arc<Record>>>,
    /// Since when the one runs whose turn it is.
    running_since: Mutex<Instant>,
}

/// What came of waiting for a call that runs.
#[derive(Debug)]
pub(crate) enum Joined {
    /// Nobody runs, or not any more and without an answer: it is ours to ask the database.
    Turn(Turn),
    /// The record that the one which ran has left or found.
    Ended(Arc<Record>),
    /// It still runs, for as long as that by now.
    Waited(Duration),
}

/// One call's turn. The next one comes when it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    // Declared in the order in which they are dropped: the flight is looked at after its turn is free.
    _held: OwnedMutexGuard<()>,
    place: Place,
}

/// A place in a flight; the last one to leave removes it.
#[derive(Debug)]
struct Place {
    call: Call,
    /// `None` only while it is dropped.
    flight: Option<Arc<Flight>>,
    calls: Arc<Mutex<Calls>>,
}

impl InFlight {
    /// Waits for our turn or the end of the call that runs, at most as long as `wait`.
    pub(crate) async fn join(&self, scope: &'static str, key: &str, wait: Duration) -> Joined {
        let place = self.place((scope, key.to_owned()));
        let mut ended = place.flight().ended.subscribe();
        let turn = Arc::clone(&place.flight().turn);
        // An answer that is there comes first: the turn of a call that has ended is free as well.
        let joined = async {
            let (ended, turn) = (pin!(ended.wait_for(Option::is_some)), pin!(turn.lock_owned()));
            match select(ended, turn).await {
                Either::Left((ended, _)) => Err(ended.ok().and_then(|record| record.clone())),
                Either::Right((held, _)) => Ok(held),
            }
        };
        let joined = if wait.is_zero() { joined.now_or_never() } else { tokio::time::timeout(wait, joined).await.ok() };
        match joined {
            Some(Ok(held)) => Joined::Turn(Turn::begin(held, place)),
            Some(Err(Some(record))) => Joined::Ended(record),
            Some(Err(None)) | None => Joined::Waited(place.flight().running_since().elapsed()),
        }
    }

    /// Whether a call with this key runs.
    pub(crate) fn is_running(&self, scope: &str, key: &str) -> bool {
        lock(&self.calls).keys().any(|call| call.0 == scope && call.1 == key)
    }

    fn place(&self, call: Call) -> Place {
        let flight = Arc::clone(lock(&self.calls).entry(call.clone()).or_default());
        Place { call, flight: Some(flight), calls: Arc::clone(&self.calls) }
    }
}

impl Turn {
    fn begin(held: OwnedMutexGuard<()>, place: Place) -> Self {
        *place.flight().running_since() = Instant::now();
        Self { _held: held, place }
    }

    /// Tells all who have joined how the call has ended, with what is committed. Who comes from now on asks for himself.
    pub(crate) fn tell(self, record: Arc<Record>) {
        let flight = self.place.flight();
        let mut calls = lock(&self.place.calls);
        if calls.get(&self.place.call).is_some_and(|current| Arc::ptr_eq(current, flight)) {
            calls.remove(&self.place.call);
        }
        drop(calls);
        flight.ended.send_replace(Some(record));
    }
}

impl Flight {
    fn running_since(&self) -> MutexGuard<'_, Instant> {
        lock(&self.running_since)
    }
}

impl Default for Flight {
    fn default() -> Self {
        let (ended, _) = watch::channel(None);
        Self { turn: Arc::default(), ended, running_since: Mutex::new(Instant::now()) }
    }
}

impl Place {
    fn flight(&self) -> &Arc<Flight> {
        self.flight.as_ref().expect("only `drop` takes it")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut calls = lock(&self.calls);
        let Some(flight) = self.flight.take() else { return };
        // Ours and that of the map.
        let is_last = Arc::strong_count(&flight) == 2;
        if is_last && calls.get(&self.call).is_some_and(|current| Arc::ptr_eq(current, &flight)) {
            calls.remove(&self.call);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::record::{Ending, Status, Stored};

    const SOON: Duration = Duration::from_millis(20);

    impl InFlight {
        async fn turn(&self, scope: &'static str, key: &str, wait: Duration) -> Option<Turn> {
            match self.join(scope, key, wait).await {
                Joined::Turn(turn) => Some(turn),
                Joined::Ended(_) | Joined::Waited(_) => None,
            }
        }
    }

    fn record() -> Arc<Record> {
        let answer = Stored { text: "1".to_owned(), kind: None };
        Arc::new(Ending { status: Status::Completed, answer, is_unit: false }.recorded(String::new()))
    }

    #[tokio::test]
    async fn all_who_joined_hear_how_the_call_has_ended() {
        const LONG: Duration = Duration::from_mins(1);
        let running = InFlight::default();
        let first = running.turn("s", "k", SOON).await.expect("nobody is before us");
        let mut joined: Vec<_> = (0..1_000).map(|_| Box::pin(running.join("s", "k", LONG))).collect();
        for waiter in &mut joined {
            assert!(futures_util::poll!(waiter).is_pending());
        }
        first.tell(record());
        let late = running.turn("s", "k", SOON).await;
        assert!(late.is_some(), "who comes later asks the database");
        for waiter in joined {
            let Joined::Ended(record) = waiter.await else { panic!("nobody else runs") };
            assert_eq!(record.answer.as_ref().map(|answer| &*answer.text), Some("1"));
        }
        drop(late);
        assert!(running.calls.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn a_waiter_is_told_how_long_the_call_has_run() {
        let running = InFlight::default();
        let first = running.turn("s", "k", SOON).await;
        let Joined::Waited(time) = running.join("s", "k", SOON).await else { panic!("the first one still runs") };
        assert!(time >= SOON, "{time:?}");
        assert!(running.is_running("s", "k") && !running.is_running("s", "other"));
        drop(first);
        assert!(!running.is_running("s", "k"));
    }

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
    async fn a_call_without_an_answer_promotes_one() {
        let running = InFlight::default();
        let first = running.turn("s", "k", SOON).await;
        let long = Duration::from_mins(1);
        let mut promoted = Box::pin(running.turn("s", "k", long));
        let mut next = Box::pin(running.turn("s", "k", long));
        assert!(futures_util::poll!(&mut promoted).is_pending());
        assert!(futures_util::poll!(&mut next).is_pending());
        drop(first);
        let promoted = promoted.await;
        assert!(promoted.is_some() && futures_util::poll!(&mut next).is_pending());
        drop(promoted);
        assert!(next.await.is_some());
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
