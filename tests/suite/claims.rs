//! Who runs when calls with one key meet: one at a time, one with success, and everybody else gets its result or is told
//! to come again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use idem_runtime::prelude::*;
use sqlx::{MySql, Sqlite};
use tokio::task::{JoinHandle, JoinSet, yield_now};
use tokio::time::Instant;

use crate::acts::{Gate, act, create_tables, effect, insist, left, result, until_waiting, write, write_at};
use crate::answers::answer;
use crate::settle::PayError;
use crate::support::{Engine, Suite, TestDb, TestResult, ensure, on_engines, on_every_engine, release_together, sql};

/// A duplicate waits for two seconds; the rest is for a busy machine.
const BOUND: Duration = Duration::from_secs(12);

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            i34_every_path_compares_the_payload,
            i34_a_race_compares_the_payload,
            i55_c3_a_second_claim_is_a_duplicate,
            c28_one_key_runs_once_at_a_time,
            c38_the_first_of_three_rolls_back,
            a_winner_that_fails_frees_the_key,
            i78_a_running_call_is_waited_for,
            a_waiting_call_that_is_dropped_changes_nothing,
        ]
    );
    on_engines!(suite, [MySql], "gap locks are InnoDB's", [i57_adjacent_new_keys_do_not_deadlock]);
    on_engines!(suite, [Sqlite], "one writer at a time is SQLite's", [i64_sixteen_writers_are_never_busy]);
}

type Answer = Result<Once<i64>, PayError>;

/// Begins a call in a task of its own.
fn begin_write<DB: Engine>(idem: &Idem<DB>, key: &'static str, payload: i64) -> JoinHandle<Answer> {
    let idem = idem.clone();
    tokio::spawn(async move { write(&idem, key, payload).await })
}

/// Begins a call that stops at a gate, and waits until it does.
async fn begin_at<DB: Engine>(
    idem: &Idem<DB>,
    key: &'static str,
    gate: &Gate,
) -> Result<JoinHandle<Answer>, crate::support::BoxError> {
    let (idem, at) = (idem.clone(), gate.clone());
    let call = tokio::spawn(async move { write_at(&idem, key, at).await });
    gate.arrival().await?;
    Ok(call)
}

async fn i34_every_path_compares_the_payload<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let processes = [db.idem(2).await?, db.idem(2).await?];
    create_tables(&db).await?;
    result!(write(&processes[0], "done", 1).await, 1, is_replay: false);
    for idem in &processes {
        answer!(write(idem, "done", 2).await, Err(PayError::Idem(Error::Mismatch)));
        let mut tx = idem.begin().await?;
        answer!(write(&mut *tx, "done", 2).await, Err(PayError::Idem(Error::Mismatch)));
        result!(write(&mut *tx, "done", 1).await, 1, is_replay: true);
        tx.rollback().await?;
    }

    // One that waits while the other one still runs, in this process and in another one.
    for (key, idem) in ["waits here", "waits elsewhere"].into_iter().zip(&processes) {
        let gate = Gate::closed();
        let winner = begin_at(&processes[0], key, &gate).await?;
        let mut waiter = Box::pin(write(idem, key, 2));
        ensure!((&mut waiter).now_or_never().is_none(), "the duplicate waits");
        let waiter = futures_util::future::join(waiter, async {
            gate.open();
            winner.await
        });
        let (lost, won) = waiter.await;
        result!(won?, 1, is_replay: false);
        answer!(lost, Err(PayError::Idem(Error::Mismatch | Error::Retry(_) | Error::InProgress { .. })));
        answer!(insist(|| write(idem, key, 2)).await, Err(PayError::Idem(Error::Mismatch)));
    }

    // One in the transaction that has claimed the key and is not committed.
    let mut tx = processes[0].begin().await?;
    result!(write(&mut *tx, "nested", 1).await, 1, is_replay: false);
    answer!(write(&mut *tx, "nested", 2).await, Err(PayError::Idem(Error::Mismatch)));
    result!(write(&mut *tx, "nested", 1).await, 1, is_replay: true);
    tx.commit().await?;
    left(&db, ["done,nested,waits elsewhere,waits here", "done:2,nested:2,waits elsewhere:2,waits here:2"]).await
}

async fn i34_a_race_compares_the_payload<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let processes = [db.idem(8).await?, db.idem(8).await?];
    create_tables(&db).await?;
    for round in 0..5 {
        let answers = release_together(|task| {
            // Both payloads race in both processes.
            let (idem, payload) = (processes[task % 2].clone(), i64::try_from(task / 2 % 2).unwrap_or_default());
            let key = round.to_string();
            async move { (payload, insist(|| write(&idem, &key, payload)).await) }
        })
        .await?;
        let winner = answers.iter().find_map(|(_, answer)| answer.as_ref().ok()).map(|once| **once);
        for (payload, answer) in answers {
            match answer {
                Ok(once) if *once == payload && Some(payload) == winner => {}
                Err(PayError::Idem(Error::Mismatch)) if Some(payload) != winner => {}
                other => return Err(format!("payload {payload}, winner {winner:?}: {other:?}").into()),
            }
        }
    }
    left(&db, ["0,1,2,3,4", "0:2,1:2,2:2,3:2,4:2"]).await
}

/// sqlx asks MySQL to count the rows that a statement finds, changed or not: no answer may rest on that number.
async fn i55_c3_a_second_claim_is_a_duplicate<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let processes = [db.idem(1).await?, db.idem(1).await?];
    create_tables(&db).await?;
    result!(write(&processes[0], "k", 1).await, 1, is_replay: false);
    for idem in [&processes[0], &processes[1], &processes[0]] {
        result!(write(idem, "k", 1).await, 1, is_replay: true);
    }
    let mut tx = processes[0].begin().await?;
    result!(write(&mut *tx, "k", 1).await, 1, is_replay: true);
    result!(write(&mut *tx, "l", 1).await, 1, is_replay: false);
    result!(write(&mut *tx, "l", 1).await, 1, is_replay: true);
    tx.commit().await?;
    left(&db, ["k,l", "k:2,l:2"]).await
}

/// At REPEATABLE READ, where a search for a missing key locks the gap in which its neighbour wants to insert.
async fn i57_adjacent_new_keys_do_not_deadlock<DB: Engine>(db: TestDb<DB>) -> TestResult {
    const TASKS: i64 = 50;
    let idem = db.idem(50).await?;
    create_tables(&db).await?;
    let isolation = DB::rows(idem.pool(), "SELECT @@tx_isolation".into()).await?;
    ensure!(isolation == [["REPEATABLE-READ"]], "{isolation:?}");
    for round in 0..6 {
        // In the first half of the rounds nothing is between the keys, in the second half their neighbours are.
        let (number, step) = (round / 3, round % 3);
        let mut calls = JoinSet::new();
        for task in 0..TASKS {
            let (idem, key) = (idem.clone(), format!("{number}/{task:02}/{step}"));
            calls.spawn(async move { write(&idem, &key, task).await.map(|once| (task, *once)) });
        }
        while let Some(answer) = calls.join_next().await {
            answer!(answer?, Ok((task, value)) if task == value);
        }
    }
    ensure!(db.integer("SELECT COUNT(*) FROM effect").await? == 6 * TASKS, "one effect for each key");
    Ok(())
}

async fn i64_sixteen_writers_are_never_busy<DB: Engine>(db: TestDb<DB>) -> TestResult {
    const WRITERS: i64 = 16;
    const CALLS: i64 = 10;
    let processes = [db.idem(16).await?, db.idem(16).await?];
    create_tables(&db).await?;
    let mode = db.text("PRAGMA journal_mode").await?;
    ensure!(mode == "wal", "{mode}");
    let mut writers = JoinSet::new();
    for (writer, idem) in (0..WRITERS).zip(processes.iter().cycle()) {
        let idem = idem.clone();
        writers.spawn(async move {
            for call in 0..CALLS {
                let _ = count_up(&idem, &format!("{writer}/{call}")).await?;
            }
            Ok::<_, PayError>(())
        });
    }
    while let Some(answer) = writers.join_next().await {
        answer!(answer?, Ok(()));
    }
    let value = db.integer("SELECT value FROM counter WHERE id = 1").await?;
    ensure!(value == WRITERS * CALLS, "{value} of {} counted", WRITERS * CALLS);
    Ok(())
}

/// Reads, then claims, then writes what was read, plus one.
async fn count_up<DB: Engine>(idem: &Idem<DB>, key: &str) -> Answer {
    let mut tx = idem.begin().await?;
    let rows = sql::<DB>("SELECT value FROM counter WHERE id = 1").rows(&mut *tx).await?;
    let value: i64 = rows.concat().concat().parse().unwrap_or_default();
    let counted = act(&mut *tx, key, 1, |tx| {
        Box::pin(async move {
            let update = sql::<DB>("UPDATE counter SET value = ? WHERE id = 1").bind(value + 1);
            update.execute(tx).await?;
            Ok(value)
        })
    });
    let counted = counted.await?;
    tx.commit().await?;
    Ok(counted)
}

/// Says how many are inside at once.
#[derive(Default)]
struct Room {
    inside: AtomicUsize,
    most: AtomicUsize,
    entries: AtomicUsize,
}

impl Room {
    async fn visit(&self) -> usize {
        let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(inside, Ordering::SeqCst);
        // Whoever could come in meanwhile gets the time to do so.
        for _ in 0..20 {
            yield_now().await;
        }
        self.inside.fetch_sub(1, Ordering::SeqCst);
        self.entries.fetch_add(1, Ordering::SeqCst) + 1
    }
}

/// The first four bodies of a key fail, so that several run: never two at once.
async fn c28_one_key_runs_once_at_a_time<DB: Engine>(db: TestDb<DB>) -> TestResult {
    const FAILURES: usize = 4;
    let processes = [db.idem(4).await?, db.idem(4).await?];
    create_tables(&db).await?;
    for round in 0..5 {
        let room = Arc::new(Room::default());
        let mut workers = JoinSet::new();
        for idem in processes.iter().cycle().take(8) {
            let (idem, room) = (idem.clone(), Arc::clone(&room));
            workers.spawn(async move {
                loop {
                    match insist(|| visit(&idem, round, Arc::clone(&room))).await {
                        Err(PayError::Refused) => {}
                        answer => return answer,
                    }
                }
            });
        }
        let mut executed = 0;
        while let Some(answer) = workers.join_next().await {
            executed += usize::from(!answer??.is_replay());
        }
        let [most, entries] = [&room.most, &room.entries].map(|number| number.load(Ordering::SeqCst));
        ensure!(most == 1, "{most} bodies of one key at once");
        ensure!(executed == 1, "{executed} calls say that they made the result");
        ensure!(entries == FAILURES + 1, "{entries} bodies ran");
    }
    left(&db, ["0,1,2,3,4", "0:2,1:2,2:2,3:2,4:2"]).await
}

async fn visit<DB: Engine>(idem: &Idem<DB>, round: i64, room: Arc<Room>) -> Answer {
    act(idem, &round.to_string(), 1, |tx| {
        Box::pin(async move {
            effect(&mut *tx, &round.to_string()).await?;
            if room.visit().await <= 4 { Err(PayError::Refused) } else { Ok(1) }
        })
    })
    .await
}

/// MySQL and MariaDB answer the two that waited with a deadlock.
async fn c38_the_first_of_three_rolls_back<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let sessions = [db.idem(1).await?, db.idem(1).await?, db.idem(1).await?];
    create_tables(&db).await?;
    for key in ["0", "1", "2", "3", "4"] {
        let gate = Gate::closed();
        let (idem, at) = (sessions[0].clone(), gate.clone());
        let first = tokio::spawn(async move { fail_at(&idem, key, at).await });
        gate.arrival().await?;
        let others = [begin_write(&sessions[1], key, 1), begin_write(&sessions[2], key, 1)];
        until_waiting(&db, 2).await?;
        gate.open();
        answer!(first.await?, Err(PayError::Refused));
        let mut replays = Vec::new();
        for other in others {
            replays.push(other.await??.is_replay());
        }
        replays.sort_unstable();
        ensure!(replays == [false, true], "one runs and the other gets its result: {replays:?}");
    }
    left(&db, ["0,1,2,3,4", "0:2,1:2,2:2,3:2,4:2"]).await
}

async fn fail_at<DB: Engine>(idem: &Idem<DB>, key: &str, gate: Gate) -> Answer {
    act(idem, key, 1, |tx| {
        Box::pin(async move {
            effect(tx, "never").await?;
            gate.pass().await;
            Err(PayError::Refused)
        })
    })
    .await
}

async fn panic_at<DB: Engine>(idem: &Idem<DB>, key: &str, gate: Gate) -> Answer {
    act(idem, key, 1, |tx| {
        Box::pin(async move {
            effect(tx, "never").await?;
            gate.pass().await;
            // Not `panic!`, whose message would be printed among the results of the tests.
            std::panic::resume_unwind(Box::new("the body panics"))
        })
    })
    .await
}

/// How a winner fails.
#[derive(Debug, Clone, Copy)]
enum Failure {
    Error,
    Panic,
    Dropped,
}

async fn a_winner_that_fails_frees_the_key<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let processes = [db.idem(2).await?, db.idem(2).await?];
    create_tables(&db).await?;
    let failures = [("error", Failure::Error), ("panic", Failure::Panic), ("dropped", Failure::Dropped)];
    for (key, failure) in failures {
        let gate = Gate::closed();
        let (idem, at) = (processes[0].clone(), gate.clone());
        let winner = tokio::spawn(async move {
            match failure {
                Failure::Error => fail_at(&idem, key, at).await,
                Failure::Panic => panic_at(&idem, key, at).await,
                Failure::Dropped => write_at(&idem, key, at).await,
            }
        });
        gate.arrival().await?;
        let waiters: Vec<_> = processes.iter().cycle().take(8).map(|idem| begin_write(idem, key, 1)).collect();
        until_waiting(&db, 1).await?;
        if matches!(failure, Failure::Dropped) {
            winner.abort();
        } else {
            gate.open();
        }
        match (failure, winner.await) {
            (Failure::Error, Ok(Err(PayError::Refused))) => {}
            (Failure::Panic, Err(error)) if error.is_panic() => {}
            (Failure::Dropped, Err(error)) if error.is_cancelled() => {}
            (_, other) => return Err(format!("{failure:?}: {other:?}").into()),
        }
        let mut executed = 0;
        for waiter in waiters {
            executed += usize::from(!waiter.await??.is_replay());
        }
        ensure!(executed == 1, "{failure:?}: {executed} waiters ran");
    }
    left(&db, ["dropped,error,panic", "dropped:2,error:2,panic:2"]).await
}

async fn i78_a_running_call_is_waited_for<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let processes = [db.idem(2).await?, db.idem(2).await?];
    create_tables(&db).await?;
    let gate = Gate::closed();
    let winner = begin_at(&processes[0], "k", &gate).await?;
    for (process, idem) in processes.iter().enumerate() {
        let start = Instant::now();
        let answer = tokio::time::timeout(BOUND, write(idem, "k", 1)).await.map_err(|_| "waits for ever")?;
        match answer {
            Err(PayError::Idem(ref error @ Error::InProgress { retry_after })) => {
                ensure!(error.is_retryable() && error.retry_after() == Some(retry_after), "{error:?}");
                ensure!(!retry_after.is_zero(), "a pause before the next call");
            }
            // SQLite locks the file, not a row: nobody knows for which key.
            Err(PayError::Idem(Error::Retry(_))) if DB::DIALECT == Dialect::Sqlite && process == 1 => {}
            other => return Err(format!("process {process}: {other:?}").into()),
        }
        ensure!(start.elapsed() > Duration::from_secs(1), "a running call is waited for: {:?}", start.elapsed());
    }
    let waiters = [begin_write(&processes[0], "k", 1), begin_write(&processes[1], "k", 1)];
    until_waiting(&db, 1).await?;
    gate.open();
    result!(winner.await?, 1, is_replay: false);
    for waiter in waiters {
        result!(waiter.await?, 1, is_replay: true);
    }
    left(&db, ["k", "k:2"]).await
}

async fn a_waiting_call_that_is_dropped_changes_nothing<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let processes = [db.idem(2).await?, db.idem(2).await?];
    create_tables(&db).await?;
    let gate = Gate::closed();
    let winner = begin_at(&processes[0], "k", &gate).await?;
    let dropped = [begin_write(&processes[0], "k", 1), begin_write(&processes[1], "k", 1)];
    until_waiting(&db, 1).await?;
    for waiter in dropped {
        waiter.abort();
        answer!(waiter.await, Err(error) if error.is_cancelled());
    }
    let last = [begin_write(&processes[0], "k", 1), begin_write(&processes[1], "k", 1)];
    gate.open();
    result!(winner.await?, 1, is_replay: false);
    for waiter in last {
        result!(waiter.await?, 1, is_replay: true);
    }
    left(&db, ["k", "k:2"]).await
}
