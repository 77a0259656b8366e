use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Stops asking for a while after a failure; then one call asks for all.
#[derive(Debug)]
pub(super) struct Breaker {
    made_at: Instant,
    /// In milliseconds since it was made; zero lets everybody through.
    closed_until: AtomicU64,
}

/// A Redis that is away costs one timeout in it.
const PAUSE: Duration = Duration::from_secs(1);

impl Default for Breaker {
    fn default() -> Self {
        Self { made_at: Instant::now(), closed_until: AtomicU64::new(0) }
    }
}

impl Breaker {
    pub(super) fn lets_through(&self) -> bool {
        let until = self.closed_until.load(Ordering::Relaxed);
        if until == 0 {
            return true;
        }
        let now = self.now();
        // Whoever moves the end of the pause is the one who asks.
        now >= until
            && self.closed_until.compare_exchange(until, next(now), Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// There was an answer.
    pub(super) fn close(&self) {
        self.closed_until.store(0, Ordering::Relaxed);
    }

    /// There was none.
    pub(super) fn open(&self) {
        self.closed_until.store(next(self.now()), Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        u64::try_from(self.made_at.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

fn next(now: u64) -> u64 {
    now + u64::try_from(PAUSE.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_call_asks_after_the_pause() {
        let breaker = Breaker::default();
        assert!(breaker.lets_through() && breaker.lets_through());
        breaker.open();
        assert!(!breaker.lets_through());
        breaker.closed_until.store(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(2));
        assert!(breaker.lets_through(), "the pause is over");
        assert!(!breaker.lets_through(), "one asks for all");
        breaker.close();
        assert!(breaker.lets_through() && breaker.lets_through());
    }
}
