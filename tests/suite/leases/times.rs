//! Whose clock counts: sessions in other time zones, a runtime that ends, a clock that a test stops, times without end.

use std::time::Duration;

use idem_runtime::prelude::*;
use sqlx::{MySql, Postgres};
use tokio::sync::oneshot;

use super::bank::Sent;
use super::owners::{failed, until_renewed};
use super::{LONG, SCOPE};
use crate::acts::Gate;
use crate::answers::answer;
use crate::settle::PayError;
use crate::support::{Engine, Suite, TestDb, TestResult, ensure, on_engines, on_every_engine};

pub(super) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            leases_go_on_after_the_runtime_of_the_first_one,
            a_test_that_stops_the_clock,
            times_without_end,
            odd_keys_are_renewed,
        ]
    );
    on_engines!(suite, [Postgres, MySql], "SQLite has no sessions", [sessions_in_other_time_zones]);
    on_engines!(suite, [MySql], "others commit each statement", [a_session_that_does_not_commit_is_refused]);
}

/// Sets the time zone of a session, west or east of UTC.
const fn zone<DB: Engine>(is_west: bool) -> &'static str {
    match (DB::DIALECT, is_west) {
        (Dialect::MySql, true) => "SET time_zone = '-10:00'",
        (Dialect::MySql, false) => "SET time_zone = '+08:00'",
        (_, true) => "SET TIME ZONE INTERVAL '-10:00' HOUR TO MINUTE",
        (_, false) => "SET TIME ZONE INTERVAL '+08:00' HOUR TO MINUTE",
    }
}

async fn sessions_in_other_time_zones<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let west = db.idem_after(zone::<DB>(true), 2).await?;
    let east = db.idem_after(zone::<DB>(false), 2).await?;
    for (key, first, second) in [("west", &west, &east), ("east", &east, &west)] {
        let call = || first.once(SCOPE, key).retain_result(Duration::from_hours(1)).lease(Duration::from_mins(1));
        let given: Sent = call()
            .run(async |mut attempt| {
                let rival = second.once(SCOPE, key).wait(Duration::ZERO).lease(LONG);
                let rival: Sent = rival.run(async |_| Ok(9)).await;
                if !matches!(rival, Err(PayError::Idem(Error::InProgress { .. }))) {
                    return Err(failed(format!("{rival:?}").into()));
                }
                let operator = second.operator("alice");
                let shown = operator.show(SCOPE, key).await.map_err(|error| failed(error.into()))?;
                let shown = shown.ok_or_else(|| failed("a record".into()))?.record;
                if shown.age > Duration::from_mins(1) || shown.lease_left.is_none_or(|it| it > Duration::from_mins(1)) {
                    return Err(failed(format!("{shown:?}").into()));
                }
                attempt.external("bank.send").await?;
                Err(PayError::Refused)
            })
            .await;
        answer!(given, Err(PayError::Refused));
        let next = second.once(SCOPE, key).retain_result(Duration::from_hours(1)).lease(LONG).take_over();
        answer!(next.run(async |_| Ok::<i64, PayError>(2)).await, Ok(2));
        answer!(call().run(async |_| Ok::<i64, PayError>(9)).await, Ok(2));
        let transaction = first.once(SCOPE, "transaction").retain_result(Duration::from_hours(1));
        answer!(transaction.run(async |_| Ok::<i64, PayError>(3)).await, Ok(3));
    }
    Ok(())
}

/// Some servers have a runtime for each thread, and each test has one of its own.
async fn leases_go_on_after_the_runtime_of_the_first_one<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    let first = idem.clone();
    tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let gate = Gate::closed();
        let at = gate.clone();
        runtime.spawn(async move {
            let call = first.once(SCOPE, "first").lease(LONG);
            call.run(async |_| {
                at.pass().await;
                Ok::<i64, PayError>(1)
            })
            .await
        });
        runtime.block_on(gate.arrival())?;
        runtime.shutdown_background();
        TestResult::Ok(())
    })
    .await??;
    let call = idem.once(SCOPE, "second").lease(Duration::from_secs(3));
    let given: Sent = call
        .run(async |_| {
            until_renewed(&db, "second", 2).await.map_err(failed)?;
            Ok(2)
        })
        .await;
    answer!(given, Ok(2));
    Ok(())
}

/// Time that is passed by hand passes for leases too: an hour is over at once.
async fn a_test_that_stops_the_clock<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (end, ended) = oneshot::channel();
    let stopped = db.clone();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let given = runtime.map_err(crate::support::BoxError::from).and_then(|runtime| {
            runtime.block_on(async {
                let idem = stopped.idem(2).await?;
                let call = idem.once(SCOPE, "k").lease(Duration::from_secs(30));
                let body = async |_| {
                    tokio::time::pause();
                    tokio::time::sleep(Duration::from_hours(1)).await;
                    tokio::time::resume();
                    Ok::<i64, PayError>(1)
                };
                Ok(call.run(body).await?)
            })
        });
        end.send(given)
    });
    let given = tokio::time::timeout(Duration::from_mins(1), ended).await.map_err(|_| "the clock stands still")??;
    ensure!(given? == 1, "it has a result");
    Ok(())
}

async fn times_without_end<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    let leased: Sent = idem.once(SCOPE, "leased").wait(Duration::MAX).lease(Duration::MAX).run(async |_| Ok(1)).await;
    answer!(leased, Ok(1));
    let plain: Sent = idem.once(SCOPE, "plain").wait(Duration::MAX).run(async |_| Ok(1)).await;
    answer!(plain, Ok(1));
    Ok(())
}

/// A list of JSON goes to the server: what is in a name must not lose it its lease.
async fn odd_keys_are_renewed<DB: Engine>(db: TestDb<DB>) -> TestResult {
    const ODD: &str = "scope '支付' \"\\ 💰\u{301}";
    let idem = db.idem(2).await?;
    let gate = Gate::closed();
    let keys =
        ["a 'b' \"c\" \\d \\u0041 ", "支付💰e\u{301}", "É", "é", " ", &"k".repeat(512), "nul \0 line \n end", "a/b%"];
    let keys: Vec<_> = keys.into_iter().filter(|key| !key.trim().is_empty()).map(str::to_owned).collect();
    let calls: Vec<_> = keys
        .iter()
        .map(|key| {
            let (idem, gate, key) = (idem.clone(), gate.clone(), key.clone());
            tokio::spawn(async move {
                let call = idem.once(ODD, &key).lease(Duration::from_secs(3));
                let body = async |_| {
                    gate.pass().await;
                    Ok::<i64, PayError>(1)
                };
                call.run(body).await
            })
        })
        .collect();
    for _ in &keys {
        gate.arrival().await?;
    }
    let unrenewed = "SELECT COUNT(*) FROM idem_record WHERE updated_at = created_at";
    let renewed = async {
        while db.integer(unrenewed).await? > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        TestResult::Ok(())
    };
    tokio::time::timeout(Duration::from_secs(20), renewed).await.map_err(|_| "a lease is not renewed")??;
    gate.open();
    for call in calls {
        answer!(call.await?, Ok(1));
    }
    Ok(())
}

/// What an attempt says is committed before its outside call must be.
async fn a_session_that_does_not_commit_is_refused<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let refused = db.idem_after("SET autocommit = 0", 2).await;
    let error = refused.err().ok_or("it is refused")?;
    ensure!(error.to_string().contains("autocommit"), "{error}");
    Ok(())
}
