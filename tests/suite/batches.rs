//! Many calls in one transaction: what is about one call is its answer, what is about all of them ends all of them.

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use idem_runtime::prelude::*;
use sqlx::{MySql, Postgres};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::acts::{
    Gate, create_tables, effect, effects, insist, left, records, result, run, until_waiting, write, write_at,
};
use crate::answers::answer;
use crate::joining::{cannot_be_committed, create_child, first_and_joined};
use crate::settle::PayError;
use crate::support::{
    BoxError, Called, Engine, NoAnswer, Scenario, Suite, TestDb, TestResult, count_statements, ensure, on_engines,
    on_every_engine, sql,
};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            equal_keys_in_a_batch_are_duplicates,
            a_batch_costs_as_much_as_a_call,
            a_batch_is_whole_or_not_there,
            results_of_another_number_are_refused,
            calls_join_a_batch_and_a_batch_joins_calls,
            i58_batches_in_any_order_do_not_deadlock,
            a_batch_waits_for_a_call_elsewhere,
            odd_keys_and_large_results_go_through_a_batch,
            a_batch_takes_turns_in_the_order_of_its_keys,
            whoever_has_joined_a_batch_asks_nobody,
            a_batch_that_is_not_committed_is_not_heard_of,
            a_batch_that_has_lost_a_record_keeps_nothing,
        ]
    );
    on_engines!(
        suite,
        [Postgres, MySql],
        "SQLite has one writer at a time",
        [a_batch_locks_no_other_record_of_its_scope, i58_a_batch_claims_in_the_order_of_its_keys]
    );
}

type Answers = Result<Vec<Result<Once<i64>, Error>>, PayError>;

/// Writes an effect for each new call, and gives the payloads back.
async fn write_all<DB: Engine>(idem: &Idem<DB>, calls: &[(String, i64)]) -> Answers {
    let batch = idem.once_each("test.act", calls.iter().map(|(key, payload)| (key, payload)));
    batch
        .run(async |mut tx, new| {
            let mut results = Vec::new();
            for (key, payload) in new.into_iter().map(|place| &calls[place]) {
                effect(&mut tx, key).await?;
                results.push(*payload);
            }
            Ok(results)
        })
        .await
}

/// Whatever plan the server finds best: few records or many, one of them in somebody else's hands.
async fn a_batch_locks_no_other_record_of_its_scope<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (idem, other) = (db.idem(2).await?, db.idem(2).await?);
    create_tables(&db).await?;
    write_all(&idem, &calls([("done", 1), ("locked", 1)])).await?;
    let key = if DB::DIALECT == Dialect::MySql { "`key`" } else { "key" };
    let mut locker = other.begin().await?;
    let lock = format!("UPDATE idem_record SET updated_at = NULL WHERE scope = 'test.act' AND {key} = 'locked'");
    run(&mut locker, lock).await?;
    let batch = calls([("a", 1), ("done", 1), ("z", 1)]);
    let answers = timeout(Duration::from_secs(20), write_all(&idem, &batch)).await.map_err(|_| "it waits")??;
    ensure!(answers.iter().all(Result::is_ok), "{answers:?}");
    locker.rollback().await?;
    left(&db, ["a,done,locked,z", "a:2,done:2,locked:2,z:2"]).await
}

fn calls<const N: usize>(calls: [(&str, i64); N]) -> Vec<(String, i64)> {
    calls.map(|(key, payload)| (key.to_owned(), payload)).into()
}

async fn equal_keys_in_a_batch_are_duplicates<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    let list = calls([("b", 1), ("a", 2), ("b", 1), ("b", 3), ("", 4), ("a", 2), ("c", 5)]);
    for round in 0..2 {
        let answers = write_all(&idem, &list).await?;
        let first = |call: usize| round == 0 && [0, 1, 6].contains(&call);
        for (call, answer) in answers.into_iter().enumerate() {
            match (call, answer) {
                (3, Err(Error::Mismatch)) | (4, Err(Error::InvalidKey { .. })) => {}
                (0 | 1 | 2 | 5 | 6, Ok(once)) if *once == list[call].1 && once.is_replay() != first(call) => {}
                (call, other) => return Err(format!("call {call} of round {round}: {other:?}").into()),
            }
        }
    }
    ensure!(write_all(&idem, &[]).await?.is_empty(), "a batch of none has no answers");
    left(&db, ["a,b,c", "a:2,b:2,c:2"]).await
}

async fn a_batch_costs_as_much_as_a_call<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem_without_gate(1).await?;
    create_tables(&db).await?;
    let batch = async |from: i64, to: i64| {
        let calls = (from..to).map(|number| (number, number));
        let answers = idem.once_each("test.cost", calls).run(async |_, new| Ok::<_, PayError>(new)).await?;
        Ok::<_, PayError>(
            answers.into_iter().filter(|answer| answer.as_ref().is_ok_and(|once| !once.is_replay())).count(),
        )
    };
    ensure!(batch(0, 1).await? == 1, "the first one prepares the statements");
    let (ran, one) = count_statements(&db, idem.pool(), batch(1, 2)).await?;
    ensure!(ran? == 1, "it is new");
    let (ran, thousand) = count_statements(&db, idem.pool(), batch(2, 1_002)).await?;
    ensure!(ran? == 1_000, "all are new");
    ensure!(thousand.statements == one.statements, "a thousand cost\n{thousand}\nand one costs\n{one}");
    // Begin (on MySQL with a savepoint, in one trip), claim, read where the claim does not tell, store, commit.
    let most = match DB::DIALECT {
        Dialect::Postgres => 4,
        Dialect::Sqlite => 5,
        Dialect::MySql => 6,
    };
    ensure!(thousand.total() <= most, "{thousand}");
    let (ran, replayed) = count_statements(&db, idem.pool(), batch(0, 1_002)).await?;
    ensure!(ran? == 0 && replayed.total() <= most, "{replayed}");
    Ok(())
}

async fn a_batch_is_whole_or_not_there<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    result!(write(&idem, "b", 1).await, 1, is_replay: false);
    let refused = idem.once_each("test.act", [("a", 1), ("b", 1), ("c", 1)]);
    let refused = refused.run(async |mut tx, new| {
        effect(&mut tx, "never").await?;
        ensure_places(&new, &[0, 2])?;
        Err::<Vec<i64>, _>(PayError::Refused)
    });
    answer!(refused.await, Err(PayError::Refused));
    left(&db, ["b", "b:2"]).await?;
    let too_large = db.idem(1).await?;
    let too_large = Idem::builder(too_large.pool().clone()).result_limit(8).build().await?;
    let answers = too_large.once_each("test.large", [("a", 1), ("b", 1)]);
    let answers = answers.run(async |mut tx, _| {
        effect(&mut tx, "never").await?;
        Ok::<_, PayError>(vec!["small".to_owned(), "too large".to_owned()])
    });
    answer!(answers.await, Err(PayError::Idem(Error::ResultTooLarge { bytes: 11, limit: 8 })));
    let kept = idem.once_each("test.act", [("a", 1)]);
    let hold = std::sync::Mutex::new(None);
    let kept = kept.run(async |tx, _| {
        *hold.lock().map_err(|_| PayError::Refused)? = Some(tx);
        Ok::<_, PayError>(vec![1])
    });
    answer!(kept.await, Err(PayError::Idem(Error::Configuration(_))));
    drop(hold);
    left(&db, ["b", "b:2"]).await
}

fn ensure_places(found: &[usize], expected: &[usize]) -> Result<(), PayError> {
    if found == expected { Ok(()) } else { Err(Error::Configuration("other calls are new than expected").into()) }
}

async fn results_of_another_number_are_refused<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    for results in [vec![], vec![1], vec![1, 2, 3]] {
        let batch = idem.once_each("test.act", [("a", 1), ("b", 1)]);
        let answers = batch.run(async |mut tx, _| {
            effect(&mut tx, "never").await?;
            Ok::<_, PayError>(results)
        });
        answer!(answers.await, Err(PayError::Idem(Error::Configuration(_))));
    }
    left(&db, ["", ""]).await
}

async fn calls_join_a_batch_and_a_batch_joins_calls<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    // The pool has one connection: whoever waits has none.
    let list = calls([("a", 1), ("b", 2), ("c", 3)]);
    let batches = join_all((0..50).map(|_| write_all(&idem, &list)));
    let single = join_all((0..50).map(|_| write(&idem, "b", 2)));
    let (batches, single) = tokio::join!(batches, single);
    let mut executed = 0;
    for answer in single {
        executed += usize::from(!answer?.is_replay());
    }
    for answers in batches {
        for answer in answers? {
            executed += usize::from(!answer?.is_replay());
        }
    }
    ensure!(executed == 3, "{executed} executed");
    left(&db, ["a,b,c", "a:2,b:2,c:2"]).await
}

/// Each batch has its keys in another order, and meets the others in half of them.
async fn i58_batches_in_any_order_do_not_deadlock<DB: Engine>(db: TestDb<DB>) -> TestResult {
    const KEYS: usize = 20;
    let processes = [db.idem(6).await?, db.idem(6).await?];
    create_tables(&db).await?;
    for round in 0..8 {
        let mut batches = JoinSet::new();
        for task in 0..12_usize {
            let idem = processes[task % 2].clone();
            let mut list: Vec<_> =
                (0..KEYS).map(|n| (format!("{round}/{:02}", (n * 7 + task * 3) % (KEYS * 2)), 1)).collect();
            if task % 3 == 0 {
                list.reverse();
            }
            batches.spawn(async move {
                let answers = insist(|| write_all(&idem, &list)).await?;
                Ok::<_, PayError>(
                    answers.into_iter().map(|answer| answer.map(|once| once.is_replay())).collect::<Vec<_>>(),
                )
            });
        }
        while let Some(answers) = batches.join_next().await {
            for answer in answers?? {
                // In one process a batch may have waited long enough for another one.
                answer!(answer, Ok(_) | Err(Error::InProgress { .. }));
            }
        }
    }
    let twice = db.integer("SELECT COUNT(*) - COUNT(DISTINCT name) FROM effect").await?;
    ensure!(twice == 0, "{twice} effects are there twice");
    let records = db.integer("SELECT COUNT(*) FROM idem_record WHERE status = 2").await?;
    let effects = db.integer("SELECT COUNT(*) FROM effect").await?;
    ensure!(records == effects && effects > 0, "{effects} effects of {records} records");
    Ok(())
}

async fn a_batch_waits_for_a_call_elsewhere<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let processes = [db.idem(2).await?, db.idem(2).await?];
    create_tables(&db).await?;
    let gate = Gate::closed();
    let (idem, at) = (processes[0].clone(), gate.clone());
    let winner = tokio::spawn(async move { write_at(&idem, "b", at).await });
    gate.arrival().await?;
    let idem = processes[1].clone();
    let batch = tokio::spawn(async move {
        let list = calls([("a", 1), ("b", 1), ("c", 1)]);
        write_all(&idem, &list).await
    });
    until_waiting(&db, 1).await?;
    gate.open();
    result!(winner.await?, 1, is_replay: false);
    let replays: Vec<_> = batch.await??.into_iter().map(|answer| answer.map(|once| once.is_replay())).collect();
    answer!(&replays[..], [Ok(false), Ok(true), Ok(false)]);
    left(&db, ["a,b,c", "a:2,b:2,c:2"]).await
}

/// A later key is nobody's while an earlier one is waited for: the two would be waited for by one another's batches.
async fn i58_a_batch_claims_in_the_order_of_its_keys<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let processes = [db.idem(2).await?, db.idem(2).await?, db.idem(2).await?];
    create_tables(&db).await?;
    let gate = Gate::closed();
    let (idem, at) = (processes[0].clone(), gate.clone());
    let first = tokio::spawn(async move { write_at(&idem, "a", at).await });
    gate.arrival().await?;
    let idem = processes[1].clone();
    let list = calls([("c", 1), ("b", 1), ("a", 1)]);
    let batch = tokio::spawn(async move { insist(|| write_all(&idem, &list)).await });
    until_waiting(&db, 1).await?;
    let call = processes[2].once("test.act", "b").payload(&1_i64).wait(Duration::ZERO);
    let call = call.run(async |mut tx| {
        effect(&mut tx, "b").await?;
        Ok::<_, PayError>(1_i64)
    });
    answer!(call.await, Ok(1));
    gate.open();
    result!(first.await?, 1, is_replay: false);
    let replays: Vec<_> = batch.await??.into_iter().map(|answer| answer.map(|once| once.is_replay())).collect();
    answer!(&replays[..], [Ok(false), Ok(true), Ok(true)]);
    left(&db, ["a,b,c", "a:2,b:2,c:2"]).await
}

/// The same within a process, where it waits for its turn.
async fn a_batch_takes_turns_in_the_order_of_its_keys<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    let gate = Gate::closed();
    let (first, at) = (idem.clone(), gate.clone());
    let first = tokio::spawn(async move {
        // Without a transaction, which would keep others from writing on SQLite.
        let call = first.once("test.act", "a").payload(&1_i64).lease(Duration::from_hours(1));
        call.run(async |_| {
            at.pass().await;
            Ok::<i64, PayError>(1)
        })
        .await
    });
    gate.arrival().await?;
    let list = calls([("b", 1), ("a", 1)]);
    let mut batch = Box::pin(write_all(&idem, &list));
    ensure!((&mut batch).now_or_never().is_none(), "it waits");
    result!(write(&idem, "b", 1).await, 1, is_replay: false);
    gate.open();
    answer!(first.await?, Ok(1));
    let replays: Vec<_> = batch.await?.into_iter().map(|answer| answer.map(|once| once.is_replay())).collect();
    answer!(&replays[..], [Ok(true), Ok(true)]);
    left(&db, ["b", "a:2,b:2"]).await
}

/// They hear what the batch has stored, or what it has found.
async fn whoever_has_joined_a_batch_asks_nobody<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    let list = calls([("a", 1), ("b", 1)]);
    for is_replay in [false, true] {
        let (batch, joined) = first_and_joined(&idem, write_all(&idem, &list), write(&idem, "b", 1)).await?;
        let replays: Vec<_> = batch?.into_iter().map(|answer| answer.map(|once| once.is_replay())).collect();
        ensure!(matches!(replays[..], [Ok(a), Ok(b)] if a == is_replay && b == is_replay), "{replays:?}");
        result!(joined, 1, is_replay: true);
    }
    left(&db, ["a,b", "a:2,b:2"]).await
}

/// The body is content, and the database is not.
async fn a_batch_that_is_not_committed_is_not_heard_of<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    create_child(&db).await?;
    let gate = Gate::closed();
    let (first, at) = (idem.clone(), gate.clone());
    let first = tokio::spawn(async move {
        let batch = first.once_each("test.act", [("a", 1_i64), ("b", 1)]);
        batch
            .run(async |mut tx, _| {
                effect(&mut tx, "never").await?;
                at.pass().await;
                cannot_be_committed(&mut tx).await?;
                Ok::<_, PayError>(vec![1_i64, 1])
            })
            .await
    });
    gate.arrival().await?;
    let mut joiner = Box::pin(write(&idem, "b", 1));
    ensure!((&mut joiner).now_or_never().is_none(), "it waits");
    gate.open();
    answer!(first.await?, Err(PayError::Idem(Error::Retry(_) | Error::Database(_))));
    result!(joiner.await, 1, is_replay: false);
    left(&db, ["b", "b:2"]).await
}

/// The last statement finds a record for each result, ours all of them, or nothing is kept.
async fn a_batch_that_has_lost_a_record_keeps_nothing<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    let key = if DB::DIALECT == Dialect::MySql { "`key`" } else { "key" };
    for lost in ["DELETE FROM idem_record", "UPDATE idem_record SET owner = 'another'"] {
        let batch = idem.once_each("test.act", [("a", 1_i64), ("b", 1)]);
        let answers = batch.run(async |mut tx, _| {
            effect(&mut tx, "never").await?;
            sql::<DB>(&format!("{lost} WHERE {key} = 'b'")).execute(&mut *tx).await?;
            Ok::<_, PayError>(vec![1_i64, 1])
        });
        answer!(answers.await, Err(PayError::Idem(Error::Indeterminate)));
        left(&db, ["", ""]).await?;
    }
    Ok(())
}

async fn odd_keys_and_large_results_go_through_a_batch<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let processes = [db.idem(1).await?, db.idem(1).await?];
    create_tables(&db).await?;
    let long = "\u{20ac}".repeat(170);
    let keys = ["k", "K", "k ", "a/b", "a\0b", "\"quoted\" \\ key", "\u{1f600}", "null", "~", &long];
    let result = |place: usize| format!("{place}\0\"\\\u{1f600}{}", "x".repeat(70_000));
    for (idem, new) in [(&processes[0], keys.len()), (&processes[1], 0)] {
        let batch = idem.once_each("test.odd", keys.iter().map(|key| (*key, ())));
        let answers = batch.run(async |_, new| Ok::<_, PayError>(new.into_iter().map(result).collect())).await?;
        let fresh = answers.iter().filter(|answer| answer.as_ref().is_ok_and(|once| !once.is_replay())).count();
        ensure!(fresh == new, "{fresh} are new");
        for (place, answer) in answers.into_iter().enumerate() {
            ensure!(*answer? == result(place), "the result of {:?}", keys[place]);
        }
    }
    // The same keys as those of single calls.
    for (place, key) in keys.iter().enumerate() {
        let single =
            processes[0].once("test.odd", *key).payload(&()).run(async |_| Err::<String, _>(PayError::Refused));
        ensure!(single.await? == result(place), "{key:?}");
    }
    ensure!(effects(&db).await?.is_empty() && records(&db).await?.matches(":2").count() == keys.len(), "a record each");
    Ok(())
}

/// Three calls in one transaction, of which everybody makes one alone as well.
pub(crate) struct Batch;

impl Scenario for Batch {
    const NAME: &'static str = "batch";

    async fn create_tables<DB: Engine>(db: &TestDb<DB>) -> TestResult {
        create_tables(db).await
    }

    async fn prepare<DB: Engine>(_: &TestDb<DB>, _: i64) -> TestResult {
        Ok(())
    }

    async fn call<DB: Engine>(idem: &Idem<DB>, round: i64) -> Result<(), NoAnswer> {
        let list: Vec<_> = ["c", "a", "b"].iter().map(|key| (format!("{round}{key}"), round)).collect();
        for answer in write_all(idem, &list).await? {
            if *answer? != round {
                return Err(NoAnswer::Never("another call's result".into()));
            }
        }
        Ok(())
    }

    async fn check<DB: Engine>(db: &TestDb<DB>, round: i64, called: Called) -> TestResult {
        let names =
            db.rows(format!("SELECT name FROM effect WHERE name IN ('{round}a', '{round}b', '{round}c')")).await?;
        let key = if DB::DIALECT == Dialect::MySql { "`key`" } else { "key" };
        let ended = format!("SELECT COUNT(*) FROM idem_record WHERE status = 2 AND {key} IN");
        let records = db.integer(format!("{ended} ('{round}a', '{round}b', '{round}c')")).await?;
        let found = (names.len(), records);
        ensure!(found == (3, 3) || (called == Called::Cut && found == (0, 0)), "{found:?}");
        Ok::<_, BoxError>(())
    }
}
