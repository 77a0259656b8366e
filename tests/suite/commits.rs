//! COMMITs whose answer is lost: nobody says yes or no to what nobody knows, and the same call made again tells the truth.

use idem_runtime::prelude::*;
use sqlx::{MySql, Postgres};

use crate::acts::{create_tables, effect, insist, left, result, until_waiting, write};
use crate::answers::answer;
use crate::settle::PayError;
use crate::shop::order_status::Pay;
use crate::shop::{self, OrderStatus, history, new_order, status};
use crate::support::{Engine, Proxy, Suite, TestDb, TestResult, ensure, on_engines};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_engines!(
        suite,
        [Postgres, MySql],
        "there is no network between SQLite and its file",
        [
            i73_a_call_whose_commit_is_not_answered,
            i73_a_call_whose_commit_is_still_in_flight,
            a_transaction_whose_commit_is_not_answered,
        ]
    );
}

/// What can become of a COMMIT, and a name for it.
const ENDS: [(&str, bool); 2] = [("arrived", true), ("lost", false)];

/// The next call finds the result, or runs: it was not told before which of the two.
async fn i73_a_call_whose_commit_is_not_answered<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let proxy = Proxy::to(&db).await?;
    // The connection that was cut is the only one of the pool.
    let idem = proxy.idem(1).await?;
    create_tables(&db).await?;
    for (key, arrives) in ENDS {
        let held = proxy.hold_commit();
        let unknown = write(&idem, key, 1).await;
        answer!(unknown, Err(PayError::Idem(ref error @ Error::UnknownCommit(_))) if error.is_retryable());
        held.end(arrives).await?;
        result!(insist(|| write(&idem, key, 1)).await, 1, is_replay: arrives);
        result!(write(&idem, key, 1).await, 1, is_replay: true);
        answer!(write(&idem, key, 2).await, Err(PayError::Idem(Error::Mismatch)));
    }
    left(&db, ["arrived,lost", "arrived:2,lost:2"]).await
}

/// A read would find nothing. The claim finds that somebody is there, and waits for what becomes of it.
async fn i73_a_call_whose_commit_is_still_in_flight<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let proxy = Proxy::to(&db).await?;
    let processes = [proxy.idem(2).await?, db.idem(2).await?];
    create_tables(&db).await?;
    for (key, arrives) in ENDS {
        let held = proxy.hold_commit();
        answer!(write(&processes[0], key, 1).await, Err(PayError::Idem(Error::UnknownCommit(_))));
        for idem in &processes {
            answer!(write(idem, key, 1).await, Err(PayError::Idem(Error::InProgress { .. })));
        }
        let idem = processes[1].clone();
        let next = tokio::spawn(async move { insist(|| write(&idem, key, 1)).await });
        until_waiting(&db, 1).await?;
        held.end(arrives).await?;
        result!(next.await?, 1, is_replay: arrives);
        result!(write(&processes[0], key, 1).await, 1, is_replay: true);
    }
    left(&db, ["arrived,lost", "arrived:2,lost:2"]).await
}

/// All that was in it was kept, or nothing: the call and the move tell the same when they are made again.
async fn a_transaction_whose_commit_is_not_answered<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let proxy = Proxy::to(&db).await?;
    let idem = proxy.idem(1).await?;
    create_tables(&db).await?;
    shop::create_tables(&db).await?;
    for (order_id, (key, arrives)) in (1..).zip(ENDS) {
        new_order(&db, order_id).await?;
        let pay = || OrderStatus::row(order_id).fire(Pay { trade_no: "T".to_owned() }).cause(key);
        let mut tx = idem.begin().await?;
        result!(write(&mut *tx, key, 1).await, 1, is_replay: false);
        let _ = pay().run(&mut *tx).await?.expect_applied()?;
        effect(&mut tx, key).await?;
        let held = proxy.hold_commit();
        answer!(tx.commit().await, Err(Error::UnknownCommit(_)));
        held.end(arrives).await?;
        result!(insist(|| write(&idem, key, 1)).await, 1, is_replay: arrives);
        let paid = pay().run(&idem).await?;
        ensure!(paid.is_applied() != arrives, "{paid:?}");
        ensure!(status(&db, order_id).await? == "paid 1", "{}", status(&db, order_id).await?);
        ensure!(history(&db, order_id).await? == format!("1 pending paid pay {key}"), "one entry");
    }
    // The transaction's own effect is there with what it committed, and beside each call's.
    left(&db, ["arrived,arrived,lost", "arrived:2,lost:2"]).await
}
