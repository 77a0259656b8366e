//! A database to measure on, and ratios as they are told.

use std::time::{Duration, Instant};

use idem_runtime::prelude::*;
use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, Executor as _, PgPool};

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

#[derive(Debug, thiserror::Error)]
pub(crate) enum PayError {
    #[error(transparent)]
    Idem(#[from] Error),
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
}

/// How much is measured. Run as a test it only has to work.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) rounds: usize,
    pub(crate) calls: i64,
}

impl Size {
    pub(crate) fn asked_for() -> Self {
        let is_benchmark = std::env::args().any(|argument| argument == "--bench");
        if is_benchmark { Self { rounds: 41, calls: 200 } } else { Self { rounds: 1, calls: 2 } }
    }
}

/// A variable of `cargo xtask servers`.
pub(crate) fn server(variable: &str) -> Result<String, BoxError> {
    std::env::var(variable).map_err(|_| format!("{variable} is not set: cargo xtask servers -- cargo bench").into())
}

/// Measures on a fresh database, which is dropped again.
pub(crate) async fn on_database(measure: impl AsyncFnOnce(&str) -> Result<(), BoxError>) -> Result<(), BoxError> {
    let server = server("IDEM_TEST_POSTGRES_URL")?;
    let name = format!("idem_bench_{}", uuid::Uuid::new_v4().simple());
    let admin = PgPool::connect(&server).await?;
    admin.execute(sqlx::raw_sql(AssertSqlSafe(format!("CREATE DATABASE {name}")))).await?;
    let measured = measure(&server.replace("/postgres", &format!("/{name}"))).await;
    admin.execute(sqlx::raw_sql(AssertSqlSafe(format!("DROP DATABASE {name} WITH (FORCE)")))).await?;
    measured
}

/// One connection, without what would stand in both times and hide what is compared: the ping before each use, and commits
/// that wait for the disk.
pub(crate) async fn connect(url: &str) -> Result<PgPool, BoxError> {
    let pool = PgPoolOptions::new().max_connections(1).test_before_acquire(false).connect(url).await?;
    pool.execute("SET synchronous_commit = off").await?;
    Ok(pool)
}

/// How long so many calls take, one after the other.
pub(crate) async fn time(calls: i64, call: impl AsyncFn(i64) -> Result<i64, PayError>) -> Result<Duration, BoxError> {
    let began_at = Instant::now();
    for order in 0..calls {
        if call(order).await? != 7 {
            return Err("another result".into());
        }
    }
    Ok(began_at.elapsed())
}

/// The time of one over that of the other. The first one of a round finds other pages in the cache than the second one, so
/// that they take turns.
pub(crate) async fn ratio(
    round: usize,
    one: impl AsyncFn() -> Result<Duration, BoxError>,
    other: impl AsyncFn() -> Result<Duration, BoxError>,
) -> Result<f64, BoxError> {
    let (one, other) = if round.is_multiple_of(2) {
        let one = one().await?;
        (one, other().await?)
    } else {
        let other = other().await?;
        (one().await?, other)
    };
    Ok(one.as_secs_f64() / other.as_secs_f64())
}

/// The median of the ratios, and the quartiles.
pub(crate) fn tell(what: &str, of: &str, mut ratios: Vec<f64>, Size { rounds, calls }: Size) {
    ratios.sort_by(f64::total_cmp);
    let [low, median, high] = [1, 2, 3].map(|quarter| ratios[ratios.len() * quarter / 4]);
    println!("{what:>28}: {median:.3} of {of} (quartiles {low:.3} to {high:.3}, {rounds} rounds of {calls})");
}
