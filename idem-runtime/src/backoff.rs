//! Pauses between tries of what the database gave up.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::{Duration, Instant};

/// How often a transaction of our own is run again.
const TRIES: u32 = 6;

/// Where a try itself waits long, as for SQLite's writer in another process, there is no next one after that.
const BOUND: Duration = Duration::from_secs(2);

/// A random pause before each try: up to 5 ms before the first, twice as long before each next one.
pub(crate) fn pauses() -> impl Iterator<Item = Duration> {
    let began_at = Instant::now();
    let pauses = (0..TRIES).map(|n| Duration::from_micros(random() % (5_000 << n)));
    pauses.take_while(move |_| began_at.elapsed() < BOUND)
}

/// Rivals that wait equally long meet again; which number does not matter, only that theirs differ.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
