//! Counts statements and written rows of an operation, with each engine's own instrument.

use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Write as _};
use std::future::Future;
use std::marker::PhantomData;
use std::sync::{LazyLock, Mutex, PoisonError};

use expect_test::expect_file;
use sqlx::{MySql, Pool, Postgres, Sqlite};
use tracing::field::{Field, Visit};
use tracing::{Event, Instrument as _, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::{BoxError, Engine, TestDb, ensure};

/// What an operation cost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// How many statements of each kind ran.
    pub(crate) statements: BTreeMap<String, u64>,
    /// How many rows were inserted, updated or deleted, those that a rollback undid included; on MySQL also a row that
    /// a unique index refused.
    pub(crate) rows_written: u64,
}

impl Counts {
    /// How many statements ran.
    pub(crate) fn total(&self) -> u64 {
        self.statements.values().sum()
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds: Vec<_> = self.statements.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        write!(f, "{:>10}  {:>12}  {}", self.total(), self.rows_written, kinds.join(", "))
    }
}

/// The instrument of an engine. It looks at one connection or one database, so that tests can run beside it.
pub(crate) trait Counted: sqlx::Database {
    /// What the counters said before the operation.
    type Before: Send;

    /// Reads the counters, or sets them to zero.
    fn before(db: &TestDb<Self>, pool: &Pool<Self>) -> impl Future<Output = Result<Self::Before, BoxError>> + Send
    where
        Self: Engine;

    /// What was added since then. `traced` is what sqlx has told of.
    fn after(
        db: &TestDb<Self>,
        pool: &Pool<Self>,
        before: Self::Before,
        traced: BTreeMap<String, u64>,
    ) -> impl Future<Output = Result<Counts, BoxError>> + Send
    where
        Self: Engine;
}

/// Runs an operation on a pool of one connection and counts its statements.
///
/// # Errors
///
/// When the pool has more connections, whose statements would not be seen.
pub(crate) async fn count_statements<DB: Engine, T>(
    db: &TestDb<DB>,
    pool: &Pool<DB>,
    operation: impl Future<Output = T>,
) -> Result<(T, Counts), BoxError> {
    ensure!(pool.options().get_max_connections() == 1, "statements are counted on a pool of one connection");
    let before = DB::before(db, pool).await?;
    let span = tracing::info_span!("counted");
    let answer = operation.instrument(span.clone()).await;
    let counts = DB::after(db, pool, before, take_traced(&span)).await?;
    Ok((answer, counts))
}

/// The counts of several operations, compared with a file.
pub(crate) struct StatementTable<DB> {
    lines: String,
    engine: PhantomData<DB>,
}

impl<DB: Engine> StatementTable<DB> {
    /// An empty table.
    pub(crate) fn new() -> Self {
        let lines = format!("{:<48}statements  rows written  which\n", "operation");
        Self { lines, engine: PhantomData }
    }

    /// Adds the counts of an operation.
    pub(crate) fn add(&mut self, operation: &str, counts: &Counts) {
        let _ = writeln!(self.lines, "{operation:<48}{counts}");
    }

    /// Compares it with `tests/suite/statements/<engine>.txt`; panics with the difference.
    pub(crate) fn check(&self) {
        expect_file![format!("../statements/{}.txt", DB::DIALECT.name())].assert_eq(&self.lines);
    }
}

impl Counted for Postgres {
    /// The rows written before.
    type Before = u64;

    async fn before(db: &TestDb<Self>, pool: &Pool<Self>) -> Result<u64, BoxError> {
        db.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements").await?;
        let rows_written = postgres_rows_written(db, pool).await?;
        let database = "SELECT oid FROM pg_database WHERE datname = current_database()";
        db.rows(format!("SELECT 1 FROM pg_stat_statements_reset(0, ({database}), 0)")).await?;
        Ok(rows_written)
    }

    async fn after(
        db: &TestDb<Self>,
        pool: &Pool<Self>,
        before: u64,
        _: BTreeMap<String, u64>,
    ) -> Result<Counts, BoxError> {
        let query = "SELECT upper(split_part(ltrim(query), ' ', 1)), sum(calls)::int8 FROM pg_stat_statements \
             WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) \
               AND query NOT LIKE '%pg_stat_%' GROUP BY 1";
        let statements = to_counters(db.rows(query).await?)?;
        let rows_written = postgres_rows_written(db, pool).await? - before;
        Ok(Counts { statements, rows_written })
    }
}

/// The rows that both connections have written so far. A session reports its own no more often than once a second,
/// unless it is told to.
async fn postgres_rows_written(db: &TestDb<Postgres>, pool: &Pool<Postgres>) -> Result<u64, BoxError> {
    for pool in [db.own(), pool] {
        Postgres::rows(pool, "SELECT 1 FROM pg_stat_force_next_flush()".to_owned()).await?;
    }
    let sum = "SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::int8 FROM pg_stat_user_tables";
    Ok(db.text(sum).await?.parse()?)
}

impl Counted for MySql {
    type Before = BTreeMap<String, u64>;

    async fn before(_: &TestDb<Self>, pool: &Pool<Self>) -> Result<Self::Before, BoxError> {
        mysql_counters(pool).await
    }

    async fn after(
        _: &TestDb<Self>,
        pool: &Pool<Self>,
        before: Self::Before,
        _: BTreeMap<String, u64>,
    ) -> Result<Counts, BoxError> {
        let mut counts = Counts::default();
        for (name, value) in mysql_counters(pool).await? {
            let added = value - before.get(&name).copied().unwrap_or_default();
            match name.strip_prefix("com_") {
                Some(kind) if added > 0 => drop(counts.statements.insert(kind.to_uppercase().replace('_', " "), added)),
                Some(_) => {}
                None => counts.rows_written += added,
            }
        }
        Ok(counts)
    }
}

/// The session's own counters of statements and of written rows, without those that this query moves.
async fn mysql_counters(pool: &Pool<MySql>) -> Result<BTreeMap<String, u64>, BoxError> {
    let rows = MySql::rows(pool, "SHOW SESSION STATUS".to_owned()).await?;
    let counters = rows.into_iter().map(|row| row.into_iter().map(|cell| cell.to_lowercase()).collect::<Vec<_>>());
    to_counters(counters.filter(|row| is_counter(&row[0])).collect())
}

fn is_counter(name: &str) -> bool {
    // How a statement travels, this query itself, and the pool's pings.
    const OTHERS: [&str; 3] = ["com_stmt_", "com_show_status", "com_admin_commands"];
    let statement = name.starts_with("com_") && !OTHERS.iter().any(|other| name.starts_with(other));
    statement || ["handler_write", "handler_update", "handler_delete"].contains(&name)
}

fn to_counters(rows: Vec<Vec<String>>) -> Result<BTreeMap<String, u64>, BoxError> {
    rows.into_iter()
        .map(|row| {
            let [name, value] = <[String; 2]>::try_from(row).map_err(|row| format!("not a counter: {row:?}"))?;
            Ok((name, value.parse()?))
        })
        .collect()
}

impl Counted for Sqlite {
    /// The rows written before.
    type Before = u64;

    async fn before(_: &TestDb<Self>, pool: &Pool<Self>) -> Result<u64, BoxError> {
        sqlite_rows_written(pool).await
    }

    /// SQLite counts no statements by itself; sqlx tells of each.
    async fn after(
        _: &TestDb<Self>,
        pool: &Pool<Self>,
        before: u64,
        statements: BTreeMap<String, u64>,
    ) -> Result<Counts, BoxError> {
        Ok(Counts { statements, rows_written: sqlite_rows_written(pool).await? - before })
    }
}

async fn sqlite_rows_written(pool: &Pool<Sqlite>) -> Result<u64, BoxError> {
    let rows = Sqlite::rows(pool, "SELECT total_changes()".to_owned()).await?;
    Ok(rows[0][0].parse()?)
}

/// The statements of each span that counts.
static TRACED: LazyLock<Mutex<HashMap<u64, BTreeMap<String, u64>>>> = LazyLock::new(Mutex::default);

/// Begins to watch what sqlx tells of its statements, for the whole process.
pub(crate) fn watch_statements() {
    let targets = Targets::new().with_target("sqlx::query", tracing::Level::TRACE);
    let targets = targets.with_target(module_path!(), tracing::Level::TRACE);
    tracing_subscriber::registry().with(Watch.with_filter(targets)).init();
}

fn take_traced(span: &tracing::Span) -> BTreeMap<String, u64> {
    let id = span.id().map_or(0, |id| id.into_u64());
    TRACED.lock().unwrap_or_else(PoisonError::into_inner).remove(&id).unwrap_or_default()
}

struct Watch;

impl<S> Layer<S> for Watch
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let Some(span) = context.event_scope(event).and_then(|mut spans| spans.find(|span| span.name() == "counted"))
        else {
            return;
        };
        let mut kind = Kind::default();
        event.record(&mut kind);
        let mut traced = TRACED.lock().unwrap_or_else(PoisonError::into_inner);
        *traced.entry(span.id().into_u64()).or_default().entry(kind.0).or_default() += 1;
    }
}

/// The first word of a statement.
#[derive(Default)]
struct Kind(String);

impl Visit for Kind {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "summary" {
            let summary = format!("{value:?}");
            self.0 = summary.trim_matches('"').split_whitespace().next().unwrap_or_default().to_uppercase();
        }
    }
}
