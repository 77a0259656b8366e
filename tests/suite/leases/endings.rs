//! Every way in which a body can end.

use std::time::Duration;

use futures_util::FutureExt as _;
use idem_runtime::prelude::*;

use super::bank::{Bank, Sent};
use super::{LONG, SCOPE, record, recorded};
use crate::acts::{Gate, create_tables, effect, effects};
use crate::answers::answer;
use crate::failures::Failure;
use crate::settle::PayError;
use crate::support::{Engine, Suite, TestDb, TestResult, ensure, on_every_engine};

pub(super) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            what_the_record_says_while_a_body_runs,
            i12_i14_an_error_frees_the_key_unless_something_has_begun,
            a_step_that_is_taken_back,
            a_commit_of_an_attempt_counts_as_begun,
            a_final_error_is_recorded,
            i41_a_result_that_cannot_be_stored_leaves_the_call_in_doubt,
            i76_a_panic_or_a_dropped_future,
            names_of_steps,
            the_lifetimes_of_a_leased_call,
            what_lookup_says_of_a_leased_call,
        ]
    );
}

/// The result of the one call that has run, however it is asked for.
async fn what_the_record_says_while_a_body_runs<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (idem, other, bank) = (db.idem(2).await?, db.idem(1).await?, Bank::default());
    create_tables(&db).await?;
    let call = || idem.once(SCOPE, "k").payload(&1_i64).lease(LONG);
    let sent: i64 = call()
        .run(async |mut attempt| {
            ensure_in_body(&db, "1 1 leased").await?;
            let key = attempt.external("bank.send").await?;
            ensure_in_body(&db, "4 1 [\"bank.send\"] leased").await?;
            bank.send(&key);
            let mut tx = attempt.tx().await?;
            effect(&mut tx, "booked").await?;
            tx.commit().await?;
            ensure_in_body(&db, "4 1 [\"bank.send\",\"tx\"] leased").await?;
            Ok::<_, PayError>(7)
        })
        .await?;
    ensure!(sent == 7, "{sent}");
    ensure!(record(&db, "k").await?.starts_with("2 1"), "{}", record(&db, "k").await?);
    let never = async |_| Err::<i64, _>(PayError::Refused);
    answer!(call().run(never).await, Ok(7));
    answer!(other.once(SCOPE, "k").payload(&1_i64).lease(LONG).run(never).await, Ok(7));
    let mismatched: Sent = idem.once(SCOPE, "k").payload(&2_i64).lease(LONG).run(never).await;
    answer!(mismatched, Err(PayError::Idem(Error::Mismatch)));
    ensure!(bank.requests().len() == 1 && effects(&db).await? == "booked", "{bank:?}");
    Ok(())
}

async fn ensure_in_body<DB: Engine>(db: &TestDb<DB>, expected: &str) -> Result<(), PayError> {
    let found = record(db, "k").await.map_err(|error| sqlx::Error::Protocol(error.to_string()))?;
    if found == expected { Ok(()) } else { Err(sqlx::Error::Protocol(format!("{found}, not {expected}")).into()) }
}

async fn i12_i14_an_error_frees_the_key_unless_something_has_begun<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (idem, bank) = (db.idem(2).await?, Bank::default());
    let call = || idem.once(SCOPE, "k").payload(&1_i64).lease(LONG);
    let refused: Sent = call().run(async |_| Err(PayError::Refused)).await;
    answer!(refused, Err(PayError::Refused));
    recorded(&db, "k", "").await?;

    let failed: Sent = call()
        .run(async |mut attempt| {
            let key = attempt.external("bank.send").await?;
            bank.send(&key);
            Err(PayError::Refused)
        })
        .await;
    answer!(failed, Err(PayError::Refused));
    recorded(&db, "k", "4 1 [\"bank.send\"]").await?;
    // At once, and nothing runs again: neither here nor in another process, after how long a time ever.
    let other = db.idem(1).await?;
    for idem in [&idem, &other] {
        let next: Sent = idem.once(SCOPE, "k").payload(&1_i64).lease(LONG).run(async |_| Ok(1)).await;
        answer!(next, Err(PayError::Idem(Error::Indeterminate)));
    }
    ensure!(bank.requests().len() == 1, "{bank:?}");
    Ok(())
}

async fn a_step_that_is_taken_back<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    let call = || idem.once(SCOPE, "k").payload(&1_i64).lease(LONG);
    let refused: Sent = call()
        .run(async |mut attempt| {
            attempt.external("bank.send").await?;
            attempt.external("mail.send").await?;
            attempt.retract("bank.send").await?;
            ensure_in_body(&db, "4 1 [\"mail.send\"] leased").await?;
            attempt.retract("mail.send").await?;
            ensure_in_body(&db, "1 1 leased").await?;
            Err(PayError::Refused)
        })
        .await;
    answer!(refused, Err(PayError::Refused));
    recorded(&db, "k", "").await?;
    // A step that was begun twice was refused once: what came of the other one, nobody has said.
    let refused: Sent = call()
        .run(async |mut attempt| {
            attempt.external("bank.send").await?;
            attempt.external("bank.send").await?;
            attempt.retract("bank.send").await?;
            attempt.retract("another").await?;
            Err(PayError::Refused)
        })
        .await;
    answer!(refused, Err(PayError::Refused));
    recorded(&db, "k", "4 1 [\"bank.send\"]").await?;
    // Nor does a refusal say anything about an attempt before this one.
    let refused: Sent = call()
        .take_over()
        .run(async |mut attempt| {
            attempt.external("bank.send").await?;
            attempt.retract("bank.send").await?;
            attempt.retract("bank.send").await?;
            Err(PayError::Refused)
        })
        .await;
    answer!(refused, Err(PayError::Refused));
    recorded(&db, "k", "4 2 [\"bank.send\"]").await
}

/// What was committed has happened: a body that ran again would do it twice.
async fn a_commit_of_an_attempt_counts_as_begun<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    let rolled_back: Sent = idem
        .once(SCOPE, "rolled back")
        .lease(LONG)
        .run(async |mut attempt| {
            let mut tx = attempt.tx().await?;
            effect(&mut tx, "dropped").await?;
            drop(tx);
            let mut tx = attempt.tx().await?;
            effect(&mut tx, "rolled back").await?;
            tx.rollback().await?;
            Err(PayError::Refused)
        })
        .await;
    answer!(rolled_back, Err(PayError::Refused));
    recorded(&db, "rolled back", "").await?;
    for _ in 0..2 {
        let _: Sent = idem
            .once(SCOPE, "committed")
            .lease(LONG)
            .run(async |mut attempt| {
                let mut tx = attempt.tx().await?;
                effect(&mut tx, "committed").await?;
                tx.commit().await?;
                // Nobody can take it back.
                answer_is_refused(attempt.retract("tx").await)?;
                Err(PayError::Refused)
            })
            .await;
    }
    recorded(&db, "committed", "4 1 [\"tx\"]").await?;
    ensure!(effects(&db).await? == "committed", "{}", effects(&db).await?);
    Ok(())
}

fn answer_is_refused(answer: Result<(), Error>) -> Result<(), PayError> {
    match answer {
        Err(Error::InvalidKey { .. }) => Ok(()),
        other => Err(super::owners::failed(format!("{other:?}").into())),
    }
}

/// A final error says that nothing is in doubt; one that idem has made is never taken for it.
async fn a_final_error_is_recorded<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    let call = |key| idem.once(SCOPE, key).record_err(|error| !matches!(error, Failure::Busy)).lease(LONG);
    for _ in 0..2 {
        let declined: Result<i64, _> = call("declined")
            .run(async |mut attempt| {
                attempt.external("bank.send").await?;
                Err(Failure::SoldOut)
            })
            .await;
        answer!(declined, Err(Failure::SoldOut));
    }
    ensure!(record(&db, "declined").await?.starts_with("3 1"), "{}", record(&db, "declined").await?);
    let told: Result<i64, _> = call("told")
        .run(async |mut attempt| {
            attempt.external("bank.send").await?;
            attempt.external("").await.map(|_| 1).map_err(|error| Failure::Told(error.to_string()))
        })
        .await;
    answer!(told, Err(Failure::Told(_)));
    recorded(&db, "told", "4 1 [\"bank.send\"]").await?;
    Ok(())
}

/// The effect outside has happened: a body that ran again would do it twice.
async fn i41_a_result_that_cannot_be_stored_leaves_the_call_in_doubt<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = Idem::builder(db.pool(2)?).result_limit(100).build().await?;
    idem.migrate().await?;
    for (key, result) in [("odd", vec![f64::NAN]), ("large", vec![0.5; 100])] {
        let call = || idem.once(SCOPE, key).lease(LONG);
        let body = async |mut attempt: Attempt<'_, DB>| {
            attempt.external("bank.send").await?;
            Ok::<_, PayError>(result.clone())
        };
        let answer = call().run(body).await;
        let is_told = match &answer {
            Err(PayError::Idem(Error::Unencodable { .. })) => key == "odd",
            Err(PayError::Idem(Error::ResultTooLarge { limit: 100, .. })) => key == "large",
            _ => false,
        };
        ensure!(is_told, "{key}: {answer:?}");
        recorded(&db, key, "4 1 [\"bank.send\"]").await?;
        let next = call().run(async |_| Ok::<Vec<f64>, PayError>(Vec::new())).await;
        answer!(next, Err(PayError::Idem(Error::Indeterminate)));
    }
    Ok(())
}

async fn i76_a_panic_or_a_dropped_future<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    for (key, begins, left) in [("panic", false, ""), ("panic begun", true, "4 1 [\"bank.send\"]")] {
        let idem = idem.clone();
        let panicked = tokio::spawn(async move {
            let call = idem.once(SCOPE, key).lease(LONG);
            let answer: Sent = call
                .run(async |mut attempt| {
                    if begins {
                        attempt.external("bank.send").await?;
                    }
                    panic!("a test's body panics")
                })
                .await;
            answer.is_ok()
        });
        ensure!(panicked.await.is_err(), "{key}: it panics");
        until_recorded(&db, key, left).await?;
    }
    for (key, begins, left) in [("drop", false, ""), ("drop begun", true, "4 1 [\"bank.send\"]")] {
        let gate = Gate::closed();
        let at = gate.clone();
        let call = idem.once(SCOPE, key).lease(LONG).run(async move |mut attempt| {
            if begins {
                attempt.external("bank.send").await?;
            }
            at.pass().await;
            Ok::<i64, PayError>(1)
        });
        let mut call = Box::pin(call);
        tokio::select! {
            answer = &mut call => return Err(format!("{key}: {answer:?}").into()),
            arrived = gate.arrival() => arrived?,
        }
        ensure!((&mut call).now_or_never().is_none(), "it waits");
        drop(call);
        // Whoever comes next waits in this process until the key is let go.
        let next: Sent = idem.once(SCOPE, key).lease(LONG).run(async |_| Ok(2)).await;
        match next {
            Ok(2) if !begins => {}
            Err(PayError::Idem(Error::Indeterminate)) if begins => recorded(&db, key, left).await?,
            other => return Err(format!("{key}: {other:?}").into()),
        }
    }
    Ok(())
}

/// What a task of its own does has to be there soon.
pub(super) async fn until_recorded<DB: Engine>(db: &TestDb<DB>, key: &str, expected: &str) -> TestResult {
    let end = tokio::time::Instant::now() + Duration::from_secs(20);
    while record(db, key).await? != expected && tokio::time::Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    recorded(db, key, expected).await
}

async fn names_of_steps<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    let steps: Vec<String> = idem
        .once(SCOPE, "k")
        .lease(LONG)
        .run(async |mut attempt| {
            for name in ["", "  ", "tx", &"n".repeat(101)] {
                let refused = attempt.external(name).await;
                if !matches!(refused, Err(Error::InvalidKey { .. })) {
                    return Err(PayError::Refused);
                }
            }
            let mut keys = Vec::new();
            for name in ["支付 'a' \"b\" \\", "second", "second", &"n".repeat(100)] {
                keys.push(attempt.external(name).await?.to_string());
            }
            if keys[1] != keys[2] || keys[0] == keys[1] || keys.iter().any(|key| key.len() != 32) {
                return Err(PayError::Refused);
            }
            Ok(attempt.begun())
        })
        .await?;
    ensure!(steps == ["支付 'a' \"b\" \\", "second", &"n".repeat(100)], "{steps:?}");
    Ok(())
}

async fn the_lifetimes_of_a_leased_call<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    let call = || idem.once(SCOPE, "k").retain_result(Duration::from_hours(1)).lease(LONG);
    let first: Sent = call().run(async |_| Ok(1)).await;
    answer!(first, Ok(1));
    let expire = "UPDATE idem_record SET result_until = '2026-01-01'";
    ensure!(db.execute(expire).await? == 1, "the result has an end");
    let next: Sent = call().run(async |_| Ok(2)).await;
    answer!(next, Err(PayError::Idem(Error::Gone)));
    Ok(())
}

async fn what_lookup_says_of_a_leased_call<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (idem, other, mut found) = (db.idem(2).await?, db.idem(1).await?, Vec::new());
    let sent: Sent = idem
        .once(SCOPE, "k")
        .lease(LONG)
        .run(async |mut attempt| {
            for idem in [&idem, &other] {
                found.push(idem.lookup::<i64>(SCOPE, "k").await?);
            }
            attempt.external("bank.send").await?;
            for idem in [&idem, &other] {
                found.push(idem.lookup::<i64>(SCOPE, "k").await?);
            }
            Err(PayError::Refused)
        })
        .await;
    answer!(sent, Err(PayError::Refused));
    ensure!(found.len() == 4 && found.iter().all(|it| matches!(it, Lookup::InProgress)), "{found:?}");
    answer!(idem.lookup::<i64>(SCOPE, "k").await, Ok(Lookup::InDoubt));
    super::abandoned(&db, "abandoned", &[]).await?;
    answer!(idem.lookup::<i64>(SCOPE, "abandoned").await, Ok(Lookup::InProgress));
    Ok(())
}
