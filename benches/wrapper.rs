//! What `#[idempotent]` costs over the same statements written by hand.
//!
//! ```text
//! cargo xtask servers -- cargo bench --bench wrapper
//! ```
//!
//! Each round runs a number of new calls and of replays in both ways, turn by turn, and compares their times; the medians
//! of the ratios are printed. Only ratios mean something: a machine is fast or slow for both.

use std::time::{Duration, Instant};

use idem_runtime::prelude::*;
use idem_runtime::schema;
use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, Executor as _, PgPool, Postgres, Row as _};

/// How much is measured. Run as a test it only has to work.
#[derive(Clone, Copy)]
struct Size {
    rounds: usize,
    calls: i64,
}

impl Size {
    fn asked_for() -> Self {
        let is_benchmark = std::env::args().any(|argument| argument == "--bench");
        if is_benchmark { Self { rounds: 41, calls: 200 } } else { Self { rounds: 1, calls: 2 } }
    }
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

#[derive(Debug, thiserror::Error)]
enum PayError {
    #[error(transparent)]
    Idem(#[from] Error),
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
}

#[idempotent(scope = "bench.pay", key = (tenant, order), payload = amount)]
async fn pay(tx: &mut Tx<'_, Postgres>, tenant: i64, order: i64, amount: i64) -> Result<i64, PayError> {
    body(&mut *tx, order, amount).await
}

async fn body(on: impl sqlx::PgExecutor<'_>, order: i64, amount: i64) -> Result<i64, PayError> {
    let insert = sqlx::query("INSERT INTO ledger (order_id, amount) VALUES ($1, $2)");
    insert.bind(order).bind(amount).execute(on).await?;
    Ok(amount)
}

/// The statements that [`pay`] runs, as somebody would write them.
async fn pay_by_hand(pool: &PgPool, sql: &Sql, tenant: i64, order: i64, amount: i64) -> Result<i64, PayError> {
    let (key, owner) = (format!("{tenant}/{order}"), uuid::Uuid::new_v4().to_string());
    let mut tx = pool.begin().await?;
    let claim = sqlx::query(sql.claim).bind("bench.hand").bind(&key).bind("v1:none").bind(&owner).bind("2000");
    let row = claim.fetch_one(&mut *tx).await?;
    if row.try_get::<Option<i32>, _>("claimed")?.is_none() {
        tx.rollback().await?;
        let result: String = row.try_get("result")?;
        return serde_json::from_str(&result).map_err(|error| sqlx::Error::Decode(error.into()).into());
    }
    let paid = body(&mut *tx, order, amount).await?;
    let end =
        sqlx::query(sql.end).bind(2_i64).bind(paid.to_string()).bind("v1:i64").bind(None::<i64>).bind(None::<i64>);
    end.bind("bench.hand").bind(&key).bind(&owner).execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(paid)
}

struct Sql {
    claim: &'static str,
    end: &'static str,
}

impl Sql {
    fn named(name: &str) -> Result<&'static str, BoxError> {
        let found = schema::statements(Dialect::Postgres).find(|statement| statement.0 == name);
        Ok(found.ok_or_else(|| format!("no statement `{name}`"))?.1)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let server = std::env::var("IDEM_TEST_POSTGRES_URL")
        .map_err(|_| "no server: cargo xtask servers -- cargo bench --bench wrapper")?;
    let name = format!("idem_bench_{}", uuid::Uuid::new_v4().simple());
    let admin = PgPool::connect(&server).await?;
    admin.execute(sqlx::raw_sql(AssertSqlSafe(format!("CREATE DATABASE {name}")))).await?;
    let url = server.replace("/postgres", &format!("/{name}"));
    let measured = measure(&url).await;
    admin.execute(sqlx::raw_sql(AssertSqlSafe(format!("DROP DATABASE {name} WITH (FORCE)")))).await?;
    measured
}

async fn measure(url: &str) -> Result<(), BoxError> {
    // The ping before each use would stand in both times and hide what is compared.
    let pool = PgPoolOptions::new().max_connections(1).test_before_acquire(false).connect(url).await?;
    let idem = Idem::builder(pool.clone()).build().await?;
    idem.migrate().await?;
    pool.execute("CREATE TABLE ledger (order_id BIGINT NOT NULL, amount BIGINT NOT NULL)").await?;
    // A commit that waits for the disk would hide it, too.
    pool.execute("SET synchronous_commit = off").await?;
    let sql = Sql { claim: Sql::named("claim")?, end: Sql::named("end")? };
    let Size { rounds, calls } = Size::asked_for();
    let mut ratios = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        let tenant = i64::try_from(round)?;
        for ratios in &mut ratios {
            let wrapped = async || time(calls, async |order| pay(&idem, tenant, order, 7).await).await;
            let by_hand = async || time(calls, async |order| pay_by_hand(&pool, &sql, tenant, order, 7).await).await;
            // The first one of a round finds other pages in the cache than the second one.
            let (wrapped, by_hand) = if round % 2 == 0 {
                let wrapped = wrapped().await?;
                (wrapped, by_hand().await?)
            } else {
                let by_hand = by_hand().await?;
                (wrapped().await?, by_hand)
            };
            ratios.push(wrapped.as_secs_f64() / by_hand.as_secs_f64());
        }
    }
    for (what, mut ratios) in ["new calls", "replays"].into_iter().zip(ratios) {
        ratios.sort_by(f64::total_cmp);
        let [low, median, high] = [1, 2, 3].map(|quarter| ratios[ratios.len() * quarter / 4]);
        println!(
            "{what:>10}: {median:.3} of the time by hand (quartiles {low:.3} to {high:.3}, {rounds} rounds of {calls})"
        );
    }
    Ok(())
}

async fn time(calls: i64, call: impl AsyncFn(i64) -> Result<i64, PayError>) -> Result<Duration, BoxError> {
    let began_at = Instant::now();
    for order in 0..calls {
        if call(order).await? != 7 {
            return Err("another result".into());
        }
    }
    Ok(began_at.elapsed())
}
