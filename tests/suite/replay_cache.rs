//! Answers that a process keeps in its memory: the same as those of the database, and never of what was not committed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use idem_runtime::prelude::*;

use crate::acts::{create_tables, effect, effects, left, result, write};
use crate::answers::answer;
use crate::settle::PayError;
use crate::support::{BoxError, Engine, Suite, TestDb, TestResult, count_statements, ensure, on_every_engine};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            i36_a_kept_answer_compares_the_payload,
            what_was_not_committed_is_not_kept,
            a_kept_answer_ends_with_its_retention,
            the_cache_is_bounded_by_bytes,
            each_way_is_answered_by_the_cache,
            hits_give_way_to_other_tasks,
        ]
    );
}

async fn caching<DB: Engine>(db: &TestDb<DB>, bytes: u64) -> Result<Idem<DB>, BoxError> {
    let idem = Idem::builder(db.pool(1)?).replay_cache(bytes).build().await?;
    idem.migrate().await?;
    Ok(idem)
}

const LARGE: u64 = 10_000_000;

/// Whether the database is asked nothing.
async fn asks_nothing<DB: Engine, T>(
    db: &TestDb<DB>,
    idem: &Idem<DB>,
    call: impl Future<Output = T>,
) -> Result<(T, bool), BoxError> {
    let (answer, counts) = count_statements(db, idem.pool(), call).await?;
    Ok((answer, counts.statements.is_empty()))
}

async fn i36_a_kept_answer_compares_the_payload<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (idem, other) = (caching(&db, LARGE).await?, caching(&db, LARGE).await?);
    create_tables(&db).await?;
    result!(write(&idem, "k", 1).await, 1, is_replay: false);
    for idem in [&idem, &other] {
        // The other process has found it once by now.
        result!(write(idem, "k", 1).await, 1, is_replay: true);
        let (replay, nothing) = asks_nothing(&db, idem, write(idem, "k", 1)).await?;
        result!(replay, 1, is_replay: true);
        ensure!(nothing, "a replay asked the database");
        let (mismatch, nothing) = asks_nothing(&db, idem, write(idem, "k", 2)).await?;
        answer!(mismatch, Err(PayError::Idem(Error::Mismatch)));
        ensure!(nothing, "a mismatch asked the database");
        result!(write(idem, "k", 1).await, 1, is_replay: true);
    }
    let clash: Result<String, PayError> =
        idem.once("test.act", "k").payload(&1_i64).run(async |_| Ok(String::new())).await;
    answer!(clash, Err(PayError::Idem(Error::ScopeClash { .. })));
    left(&db, ["k", "k:2"]).await
}

/// A marker before the commit would answer for an effect that is not there.
async fn what_was_not_committed_is_not_kept<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = caching(&db, LARGE).await?;
    create_tables(&db).await?;
    let mut tx = idem.begin().await?;
    result!(write(&mut *tx, "k", 1).await, 1, is_replay: false);
    result!(write(&mut *tx, "k", 1).await, 1, is_replay: true);
    tx.rollback().await?;
    result!(write(&idem, "k", 1).await, 1, is_replay: false);
    let fails = idem.once("test.act", "fails").payload(&1_i64).run(async |mut tx| {
        effect(&mut tx, "fails").await?;
        Err::<i64, _>(PayError::Refused)
    });
    answer!(fails.await, Err(PayError::Refused));
    result!(write(&idem, "fails", 1).await, 1, is_replay: false);
    // Inside of a transaction the database answers, whatever is kept.
    let mut tx = idem.begin().await?;
    crate::acts::run(&mut tx, "DELETE FROM idem_record").await?;
    result!(write(&mut *tx, "k", 1).await, 1, is_replay: false);
    tx.rollback().await?;
    left(&db, ["fails,k", "fails:2,k:2"]).await
}

async fn a_kept_answer_ends_with_its_retention<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (idem, other) = (caching(&db, LARGE).await?, caching(&db, LARGE).await?);
    for idem in [&idem, &other] {
        let call = || {
            let call = idem.once("test.short", "k").retain_result(Duration::from_secs(1));
            call.run(async |_| Ok::<i64, PayError>(1))
        };
        let answered = async {
            loop {
                match call().await {
                    Ok(1) => tokio::time::sleep(Duration::from_millis(20)).await,
                    other => return other,
                }
            }
        };
        let end = tokio::time::timeout(Duration::from_secs(30), answered).await.map_err(|_| "it is kept for ever")?;
        answer!(end, Err(PayError::Idem(Error::Gone)));
    }
    Ok(())
}

async fn the_cache_is_bounded_by_bytes<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = caching(&db, 20_000).await?;
    let call = |key: i64| {
        let call = idem.once("test.large", &key);
        call.run(async |_| Ok::<String, PayError>("x".repeat(1_000)))
    };
    for key in 0..100 {
        call(key).await?;
    }
    let mut kept = 0;
    for key in 0..100 {
        let (answer, nothing) = asks_nothing(&db, &idem, call(key)).await?;
        ensure!(answer?.len() == 1_000, "{key}");
        kept += usize::from(nothing);
    }
    ensure!(kept <= 20, "{kept} of 100 results of 1,000 bytes are kept in 20,000");
    Ok(())
}

async fn each_way_is_answered_by_the_cache<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = caching(&db, LARGE).await?;
    create_tables(&db).await?;
    result!(write(&idem, "k", 1).await, 1, is_replay: false);
    let batch = idem.once_each("test.act", [("k", 1_i64), ("k", 2)]);
    let batch = batch.run(async |_, _| Ok::<Vec<i64>, PayError>(Vec::new()));
    let (answers, nothing) = asks_nothing(&db, &idem, batch).await?;
    let answers = answers?;
    ensure!(matches!(&answers[..], [Ok(one), Err(Error::Mismatch)] if **one == 1), "{answers:?}");
    ensure!(nothing, "the batch asked the database");
    let fills = || {
        let batch = idem.once_each("test.act", [("a", 1_i64), ("b", 1)]);
        batch.run(async |_, new| Ok::<_, PayError>(new.into_iter().map(|_| 1_i64).collect()))
    };
    ensure!(fills().await?.iter().all(Result::is_ok), "a batch");
    let (single, nothing) = asks_nothing(&db, &idem, write(&idem, "b", 1)).await?;
    result!(single, 1, is_replay: true);
    ensure!(nothing, "the batch has filled nothing");
    let other = caching(&db, LARGE).await?;
    for filled in [false, true] {
        let batch = other.once_each("test.act", [("a", 1_i64), ("b", 1)]);
        let batch = batch.run(async |_, _| Ok::<Vec<i64>, PayError>(Vec::new()));
        let (answers, nothing) = asks_nothing(&db, &other, batch).await?;
        ensure!(answers?.iter().all(Result::is_ok) && nothing == filled, "{filled}: what a batch has found");
    }
    let leased = || {
        let call = idem.once("test.leased", "k").payload(&1_i64).lease(Duration::from_mins(1));
        call.run(async |mut attempt| {
            attempt.external("bank").await?;
            Ok::<i64, PayError>(7)
        })
    };
    answer!(leased().await, Ok(7));
    let (again, nothing) = asks_nothing(&db, &idem, leased()).await?;
    answer!(again, Ok(7));
    ensure!(nothing, "the leased call asked the database");
    ensure!(effects(&db).await? == "k", "{}", effects(&db).await?);
    Ok(())
}

/// One thread has two tasks: the one that meets nothing but hits must let the other one run.
async fn hits_give_way_to_other_tasks<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = caching(&db, LARGE).await?;
    create_tables(&db).await?;
    result!(write(&idem, "k", 1).await, 1, is_replay: false);
    let (done, hits) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let (end, counted) = (Arc::clone(&done), Arc::clone(&hits));
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let other = Arc::clone(&end);
            let other = tokio::spawn(async move { other.store(true, Ordering::SeqCst) });
            // Without giving way it never ends, but for a bound.
            while !end.load(Ordering::SeqCst) && counted.fetch_add(1, Ordering::SeqCst) < 100_000 {
                let _ = write(&idem, "k", 1).await.map_err(|error| std::io::Error::other(error.to_string()))?;
            }
            other.await.map_err(std::io::Error::other)
        })
    });
    let ended = tokio::task::spawn_blocking(|| thread.join()).await?;
    ended.map_err(|_| "it panicked")??;
    let hits = hits.load(Ordering::SeqCst);
    ensure!(done.load(Ordering::SeqCst) && hits < 100_000, "the other task waited for {hits} hits");
    Ok(())
}
