//! Duplicates in one process join the call that runs: they cost the database nothing, and each is answered as if it had
//! asked alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use idem_runtime::prelude::*;
use tokio::task::{JoinHandle, unconstrained};

use crate::acts::{Gate, create_tables, effect, left, result, run, until_waiting, write, write_at};
use crate::answers::answer;
use crate::settle::PayError;
use crate::support::{BoxError, Engine, Suite, TestDb, TestResult, count_statements, ensure, gate, on_every_engine};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            i79_a_thousand_duplicates_are_one_claim,
            a_call_that_fails_promotes_one_of_a_hundred,
            a_hundred_join_a_nested_call_whose_outer_rolls_back,
            every_waiter_has_its_own_deadline,
            a_waiter_reads_its_own_type,
            a_result_in_an_open_transaction_is_not_heard_of,
            a_result_that_is_not_committed_is_not_heard_of,
            the_builders_future_goes_to_another_thread,
        ]
    );
}

async fn i79_a_thousand_duplicates_are_one_claim<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    // The first call prepares what the others find prepared.
    result!(write(&idem, "warm", 1).await, 1, is_replay: false);
    let (alone, one) = count_statements(&db, idem.pool(), write(&idem, "alone", 1)).await?;
    result!(alone, 1, is_replay: false);

    let (answers, thousand) = count_statements(&db, idem.pool(), a_thousand_writes(&idem)).await?;
    let answers = answers.into_iter().collect::<Result<Vec<_>, _>>()?;
    let executed = answers.iter().filter(|once| !once.is_replay()).count();
    ensure!(executed == 1 && answers.iter().all(|once| **once == 1), "{executed} executed");
    ensure!(thousand == one, "a thousand calls cost\n{thousand}\nand one costs\n{one}");

    // Those of a call that has ended before: one of them reads, for all.
    let (_, one) = count_statements(&db, idem.pool(), write(&idem, "shared", 1)).await?;
    let (answers, thousand) = count_statements(&db, idem.pool(), a_thousand_writes(&idem)).await?;
    ensure!(answers.iter().all(|answer| answer.as_ref().is_ok_and(Once::is_replay)), "all are replays");
    // Behind a gate in a storm, the hint that has the one looked up may be gone for the other.
    let is_one = thousand == one || (gate::is_on() && thousand.total() < 10);
    ensure!(is_one, "a thousand replays cost\n{thousand}\nand one costs\n{one}");
    left(&db, ["alone,shared,warm", "alone:2,shared:2,warm:2"]).await
}

/// Each has begun before the first one can ask the database: the only connection is ours until then. All of them are in one
/// task, which tokio does not interrupt.
async fn a_thousand_writes<DB: Engine>(idem: &Idem<DB>) -> Vec<Result<Once<i64>, PayError>> {
    unconstrained(async {
        let connection = idem.pool().acquire().await.expect("nobody else uses the pool");
        let mut calls: Vec<_> = (0..1_000).map(|_| Box::pin(write(idem, "shared", 1))).collect();
        for call in &mut calls {
            assert!(futures_util::poll!(call).is_pending(), "the first call waits for a connection, the others for it");
        }
        drop(connection);
        join_all(calls).await
    })
    .await
}

/// The first body fails, the second one does not: nobody else runs.
async fn a_call_that_fails_promotes_one_of_a_hundred<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    let bodies = Arc::new(AtomicUsize::new(0));
    let all = join_all((0..100).map(|_| {
        let bodies = Arc::clone(&bodies);
        idem.once("test.promote", "k").run(async move |mut tx| {
            effect(&mut tx, "e").await?;
            if bodies.fetch_add(1, Ordering::SeqCst) == 0 { Err(PayError::Refused) } else { Ok(7) }
        })
    }));
    let answers: Vec<Result<i32, _>> = all.await;
    let refused = answers.iter().filter(|answer| matches!(answer, Err(PayError::Refused))).count();
    let sevens = answers.iter().filter(|answer| matches!(answer, Ok(7))).count();
    ensure!(refused == 1 && sevens == 99, "{refused} were refused, {sevens} have the result: {answers:?}");
    let ran = bodies.load(Ordering::SeqCst);
    ensure!(ran == 2, "{ran} bodies ran");
    left(&db, ["e", "k:2"]).await
}

async fn a_hundred_join_a_nested_call_whose_outer_rolls_back<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(5).await?;
    create_tables(&db).await?;
    for (key, commits) in [("rolled back", false), ("committed", true)] {
        let mut tx = idem.begin().await?;
        result!(write(&mut *tx, key, 1).await, 1, is_replay: false);
        let joiners: Vec<JoinHandle<_>> = (0..100)
            .map(|_| {
                let idem = idem.clone();
                let wait = Duration::from_mins(1);
                tokio::spawn(async move {
                    let call = idem.once("test.act", key).payload(&1).wait(wait).upgrade(|_: i64| ());
                    call.run(async |mut tx| Ok::<_, PayError>(effect(&mut tx, key).await?)).await
                })
            })
            .collect();
        until_waiting(&db, 1).await?;
        let busy = usize::try_from(idem.pool().size())? - idem.pool().num_idle();
        ensure!(busy <= 2, "{busy} connections for one transaction and those who wait for one key");
        if commits {
            tx.commit().await?;
        } else {
            tx.rollback().await?;
        }
        for joiner in joiners {
            answer!(joiner.await?, Ok(()));
        }
    }
    left(&db, ["committed,rolled back", "committed:2,rolled back:2"]).await
}

async fn every_waiter_has_its_own_deadline<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (idem, other) = (db.idem(2).await?, db.idem(1).await?);
    create_tables(&db).await?;
    let gate = Gate::closed();
    let (winners, at) = (idem.clone(), gate.clone());
    let winner = tokio::spawn(async move { write_at(&winners, "k", at).await });
    gate.arrival().await?;

    let never = async |_| Err::<i64, _>(PayError::Refused);
    let call = |wait| idem.once("test.act", "k").payload(&1).wait(wait).run(never);
    let mut patient = Box::pin(call(Duration::from_mins(1)));
    ensure!((&mut patient).now_or_never().is_none(), "it waits");
    // No time passes: it does not wait at all.
    let hasty = call(Duration::ZERO).now_or_never().ok_or("it waits, and was told not to")?;
    answer!(hasty, Err(PayError::Idem(Error::InProgress { retry_after })) if retry_after >= Duration::from_secs(1));
    answer!(call(Duration::from_millis(30)).await, Err(PayError::Idem(Error::InProgress { .. })));
    // Nor for another process, of which SQLite lets one write at a time.
    if DB::DIALECT != Dialect::Sqlite {
        let elsewhere = other.once("test.act", "k").payload(&1).wait(Duration::ZERO).run(never);
        answer!(elsewhere.await, Err(PayError::Idem(Error::InProgress { .. })));
    }
    gate.open();
    answer!(patient.await, Ok(1));
    result!(winner.await?, 1, is_replay: false);
    left(&db, ["k", "k:2"]).await
}

async fn a_waiter_reads_its_own_type<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    let gate = Gate::closed();
    let (winners, at) = (idem.clone(), gate.clone());
    let winner = tokio::spawn(async move { write_at(&winners, "k", at).await });
    gate.arrival().await?;

    let plain = idem.once("test.act", "k").payload(&1).run(async |_| Err::<i64, _>(PayError::Refused));
    let other = idem.once("test.act", "k").payload(&1).run(async |_| Err::<String, _>(PayError::Refused));
    let payload = idem.once("test.act", "k").payload(&2).run(async |_| Err::<String, _>(PayError::Refused));
    let waiters = async {
        gate.open();
        winner.await
    };
    let (plain, other, payload, winner) = tokio::join!(plain, other, payload, waiters);
    result!(winner?, 1, is_replay: false);
    answer!(plain, Ok(1));
    answer!(other, Err(PayError::Idem(Error::ScopeClash { stored, wanted })) if stored == "i64" && wanted == "String");
    // The payload is compared first.
    answer!(payload, Err(PayError::Idem(Error::Mismatch)));
    left(&db, ["k", "k:2"]).await
}

/// An inner call's result is nobody's before the outer transaction is committed.
async fn a_result_in_an_open_transaction_is_not_heard_of<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(3).await?;
    create_tables(&db).await?;
    let mut tx = idem.begin().await?;
    result!(write(&mut *tx, "k", 1).await, 1, is_replay: false);
    // A replay of it inside, too.
    result!(write(&mut *tx, "k", 1).await, 1, is_replay: true);
    let joiners: Vec<_> = (0..3)
        .map(|_| {
            let idem = idem.clone();
            tokio::spawn(async move { write(&idem, "k", 1).await })
        })
        .collect();
    until_waiting(&db, 1).await?;
    ensure!(joiners.iter().all(|joiner| !joiner.is_finished()), "nobody has an answer");
    tx.rollback().await?;
    let mut executed = 0;
    for joiner in joiners {
        executed += usize::from(!joiner.await??.is_replay());
    }
    ensure!(executed == 1, "{executed} of them ran");
    left(&db, ["k", "k:2"]).await
}

/// The body is content, and the database is not.
async fn a_result_that_is_not_committed_is_not_heard_of<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    create_child(&db).await?;
    let gate = Gate::closed();
    let (first, at) = (idem.clone(), gate.clone());
    let first = tokio::spawn(async move {
        let call = first.once("test.act", "k");
        call.run(async |mut tx| {
            effect(&mut tx, "never").await?;
            at.pass().await;
            cannot_be_committed(&mut tx).await?;
            Ok::<i64, PayError>(1)
        })
        .await
    });
    gate.arrival().await?;
    let joiner = idem.once("test.act", "k").wait(Duration::from_mins(1));
    let mut joiner = Box::pin(joiner.run(async |mut tx| {
        effect(&mut tx, "k").await?;
        Ok::<i64, PayError>(2)
    }));
    ensure!((&mut joiner).now_or_never().is_none(), "it waits");
    gate.open();
    answer!(first.await?, Err(PayError::Idem(Error::Retry(_) | Error::Database(_))));
    answer!(joiner.await, Ok(2));
    left(&db, ["k", "k:2"]).await
}

/// Makes a call, and another one that joins it before it has asked the database. The other one is answered while nobody
/// can ask the database: the only connection of the pool is ours.
pub(crate) async fn first_and_joined<DB: Engine, A, B>(
    idem: &Idem<DB>,
    first: impl Future<Output = A>,
    joined: impl Future<Output = B>,
) -> Result<(A, B), BoxError> {
    let (mut first, mut joined) = (Box::pin(first), Box::pin(joined));
    let connection = idem.pool().acquire().await?;
    ensure!((&mut first).now_or_never().is_none(), "it waits for a connection");
    ensure!((&mut joined).now_or_never().is_none(), "it waits for the first one");
    drop(connection);
    let first = first.await;
    let _connection = idem.pool().acquire().await?;
    Ok((first, joined.now_or_never().ok_or("it asks the database")?))
}

/// The table for [`cannot_be_committed`].
pub(crate) async fn create_child<DB: Engine>(db: &TestDb<DB>) -> TestResult {
    db.execute("CREATE TABLE parent (id BIGINT NOT NULL PRIMARY KEY)").await?;
    let deferred = if DB::DIALECT == Dialect::MySql { "" } else { "DEFERRABLE INITIALLY DEFERRED" };
    db.execute(format!("CREATE TABLE child (id BIGINT NOT NULL REFERENCES parent (id) {deferred})")).await.map(drop)
}

/// Does what the COMMIT fails for. MySQL has no such thing: there the transaction is given up, and the body is silent.
pub(crate) async fn cannot_be_committed<DB: Engine>(tx: &mut Tx<'_, DB>) -> Result<(), PayError> {
    match DB::DIALECT {
        Dialect::Postgres | Dialect::Sqlite => run(tx, "INSERT INTO child (id) VALUES (1)").await?,
        Dialect::MySql => drop(run(tx, "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213").await),
    }
    Ok(())
}

/// What it borrows, its body's future and its transaction are `Send`, on an engine that is generic as on a known one.
async fn the_builders_future_goes_to_another_thread<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    let call = tokio::spawn(async move {
        let name = String::from("borrowed");
        let mut bodies = 0;
        idem.once("test.send", &(1, "k"))
            .payload(&name)
            .rerun(2, |mut tx| {
                bodies += 1;
                let (name, bodies) = (&name, bodies);
                async move {
                    effect(&mut tx, name).await?;
                    let nested = tx.once("test.nested", name);
                    nested.run(async |mut tx| Ok::<_, PayError>(effect(&mut tx, "nested").await?)).await?;
                    Ok::<_, PayError>(bodies)
                }
            })
            .await
    });
    answer!(call.await?, Ok(1));
    left(&db, ["borrowed,nested", "1/k:2,borrowed:2"]).await
}
