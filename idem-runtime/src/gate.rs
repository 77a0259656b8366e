//! A hint in Redis before the database: whether a call with this key runs or has ended, as far as Redis knows.
//!
//! It decides nothing. What Redis says only chooses the way: a call that is said to have ended is looked up first, which is one
//! statement, and every other one is claimed. Each answer comes from the database, so that a Redis that is slow, away, flushed,
//! full, restored or wrong changes no answer and no number of effects.
//!
//! Every call pays a round trip to Redis for it. What it spares is the transaction of a duplicate, which
//! [`read_first`](crate::OnceCall::read_first) spares as well, for one statement more in each new call and without Redis: a gate
//! is for databases whose reads are dearer than that, or for [`Gate::replay_from_redis`].
//!
//! ```no_run
//! # async fn f(pool: sqlx::SqlitePool) -> Result<(), Box<dyn std::error::Error>> {
//! use idem_runtime::gate::Gate;
//! use idem_runtime::prelude::*;
//!
//! let client = redis::Client::open("redis://127.0.0.1")?;
//! let connection = redis::aio::ConnectionManager::new_lazy_with_config(client, Default::default())?;
//! let idem = Idem::builder(pool).gate(Gate::new(connection)).build().await?;
//! # Ok(())
//! # }
//! ```

mod breaker;
mod marker;
mod pass;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use redis::aio::ConnectionLike;
use redis::{Cmd, Value, cmd};

use self::breaker::Breaker;
use self::marker::Marker;
use crate::record::{Claim, Record};
use crate::remote::{Remote, expiry, hashed_key};

pub(crate) use pass::Pass;

/// How Redis is asked. Redis 7.0 or newer, one server or a cluster.
#[derive(Clone)]
#[must_use = "a gate is given to `Idem::builder(..).gate(..)`"]
pub struct Gate {
    settings: Settings,
    remote: Arc<dyn Remote>,
    breaker: Arc<Breaker>,
    counters: Arc<Counters>,
}

#[derive(Debug, Clone)]
struct Settings {
    prefix: String,
    timeout: Duration,
    running: Duration,
    ended: Duration,
    /// The most bytes of an answer that Redis may give.
    replay: Option<usize>,
}

/// What a gate has met since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GateCounts {
    /// Calls whose key nobody had marked.
    pub first: u64,
    /// Calls that were said to run.
    pub running: u64,
    /// Calls that were said to have ended.
    pub ended: u64,
    /// Calls that did not ask, or had no answer: an error, a timeout, the pause after one.
    pub bypassed: u64,
    /// Calls that were said to have ended, and of which the database knew nothing.
    pub false_hints: u64,
    /// Calls that were answered from Redis ([`Gate::replay_from_redis`]).
    pub replayed: u64,
}

#[derive(Debug, Default)]
struct Counters {
    first: AtomicU64,
    running: AtomicU64,
    ended: AtomicU64,
    bypassed: AtomicU64,
    false_hints: AtomicU64,
    replayed: AtomicU64,
}

tokio::task_local! {
    /// Of the future that [`counting`] runs.
    static APART: Arc<Counters>;
}

/// Runs a future, and says what gates have met for the calls in it: which function's duplicates a gate pays for. It is counted
/// in [`Gate::counts`] as well. A task that the future spawns is not part of it, nor what runs in another `counting` inside.
pub async fn counting<F: Future>(future: F) -> (F::Output, GateCounts) {
    let apart = Arc::<Counters>::default();
    let output = APART.scope(Arc::clone(&apart), future).await;
    (output, apart.counts())
}

impl Counters {
    fn counts(&self) -> GateCounts {
        let Self { first, running, ended, bypassed, false_hints, replayed } = self;
        let [first, running, ended, bypassed, false_hints, replayed] =
            [first, running, ended, bypassed, false_hints, replayed].map(|counter| counter.load(Ordering::Relaxed));
        GateCounts { first, running, ended, bypassed, false_hints, replayed }
    }
}

impl Gate {
    /// A gate over a connection of the `redis` crate that mends itself: a `ConnectionManager`, or a `ClusterConnection`.
    pub fn new(connection: impl ConnectionLike + Clone + Send + Sync + 'static) -> Self {
        let settings = Settings {
            prefix: "idem".to_owned(),
            timeout: Duration::from_millis(50),
            running: Duration::from_secs(30),
            ended: Duration::from_hours(1),
            replay: None,
        };
        Self { settings, remote: Arc::new(connection), breaker: Arc::default(), counters: Arc::default() }
    }

    /// What stands before each key: `idem` unless it is set. Two services with one Redis and other databases need two.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.settings.prefix = prefix.into();
        self
    }

    /// How long Redis is waited for, 50 ms unless it is set. After an answer that did not come, or was an error, nobody asks
    /// for a second, and then one call does.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeout = timeout;
        self
    }

    /// How long a call is said to run, 30 seconds unless it is set; and to have ended, an hour. Both only bound how long
    /// Redis keeps a hint.
    pub fn keep(mut self, running: Duration, ended: Duration) -> Self {
        (self.settings.running, self.settings.ended) = (running, ended);
        self
    }

    /// Lets Redis answer duplicates with results of at most so many bytes, after their payload was compared: the database is
    /// not asked at all. One that `retain` ends is put there by the call that made it, and not by those that find it.
    ///
    /// What it costs: the answer is no better than Redis. After the database was restored to an earlier state, or a record was
    /// removed, duplicates go on to hear of an effect that is not there any more until the hint is over; and whoever can write
    /// to Redis can make up results.
    pub fn replay_from_redis(mut self, most_bytes: usize) -> Self {
        self.settings.replay = Some(most_bytes);
        self
    }

    /// What it has met since it was made. Clones are one gate.
    #[must_use]
    pub fn counts(&self) -> GateCounts {
        self.counters.counts()
    }

    /// Marks the key as one of a call that runs, and says what stood there before.
    pub(crate) async fn enter(&self, claim: &Claim) -> Pass {
        let key = hashed_key(&self.settings.prefix, &[claim.spec.scope, &claim.key]);
        let ttl = expiry(self.settings.running);
        let mut set = cmd("SET");
        set.arg(&key).arg(Marker::running(&claim.owner)).arg("NX").arg("GET").arg("PX").arg(ttl);
        let before = match self.ask(set).await {
            Some(Value::Nil) => Marker::None,
            Some(Value::BulkString(text)) => Marker::read(&text),
            Some(Value::SimpleString(text)) => Marker::read(text.as_bytes()),
            Some(_) | None => Marker::Unknown,
        };
        self.count(match before {
            Marker::None => |counters| &counters.first,
            Marker::Running => |counters| &counters.running,
            Marker::Ended(_) => |counters| &counters.ended,
            Marker::Unknown => |counters| &counters.bypassed,
        });
        Pass::new(self.clone(), key, claim, before)
    }

    fn count(&self, counter: fn(&Counters) -> &AtomicU64) {
        let add = |counters: &Counters| counter(counters).fetch_add(1, Ordering::Relaxed);
        add(&self.counters);
        // Most calls are in no future that is counted apart.
        let _ = APART.try_with(|apart| add(apart));
    }

    /// None where there is no answer to be had.
    async fn ask(&self, command: Cmd) -> Option<Value> {
        if !self.breaker.lets_through() {
            return None;
        }
        let answer = tokio::time::timeout(self.settings.timeout, self.remote.ask(command)).await;
        match answer {
            Ok(Ok(value)) => {
                self.breaker.close();
                Some(value)
            }
            Ok(Err(error)) => {
                tracing::warn!(error = %error, "the gate was bypassed");
                self.breaker.open();
                None
            }
            Err(_) => {
                tracing::warn!("the gate was bypassed: Redis did not answer in time");
                self.breaker.open();
                None
            }
        }
    }

    /// The call has ended, and its record is committed.
    async fn mark_ended(&self, key: &str, record: Option<&Record>, life: Option<Duration>) {
        let ttl = life.map_or(self.settings.ended, |life| life.min(self.settings.ended));
        let marker = Marker::ended(record, self.settings.replay.unwrap_or(0));
        let mut set = cmd("SET");
        set.arg(key).arg(marker).arg("PX").arg(expiry(ttl));
        self.ask(set).await;
    }

    /// Takes our own mark away, and nobody else's.
    async fn release(&self, key: &str, owner: &str) {
        const SCRIPT: &str =
            "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";
        let mut eval = cmd("EVAL");
        eval.arg(SCRIPT).arg(1).arg(key).arg(Marker::running(owner));
        self.ask(eval).await;
    }
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate").field("settings", &self.settings).finish_non_exhaustive()
    }
}
