//! What a repair does, and that it opens the guard for itself alone.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use idem_runtime::machine::{AnyState, Refused};
use idem_runtime::prelude::*;
use sqlx::{AssertSqlSafe, Executor as _, SqlSafeStr as _};

use super::{attempt, install, refused};
use crate::answers::answer;
use crate::machines::{self, Coupon};
use crate::shop::{self, OrderStatus, history, new_order, status};
use crate::support::{Ended, Engine, Suite, TestDb, TestResult, drop_at_every_await, ensure, on_every_engine};
use crate::values::{self, Invoice, Lift, invoice};

/// Adds the tests.
pub(super) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            a_repair_leaves_an_entry,
            a_repair_of_each_type_of_status_column,
            a_cause_of_one_row_repairs_one_row,
            the_guard_is_open_for_the_repair_alone,
            an_open_guard_ends_with_its_transaction,
            a_repair_cut_at_every_await,
            a_transaction_outlives_no_half_repair,
        ]
    );
}

async fn guarded_orders<DB: Engine>(db: &TestDb<DB>) -> TestResult {
    shop::create_tables(db).await?;
    install::<OrderStatus, DB>(db).await?;
    new_order(db, 1).await?;
    new_order(db, 2).await
}

/// An update along no transition.
fn wrong(order_id: i64) -> String {
    format!("UPDATE orders SET status = 'done' WHERE order_id = {order_id}")
}

/// What a repair answers.
type Repaired = Outcome<OrderStatus, AnyState>;

/// Repairs in a transaction of its own.
async fn repair<DB: Engine>(
    idem: &Idem<DB>,
    order_id: i64,
    target: OrderStatus,
    reason: &str,
) -> Result<Repaired, TransitionError> {
    let mut tx = idem.begin().await?;
    let outcome = OrderStatus::row(order_id).repair(target, reason).run(&mut tx).await?;
    tx.commit().await?;
    Ok(outcome)
}

async fn a_repair_leaves_an_entry<DB: Engine>(db: TestDb<DB>) -> TestResult {
    guarded_orders(&db).await?;
    let idem = db.idem(2).await?;
    let repaired = repair(&idem, 1, OrderStatus::Shipped, "INC-1").await;
    answer!(repaired, Ok(Outcome::Applied(row)) if row.state() == OrderStatus::Shipped && row.version() == 1);
    answer!(repair(&idem, 1, OrderStatus::Shipped, "INC-1").await, Ok(Outcome::Replayed(row)) if row.version() == 1);
    answer!(repair(&idem, 1, OrderStatus::Shipped, "INC-2").await, Ok(Outcome::Already(row)) if row.version() == 1);
    let other = repair(&idem, 1, OrderStatus::Done, "INC-1").await;
    answer!(other, Err(TransitionError::Mismatch { machine: "OrderStatus", event: "repair" }));
    answer!(repair(&idem, 9, OrderStatus::Done, "INC-1").await, Err(TransitionError::NotFound { .. }));
    answer!(repair(&idem, 1, OrderStatus::Done, "").await, Err(TransitionError::Runtime(Error::InvalidKey { .. })));
    answer!(repair(&idem, 1, OrderStatus::Pending, "INC-3").await, Ok(Outcome::Applied(row)) if row.version() == 2);
    answer!(repair(&idem, 1, OrderStatus::Shipped, "INC-1").await,
        Ok(Outcome::Replayed(row)) if row.state() == OrderStatus::Pending);
    let found = (status(&db, 1).await?, history(&db, 1).await?);
    let entries = "1 pending shipped repair INC-1\n2 shipped pending repair INC-3";
    ensure!(found == ("pending 2".into(), entries.into()), "{found:?}");
    Ok(())
}

/// Whatever the column holds, what is no state included.
async fn a_repair_of_each_type_of_status_column<DB: Engine>(db: TestDb<DB>) -> TestResult {
    values::create_tables(&db).await?;
    if DB::DIALECT != Dialect::Sqlite {
        db.execute("ALTER TABLE lifts DROP CONSTRAINT lifts_floor_check").await?;
    }
    db.execute("INSERT INTO lifts (lift_id, floor) VALUES (1, 7)").await?;
    db.execute("INSERT INTO invoices (invoice_id, status) VALUES (1, '作废')").await?;
    install::<Lift, DB>(&db).await?;
    install::<Invoice, DB>(&db).await?;
    let idem = db.idem(2).await?;
    let mut tx = idem.begin().await?;
    answer!(Lift::row(1).repair(Lift::TopFloor, "T").run(&mut tx).await, Ok(Outcome::Applied(row)) if row.version() == 1);
    answer!(Invoice::row(1).repair(Invoice::Sent, "T").run(&mut tx).await, Ok(Outcome::Applied(_)));
    answer!(Invoice::row(1).fire(invoice::Remind).cause("R").run(&mut *tx).await, Ok(Outcome::Applied(row)) if row.version() == 2);
    tx.commit().await?;
    let found = db.rows("SELECT source, target, event, cause FROM lifts_floor_history").await?;
    ensure!(found == [["7", "40000", "repair", "T"]], "{found:?}");
    let found = db.rows("SELECT source, target FROM invoices_history ORDER BY version").await?;
    ensure!(found == [["作废", "sent"], ["sent", "reminded"]], "{found:?}");
    ensure!(db.text("SELECT floor FROM lifts").await? == "40000", "a number");
    Ok(())
}

async fn a_cause_of_one_row_repairs_one_row<DB: Engine>(db: TestDb<DB>) -> TestResult {
    machines::create_tables(&db).await?;
    install::<Coupon, DB>(&db).await?;
    db.execute("INSERT INTO coupons (tenant_id, code) VALUES (1, 'a'), (1, 'b')").await?;
    let idem = db.idem(2).await?;
    let mut tx = idem.begin().await?;
    let coupon = |code: &str| Coupon::row(1, code.to_owned()).repair(Coupon::Expired, "T");
    answer!(coupon("a").run(&mut tx).await, Ok(Outcome::Applied(_)));
    answer!(coupon("a").run(&mut tx).await, Ok(Outcome::Replayed(_)));
    answer!(coupon("b").run(&mut tx).await, Err(TransitionError::Mismatch { .. }));
    tx.commit().await?;
    let found = db.rows("SELECT status FROM coupons ORDER BY code").await?;
    ensure!(found == [["expired"], ["issued"]], "{found:?}");
    Ok(())
}

async fn the_guard_is_open_for_the_repair_alone<DB: Engine>(db: TestDb<DB>) -> TestResult {
    guarded_orders(&db).await?;
    let idem = db.idem(1).await?;
    for commit in [true, false] {
        // In the same transaction.
        let mut tx = idem.begin().await?;
        let repaired = OrderStatus::row(1).repair(OrderStatus::Shipped, "T").run(&mut tx).await?;
        ensure!(!matches!(repaired, Outcome::Already(_)), "{repaired:?}");
        let done = (&mut *tx).execute(AssertSqlSafe(wrong(2)).into_sql_str()).await.map(|done| DB::affected(&done));
        refused::<OrderStatus, DB>(&done, Refused::Transition)?;
        if commit && DB::DIALECT != Dialect::Postgres {
            tx.commit().await?;
        } else {
            tx.rollback().await?;
        }
        // In the next one of the same connection.
        refused::<OrderStatus, DB>(&attempt(&idem, wrong(2)).await?, Refused::Transition)?;
    }
    ensure!(repair(&idem, 1, OrderStatus::Done, "U").await?.is_applied(), "committed");
    refused::<OrderStatus, DB>(&attempt(&idem, wrong(2)).await?, Refused::Transition)?;
    if DB::DIALECT != Dialect::Postgres {
        ensure!(db.integer("SELECT COUNT(*) FROM idem_repair").await? == 0, "nothing is left of it");
    }
    Ok(())
}

/// The statement that opens it, as if its transaction went no further.
async fn an_open_guard_ends_with_its_transaction<DB: Engine>(db: TestDb<DB>) -> TestResult {
    guarded_orders(&db).await?;
    let (idem, other) = (db.idem(1).await?, db.idem(1).await?);
    let open = OrderStatus::SQL.repair.as_ref().ok_or("orders keep a history")?.of(DB::DIALECT).open;
    let by_hand = async |tx: &mut Tx<'_, DB>, sql: String| {
        let done = (&mut *tx).execute(AssertSqlSafe(sql).into_sql_str()).await;
        done.map(|done| DB::affected(&done))
    };
    let mut tx = idem.begin().await?;
    by_hand(&mut tx, open.to_owned()).await?;
    ensure!(by_hand(&mut tx, wrong(2)).await? == 1, "it is open");
    if DB::DIALECT == Dialect::MySql {
        // A session that reads what was not committed sees the row that opens it.
        db.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED").await?;
        let error = db.execute(wrong(1)).await.expect_err("it is closed to others");
        ensure!(error.to_string().contains("undeclared transition"), "{error}");
    }
    if DB::DIALECT != Dialect::Sqlite {
        refused::<OrderStatus, DB>(&attempt(&other, wrong(1)).await?, Refused::Transition)?;
    }
    drop(tx);
    refused::<OrderStatus, DB>(&attempt(&idem, wrong(1)).await?, Refused::Transition)?;

    let mut tx = idem.begin().await?;
    by_hand(&mut tx, "SAVEPOINT here".to_owned()).await?;
    by_hand(&mut tx, open.to_owned()).await?;
    ensure!(by_hand(&mut tx, wrong(2)).await? == 1, "it is open");
    by_hand(&mut tx, "ROLLBACK TO SAVEPOINT here".to_owned()).await?;
    refused::<OrderStatus, DB>(&by_hand(&mut tx, wrong(2)).await, Refused::Transition)?;
    tx.rollback().await?;
    refused::<OrderStatus, DB>(&attempt(&idem, wrong(1)).await?, Refused::Transition)?;

    if DB::DIALECT == Dialect::Postgres {
        // Not even a value that stays in the session opens another transaction.
        DB::execute(idem.pool(), open.replace("true", "false")).await?;
        refused::<OrderStatus, DB>(&attempt(&idem, wrong(1)).await?, Refused::Transition)?;
    }
    ensure!(status(&db, 2).await? == "pending 0", "nothing was kept");
    Ok(())
}

/// The order of a round.
fn order_of(polls: usize) -> i64 {
    100 + i64::try_from(polls).unwrap_or(i64::MAX)
}

/// As often as a repair waits, and more.
const MOST_POLLS: usize = 24;

async fn a_repair_cut_at_every_await<DB: Engine>(db: TestDb<DB>) -> TestResult {
    guarded_orders(&db).await?;
    let idem = db.idem(1).await?;
    let prepare = async |polls| new_order(&db, order_of(polls)).await;
    let call = |polls| repair(&idem, order_of(polls), OrderStatus::Refunded, "T");
    let check = async |polls, ended: Ended<Result<Repaired, TransitionError>>| {
        let kept = matches!(&ended, Ended::Completed(answer) if answer.is_ok());
        ensure!(kept || matches!(ended, Ended::Dropped), "{ended:?}");
        // On the only connection, behind whatever the dropped call left there.
        refused::<OrderStatus, DB>(&attempt(&idem, wrong(2)).await?, Refused::Transition)?;
        let order_id = order_of(polls);
        let found = (status(&db, order_id).await?, history(&db, order_id).await?);
        let (whole, none) = (("refunded 1", "1 pending refunded repair T"), ("pending 0", ""));
        ensure!(
            found == (whole.0.into(), whole.1.into()) || (!kept && found == (none.0.into(), none.1.into())),
            "{found:?}"
        );
        let again = repair(&idem, order_id, OrderStatus::Refunded, "T").await?;
        ensure!(again.is_applied() != (found.0 == whole.0), "{again:?} after {found:?}");
        Ok(())
    };
    let last_drop = drop_at_every_await(prepare, call, check).await?;
    ensure!(last_drop > 0, "the call never waits, so that nothing was cut");
    Ok(())
}

/// The transaction goes on after the call was dropped, and is committed if it can be.
async fn a_transaction_outlives_no_half_repair<DB: Engine>(db: TestDb<DB>) -> TestResult {
    guarded_orders(&db).await?;
    let idem = db.idem(1).await?;
    let mut cut = 0;
    for polls in 1..=MOST_POLLS {
        let order_id = order_of(polls);
        new_order(&db, order_id).await?;
        let mut tx = idem.begin().await?;
        let answer = poll(OrderStatus::row(order_id).repair(OrderStatus::Refunded, "T").run(&mut tx), polls).await;
        let committed = tx.commit().await;
        let found = (status(&db, order_id).await?, history(&db, order_id).await?);
        let (state, entries) = if answer.is_some() {
            committed?;
            ("refunded 1", "1 pending refunded repair T")
        } else {
            cut += 1;
            ("pending 0", "")
        };
        ensure!(found == (state.into(), entries.into()), "after {polls} polls: {found:?}");
        refused::<OrderStatus, DB>(&attempt(&idem, wrong(2)).await?, Refused::Transition)?;
    }
    ensure!(cut > 0, "nothing was cut");
    Ok(())
}

/// Polls a future, each time only after it was woken, and drops it when it has been pending that often.
async fn poll<F: Future>(future: F, polls: usize) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut pending = 0;
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(answer) => Poll::Ready(Some(answer)),
        Poll::Pending => {
            pending += 1;
            if pending == polls { Poll::Ready(None) } else { Poll::Pending }
        }
    })
    .await
}
