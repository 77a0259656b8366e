//! A body whose transaction the database gives up runs again, as often as the function says and no more.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use idem_runtime::Dialect;
use idem_runtime::prelude::*;
use sqlx::{MySql, Postgres};
use tokio::sync::Barrier;

use crate::acts::{create_tables, effect, left, result, run};
use crate::answers::answer;
use crate::settle::PayError;
use crate::support::{Engine, Suite, TestDb, TestResult, ensure, on_engines, sql};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_engines!(
        suite,
        [Postgres, MySql],
        "transactions of SQLite never meet",
        [a_deadlock_runs_a_body_again, a_body_runs_again_as_often_as_it_may, a_body_in_a_transaction_runs_once]
    );
    on_engines!(
        suite,
        [Postgres],
        "only it finds what cannot be ordered when it commits",
        [a_serialization_failure_runs_a_body_again]
    );
}

/// Bodies of several calls that meet, each in its first run, and how many ran.
#[derive(Clone)]
struct Bodies {
    meeting: Arc<Barrier>,
    ran: Arc<AtomicUsize>,
}

impl Bodies {
    fn of(calls: usize) -> Self {
        Self { meeting: Arc::new(Barrier::new(calls)), ran: Arc::default() }
    }

    fn ran(&self) -> usize {
        self.ran.load(Ordering::SeqCst)
    }

    /// The first runs are as many as there are calls, since nobody runs again before all have met.
    async fn meet(&self, calls: usize) {
        if self.ran.fetch_add(1, Ordering::SeqCst) < calls {
            self.meeting.wait().await;
        }
    }
}

async fn add_one<DB: Engine>(tx: &mut Tx<'_, DB>, id: i64) -> Result<(), sqlx::Error> {
    sql::<DB>("UPDATE counter SET value = value + 1 WHERE id = ?").bind(id).execute(tx).await.map(drop)
}

#[idempotent(scope = "test.rerun", key = name, rerun = 3)]
async fn add_to_both<DB: Engine>(
    tx: &mut Tx<'_, DB>,
    name: String,
    [first, second]: [i64; 2],
    mut bodies: Vec<Bodies>,
) -> Result<Once<String>, PayError> {
    let bodies = bodies.pop().ok_or(PayError::Refused)?;
    effect(&mut *tx, &name).await?;
    add_one(&mut *tx, first).await?;
    bodies.meet(2).await;
    add_one(&mut *tx, second).await?;
    // Moved in each run.
    Ok(name.into())
}

async fn a_deadlock_runs_a_body_again<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    let bodies = Bodies::of(2);
    let call = |name: &str, order| add_to_both(&idem, name.to_owned(), order, vec![bodies.clone()]);
    let (up, down) = tokio::join!(call("up", [1, 2]), call("down", [2, 1]));
    result!(up, "up", is_replay: false);
    result!(down, "down", is_replay: false);
    ensure!(bodies.ran() == 3, "one of two ran again: {}", bodies.ran());
    let values = db.rows("SELECT value FROM counter ORDER BY id").await?;
    ensure!(values == [["2"], ["2"]], "{values:?}");
    left(&db, ["down,up", "down:2,up:2"]).await
}

/// Reads both and adds what the other one has: after one has committed, the other's order is none.
async fn a_serialization_failure_runs_a_body_again<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    db.execute("UPDATE counter SET value = 1").await?;
    let idem = db.idem_after("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE", 2).await?;
    let bodies = Bodies::of(2);
    let call = |key: &'static str, from: i64, to: i64| {
        let bodies = bodies.clone();
        idem.once("test.serial", key).rerun(3, move |mut tx| {
            let bodies = bodies.clone();
            async move {
                let read = sql::<DB>("SELECT value FROM counter WHERE id = ?").bind(from).rows(&mut *tx).await?;
                let value: i64 = read.concat().concat().parse().map_err(|_| PayError::Refused)?;
                bodies.meet(2).await;
                let update = sql::<DB>("UPDATE counter SET value = value + ? WHERE id = ?").bind(value).bind(to);
                update.execute(&mut *tx).await?;
                Ok::<_, PayError>(value)
            }
        })
    };
    let (forth, back) = tokio::join!(call("forth", 1, 2), call("back", 2, 1));
    let (forth, back) = (forth?, back?);
    ensure!([(1, 2), (2, 1)].contains(&(forth, back)), "one came after the other: {forth}, {back}");
    ensure!(bodies.ran() == 3, "one of two ran again: {}", bodies.ran());
    left(&db, ["", "back:2,forth:2"]).await
}

/// What the server says when it gives a transaction up.
async fn give_up<DB: Engine>(tx: &mut Tx<'_, DB>) -> Result<(), sqlx::Error> {
    let text = match DB::DIALECT {
        Dialect::MySql => "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213",
        Dialect::Postgres | Dialect::Sqlite => "DO $$ BEGIN RAISE EXCEPTION 'given up' USING ERRCODE = '40001'; END $$",
    };
    run(tx, text).await
}

/// Fails as the database says in its first runs; answers with how often it ran.
#[idempotent(scope = "test.bounded", key = key, rerun = 2)]
async fn give_up_at_first<DB: Engine>(
    tx: &mut Tx<'_, DB>,
    key: &str,
    failures: usize,
    swallows: bool,
    ran: &AtomicUsize,
) -> Result<usize, PayError> {
    let ran = ran.fetch_add(1, Ordering::SeqCst) + 1;
    effect(&mut *tx, key).await?;
    if ran <= failures {
        match give_up(tx).await {
            Err(_) if swallows => {}
            given_up => given_up?,
        }
    }
    Ok(ran)
}

async fn a_body_runs_again_as_often_as_it_may<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    for swallows in [false, true] {
        let key = format!("swallows {swallows}");
        for _ in 0..2 {
            let ran = AtomicUsize::new(0);
            answer!(give_up_at_first(&idem, &key, 3, swallows, &ran).await, Err(PayError::Idem(Error::Retry(_))));
            ensure!(ran.load(Ordering::SeqCst) == 3, "once, and twice again");
        }
        let ran = AtomicUsize::new(0);
        answer!(give_up_at_first(&idem, &key, 2, swallows, &ran).await, Ok(3));
        answer!(give_up_at_first(&idem, &key, 2, swallows, &ran).await, Ok(3));
    }
    // What the body fails with by itself is no reason to run again.
    let ran = AtomicUsize::new(0);
    let refused = idem.once("test.bounded", "refused").rerun(5, |_| {
        ran.fetch_add(1, Ordering::SeqCst);
        async { Err::<i64, _>(PayError::Refused) }
    });
    answer!(refused.await, Err(PayError::Refused));
    ensure!(ran.load(Ordering::SeqCst) == 1, "it ran once");
    left(&db, ["swallows false,swallows true", "swallows false:2,swallows true:2"]).await
}

/// The whole transaction is gone, and what the outer one did with it: only that can run again.
async fn a_body_in_a_transaction_runs_once<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    let mut tx = idem.begin().await?;
    effect(&mut tx, "outer").await?;
    let ran = AtomicUsize::new(0);
    let given_up = give_up_at_first(&mut *tx, "inner", 1, false, &ran).await;
    answer!(given_up, Err(PayError::Idem(Error::Retry(_))));
    ensure!(ran.load(Ordering::SeqCst) == 1, "it ran once");
    tx.rollback().await?;
    left(&db, ["", ""]).await
}
