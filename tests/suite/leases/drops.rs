//! Leased calls that are dropped while a statement of theirs is on its way.

use std::time::Duration;

use futures_util::FutureExt as _;
use sqlx::{MySql, Postgres};

use super::{LONG, SCOPE, abandoned, key_column};
use crate::acts::{Gate, run, until_waiting};
use crate::answers::answer;
use crate::settle::PayError;
use crate::support::{Engine, Suite, TestDb, TestResult, ensure, on_engines, on_every_engine};

pub(super) fn add(suite: &mut Suite) {
    on_every_engine!(suite, [an_end_is_written_whoever_waits_for_it]);
    on_engines!(
        suite,
        [Postgres, MySql],
        "a writer of SQLite's is not paused in its statement",
        [a_claim_that_nobody_waits_for_is_let_go]
    );
}

/// The effect has happened, or nothing has: the record says which, though the caller has gone away.
async fn an_end_is_written_whoever_waits_for_it<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (idem, other) = (db.idem(1).await?, db.idem(1).await?);
    for (key, fails, next) in [("done", false, 1), ("failed", true, 9)] {
        let gate = Gate::closed();
        let mut call = Box::pin(idem.once(SCOPE, key).lease(LONG).run(async |_| {
            gate.pass().await;
            if fails { Err(PayError::Refused) } else { Ok(1_i64) }
        }));
        tokio::select! {
            answer = &mut call => return Err(format!("{key}: {answer:?}").into()),
            arrived = gate.arrival() => arrived?,
        }
        // The pool's only connection is ours: the end waits for it.
        let connection = idem.pool().acquire().await?;
        gate.open();
        ensure!((&mut call).now_or_never().is_none(), "{key}: it waits");
        drop(call);
        drop(connection);
        let call = other.once(SCOPE, key).wait(Duration::from_secs(20)).lease(LONG);
        answer!(call.run(async |_| Ok::<i64, PayError>(9)).await, Ok(found) if found == next);
    }
    Ok(())
}

/// The server does what it was asked for. A lease that nobody holds would keep everybody out until it is over.
async fn a_claim_that_nobody_waits_for_is_let_go<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (first, second, third) = (db.idem(2).await?, db.idem(2).await?, db.idem(2).await?);
    abandoned(&db, "taken over", &[]).await?;
    let insert = format!("scope, {}, status, fingerprint, owner, created_at) VALUES", key_column::<DB>());
    let insert = format!("INSERT INTO idem_record ({insert} ('{SCOPE}', 'new', 1, 'f', 'rival', '2026-01-01')");
    let update = format!("UPDATE idem_record SET updated_at = NULL WHERE {} = 'taken over'", key_column::<DB>());
    for (key, rivals, reads_first) in [("new", insert, false), ("taken over", update, true)] {
        let mut rival = first.begin().await?;
        run(&mut rival, rivals).await?;
        let dropped = second.clone();
        let dropped = tokio::spawn(async move {
            let call = dropped.once(SCOPE, key).payload(&1_i64).wait(Duration::from_mins(1));
            let call = if reads_first { call.read_first() } else { call };
            call.lease(LONG).run(async |_| Ok::<i64, PayError>(1)).await
        });
        until_waiting(&db, 1).await?;
        dropped.abort();
        ensure!(dropped.await.is_err_and(|error| error.is_cancelled()), "{key}: it waits");
        rival.rollback().await?;
        let next = third.once(SCOPE, key).payload(&1_i64).wait(Duration::from_secs(20)).lease(LONG);
        answer!(next.run(async |_| Ok::<i64, PayError>(9)).await, Ok(9));
    }
    Ok(())
}
