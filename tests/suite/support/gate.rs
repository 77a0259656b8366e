//! The suite's second run: every engine of idem has a gate, before a Redis in a storm. No test expects anything else then.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use idem_runtime::gate::{Gate, GateCounts};
use redis::Client;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};

use super::BoxError;

/// Whether this is the second run.
pub(crate) fn is_on() -> bool {
    std::env::var_os("IDEM_TEST_GATE").is_some()
}

/// The gate of one more process that works on a database.
pub(super) fn before(database: &str) -> Result<Option<Gate>, BoxError> {
    if !is_on() {
        return Ok(None);
    }
    let url = std::env::var("IDEM_TEST_STORMY_REDIS_URL").map_err(|_| "IDEM_TEST_STORMY_REDIS_URL is not set")?;
    let settings = ConnectionManagerConfig::new().set_connection_timeout(Some(Duration::from_millis(200)));
    let connection = ConnectionManager::new_lazy_with_config(Client::open(url)?, settings)?;
    Ok(Some(Gate::new(connection).prefix(name(database))))
}

/// The database without its server, which it may be reached at by another port.
fn name(url: &str) -> &str {
    let path = url.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
    path.map_or(url, |(_, name)| name)
}

/// What all gates have met, and how it is called.
static MET: [(&str, AtomicU64); 5] = [
    ("first", AtomicU64::new(0)),
    ("running", AtomicU64::new(0)),
    ("ended", AtomicU64::new(0)),
    ("bypassed", AtomicU64::new(0)),
    ("false hints", AtomicU64::new(0)),
];

/// Adds what the gate of a test has met.
pub(super) fn note(counts: GateCounts) {
    let GateCounts { first, running, ended, bypassed, false_hints, .. } = counts;
    for ((_, met), count) in MET.iter().zip([first, running, ended, bypassed, false_hints]) {
        met.fetch_add(count, Ordering::Relaxed);
    }
}

/// What all of them have met, in one line.
pub(super) fn met() -> String {
    let met = MET.iter().map(|(name, met)| format!("{} {name}", met.load(Ordering::Relaxed)));
    met.collect::<Vec<_>>().join(", ")
}

/// Whether calls went each way, with a hint and without one: else the run shows nothing.
pub(super) fn was_tried() -> bool {
    MET[..4].iter().all(|(_, met)| met.load(Ordering::Relaxed) > 0)
}
