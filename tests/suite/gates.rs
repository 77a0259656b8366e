//! A gate in Redis: whatever Redis says or does not say, the answers and the effects are those of the database.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use idem_runtime::gate::{Gate, counting};
use idem_runtime::prelude::*;

use crate::acts::{create_tables, effect, effects, insist, left, result, write};
use crate::answers::answer;
use crate::settle::PayError;
use crate::support::{
    BoxError, Engine, Fault, Faulty, Suite, TestDb, TestResult, count_statements, ensure, on_every_engine,
    redis_cluster, redis_prefix, release_together,
};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            what_redis_is_told,
            calls_are_counted_apart,
            i34_each_path_behind_the_gate_compares_the_payload,
            c51_a_call_that_fails_takes_its_mark_away,
            c49_a_flush_and_an_eviction_change_nothing,
            c57_a_restored_database_under_a_live_redis,
            i81_redis_says_won_and_the_database_has_it,
            every_fault_of_redis_changes_no_answer,
            batches_behind_the_gate,
            a_dead_redis_costs_one_timeout_a_second,
            answers_from_redis_when_asked_for,
            an_answer_that_is_over_is_not_given_from_redis,
            many_at_once_with_flushes_between,
            a_cluster_of_three,
        ]
    );
}

/// An engine behind a gate of a test's own.
struct Gated<DB: Engine> {
    idem: Idem<DB>,
    gate: Gate,
    redis: Faulty,
    prefix: String,
}

async fn gated<DB: Engine>(db: &TestDb<DB>, change: impl FnOnce(Gate) -> Gate) -> Result<Gated<DB>, BoxError> {
    gated_on(db, 4, change).await
}

async fn gated_on<DB: Engine>(
    db: &TestDb<DB>,
    max_connections: u32,
    change: impl FnOnce(Gate) -> Gate,
) -> Result<Gated<DB>, BoxError> {
    let (redis, prefix) = (Faulty::new()?, redis_prefix());
    // Far more than a busy machine takes.
    let gate = change(Gate::new(redis.clone()).prefix(&prefix).timeout(Duration::from_secs(5)));
    let idem = Idem::builder(db.pool(max_connections)?).gate(gate.clone()).build().await?;
    idem.migrate().await?;
    Ok(Gated { idem, gate, redis, prefix })
}

impl<DB: Engine> Gated<DB> {
    async fn until_marked(&self, expected: &[&str]) -> TestResult {
        let end = tokio::time::Instant::now() + Duration::from_secs(20);
        loop {
            let found = self.redis.marks(&self.prefix).await?;
            let is_there =
                found.len() == expected.len() && found.iter().zip(expected).all(|(it, at)| it.starts_with(at));
            if is_there {
                return Ok(());
            }
            ensure!(tokio::time::Instant::now() < end, "expected {expected:?}, found {found:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// "Ended" once the outermost transaction is committed, and never before.
async fn what_redis_is_told<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let it = gated(&db, |gate| gate).await?;
    create_tables(&db).await?;
    let seen: Result<i64, PayError> = it
        .idem
        .once("test.act", "k")
        .payload(&1_i64)
        .run(async |mut tx| {
            effect(&mut tx, "k").await?;
            let marks = it.redis.marks(&it.prefix).await.map_err(|error| sqlx::Error::Protocol(error.to_string()))?;
            let is_running = marks.len() == 1 && marks[0].starts_with("running ");
            if is_running { Ok(1) } else { Err(sqlx::Error::Protocol(format!("{marks:?}")).into()) }
        })
        .await;
    answer!(seen, Ok(1));
    it.until_marked(&["ended"]).await?;
    result!(write(&it.idem, "k", 1).await, 1, is_replay: true);
    let counts = it.gate.counts();
    ensure!((counts.first, counts.ended, counts.bypassed) == (1, 1, 0), "{counts:?}");
    // Inside of a transaction Redis hears nothing.
    let mut tx = it.idem.begin().await?;
    result!(write(&mut *tx, "nested", 1).await, 1, is_replay: false);
    tx.commit().await?;
    it.until_marked(&["ended"]).await?;
    left(&db, ["k,nested", "k:2,nested:2"]).await
}

/// Each future has its own calls, at the same time as others and in the same task; the gate has all of them.
async fn calls_are_counted_apart<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let it = gated(&db, |gate| gate).await?;
    create_tables(&db).await?;
    result!(write(&it.idem, "k", 1).await, 1, is_replay: false);
    it.until_marked(&["ended"]).await?;
    let (again, new) = tokio::join!(counting(write(&it.idem, "k", 1)), counting(write(&it.idem, "new", 1)));
    result!(again.0, 1, is_replay: true);
    result!(new.0, 1, is_replay: false);
    ensure!((again.1.first, again.1.ended, again.1.false_hints) == (0, 1, 0), "{:?}", again.1);
    ensure!((new.1.first, new.1.ended) == (1, 0), "{:?}", new.1);
    let counts = it.gate.counts();
    ensure!((counts.first, counts.ended) == (2, 1), "{counts:?}");
    it.until_marked(&["ended", "ended"]).await?;
    db.execute("DELETE FROM idem_record").await?;
    let (wrong, counts) = counting(write(&it.idem, "k", 1)).await;
    result!(wrong, 1, is_replay: false);
    ensure!((counts.ended, counts.false_hints) == (1, 1), "{counts:?}");
    Ok(())
}

async fn i34_each_path_behind_the_gate_compares_the_payload<DB: Engine>(db: TestDb<DB>) -> TestResult {
    for replay in [false, true] {
        let it = gated(&db, |gate| if replay { gate.replay_from_redis(10_000) } else { gate }).await?;
        let key = format!("k{replay}");
        if !replay {
            create_tables(&db).await?;
        }
        result!(write(&it.idem, &key, 1).await, 1, is_replay: false);
        it.until_marked(&["ended"]).await?;
        answer!(write(&it.idem, &key, 2).await, Err(PayError::Idem(Error::Mismatch)));
        result!(write(&it.idem, &key, 1).await, 1, is_replay: true);
        answer!(write(&it.idem, &key, 2).await, Err(PayError::Idem(Error::Mismatch)));
    }
    Ok(())
}

async fn c51_a_call_that_fails_takes_its_mark_away<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let it = gated(&db, |gate| gate).await?;
    create_tables(&db).await?;
    let fails = it.idem.once("test.act", "k").payload(&1_i64);
    answer!(fails.run(async |_| Err::<i64, _>(PayError::Refused)).await, Err(PayError::Refused));
    it.until_marked(&[]).await?;
    let dropped = it.idem.once("test.act", "k").payload(&1_i64);
    let mut dropped = Box::pin(dropped.run(async |_| std::future::pending::<Result<i64, PayError>>().await));
    let running = async {
        loop {
            tokio::select! {
                _ = &mut dropped => return Err("it never ends".into()),
                () = tokio::time::sleep(Duration::from_millis(5)) => {}
            }
            if it.redis.marks(&it.prefix).await?.len() == 1 {
                return TestResult::Ok(());
            }
        }
    };
    running.await?;
    drop(dropped);
    it.until_marked(&[]).await?;
    // Another one's mark is not ours to take away.
    let other: Result<i64, PayError> = it
        .idem
        .once("test.act", "k")
        .payload(&1_i64)
        .run(async |_| {
            let mark = async {
                let keys = it.redis.command(redis::cmd("KEYS").arg(format!("{}:*", it.prefix)).clone()).await?;
                let keys: Vec<String> = redis::from_redis_value(keys)?;
                let set = redis::cmd("SET").arg(&keys[0]).arg("running another").clone();
                it.redis.command(set).await
            };
            mark.await.map_err(|error| sqlx::Error::Protocol(error.to_string()))?;
            Err(PayError::Refused)
        })
        .await;
    answer!(other, Err(PayError::Refused));
    tokio::task::yield_now().await;
    it.until_marked(&["running another"]).await?;
    // It is said to run, and the database knows better.
    result!(write(&it.idem, "k", 1).await, 1, is_replay: false);
    it.until_marked(&["ended"]).await?;
    left(&db, ["k", "k:2"]).await
}

async fn c49_a_flush_and_an_eviction_change_nothing<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let it = gated(&db, |gate| gate).await?;
    create_tables(&db).await?;
    let flushed: Result<i64, PayError> = it
        .idem
        .once("test.act", "k")
        .payload(&1_i64)
        .run(async |mut tx| {
            effect(&mut tx, "k").await?;
            it.redis.flush(&it.prefix).await.map_err(|error| sqlx::Error::Protocol(error.to_string()))?;
            Ok(1)
        })
        .await;
    answer!(flushed, Ok(1));
    it.until_marked(&["ended"]).await?;
    it.redis.flush(&it.prefix).await?;
    result!(write(&it.idem, "k", 1).await, 1, is_replay: true);
    answer!(write(&it.idem, "k", 2).await, Err(PayError::Idem(Error::Mismatch)));
    // Redis has heard of it again.
    it.until_marked(&["ended"]).await?;
    left(&db, ["k", "k:2"]).await
}

/// Redis says that it has ended; the database, of last week, knows nothing of it.
async fn c57_a_restored_database_under_a_live_redis<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let it = gated(&db, |gate| gate).await?;
    create_tables(&db).await?;
    result!(write(&it.idem, "k", 1).await, 1, is_replay: false);
    it.until_marked(&["ended"]).await?;
    db.execute("DELETE FROM idem_record").await?;
    db.execute("DELETE FROM effect").await?;
    result!(write(&it.idem, "k", 1).await, 1, is_replay: false);
    ensure!(it.gate.counts().false_hints == 1, "{:?}", it.gate.counts());
    result!(write(&it.idem, "k", 1).await, 1, is_replay: true);
    left(&db, ["k", "k:2"]).await
}

/// Nobody has marked it, and it is there.
async fn i81_redis_says_won_and_the_database_has_it<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let it = gated(&db, |gate| gate).await?;
    create_tables(&db).await?;
    let plain = db.idem(2).await?;
    result!(write(&plain, "k", 1).await, 1, is_replay: false);
    result!(write(&it.idem, "k", 1).await, 1, is_replay: true);
    it.until_marked(&["ended"]).await?;
    let leased = || {
        let call = it.idem.once("test.leased", "k").payload(&1_i64).lease(Duration::from_hours(1));
        call.run(async |mut attempt| {
            attempt.external("bank").await?;
            Ok::<i64, PayError>(7)
        })
    };
    answer!(leased().await, Ok(7));
    it.until_marked(&["ended", "ended"]).await?;
    answer!(leased().await, Ok(7));
    let fails = it.idem.once("test.leased", "fails").lease(Duration::from_hours(1));
    answer!(fails.run(async |_| Err::<i64, _>(PayError::Refused)).await, Err(PayError::Refused));
    it.until_marked(&["ended", "ended"]).await?;
    left(&db, ["k", "k:2,k:2"]).await
}

async fn every_fault_of_redis_changes_no_answer<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    let faults = ["OOM", "READONLY", "LOADING", "MOVED", "MISCONF", "NOAUTH"].map(Fault::Says);
    let others = [Fault::Silence, Fault::Nonsense, Fault::AnswerLost];
    for (number, fault) in faults.into_iter().chain(others).enumerate() {
        let it = gated(&db, |gate| gate.timeout(Duration::from_millis(30)).replay_from_redis(1_000)).await?;
        let key = format!("k{number}");
        it.redis.fail(Some(fault));
        result!(write(&it.idem, &key, 1).await, 1, is_replay: false);
        result!(write(&it.idem, &key, 1).await, 1, is_replay: true);
        answer!(write(&it.idem, &key, 2).await, Err(PayError::Idem(Error::Mismatch)));
        ensure!(it.gate.counts().bypassed == 3, "{fault:?}: {:?}", it.gate.counts());
        it.redis.fail(None);
        result!(write(&it.idem, &key, 1).await, 1, is_replay: true);
    }
    ensure!(effects(&db).await?.split(',').count() == 9, "{}", effects(&db).await?);
    Ok(())
}

/// Looked up in one statement when all of it is said to have ended, and claimed otherwise.
async fn batches_behind_the_gate<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let it = gated_on(&db, 1, |gate| gate).await?;
    create_tables(&db).await?;
    let batch = |keys: &'static [&'static str], fails: bool| {
        let batch = it.idem.once_each("test.act", keys.iter().map(|key| (*key, 1_i64)));
        batch.run(async move |mut tx, new| {
            for place in &new {
                effect(&mut tx, keys[*place]).await?;
            }
            if fails { Err(PayError::Refused) } else { Ok(new.into_iter().map(|_| 1_i64).collect()) }
        })
    };
    let replays = |answers: Vec<Result<Once<i64>, Error>>| -> Result<Vec<bool>, Error> {
        answers.into_iter().map(|answer| answer.map(|once| once.is_replay())).collect()
    };
    answer!(batch(&["a", "b"], true).await, Err(PayError::Refused));
    it.until_marked(&[]).await?;
    ensure!(replays(batch(&["a", "b"], false).await?)? == [false, false], "new");
    it.until_marked(&["ended", "ended"]).await?;
    let (answers, counts) = count_statements(&db, it.idem.pool(), batch(&["b", "a", "b"], false)).await?;
    ensure!(replays(answers?)? == [true, true, true] && counts.total() == 1, "one look: {counts}");
    let mismatch = it.idem.once_each("test.act", [("a", 2_i64)]).run(async |_, _| Ok::<Vec<i64>, PayError>(vec![]));
    ensure!(matches!(mismatch.await?[..], [Err(Error::Mismatch)]), "another payload");
    ensure!(replays(batch(&["a", "c"], false).await?)? == [true, false], "some of it is new");
    it.until_marked(&["ended", "ended", "ended"]).await?;
    // The database was restored to a time before.
    db.execute("DELETE FROM idem_record").await?;
    db.execute("DELETE FROM effect").await?;
    ensure!(replays(batch(&["a", "b", "c"], false).await?)? == [false, false, false], "nothing is there");
    ensure!(it.gate.counts().false_hints == 3, "{:?}", it.gate.counts());
    left(&db, ["a,b,c", "a:2,b:2,c:2"]).await
}

async fn a_dead_redis_costs_one_timeout_a_second<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let it = gated(&db, |gate| gate.timeout(Duration::from_millis(30))).await?;
    create_tables(&db).await?;
    it.redis.fail(Some(Fault::Silence));
    result!(write(&it.idem, "first", 1).await, 1, is_replay: false);
    let began_at = tokio::time::Instant::now();
    for number in 0..20 {
        result!(write(&it.idem, &format!("k{number}"), 1).await, 1, is_replay: false);
    }
    // One when it was found to be dead, and one more for each second since then.
    let most = 2 + usize::try_from(began_at.elapsed().as_secs())?;
    let asked = it.redis.asked();
    ensure!(asked <= most, "asked {asked} times, {most} at most");
    it.redis.fail(None);
    let mends = async {
        let mut number = 100;
        while it.redis.marks(&it.prefix).await?.is_empty() {
            result!(write(&it.idem, &format!("k{number}"), 1).await, 1, is_replay: false);
            number += 1;
        }
        TestResult::Ok(())
    };
    tokio::time::timeout(Duration::from_secs(30), mends).await.map_err(|_| "it is never asked again")?
}

/// Without the database; with it when the result is too large, or another one's.
async fn answers_from_redis_when_asked_for<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let it = gated_on(&db, 1, |gate| gate.replay_from_redis(100)).await?;
    let call = |key: &str, length: usize| {
        let call = it.idem.once("test.text", key).payload(&1_i64);
        call.run(async move |_| Ok::<String, PayError>("x".repeat(length)))
    };
    answer!(call("small", 50).await, Ok(ref text) if text.len() == 50);
    it.until_marked(&["ended {"]).await?;
    let (again, counts) = count_statements(&db, it.idem.pool(), call("small", 50)).await?;
    answer!(again, Ok(ref text) if text.len() == 50);
    ensure!(counts.statements.is_empty() && it.gate.counts().replayed == 1, "{counts}");
    answer!(call("large", 200).await, Ok(_));
    it.until_marked(&["ended", "ended {"]).await?;
    let (again, counts) = count_statements(&db, it.idem.pool(), call("large", 200)).await?;
    answer!(again, Ok(ref text) if text.len() == 200);
    ensure!(!counts.statements.is_empty(), "too large a result is answered from Redis");
    Ok(())
}

/// Nobody knows how long one that was found has still to live.
async fn an_answer_that_is_over_is_not_given_from_redis<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let it = gated(&db, |gate| gate.replay_from_redis(1_000)).await?;
    let call = || {
        let call = it.idem.once("test.short", "k").retain_result(Duration::from_hours(1));
        call.run(async |_| Ok::<i64, PayError>(1))
    };
    answer!(call().await, Ok(1));
    it.until_marked(&["ended {"]).await?;
    it.redis.flush(&it.prefix).await?;
    answer!(call().await, Ok(1));
    it.until_marked(&["ended"]).await?;
    db.execute("UPDATE idem_record SET result_until = '2026-01-01'").await?;
    answer!(call().await, Err(PayError::Idem(Error::Gone)));
    it.redis.flush(&it.prefix).await?;
    for _ in 0..2 {
        answer!(call().await, Err(PayError::Idem(Error::Gone)));
        it.until_marked(&["ended"]).await?;
    }
    ensure!(it.gate.counts().replayed == 0, "{:?}", it.gate.counts());
    Ok(())
}

/// One effect a key, while Redis forgets everything again and again.
async fn many_at_once_with_flushes_between<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let processes = [gated(&db, |gate| gate).await?, gated(&db, |gate| gate.replay_from_redis(1_000)).await?];
    create_tables(&db).await?;
    let stop = Arc::new(AtomicBool::new(false));
    let (redis, prefixes, stopped) =
        (processes[0].redis.clone(), [processes[0].prefix.clone(), processes[1].prefix.clone()], Arc::clone(&stop));
    let flusher = tokio::spawn(async move {
        while !stopped.load(Ordering::SeqCst) {
            for prefix in &prefixes {
                redis.flush(prefix).await?;
            }
            tokio::task::yield_now().await;
        }
        TestResult::Ok(())
    });
    for round in 0..20 {
        let answers = release_together(|task| {
            let (idem, key) = (processes[task % 2].idem.clone(), format!("k{round}"));
            async move { insist(|| write(&idem, &key, 1)).await.map(|once| once.is_replay()) }
        });
        let answers = answers.await?.into_iter().collect::<Result<Vec<_>, _>>()?;
        let fresh = answers.iter().filter(|is_replay| !**is_replay).count();
        ensure!(fresh == 1, "round {round}: {fresh} have run");
    }
    stop.store(true, Ordering::SeqCst);
    flusher.await??;
    ensure!(effects(&db).await?.split(',').count() == 20, "{}", effects(&db).await?);
    Ok(())
}

async fn a_cluster_of_three<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let gate = Gate::new(redis_cluster().await?).prefix(redis_prefix()).timeout(Duration::from_secs(5));
    let idem = Idem::builder(db.pool(2)?).gate(gate.clone()).build().await?;
    idem.migrate().await?;
    create_tables(&db).await?;
    for number in 0..30 {
        let key = format!("k{number}");
        result!(write(&idem, &key, 1).await, 1, is_replay: false);
        let fails = idem.once("test.fails", &key).run(async |_| Err::<i64, _>(PayError::Refused));
        answer!(fails.await, Err(PayError::Refused));
    }
    let counts = gate.counts();
    ensure!((counts.first, counts.bypassed) == (60, 0), "{counts:?}");
    let hinted = async {
        loop {
            for number in 0..30 {
                result!(write(&idem, &format!("k{number}"), 1).await, 1, is_replay: true);
            }
            if gate.counts().ended >= 30 {
                return TestResult::Ok(());
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(30), hinted).await.map_err(|_| "Redis never hears of an end")??;
    ensure!(gate.counts().bypassed == 0, "{:?}", gate.counts());
    Ok(())
}
