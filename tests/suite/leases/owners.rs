//! Whose a call is: an owner that was thought dead changes nothing of its successor's, and a lease goes on while it lives.

use std::time::Duration;

use idem_runtime::prelude::*;
use sqlx::{MySql, Postgres};

use super::bank::{Bank, Sent};
use super::{LONG, SCOPE, expire, key_column, record, recorded};
use crate::acts::{Gate, create_tables, effect, effects};
use crate::answers::answer;
use crate::settle::PayError;
use crate::support::{BoxError, Engine, Suite, TestDb, TestResult, ensure, on_engines, on_every_engine};

pub(super) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            i4_a_stale_owner_keeps_nothing,
            i4_another_tenants_record_is_not_touched,
            a_stale_owner_makes_no_outside_call,
            a_stale_owner_that_fails_frees_nothing,
            a_lease_goes_on_while_its_body_runs,
            many_leases_are_renewed_beside_a_locked_one,
            a_lease_ends_with_its_call,
            the_leases_of_one_engine_after_another_are_renewed,
            a_lease_that_is_anothers_is_not_renewed,
            a_body_that_holds_a_transaction_is_told,
        ]
    );
    on_engines!(suite, [Postgres, MySql], "SQLite has one writer at a time", [a_successor_waits_for_a_commit]);
}

/// A's lease is over in the middle of its body; B takes over and ends the call. Nothing of A is left, and A is told.
async fn i4_a_stale_owner_keeps_nothing<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (first, second) = (db.idem(2).await?, db.idem(2).await?);
    create_tables(&db).await?;
    let answer: Sent = first
        .once(SCOPE, "k")
        .payload(&1_i64)
        .lease(LONG)
        .run(async |mut attempt| {
            expire(&db, "k").await.map_err(failed)?;
            let successor: i64 = second
                .once(SCOPE, "k")
                .payload(&1_i64)
                .lease(LONG)
                .run(async |mut attempt| {
                    let mut tx = attempt.tx().await?;
                    effect(&mut tx, "second").await?;
                    tx.commit().await?;
                    Ok::<_, PayError>(i64::try_from(attempt.number()).unwrap_or_default())
                })
                .await?;
            if successor != 2 {
                return Err(failed(format!("attempt {successor}").into()));
            }
            let mut tx = attempt.tx().await?;
            effect(&mut tx, "first").await?;
            match tx.commit().await {
                Err(Error::StaleOwner) => Ok(1),
                other => Err(failed(format!("{other:?}").into())),
            }
        })
        .await;
    answer!(answer, Err(PayError::Idem(ref error @ Error::StaleOwner)) if error.is_retryable());
    ensure!(effects(&db).await? == "second", "{}", effects(&db).await?);
    for idem in [&first, &second] {
        let replay: Sent = idem.once(SCOPE, "k").payload(&1_i64).lease(LONG).run(async |_| Ok(9)).await;
        answer!(replay, Ok(2));
    }
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
pub(super) fn failed(error: BoxError) -> PayError {
    PayError::Sql(sqlx::Error::Protocol(error.to_string()))
}

/// The key was freed while the first tenant's call was at it, and another one has it by now, for a payload of its own.
async fn i4_another_tenants_record_is_not_touched<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (first, second) = (db.idem(2).await?, db.idem(2).await?);
    create_tables(&db).await?;
    for (key, is_done) in [("running", false), ("done", true)] {
        let gate = Gate::closed();
        let (theirs, at) = (second.clone(), gate.clone());
        let next: tokio::task::JoinHandle<Sent>;
        let (mut attempts, freed) =
            (Vec::new(), format!("DELETE FROM idem_record WHERE {} = '{key}'", key_column::<DB>()));
        let first_answer: Sent = {
            let call = first.once(SCOPE, key).payload(&"tenant 1").lease(LONG);
            let (spawned, answer) = {
                let mut handle = None;
                let answer = call
                    .run(async |mut attempt| {
                        attempts.push(attempt.number());
                        db.execute(freed).await.map_err(failed)?;
                        let second = tokio::spawn(async move {
                            let call = theirs.once(SCOPE, key).payload(&"tenant 2").lease(LONG);
                            call.run(async |_| {
                                if !is_done {
                                    at.pass().await;
                                }
                                Ok::<_, PayError>(2)
                            })
                            .await
                        });
                        if is_done {
                            let answer = second.await.map_err(|error| failed(error.into()))?;
                            handle = Some(tokio::spawn(async move { answer }));
                        } else {
                            handle = Some(second);
                            gate.arrival().await.map_err(failed)?;
                        }
                        let mut tx = attempt.tx().await?;
                        effect(&mut tx, "first").await?;
                        answer_is_stale(tx.commit().await)?;
                        answer_is_stale(attempt.external("bank.send").await)?;
                        Ok(1)
                    })
                    .await;
                (handle, answer)
            };
            next = spawned.ok_or("the second call has begun")?;
            answer
        };
        answer!(first_answer, Err(PayError::Idem(Error::StaleOwner)));
        let status = if is_done { "2 1" } else { "1 1 leased" };
        ensure!(record(&db, key).await?.starts_with(status), "{key}: {}", record(&db, key).await?);
        gate.open();
        answer!(next.await?, Ok(2));
        let replay: Sent = first.once(SCOPE, key).payload(&"tenant 2").lease(LONG).run(async |_| Ok(9)).await;
        answer!(replay, Ok(2));
        let other: Sent = first.once(SCOPE, key).payload(&"tenant 1").lease(LONG).run(async |_| Ok(9)).await;
        answer!(other, Err(PayError::Idem(Error::Mismatch)));
    }
    ensure!(effects(&db).await?.is_empty(), "{}", effects(&db).await?);
    Ok(())
}

pub(super) fn answer_is_stale<T: std::fmt::Debug>(answer: Result<T, Error>) -> Result<(), PayError> {
    match answer {
        Err(Error::StaleOwner) => Ok(()),
        other => Err(failed(format!("{other:?}").into())),
    }
}

async fn a_stale_owner_makes_no_outside_call<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (idem, bank) = (db.idem(2).await?, Bank::default());
    let answer: Sent = idem
        .once(SCOPE, "k")
        .lease(LONG)
        .run(async |mut attempt| {
            take_away(&db, "k").await.map_err(failed)?;
            let key = attempt.external("bank.send").await?;
            bank.send(&key);
            Ok(1)
        })
        .await;
    answer!(answer, Err(PayError::Idem(Error::StaleOwner)));
    ensure!(bank.requests().is_empty(), "{bank:?}");
    recorded(&db, "k", "1 1 leased").await
}

/// As another process does that takes a call over.
pub(super) async fn take_away<DB: Engine>(db: &TestDb<DB>, key: &str) -> TestResult {
    let update = format!("UPDATE idem_record SET owner = 'another' WHERE {} = '{key}'", key_column::<DB>());
    ensure!(db.execute(update).await? == 1, "there is a record");
    Ok(())
}

async fn a_stale_owner_that_fails_frees_nothing<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    for (key, begins, left) in [("begun", true, "4 1 [\"bank.send\"] leased"), ("nothing", false, "1 1 leased")] {
        let answer: Sent = idem
            .once(SCOPE, key)
            .lease(LONG)
            .run(async |mut attempt| {
                if begins {
                    attempt.external("bank.send").await?;
                }
                take_away(&db, key).await.map_err(failed)?;
                Err(PayError::Refused)
            })
            .await;
        answer!(answer, Err(PayError::Refused));
        recorded(&db, key, left).await?;
    }
    Ok(())
}

/// The moment at which a lease is over, as the database writes it.
async fn lease_until<DB: Engine>(db: &TestDb<DB>, key: &str) -> Result<String, BoxError> {
    let select = "SELECT CAST(lease_until AS CHAR(40)) FROM idem_record WHERE";
    db.text(format!("{select} {} = '{key}'", key_column::<DB>())).await
}

/// Waits until the lease of a record was renewed so often.
pub(super) async fn until_renewed<DB: Engine>(db: &TestDb<DB>, key: &str, times: usize) -> TestResult {
    let renewed = async {
        for _ in 0..times {
            let before = lease_until(db, key).await?;
            while lease_until(db, key).await? == before {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        TestResult::Ok(())
    };
    tokio::time::timeout(Duration::from_mins(1), renewed).await.map_err(|_| "nobody renews the lease")?
}

/// Longer than its lease, while it holds every connection of its pool; and nobody takes it over meanwhile.
async fn a_lease_goes_on_while_its_body_runs<DB: Engine>(db: TestDb<DB>) -> TestResult {
    const SHORT: Duration = Duration::from_secs(2);
    let (idem, other) = (db.idem(1).await?, db.idem(1).await?);
    let answer: Sent = idem
        .once(SCOPE, "k")
        .wait(Duration::ZERO)
        .lease(SHORT)
        .run(async |_| {
            let began_at = tokio::time::Instant::now();
            let held = idem.pool().acquire().await?;
            while began_at.elapsed() < 2 * SHORT {
                until_renewed(&db, "k", 1).await.map_err(failed)?;
                let next: Sent = other.once(SCOPE, "k").wait(Duration::ZERO).lease(SHORT).run(async |_| Ok(2)).await;
                if !matches!(next, Err(PayError::Idem(Error::InProgress { .. }))) {
                    return Err(failed(format!("{next:?}").into()));
                }
            }
            drop(held);
            Ok(1)
        })
        .await;
    answer!(answer, Ok(1));
    Ok(())
}

/// One record is locked by somebody for good; the others keep their leases.
async fn many_leases_are_renewed_beside_a_locked_one<DB: Engine>(db: TestDb<DB>) -> TestResult {
    const SHORT: Duration = Duration::from_secs(2);
    let idem = db.idem(4).await?;
    let gate = Gate::closed();
    let calls: Vec<_> = (0..20)
        .map(|number| {
            let (idem, gate) = (idem.clone(), gate.clone());
            tokio::spawn(async move {
                let call = idem.once(SCOPE, &number).lease(SHORT);
                let body = async |_| {
                    gate.pass().await;
                    Ok::<_, PayError>(number)
                };
                call.run(body).await
            })
        })
        .collect();
    for _ in 0..20 {
        gate.arrival().await?;
    }
    if DB::DIALECT != Dialect::Sqlite {
        let mut locker = idem.begin().await?;
        let lock = format!(
            "UPDATE idem_record SET updated_at = NULL WHERE scope = '{SCOPE}' AND {} = '7'",
            key_column::<DB>()
        );
        crate::acts::run(&mut locker, lock).await?;
        for key in ["0", "6", "8", "19"] {
            until_renewed(&db, key, 2).await?;
        }
        locker.rollback().await?;
    }
    for key in ["0", "7", "19"] {
        until_renewed(&db, key, 2).await?;
    }
    gate.open();
    for (number, call) in calls.into_iter().enumerate() {
        answer!(call.await?, Ok(result) if usize::try_from(result)? == number);
    }
    Ok(())
}

/// A renewal that was on its way does not let a call live on that has failed.
async fn a_lease_ends_with_its_call<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    for number in 0..200 {
        // Renewed as often as may be.
        let call = idem.once(SCOPE, &number).lease(Duration::from_millis(30));
        let answer: Sent = call
            .run(async |mut attempt| {
                attempt.external("bank.send").await?;
                tokio::task::yield_now().await;
                Err(PayError::Refused)
            })
            .await;
        answer!(answer, Err(PayError::Refused));
        recorded(&db, &number.to_string(), "4 1 [\"bank.send\"]").await?;
    }
    Ok(())
}

/// The task that renews them ends when it wakes and finds none; the next lease begins another one.
async fn the_leases_of_one_engine_after_another_are_renewed<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    for number in 0..5 {
        // It wakes as often as may be, and at least once before the next lease.
        let call = idem.once(SCOPE, &number).lease(Duration::from_millis(30));
        answer!(call.run(async |_| Ok::<_, PayError>(number)).await, Ok(result) if result == number);
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    let call = idem.once(SCOPE, "last").lease(Duration::from_secs(2));
    let sent: Sent = call
        .run(async |_| {
            until_renewed(&db, "last", 1).await.map_err(failed)?;
            Ok(1)
        })
        .await;
    answer!(sent, Ok(1));
    Ok(())
}

/// A renewal is about one owner: a record that is another's by now is over when the other one says.
async fn a_lease_that_is_anothers_is_not_renewed<DB: Engine>(db: TestDb<DB>) -> TestResult {
    const SHORT: Duration = Duration::from_secs(1);
    let idem = db.idem(2).await?;
    let beside = idem.once(SCOPE, "ours").lease(SHORT);
    let stale: Sent = idem
        .once(SCOPE, "of another")
        .lease(SHORT)
        .run(async |_| {
            // Its attempt goes on, and with it what it takes for its lease.
            let body = async |_| {
                let update = "UPDATE idem_record SET owner = 'another', lease_until = '2026-01-01'";
                let update = format!("{update} WHERE {} <> 'ours'", key_column::<DB>());
                db.execute(update).await.map_err(failed)?;
                let before = lease_until(&db, "of another").await.map_err(failed)?;
                until_renewed(&db, "ours", 3).await.map_err(failed)?;
                let after = lease_until(&db, "of another").await.map_err(failed)?;
                if after == before { Ok(1) } else { Err(failed(format!("{after}, not {before}").into())) }
            };
            beside.run(body).await
        })
        .await;
    answer!(stale, Err(PayError::Idem(Error::StaleOwner)));
    Ok(())
}

/// What would wait for itself is an error at once.
async fn a_body_that_holds_a_transaction_is_told<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    let answer: Sent = idem
        .once(SCOPE, "k")
        .lease(LONG)
        .run(async |mut attempt| {
            // Without a transaction it may.
            let inner: i64 = idem.once(SCOPE, "inner").lease(LONG).run(async |_| Ok::<_, PayError>(1)).await?;
            let tx = attempt.tx().await?;
            let nested: Sent = idem.once(SCOPE, "nested").lease(LONG).run(async |_| Ok(1)).await;
            let plain: Sent = idem.once(SCOPE, "plain").run(async |_| Ok(1)).await;
            for answer in [nested, plain] {
                if !matches!(answer, Err(PayError::Idem(Error::SecondConnection))) {
                    return Err(failed(format!("{answer:?}").into()));
                }
            }
            tx.rollback().await?;
            let after: i64 = idem.once(SCOPE, "after").run(async |_| Ok::<_, PayError>(1)).await?;
            Ok(inner + after)
        })
        .await;
    answer!(answer, Ok(2));
    let inside: Sent = idem
        .once(SCOPE, "outer")
        .run(async |_| idem.once(SCOPE, "leased").lease(LONG).run(async |_| Ok::<_, PayError>(1)).await)
        .await;
    answer!(inside, Err(PayError::Idem(Error::SecondConnection)));
    Ok(())
}

/// The fence holds the record until the commit: whoever takes over then finds a call in doubt, and not one that did nothing.
async fn a_successor_waits_for_a_commit<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (first, second) = (db.idem(2).await?, db.idem(2).await?);
    create_tables(&db).await?;
    super::abandoned(&db, "k", &[]).await?;
    let mut fence = first.begin().await?;
    let mark = format!("UPDATE idem_record SET status = 4, begun = '[\"tx\"]' WHERE {} = 'k'", key_column::<DB>());
    crate::acts::run(&mut fence, mark).await?;
    let next = tokio::spawn(async move {
        let call = second.once(SCOPE, "k").payload(&1_i64).wait(Duration::from_mins(1)).lease(LONG);
        call.run(async |_| Ok::<i64, PayError>(2)).await
    });
    crate::acts::until_waiting(&db, 1).await?;
    fence.commit().await?;
    answer!(next.await?, Err(PayError::Idem(Error::Indeterminate)));
    recorded(&db, "k", "4 1 [\"tx\"]").await
}
