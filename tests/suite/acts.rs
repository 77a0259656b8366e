//! An idempotent function whose body the test writes, and what its calls leave in the database.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use idem_runtime::Dialect;
use idem_runtime::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::{AssertSqlSafe, Executor as _};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep, timeout};

use crate::settle::PayError;
use crate::support::{BoxError, Engine, TestDb, TestResult, sql};

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs the body that the test passes.
#[idempotent(scope = "test.act", key = key, payload = payload)]
pub(crate) async fn act<DB: Engine, T: Serialize + DeserializeOwned + Send + Sync>(
    tx: &mut Tx<'_, DB>,
    key: &str,
    payload: i64,
    body: impl for<'x, 't> FnOnce(&'x mut Tx<'t, DB>) -> BoxFuture<'x, Result<T, PayError>> + Send,
) -> Result<Once<T>, PayError> {
    Ok(body(tx).await?.into())
}

/// Acts by writing an effect with the key's name; gives back the payload.
pub(crate) async fn write<DB: Engine>(begin: impl Begin<DB>, key: &str, payload: i64) -> Result<Once<i64>, PayError> {
    let name = key.to_owned();
    act(begin, key, payload, |tx| {
        Box::pin(async move {
            effect(tx, &name).await?;
            Ok(payload)
        })
    })
    .await
}

/// Like [`write`], but stops at the gate after the effect was written.
pub(crate) async fn write_at<DB: Engine>(begin: impl Begin<DB>, key: &str, gate: Gate) -> Result<Once<i64>, PayError> {
    let name = key.to_owned();
    act(begin, key, 1, |tx| {
        Box::pin(async move {
            effect(tx, &name).await?;
            gate.pass().await;
            Ok(1)
        })
    })
    .await
}

/// Asserts that an answer is a result, made by this call or an earlier one.
macro_rules! result {
    ($answer:expr, $value:expr, is_replay: $is_replay:expr) => {
        match $answer {
            Ok(once) if *once == $value && once.is_replay() == $is_replay => {}
            other => return Err(format!("line {}: {other:?}", line!()).into()),
        }
    };
}
pub(crate) use result;

/// Writes an effect.
pub(crate) async fn effect<DB: Engine>(tx: &mut Tx<'_, DB>, name: &str) -> Result<(), sqlx::Error> {
    let insert = sql::<DB>("INSERT INTO effect (name) VALUES (?)");
    insert.bind(name.to_owned()).execute(tx).await.map(drop)
}

/// Runs a statement as its text is, without preparing it.
pub(crate) async fn run<DB: Engine>(tx: &mut Tx<'_, DB>, text: impl Into<String>) -> Result<(), sqlx::Error> {
    tx.execute(sqlx::raw_sql(AssertSqlSafe(text.into()))).await.map(drop)
}

/// Makes the table of effects, and rows 1 and 2 that bodies can change.
pub(crate) async fn create_tables<DB: Engine>(db: &TestDb<DB>) -> TestResult {
    let text = match DB::DIALECT {
        Dialect::MySql => "VARBINARY(600)",
        Dialect::Postgres | Dialect::Sqlite => "TEXT",
    };
    db.execute(format!("CREATE TABLE effect (name {text} NOT NULL)")).await?;
    db.execute("CREATE TABLE counter (id BIGINT NOT NULL PRIMARY KEY, value BIGINT NOT NULL)").await?;
    db.execute("INSERT INTO counter (id, value) VALUES (1, 0), (2, 0)").await?;
    Ok(())
}

/// The committed effects, sorted and joined by commas.
pub(crate) async fn effects<DB: Engine>(db: &TestDb<DB>) -> Result<String, BoxError> {
    let rows = db.rows("SELECT name FROM effect ORDER BY name").await?;
    Ok(rows.concat().join(","))
}

/// The committed records: `key:status`, sorted and joined by commas.
pub(crate) async fn records<DB: Engine>(db: &TestDb<DB>) -> Result<String, BoxError> {
    let key = if DB::DIALECT == Dialect::MySql { "`key`" } else { "key" };
    let rows = db.rows(format!("SELECT {key}, status FROM idem_record ORDER BY {key}")).await?;
    Ok(rows.iter().map(|row| row.join(":")).collect::<Vec<_>>().join(","))
}

/// Fails unless the committed effects and records are these.
pub(crate) async fn left<DB: Engine>(db: &TestDb<DB>, expected: [&str; 2]) -> TestResult {
    let found = [effects(db).await?, records(db).await?];
    if found == expected {
        return Ok(());
    }
    Err(format!("expected the effects and records {expected:?}, found {found:?}").into())
}

/// Calls again for as long as the answer is that calling again is the thing to do.
pub(crate) async fn insist<T, F: Future<Output = Result<T, PayError>>>(
    mut call: impl FnMut() -> F,
) -> Result<T, PayError> {
    const MOST_CALLS: usize = 40;
    for _ in 1..MOST_CALLS {
        match call().await {
            Err(PayError::Idem(error)) if error.is_retryable() => sleep(Duration::from_millis(20)).await,
            answer => return answer,
        }
    }
    call().await
}

/// Waits until that many sessions of the database wait for a lock. SQLite does not say who waits.
pub(crate) async fn until_waiting<DB: Engine>(db: &TestDb<DB>, sessions: i64) -> TestResult {
    let query = match DB::DIALECT {
        Dialect::Postgres => {
            "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        }
        Dialect::MySql => {
            // `innodb_trx` shows an old state to whoever asks often.
            "SELECT COUNT(*) FROM information_schema.processlist \
             WHERE db = DATABASE() AND command IN ('Query', 'Execute') AND time_ms > 100 AND id <> CONNECTION_ID()"
        }
        Dialect::Sqlite => return Ok(()),
    };
    let end = Instant::now() + PATIENCE;
    while db.integer(query).await? < sessions {
        if Instant::now() > end {
            return Err(format!("{sessions} sessions do not wait for a lock").into());
        }
        sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

/// Where bodies stop until the test lets them go on. Clones are the same gate.
#[derive(Clone)]
pub(crate) struct Gate {
    arrived: Arc<Semaphore>,
    open: Arc<Semaphore>,
}

impl Gate {
    /// A gate that stops everybody.
    pub(crate) fn closed() -> Self {
        Self { arrived: Arc::new(Semaphore::new(0)), open: Arc::new(Semaphore::new(0)) }
    }

    /// The body's part: says that it is here and waits.
    pub(crate) async fn pass(&self) {
        self.arrived.add_permits(1);
        self.open.acquire().await.map(SemaphorePermit::forget).expect("a gate's semaphore is never closed");
    }

    /// Waits until one more body is here.
    pub(crate) async fn arrival(&self) -> TestResult {
        timeout(PATIENCE, self.arrived.acquire()).await.map_err(|_| "no body has come to the gate")??.forget();
        Ok(())
    }

    /// Lets everybody go on, now and later.
    pub(crate) fn open(&self) {
        self.open.add_permits(Semaphore::MAX_PERMITS / 2);
    }
}
