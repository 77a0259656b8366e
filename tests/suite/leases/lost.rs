//! Statements of a lease that are not answered, and sessions that the server ends: what was stored is told, and what was
//! not stored is done again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use idem_runtime::prelude::*;
use sqlx::{MySql, Pool, Postgres};

use super::bank::Sent;
use super::crashes::LeasedCall;
use super::owners::failed;
use super::{LONG, SCOPE, abandoned, record, recorded};
use crate::acts::{run, until_waiting};
use crate::answers::answer;
use crate::settle::PayError;
use crate::support::{BoxError, Engine, NoAnswer, Proxy, Scenario as _, Suite, TestDb, TestResult, ensure, on_engines};

pub(super) fn add(suite: &mut Suite) {
    on_engines!(
        suite,
        [Postgres, MySql],
        "there is no network between SQLite and its file",
        [
            a_claim_that_is_not_answered,
            a_takeover_that_is_not_answered,
            a_step_that_is_not_answered,
            a_step_that_is_written_late,
            a_result_that_is_not_answered,
            a_result_whose_statement_the_server_cuts,
            a_large_result_beside_a_lost_connection,
            a_call_that_is_let_go_and_not_answered,
            a_result_before_the_database_goes_away,
            sessions_that_the_server_ends,
        ]
    );
}

/// What becomes of a statement after its sender was cut off.
#[derive(Debug, Clone, Copy)]
enum Fate {
    /// It arrives, and only the answer is lost.
    Arrives,
    /// It arrives when the call has ended.
    Late,
    Lost,
}

const FATES: [Fate; 3] = [Fate::Arrives, Fate::Late, Fate::Lost];

/// Makes a call, one statement of which is held; gives its answer once the statement's fate is fulfilled.
async fn with_fate<T>(
    fate: Fate,
    held: crate::support::Held,
    call: impl Future<Output = Result<T, PayError>>,
) -> Result<Result<T, PayError>, BoxError> {
    Ok(match fate {
        Fate::Arrives | Fate::Lost => {
            let (ended, answer) = tokio::join!(held.end(matches!(fate, Fate::Arrives)), call);
            ended?;
            answer
        }
        Fate::Late => {
            let answer = call.await;
            held.end(true).await?;
            answer
        }
    })
}

async fn a_claim_that_is_not_answered<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let proxy = Proxy::to(&db).await?;
    let idem = proxy.idem(2).await?;
    for fate in FATES {
        let (key, mut ran) = (format!("claim {fate:?}"), 0);
        let held = proxy.hold(&key);
        let call = idem.once(SCOPE, &key).payload(&1_i64).lease(LONG).run(async |attempt| {
            ran += 1;
            Ok(i64::try_from(attempt.number()).unwrap_or_default())
        });
        answer!(with_fate(fate, held, call).await?, Ok(1));
        ensure!(ran == 1 && record(&db, &key).await?.starts_with("2 1"), "{key}: {ran} ran");
    }
    Ok(())
}

async fn a_takeover_that_is_not_answered<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let proxy = Proxy::to(&db).await?;
    let idem = proxy.idem(2).await?;
    for fate in FATES {
        let (key, mut ran) = (format!("{fate:?}"), 0);
        abandoned(&db, &key, &["bank.send"]).await?;
        let held = proxy.hold("pid 1");
        let call = idem.once(SCOPE, &key).payload(&1_i64).lease(LONG).take_over().run(async |attempt| {
            ran += 1;
            Ok(i64::try_from(attempt.number()).unwrap_or_default())
        });
        answer!(with_fate(fate, held, call).await?, Ok(2));
        ensure!(ran == 1 && record(&db, &key).await?.starts_with("2 2"), "{key}: {ran} ran");
    }
    Ok(())
}

async fn a_step_that_is_not_answered<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let proxy = Proxy::to(&db).await?;
    let idem = proxy.idem(2).await?;
    for fate in FATES {
        let (key, step) = (format!("{fate:?}"), format!("send {fate:?}"));
        let held = proxy.hold(&step);
        let call = idem.once(SCOPE, &key).payload(&1_i64).lease(LONG).run(async |mut attempt| {
            let downstream = attempt.external(&step).await?;
            if downstream != attempt.downstream_key(&step) || attempt.begun() != [step.clone()] {
                return Err(failed(format!("{attempt:?}").into()));
            }
            let seen = record(&db, &key).await.map_err(failed)?;
            if seen != format!("4 1 [\"{step}\"] leased") {
                return Err(failed(seen.into()));
            }
            attempt.retract(&step).await?;
            Err(PayError::Refused)
        });
        answer!(with_fate::<i64>(fate, held, call).await?, Err(PayError::Refused));
        recorded(&db, &key, "").await?;
    }
    Ok(())
}

/// A write that nobody saw was asked again, others came after it, and only then does it arrive.
async fn a_step_that_is_written_late<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let proxy = Proxy::to(&db).await?;
    let idem = proxy.idem(2).await?;
    for (key, late) in [("begun", "[\"a\"]"), ("taken back", "[\"b\"]")] {
        let held = proxy.hold(late);
        let call = idem.once(SCOPE, key).payload(&1_i64).lease(LONG).run(async |mut attempt| {
            attempt.external("a").await?;
            attempt.external("b").await?;
            attempt.retract("a").await?;
            attempt.external("a").await?;
            held.end(true).await.map_err(failed)?;
            let seen = record(&db, key).await.map_err(failed)?;
            if seen == "4 1 [\"b\",\"a\"] leased" { Ok(1) } else { Err(failed(seen.into())) }
        });
        answer!(call.await, Ok(1));
        ensure!(proxy.is_done(), "{late} was never written");
    }
    Ok(())
}

/// What was stored is the answer, and what was not is stored by another try.
async fn a_result_that_is_not_answered<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let proxy = Proxy::to(&db).await?;
    let (idem, other) = (proxy.idem(2).await?, db.idem(1).await?);
    for fate in FATES {
        let result = format!("receipt {fate:?}");
        let held = proxy.hold(&result);
        let key = format!("{fate:?}");
        let call = idem.once(SCOPE, &key).payload(&1_i64).lease(LONG).run(async |mut attempt| {
            attempt.external("bank.send").await?;
            Ok(result.clone())
        });
        answer!(with_fate(fate, held, call).await?, Ok(found) if found == result);
        for idem in [&idem, &other] {
            let replay = idem.once(SCOPE, &key).payload(&1_i64).lease(LONG);
            answer!(replay.run(async |_| Ok::<String, PayError>(String::new())).await, Ok(found) if found == result);
        }
    }
    Ok(())
}

/// By `statement_timeout`, or by somebody who ends what waits for long.
async fn a_result_whose_statement_the_server_cuts<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (idem, other) = (db.idem(2).await?, db.idem(1).await?);
    let (locks, locked) = tokio::sync::oneshot::channel();
    let call = idem.once(SCOPE, "k").payload(&1_i64).lease(LONG).run(async |mut attempt| {
        attempt.external("bank.send").await?;
        let mut rival = other.begin().await?;
        run(&mut rival, "SELECT status FROM idem_record FOR UPDATE").await?;
        let _ = locks.send(rival);
        Ok::<i64, PayError>(7)
    });
    let cuts = async {
        let rival = locked.await?;
        for _ in 0..2 {
            until_waiting(&db, 1).await?;
            cut_what_waits(&db).await?;
        }
        until_waiting(&db, 1).await?;
        Ok::<_, BoxError>(rival.rollback().await?)
    };
    let (answer, cuts) = tokio::join!(call, cuts);
    cuts?;
    answer!(answer, Ok(7));
    ensure!(record(&db, "k").await?.starts_with("2 1"), "{}", record(&db, "k").await?);
    Ok(())
}

async fn cut_what_waits<DB: Engine>(db: &TestDb<DB>) -> TestResult {
    let waiting = match DB::DIALECT {
        Dialect::MySql => {
            "SELECT id FROM information_schema.processlist \
             WHERE db = DATABASE() AND command IN ('Query', 'Execute') AND id <> CONNECTION_ID()"
        }
        _ => {
            "SELECT pg_cancel_backend(pid)::text FROM pg_stat_activity \
             WHERE datname = current_database() AND wait_event_type = 'Lock'"
        }
    };
    for session in db.rows(waiting).await?.concat().into_iter().filter(|_| DB::DIALECT == Dialect::MySql) {
        db.execute(format!("KILL QUERY {session}")).await?;
    }
    Ok(())
}

/// MySQL is asked whether it takes so much; that this is not answered says nothing about the result.
async fn a_large_result_beside_a_lost_connection<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let proxy = Proxy::to(&db).await?;
    let idem = proxy.idem(2).await?;
    // Nobody else asks for it, and PostgreSQL has no such limit.
    let held = (DB::DIALECT == Dialect::MySql).then(|| proxy.hold("max_allowed_packet"));
    let call = idem.once(SCOPE, "k").payload(&1_i64).lease(LONG).run(async |mut attempt| {
        attempt.external("bank.send").await?;
        Ok::<_, PayError>("r".repeat(600 * 1024))
    });
    let answer = match held {
        Some(held) => with_fate(Fate::Lost, held, call).await?,
        None => call.await,
    };
    answer!(answer, Ok(result) if result.len() == 600 * 1024);
    Ok(())
}

/// Whoever goes on at once is not disturbed by what arrives late.
async fn a_call_that_is_let_go_and_not_answered<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let proxy = Proxy::to(&db).await?;
    let (idem, other) = (proxy.idem(2).await?, db.idem(1).await?);
    for (arrives, begins) in [(true, true), (false, true), (true, false), (false, false)] {
        let key = format!("{arrives} {begins}");
        let mut held = None;
        let call = idem.once(SCOPE, &key).payload(&1_i64).lease(LONG);
        let given: Sent = call
            .run(async |mut attempt| {
                if begins {
                    attempt.external("bank.send").await?;
                }
                held = Some(proxy.hold(&key));
                Err(PayError::Refused)
            })
            .await;
        answer!(given, Err(PayError::Refused));
        let held = held.ok_or("the body has run")?;
        let call = other.once(SCOPE, &key).payload(&1_i64).lease(LONG).take_over();
        let given: Sent = call
            .run(async |_| {
                held.end(arrives).await.map_err(failed)?;
                record(&db, &key).await.map_err(failed).and_then(|seen| match &*seen {
                    "4 2 [\"bank.send\"] leased" if begins => Ok(2),
                    "1 1 leased" if !begins => Ok(2),
                    _ => Err(failed(seen.into())),
                })
            })
            .await;
        answer!(given, Ok(2));
    }
    Ok(())
}

/// It is stored, and nobody can be asked: whoever hears that nothing was kept would do it again under another key.
async fn a_result_before_the_database_goes_away<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let proxy = Proxy::to(&db).await?;
    let idem = Idem::builder(impatient(&proxy.pool(1)?)).build().await?;
    idem.migrate().await?;
    let held = proxy.hold("the receipt");
    let call = idem.once(SCOPE, "k").payload(&1_i64).lease(Duration::from_secs(1)).run(async |mut attempt| {
        attempt.external("bank.send").await?;
        proxy.close();
        Ok("the receipt".to_owned())
    });
    let answer = with_fate(Fate::Arrives, held, call).await?;
    answer!(answer, Err(PayError::Idem(Error::UnknownCommit(_))));
    let call = db.idem(1).await?.once(SCOPE, "k").payload(&1_i64).lease(LONG).run(async |_| Ok(String::new())).await;
    answer!(call, Ok::<_, PayError>(receipt) if receipt == "the receipt");
    Ok(())
}

/// The same pool, for those who do not wait for a connection.
fn impatient<DB: Engine>(pool: &Pool<DB>) -> Pool<DB> {
    let options = pool.options().clone().acquire_timeout(Duration::from_millis(300));
    options.connect_lazy_with((*pool.connect_options()).clone())
}

/// All of them, again and again while calls run.
async fn sessions_that_the_server_ends<DB: Engine>(db: TestDb<DB>) -> TestResult {
    const ROUNDS: i64 = 120;
    const AT_ONCE: usize = 10;
    LeasedCall::create_tables(&db).await?;
    let idem = db.idem(8).await?;
    let is_over = AtomicBool::new(false);
    let calls = async {
        let rounds: Vec<_> = (0..ROUNDS).collect();
        for rounds in rounds.chunks(AT_ONCE) {
            let calls = rounds.iter().map(|round| until_answered(&idem, *round));
            let answers = futures_util::future::join_all(calls).await;
            answers.into_iter().collect::<TestResult>().inspect_err(|_| is_over.store(true, Ordering::SeqCst))?;
        }
        is_over.store(true, Ordering::SeqCst);
        TestResult::Ok(())
    };
    let ends = async {
        let mut ended = 0;
        while !is_over.load(Ordering::SeqCst) && ended < 400 {
            ended += end_sessions(&db).await?;
            tokio::time::sleep(Duration::from_millis(15)).await;
        }
        Ok::<_, BoxError>(ended)
    };
    let (answers, ended) = tokio::join!(calls, ends);
    answers?;
    ensure!(ended? > AT_ONCE, "too few sessions were ended");
    for round in 0..ROUNDS {
        LeasedCall::check(&db, round, crate::support::Called::Answered).await?;
    }
    Ok(())
}

async fn until_answered<DB: Engine>(idem: &Idem<DB>, round: i64) -> TestResult {
    for _ in 0..400 {
        match LeasedCall::call(idem, round).await {
            Ok(()) => return Ok(()),
            // Also one of a statement of the body's own.
            Err(NoAnswer::Later(_) | NoAnswer::Never(_)) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
    LeasedCall::call(idem, round).await.map_err(NoAnswer::into_error)
}

/// Ends the sessions of the database but the test's own; gives their number.
async fn end_sessions<DB: Engine>(db: &TestDb<DB>) -> Result<usize, BoxError> {
    if DB::DIALECT == Dialect::Postgres {
        let others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
        return Ok(db.rows(format!("SELECT pg_terminate_backend(pid) {others}")).await?.len());
    }
    let others = "FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()";
    let sessions = db.rows(format!("SELECT id {others}")).await?.concat();
    for id in &sessions {
        // It may have ended by itself.
        let _ = db.execute(format!("KILL {id}")).await;
    }
    Ok(sessions.len())
}
