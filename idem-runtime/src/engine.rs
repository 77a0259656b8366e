//! The engine: a pool, and what calls of one process know of one another.

mod alone;
mod arrival;
mod gated;
mod heartbeat;
mod in_flight;
mod inside;
mod replays;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sqlx::Pool;
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::dialect::{Dialect, SqlDialect};
use crate::error::Error;
use crate::schema;
use crate::tx::{Lent, Root, Tx};

pub(crate) use alone::UNTIL_NOW;
pub(crate) use arrival::{Arrival, Arrived};
pub(crate) use gated::Gated;
pub(crate) use heartbeat::{Beating, Heartbeat, Quiet};
use in_flight::InFlight;
pub(crate) use inside::{Inside, Open};
use replays::Replays;

/// What idempotent functions are called with. Cheap to clone: the clones are one engine.
///
/// ```no_run
/// # #[cfg(feature = "sqlite")]
/// # async fn start() -> Result<(), Box<dyn std::error::Error>> {
/// use idem_runtime::prelude::*;
///
/// let pool = sqlx::SqlitePool::connect("sqlite:shop.db?mode=rwc").await?;
/// let idem = Idem::builder(pool).build().await?;
/// idem.migrate().await?;
/// # Ok(())
/// # }
/// ```
pub struct Idem<DB: SqlDialect> {
    engine: Arc<Engine<DB>>,
}

struct Engine<DB: SqlDialect> {
    pool: Pool<DB>,
    /// Tells the bodies of one engine from those of another.
    id: u64,
    /// On SQLite, whose busy handler sleeps and starves: writers of this process wait in a fair queue instead.
    writer: Option<Arc<Mutex<()>>>,
    in_flight: InFlight,
    heartbeat: Heartbeat<DB>,
    replays: Replays,
    gated: Gated,
    result_limit: usize,
}

/// Makes an [`Idem`].
#[must_use = "an engine is made by `build`"]
#[derive(Debug)]
pub struct Builder<DB: SqlDialect> {
    pool: Pool<DB>,
    result_limit: usize,
    replays: Replays,
    gated: Gated,
}

/// A record is read again by every duplicate and kept for long: what is larger has a better place, and the result says
/// where. It is also what MariaDB takes in one packet unless it is told otherwise.
const RESULT_LIMIT: usize = 16 * 1024 * 1024;

impl<DB: SqlDialect> Idem<DB> {
    /// Begins with the pool whose database holds the rows and the records.
    pub fn builder(pool: Pool<DB>) -> Builder<DB> {
        Builder { pool, result_limit: RESULT_LIMIT, replays: Replays::default(), gated: Gated::default() }
    }

    /// The pool it was built with.
    #[must_use]
    pub fn pool(&self) -> &Pool<DB> {
        &self.engine.pool
    }

    /// Creates the tables of [`schema::ddl`] that do not exist yet, and brings those of a former release to their shape in
    /// this one, where they are and with all their rows ([`schema::upgrade`]). Instances that start together may all call
    /// it, while those of the former release go on.
    ///
    /// Where everything is there it only reads, so that a role may call it that can create nothing, if it sees the tables:
    /// MySQL and MariaDB show one only to a role that has a right to it. An upgrade waits for the transactions that have
    /// used the table, for a minute at most: they are let through in between.
    ///
    /// The history of a machine is a table of the user's: create it with the text of [`schema::history`].
    ///
    /// # Errors
    ///
    /// [`Error::Database`], for example without the right to create tables, or for a row that nobody but a person has
    /// written and that the new shape refuses; [`Error::Retry`] when the table was in use for too long. What was done stays,
    /// and the next call goes on from there.
    pub async fn migrate(&self) -> Result<(), Error> {
        Box::pin(schema::migrate(self)).await
    }

    /// Opens a transaction. On SQLite it is the writer's from the start.
    ///
    /// ```no_run
    /// # #[cfg(feature = "sqlite")]
    /// # async fn f(idem: idem_runtime::Idem<sqlx::Sqlite>) -> Result<(), Box<dyn std::error::Error>> {
    /// let mut tx = idem.begin().await?;
    /// sqlx::query("INSERT INTO orders (order_id) VALUES (1)").execute(&mut *tx).await?;
    /// tx.commit().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::SecondConnection`] inside a body that holds the only connection; [`Error::Retry`] and
    /// [`Error::Database`].
    pub async fn begin(&self) -> Result<Box<Tx<'static, DB>>, Error> {
        self.open().await.map(Box::new).inspect_err(|_| Inside::note_error())
    }

    pub(crate) async fn open(&self) -> Result<Tx<'static, DB>, Error> {
        self.check_second_writer()?;
        let turn = self.writers_turn().await?;
        let connection = self.acquire().await?;
        let mut root = Root::begin(connection, turn).await.map_err(Error::statement::<DB>)?;
        root.result_limit = self.engine.result_limit;
        Ok(Tx::outermost(root))
    }

    /// Our turn to write, waited for as long as the pool lets us wait for a connection.
    async fn writers_turn(&self) -> Result<Option<OwnedMutexGuard<()>>, Error> {
        let Some(writer) = &self.engine.writer else { return Ok(None) };
        let turn = Arc::clone(writer).lock_owned();
        #[cfg(feature = "testing")]
        let turn = crate::testing::in_queue(turn);
        let turn = tokio::time::timeout(self.engine.pool.options().get_acquire_timeout(), turn).await;
        turn.map(Some).map_err(|_| Error::Database(sqlx::Error::PoolTimedOut))
    }

    /// A connection for statements that are no transaction.
    pub(crate) async fn acquire(&self) -> Result<Lent<DB>, Error> {
        if self.engine.pool.options().get_max_connections() == 1 && Inside::is_inside(self.engine.id) {
            return Err(Error::SecondConnection);
        }
        Lent::acquire(&self.engine.pool).await
    }

    /// A body that holds the only connection, or is the only writer, would wait for itself.
    pub(crate) fn check_second_writer(&self) -> Result<(), Error> {
        let only_one = DB::ONE_WRITER || self.engine.pool.options().get_max_connections() == 1;
        if only_one && Inside::is_inside(self.engine.id) {
            return Err(Error::SecondConnection);
        }
        Ok(())
    }

    /// An engine with one connection of its own, like that of one more process, in the same queue of writers.
    #[cfg(feature = "testing")]
    pub(crate) async fn sibling(&self) -> Result<Self, Error> {
        let pool = like(&self.engine.pool);
        if DB::DIALECT == Dialect::Sqlite && is_in_memory(&self.engine.pool).await? {
            return Err(Error::Configuration("callers of their own need a file: `:memory:` is one connection's"));
        }
        let beats = like(&pool);
        Ok(Self::over(
            Builder { result_limit: self.engine.result_limit, ..Self::builder(pool) },
            beats,
            self.engine.writer.clone(),
        ))
    }

    /// An engine as it was asked for; `beats` is for its heartbeat.
    fn over(asked: Builder<DB>, beats: Pool<DB>, writer: Option<Arc<Mutex<()>>>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let Builder { pool, result_limit, replays, gated } = asked;
        let (id, in_flight) = (NEXT.fetch_add(1, Ordering::Relaxed), InFlight::default());
        let heartbeat = Heartbeat::new(beats, writer.clone());
        Self { engine: Arc::new(Engine { pool, id, writer, in_flight, heartbeat, replays, gated, result_limit }) }
    }

    pub(crate) fn heartbeat(&self) -> &Heartbeat<DB> {
        &self.engine.heartbeat
    }

    pub(crate) fn result_limit(&self) -> usize {
        self.engine.result_limit
    }

    pub(crate) fn in_flight(&self) -> &InFlight {
        &self.engine.in_flight
    }

    pub(crate) fn id(&self) -> u64 {
        self.engine.id
    }
}

impl<DB: SqlDialect> Clone for Idem<DB> {
    fn clone(&self) -> Self {
        Self { engine: Arc::clone(&self.engine) }
    }
}

impl<DB: SqlDialect> fmt::Debug for Idem<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Idem").field("pool", &self.engine.pool).finish_non_exhaustive()
    }
}

impl<DB: SqlDialect> Builder<DB> {
    /// The most bytes that a result may have, written as JSON; 16 MiB unless it is set. A larger one is
    /// [`Error::ResultTooLarge`], and its effect is rolled back. On MySQL and MariaDB the server's `max_allowed_packet`,
    /// which has to hold the statement too, is a limit of its own.
    pub fn result_limit(mut self, bytes: usize) -> Self {
        self.result_limit = bytes;
        self
    }

    /// Keeps answers of calls that have ended in the memory of this process, up to so many bytes: a duplicate of one that is
    /// there asks the database nothing. An answer is kept once the outermost transaction is committed, is compared with the
    /// payload of whoever asks, and stays for no longer than its function's `retain` says; calls inside of a [`Tx`] neither
    /// fill it nor are answered by it.
    ///
    /// What it costs: a record that somebody removes by hand, or a database that is restored to an earlier state, is not seen
    /// by a process that has the answer. Without this nothing is kept.
    #[cfg(feature = "cache")]
    pub fn replay_cache(mut self, bytes: u64) -> Self {
        self.replays = Replays::of(bytes);
        self
    }

    /// Puts a [`Gate`](crate::gate::Gate) before the calls that begin on the engine: functions, blocks and
    /// batches.
    #[cfg(feature = "redis")]
    pub fn gate(mut self, gate: crate::gate::Gate) -> Self {
        self.gated = Gated(Some(gate));
        self
    }

    /// Checks the pool and makes the engine.
    ///
    /// # Errors
    ///
    /// [`Error::Configuration`] for a pool of several connections to SQLite's `:memory:`, where each connection has a
    /// database of its own or locks that no one waits for, and for sessions of MySQL without `autocommit`, where what has to
    /// be committed before an outside call would not be; [`Error::Database`] when the database cannot be reached.
    pub async fn build(self) -> Result<Idem<DB>, Error> {
        let many = self.pool.options().get_max_connections() > 1;
        let in_memory = DB::DIALECT == Dialect::Sqlite && is_in_memory(&self.pool).await?;
        if in_memory && many {
            return Err(Error::Configuration(
                "`:memory:` needs a pool of one connection: `SqlitePoolOptions::new().max_connections(1)`",
            ));
        }
        if DB::DIALECT == Dialect::MySql && !commits(&self.pool).await? {
            return Err(Error::Configuration(
                "a session has `autocommit` off: what has to be committed at once would not be",
            ));
        }
        let beats = if in_memory { self.pool.clone() } else { like(&self.pool) };
        Ok(Idem::over(self, beats, DB::ONE_WRITER.then(Arc::default)))
    }
}

/// A pool of one connection, which is made when it is needed, beside those of another one.
fn like<DB: SqlDialect>(pool: &Pool<DB>) -> Pool<DB> {
    let one = pool.options().clone().min_connections(0).max_connections(1);
    one.connect_lazy_with((*pool.connect_options()).clone())
}

/// Whether a session of MySQL commits a statement that is in no transaction.
async fn commits<DB: SqlDialect>(pool: &Pool<DB>) -> Result<bool, Error> {
    let mut connection = pool.acquire().await.map_err(Error::Database)?;
    let row = DB::fetch_optional(&mut connection, "SELECT @@autocommit AS commits").await.map_err(Error::Database)?;
    let commits = row.map(|row| DB::integer(&row, "commits")).transpose().map_err(Error::Database)?;
    Ok(commits.flatten() != Some(0))
}

/// Whether the database of SQLite is in no file.
async fn is_in_memory<DB: SqlDialect>(pool: &Pool<DB>) -> Result<bool, Error> {
    let mut connection = pool.acquire().await.map_err(Error::Database)?;
    let main = "SELECT file FROM pragma_database_list WHERE name = 'main'";
    let row = DB::fetch_optional(&mut connection, main).await.map_err(Error::Database)?;
    Ok(row.and_then(|row| DB::text(&row, "file").ok().flatten()).unwrap_or_default().is_empty())
}
