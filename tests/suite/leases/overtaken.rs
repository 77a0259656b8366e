//! What has changed since it was seen, or was ended, or is another's by now: whoever comes too late changes nothing.

use std::time::Duration;

use futures_util::FutureExt as _;
use idem_runtime::prelude::*;
use sqlx::{MySql, Postgres};
use tokio::sync::oneshot;

use super::bank::Sent;
use super::owners::{answer_is_stale, failed, take_away};
use super::{LONG, SCOPE, abandoned, expire, key_column, record, recorded};
use crate::acts::{create_tables, effect, effects, run, until_waiting};
use crate::answers::answer;
use crate::settle::PayError;
use crate::support::{BoxError, Engine, Suite, TestDb, TestResult, ensure, on_engines, on_every_engine};

pub(super) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            an_attempt_that_outlives_its_call,
            what_has_ended_stays_as_it_is,
            a_call_that_was_let_go_has_no_owner,
            nobody_hears_of_a_stale_owners_result,
        ]
    );
    on_engines!(
        suite,
        [Postgres, MySql],
        "a writer of SQLite's is not paused in its statement",
        [a_takeover_misses_what_was_not_seen, a_fence_is_the_last_statement, a_step_begins_while_its_call_is_let_go]
    );
}

/// The next call has read the record, and takes over what it has read or nothing. Then it reads again.
async fn a_takeover_misses_what_was_not_seen<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (first, second) = (db.idem(2).await?, db.idem(2).await?);
    for (key, change, expected) in [
        ("owner", "owner = 'pid 2', attempt = 7, begun = '[\"a\",\"b\"]'", Some("8 [\"a\", \"b\"]")),
        ("begun", "begun = '[\"a\",\"b\"]'", Some("2 [\"a\", \"b\"]")),
        ("attempt", "attempt = 5", Some("6 [\"a\"]")),
        ("status", "status = 1, attempt = 7, begun = NULL", Some("8 []")),
        ("lease", "lease_until = '2200-01-01'", Some("its owner's")),
        ("of a transaction", "attempt = 0", None),
    ] {
        abandoned(&db, key, &["a"]).await?;
        let mut rival = first.begin().await?;
        run(&mut rival, format!("UPDATE idem_record SET {change} WHERE {} = '{key}'", key_column::<DB>())).await?;
        let next = second.clone();
        let next = tokio::spawn(async move {
            let call = next.once(SCOPE, key).payload(&1_i64).wait(Duration::from_mins(1)).read_first();
            let body = async |attempt: Attempt<'_, DB>| {
                Ok::<_, PayError>(format!("{} {:?}", attempt.number(), attempt.begun()))
            };
            call.lease(LONG).take_over().run(body).await
        });
        until_waiting(&db, 1).await?;
        rival.commit().await?;
        if key == "lease" {
            let ended = "status = 2, result = '\"its owner''s\"', completed_at = '2026-01-01'";
            let ended = format!("UPDATE idem_record SET {ended} WHERE owner = 'pid 1' AND attempt = 1");
            ensure!(db.execute(ended).await? == 1, "taken over before its time");
        }
        match (next.await?, expected) {
            (Ok(found), Some(expected)) if found == expected => {}
            (Err(PayError::Idem(Error::Indeterminate)), None) => {}
            (other, _) => return Err(format!("{key}: {other:?}").into()),
        }
    }
    Ok(())
}

/// While its body works, a transaction keeps nobody from the record: its lease is renewed, and it can be taken away.
async fn a_fence_is_the_last_statement<DB: Engine>(db: TestDb<DB>) -> TestResult {
    const PATIENCE: Duration = Duration::from_secs(20);
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    let answer: Sent = idem
        .once(SCOPE, "k")
        .lease(LONG)
        .run(async |mut attempt| {
            let mut tx = attempt.tx().await?;
            effect(&mut tx, "never").await?;
            let taken_away = tokio::time::timeout(PATIENCE, take_away(&db, "k")).await;
            taken_away.map_err(|_| failed("the record is locked".into()))?.map_err(failed)?;
            answer_is_stale(tx.commit().await)?;
            Ok(1)
        })
        .await;
    answer!(answer, Err(PayError::Idem(Error::StaleOwner)));
    ensure!(effects(&db).await?.is_empty(), "{}", effects(&db).await?);
    Ok(())
}

/// A body can give its attempt to somebody who works on when the call has an answer.
async fn an_attempt_that_outlives_its_call<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    let mut kept = None;
    let call = || idem.once(SCOPE, "k").lease(LONG);
    let sent: Sent = call()
        .run(async |attempt| {
            kept = Some(attempt);
            Ok(1)
        })
        .await;
    answer!(sent, Ok(1));
    let mut attempt = kept.ok_or("the body has run")?;
    answer_is_stale(attempt.external("bank.send").await)?;
    answer_is_stale(attempt.retract("bank.send").await)?;
    let mut tx = attempt.tx().await?;
    effect(&mut tx, "never").await?;
    answer_is_stale(tx.commit().await)?;
    ensure!(effects(&db).await?.is_empty(), "{}", effects(&db).await?);
    ensure!(record(&db, "k").await?.starts_with("2 1"), "{}", record(&db, "k").await?);
    answer!(call().run(async |_| Ok::<i64, PayError>(9)).await, Ok(1));
    Ok(())
}

/// A body has given its attempt to somebody who goes on with it, and fails. What he begins meanwhile he must not do: the key
/// is free.
async fn a_step_begins_while_its_call_is_let_go<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (idem, other) = (db.idem(4).await?, db.idem(1).await?);
    create_tables(&db).await?;
    for commits in [false, true] {
        let (gives_away, given) = oneshot::channel();
        let (has_locked, locked) = oneshot::channel();
        let call = idem.once(SCOPE, "k").lease(LONG).run(async |attempt| {
            let mut rival = other.begin().await?;
            run(&mut rival, "SELECT status FROM idem_record FOR UPDATE").await?;
            let _ = gives_away.send(attempt);
            until_waiting(&db, 1).await.map_err(failed)?;
            let _ = has_locked.send(rival);
            Err::<i64, _>(PayError::Refused)
        });
        let goes_on = async {
            let mut attempt = given.await?;
            if !commits {
                return Ok::<_, BoxError>(attempt.external("bank.send").await.map(drop));
            }
            let mut tx = attempt.tx().await?;
            effect(&mut tx, "never").await?;
            Ok(tx.commit().await)
        };
        let until_both_wait = async {
            let rival = locked.await?;
            until_waiting(&db, 2).await?;
            Ok::<_, BoxError>(rival.rollback().await?)
        };
        let (answer, gone_on, waited) = tokio::join!(call, goes_on, until_both_wait);
        waited?;
        answer!(answer, Err(PayError::Refused));
        answer_is_stale(gone_on?)?;
        recorded(&db, "k", "").await?;
    }
    ensure!(effects(&db).await?.is_empty(), "{}", effects(&db).await?);
    Ok(())
}

/// Somebody has written its result while the body ran, which then fails.
async fn what_has_ended_stays_as_it_is<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    for (key, begins) in [("nothing", false), ("begun", true)] {
        let call = || idem.once(SCOPE, key).lease(LONG);
        let settle = "UPDATE idem_record SET status = 2, result = '7', completed_at = '2026-01-01'";
        let settle = format!("{settle} WHERE {} = '{key}'", key_column::<DB>());
        let refused: Sent = call()
            .run(async |mut attempt| {
                if begins {
                    attempt.external("bank.send").await?;
                }
                db.execute(settle).await.map_err(failed)?;
                Err(PayError::Refused)
            })
            .await;
        answer!(refused, Err(PayError::Refused));
        answer!(call().run(async |_| Ok::<i64, PayError>(9)).await, Ok(7));
    }
    Ok(())
}

/// A renewal that was on its way finds nobody: it would keep others from looking what has become of the call.
async fn a_call_that_was_let_go_has_no_owner<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    let owner = || db.text("SELECT owner FROM idem_record");
    let mut running = String::new();
    let refused: Sent = idem
        .once(SCOPE, "k")
        .lease(LONG)
        .run(async |mut attempt| {
            attempt.external("bank.send").await?;
            running = owner().await.map_err(failed)?;
            Err(PayError::Refused)
        })
        .await;
    answer!(refused, Err(PayError::Refused));
    recorded(&db, "k", "4 1 [\"bank.send\"]").await?;
    ensure!(owner().await? != running, "it is still {running}'s");
    Ok(())
}

/// Whoever has joined a call whose record is another's by now hears what becomes of the record.
async fn nobody_hears_of_a_stale_owners_result<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(3).await?;
    let call = || idem.once(SCOPE, "k").wait(Duration::from_mins(1)).lease(LONG);
    let mut joiner = Box::pin(call().run(async |_| Ok::<i64, PayError>(2)));
    let sent: Sent = call()
        .run(async |_| {
            if (&mut joiner).now_or_never().is_some() {
                return Err(failed("it waits for the call that runs".into()));
            }
            take_away(&db, "k").await.map_err(failed)?;
            Ok(1)
        })
        .await;
    answer!(sent, Err(PayError::Idem(Error::StaleOwner)));
    expire(&db, "k").await?;
    answer!(joiner.await, Ok(2));
    Ok(())
}
