//! Who goes on with a call whose attempt is not heard of any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use idem_runtime::prelude::*;
use sqlx::{MySql, Postgres};

use super::bank::{Bank, Sent};
use super::owners::failed;
use super::{LONG, SCOPE, abandoned, key_column, record, recorded};
use crate::acts::{Gate, run, until_waiting};
use crate::answers::answer;
use crate::joining::first_and_joined;
use crate::settle::PayError;
use crate::support::{Engine, Suite, TASKS, TestDb, TestResult, ensure, on_engines, on_every_engine, release_together};

pub(super) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            i6_i9_one_of_many_takes_over,
            i37_another_payload_never_goes_on,
            i7_a_lease_of_nothing_is_over,
            i2_a_lease_is_never_null,
            a_call_in_doubt_is_held,
            a_call_in_doubt_is_taken_over_when_the_key_is_honoured,
            a_probe_settles_or_releases,
            one_of_many_probes,
            a_probe_goes_on_where_an_attempt_has_stopped,
            the_record_of_a_transaction_is_never_taken_over,
            another_process_is_waited_for,
            one_lease_for_a_thousand_duplicates,
            whoever_has_joined_asks_nobody,
        ]
    );
    on_engines!(
        suite,
        [Postgres, MySql],
        "a writer of SQLite's is not paused in its statement",
        [i1_a_takeover_that_was_overtaken_misses]
    );
}

/// Whatever the owner is called: only the lease says whether it lives.
async fn i6_i9_one_of_many_takes_over<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let processes = [db.idem(8).await?, db.idem(8).await?];
    for round in 0..10 {
        let key = format!("{round}");
        abandoned(&db, &key, &[]).await?;
        let ran = Arc::new(AtomicUsize::new(0));
        let answers = release_together(|task| {
            let (idem, ran, key) = (processes[task % 2].clone(), Arc::clone(&ran), key.clone());
            async move {
                let call = idem.once(SCOPE, &key).payload(&1_i64).wait(Duration::from_mins(1)).lease(LONG);
                let body = async |attempt: Attempt<'_, DB>| {
                    ran.fetch_add(1, Ordering::SeqCst);
                    Ok::<_, PayError>(attempt.number())
                };
                call.run(body).await
            }
        });
        for answer in answers.await? {
            answer!(answer, Ok(2));
        }
        let ran = ran.load(Ordering::SeqCst);
        ensure!(ran == 1, "{ran} of {TASKS} ran");
    }
    Ok(())
}

/// In whatever status the record is, its fingerprint is compared first, and stays what it was.
async fn i37_another_payload_never_goes_on<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (idem, other) = (db.idem(4).await?, db.idem(2).await?);
    abandoned(&db, "over", &[]).await?;
    abandoned(&db, "in doubt", &["bank.send"]).await?;
    let failed = idem.once(SCOPE, "failed").payload(&1_i64).record_err(|_: &crate::failures::Failure| true);
    answer!(failed.run(async |_| Err::<i64, _>(crate::failures::Failure::SoldOut)).await, Err(_));
    let gate = Gate::closed();
    let (running, at) = (idem.clone(), gate.clone());
    let running = tokio::spawn(async move {
        let call = running.once(SCOPE, "running").payload(&1_i64).lease(LONG);
        call.run(async |_| {
            at.pass().await;
            Ok::<i64, PayError>(1)
        })
        .await
    });
    gate.arrival().await?;
    for key in ["over", "in doubt", "failed", "running"] {
        let before = (record(&db, key).await?, fingerprints(&db).await?);
        let call = other.once(SCOPE, key).payload(&2_i64).lease(LONG).take_over();
        answer!(call.run(async |_| Ok::<i64, PayError>(2)).await, Err(PayError::Idem(Error::Mismatch)));
        ensure!((record(&db, key).await?, fingerprints(&db).await?) == before, "{key} was changed");
    }
    gate.open();
    answer!(running.await?, Ok(1));
    Ok(())
}

async fn fingerprints<DB: Engine>(db: &TestDb<DB>) -> Result<Vec<Vec<String>>, crate::support::BoxError> {
    db.rows(format!("SELECT fingerprint FROM idem_record ORDER BY {}", key_column::<DB>())).await
}

/// B has read that the lease is over, and pauses before it takes over; A ends meanwhile. B misses, and gives A's result.
async fn i1_a_takeover_that_was_overtaken_misses<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (first, second) = (db.idem(2).await?, db.idem(2).await?);
    abandoned(&db, "k", &[]).await?;
    // A is at its last statement: the record is locked, and committed as it was.
    let mut last = first.begin().await?;
    let complete = "UPDATE idem_record SET status = 2, result = '7', completed_at = '2026-01-01'";
    run(&mut last, format!("{complete} WHERE {} = 'k'", key_column::<DB>())).await?;
    let ran = Arc::new(AtomicUsize::new(0));
    let bodies = Arc::clone(&ran);
    let next = tokio::spawn(async move {
        let call = second.once(SCOPE, "k").payload(&1_i64).wait(Duration::from_mins(1)).lease(LONG);
        let body = async |_| {
            bodies.fetch_add(1, Ordering::SeqCst);
            Ok::<i64, PayError>(9)
        };
        call.run(body).await
    });
    until_waiting(&db, 1).await?;
    last.commit().await?;
    answer!(next.await?, Ok(7));
    ensure!(ran.load(Ordering::SeqCst) == 0, "B ran");
    Ok(())
}

/// A time left of zero is a lease that is over, not none: the next call goes on.
async fn i7_a_lease_of_nothing_is_over<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (idem, other) = (db.idem(2).await?, db.idem(2).await?);
    for (key, lease) in [
        ("zero", Duration::ZERO),
        ("a part of a millisecond", Duration::from_micros(1)),
        ("one", Duration::from_millis(1)),
    ] {
        let call = idem.once(SCOPE, key).lease(lease);
        let answer: Sent = call
            .run(async |_| {
                let until = format!(
                    "SELECT COUNT(*) FROM idem_record WHERE lease_until IS NOT NULL AND {}",
                    key_column::<DB>()
                );
                if db.integer(format!("{until} = '{key}'")).await.map_err(failed)? != 1 {
                    return Err(PayError::Refused);
                }
                // The next one waits until it is over, if it is not yet.
                let call = other.once(SCOPE, key).lease(LONG);
                call.run(async |attempt| Ok(i64::try_from(attempt.number()).unwrap_or_default())).await
            })
            .await;
        answer!(answer, Err(PayError::Idem(Error::StaleOwner)));
        answer!(idem.once(SCOPE, key).lease(LONG).run(async |_| Ok::<i64, PayError>(9)).await, Ok(2));
    }
    Ok(())
}

async fn i2_a_lease_is_never_null<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    abandoned(&db, "k", &[]).await?;
    let null = db.execute("UPDATE idem_record SET lease_until = NULL").await;
    ensure!(null.is_err(), "a record without a lease");
    // Should somebody have taken the constraint away, it is nobody's to take over.
    let drop = match DB::DIALECT {
        Dialect::Postgres => "ALTER TABLE idem_record ALTER COLUMN lease_until DROP NOT NULL",
        Dialect::MySql => "ALTER TABLE idem_record MODIFY lease_until DATETIME(6)",
        Dialect::Sqlite => return Ok(()),
    };
    db.execute(drop).await?;
    db.execute("UPDATE idem_record SET lease_until = NULL").await?;
    let call = idem.once(SCOPE, "k").payload(&1_i64).wait(Duration::ZERO).lease(LONG);
    answer!(call.run(async |_| Ok::<i64, PayError>(9)).await, Err(PayError::Idem(Error::InProgress { .. })));
    Ok(())
}

async fn a_call_in_doubt_is_held<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    abandoned(&db, "k", &["bank.send"]).await?;
    for _ in 0..3 {
        let call = idem.once(SCOPE, "k").payload(&1_i64).lease(LONG);
        answer!(call.run(async |_| Ok::<i64, PayError>(9)).await, Err(PayError::Idem(Error::Indeterminate)));
    }
    recorded(&db, "k", "4 1 [\"bank.send\"]").await
}

/// Each attempt sends the same key, and another one for each step.
async fn a_call_in_doubt_is_taken_over_when_the_key_is_honoured<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (idem, bank) = (db.idem(2).await?, Bank::default());
    let call = || idem.once(SCOPE, "k").payload(&1_i64).lease(LONG).take_over();
    for fails in [true, true, false, false] {
        let answer: Sent = call()
            .run(async |mut attempt| {
                let number = i64::try_from(attempt.number()).unwrap_or_default();
                for step in ["bank.send", "bank.confirm"] {
                    bank.send(&attempt.external(step).await?);
                    if fails && number == 1 {
                        return Err(PayError::Refused);
                    }
                }
                if fails { Err(PayError::Refused) } else { Ok(number) }
            })
            .await;
        match answer {
            Err(PayError::Refused) if fails => {}
            Ok(3) if !fails => {}
            other => return Err(format!("{other:?}").into()),
        }
    }
    ensure!(bank.requests().len() == 5 && bank.effects() == 2, "{bank:?}");
    Ok(())
}

async fn a_probe_settles_or_releases<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    for (key, found, answer, left) in [
        ("done", Ok(Probe::Done(7)), "Ok(7)", "2 2"),
        ("absent", Ok(Probe::Absent), "Ok(9)", "2 2"),
        ("unknown", Ok(Probe::Unknown), "Err(Idem(Indeterminate))", "4 2 [\"bank.send\"]"),
        ("error", Err(PayError::Refused), "Err(Refused)", "4 2 [\"bank.send\"]"),
    ] {
        abandoned(&db, key, &["bank.send"]).await?;
        let mut seen = String::new();
        let call = idem.once(SCOPE, key).payload(&1_i64).lease(LONG);
        let given: Sent = call
            .run_or_probe(
                async |attempt| {
                    seen = format!("{} {:?}", record(&db, key).await.map_err(failed)?, attempt.begun());
                    found
                },
                async |attempt| {
                    if !attempt.begun().is_empty() || record(&db, key).await.map_err(failed)? != "1 2 leased" {
                        return Err(failed(format!("{attempt:?}").into()));
                    }
                    Ok(9)
                },
            )
            .await;
        ensure!(format!("{given:?}") == answer, "{key}: {given:?}");
        // Under a claim of its own, and in doubt all the while.
        ensure!(seen == "4 2 [\"bank.send\"] leased [\"bank.send\"]", "{key}: {seen}");
        ensure!(record(&db, key).await?.starts_with(left), "{key}: {}", record(&db, key).await?);
    }
    // Whoever comes next asks again at once.
    for key in ["unknown", "error"] {
        recorded(&db, key, "4 2 [\"bank.send\"]").await?;
    }
    // Nothing had begun: there is nothing to ask.
    abandoned(&db, "nothing", &[]).await?;
    let call = idem.once(SCOPE, "nothing").payload(&1_i64).lease(LONG);
    let given = call.run_or_probe(async |_| Err(PayError::Refused), async |_| Ok(9)).await;
    answer!(given, Ok(9));
    Ok(())
}

async fn one_of_many_probes<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let processes = [db.idem(8).await?, db.idem(8).await?];
    abandoned(&db, "k", &["bank.send"]).await?;
    let probes = Arc::new(AtomicUsize::new(0));
    let answers = release_together(|task| {
        let (idem, probes) = (processes[task % 2].clone(), Arc::clone(&probes));
        async move {
            let call = idem.once(SCOPE, "k").payload(&1_i64).wait(Duration::from_mins(1)).lease(LONG);
            let probe = async |_| {
                probes.fetch_add(1, Ordering::SeqCst);
                Ok(Probe::Done(7))
            };
            call.run_or_probe(probe, async |_| Err::<i64, _>(PayError::Refused)).await
        }
    });
    for answer in answers.await? {
        answer!(answer, Ok(7));
    }
    let probes = probes.load(Ordering::SeqCst);
    ensure!(probes == 1, "{probes} probes");
    Ok(())
}

/// Of two steps the first is done, and the second has not begun: a probe can go on with it.
async fn a_probe_goes_on_where_an_attempt_has_stopped<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (idem, bank) = (db.idem(2).await?, Bank::default());
    abandoned(&db, "k", &["bank.send"]).await?;
    let call = idem.once(SCOPE, "k").payload(&1_i64).lease(LONG);
    let probe = async |mut attempt: Attempt<'_, DB>| {
        if attempt.begun() == ["bank.send"] {
            bank.send(&attempt.external("mail.send").await?);
        }
        Ok(Probe::Done(7))
    };
    answer!(call.run_or_probe(probe, async |_| Err(PayError::Refused)).await, Ok(7));
    ensure!(bank.requests().len() == 1, "{bank:?}");
    Ok(())
}

/// What a transaction's body has committed before its time may be half of an effect.
async fn the_record_of_a_transaction_is_never_taken_over<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    for (key, begun) in [("in progress", &[][..]), ("in doubt", &["bank.send"])] {
        abandoned(&db, key, begun).await?;
        db.execute("UPDATE idem_record SET attempt = 0, begun = NULL").await?;
        let call = idem.once(SCOPE, key).payload(&1_i64).lease(LONG).take_over();
        answer!(call.run(async |_| Ok::<i64, PayError>(9)).await, Err(PayError::Idem(Error::Indeterminate)));
    }
    Ok(())
}

/// A duplicate elsewhere holds no connection while it waits, and has the result once it is there.
async fn another_process_is_waited_for<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (first, second) = (db.idem(2).await?, db.idem(1).await?);
    let gate = Gate::closed();
    let at = gate.clone();
    let running = tokio::spawn(async move {
        let call = first.once(SCOPE, "k").payload(&1_i64).lease(LONG);
        call.run(async |_| {
            at.pass().await;
            Ok::<i64, PayError>(1)
        })
        .await
    });
    gate.arrival().await?;
    let hasty = second.once(SCOPE, "k").payload(&1_i64).wait(Duration::ZERO).lease(LONG);
    answer!(hasty.run(async |_| Ok::<i64, PayError>(9)).await, Err(PayError::Idem(Error::InProgress { .. })));
    let waits = second.clone();
    let patient = tokio::spawn(async move {
        let call = waits.once(SCOPE, "k").payload(&1_i64).wait(Duration::from_mins(1)).lease(LONG);
        call.run(async |_| Ok::<i64, PayError>(9)).await
    });
    // The pool's only connection is free again and again while it waits.
    for _ in 0..5 {
        drop(second.pool().acquire().await?);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    ensure!(!patient.is_finished(), "it waits");
    gate.open();
    answer!(running.await?, Ok(1));
    answer!(patient.await?, Ok(1));
    Ok(())
}

async fn one_lease_for_a_thousand_duplicates<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    let ran = AtomicUsize::new(0);
    let calls = (0..1_000).map(|_| {
        let call = idem.once(SCOPE, "k").payload(&1_i64).wait(Duration::from_mins(1)).lease(LONG);
        call.run(async |mut attempt| {
            ran.fetch_add(1, Ordering::SeqCst);
            attempt.external("bank.send").await?;
            Ok::<i64, PayError>(1)
        })
    });
    for answer in futures_util::future::join_all(calls).await {
        answer!(answer, Ok(1));
    }
    ensure!(ran.load(Ordering::SeqCst) == 1, "{ran:?} ran");
    Ok(())
}

/// It hears how the call has ended, or what it has found.
async fn whoever_has_joined_asks_nobody<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    let call = || {
        let call = idem.once(SCOPE, "k").payload(&1_i64).wait(Duration::from_mins(1)).lease(LONG);
        call.run(async |_| Ok::<i64, PayError>(1))
    };
    for _ in 0..2 {
        let (first, joined) = first_and_joined(&idem, call(), call()).await?;
        answer!(first, Ok(1));
        answer!(joined, Ok(1));
    }
    Ok(())
}
