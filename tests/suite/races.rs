//! The entry of a history names the true source, whatever its row was when the event first looked at it; and what is
//! left when nobody waits for the answer.

use std::ops::Range;

use idem_runtime::machine::Handle;
use idem_runtime::prelude::*;
use tokio::sync::Mutex;

use crate::acts::until_waiting;
use crate::answers::answer;
use crate::settle::note;
use crate::shop::order_status::{Pay, Refund, Refunded, Ship, Shipped};
use crate::shop::{OrderStatus, create_tables, history, status};
use crate::support::{
    BoxError, Ended, Engine, ROUNDS, Suite, TestDb, TestResult, drop_at_every_await, ensure, on_every_engine,
    release_together,
};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            multi_source_behind_a_transition,
            multi_source_against_a_transition,
            multi_source_against_a_transition_in_a_transaction,
            dropped_inside_a_transaction_that_commits,
        ]
    );
}

fn order(order_id: i64) -> Handle<OrderStatus> {
    OrderStatus::row(order_id)
}

fn ship() -> Ship {
    Ship { carrier: "sf".to_owned() }
}

async fn new_paid_order<DB: Engine>(db: &TestDb<DB>, order_id: i64) -> TestResult {
    let insert = format!("INSERT INTO orders (order_id, status, version) VALUES ({order_id}, 'paid', 1)");
    db.execute(insert).await.map(drop)
}

/// The refund looks at a paid order and waits for it; meanwhile the order is shipped.
async fn multi_source_behind_a_transition<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    let (one, other) = (db.idem(2).await?, db.idem(2).await?);
    for (order_id, in_transaction) in [(1, false), (2, true)] {
        new_paid_order(&db, order_id).await?;
        let mut tx = one.begin().await?;
        answer!(order(order_id).fire(ship()).run(&mut *tx).await, Ok(Outcome::Applied(row)) if row.version() == 2);
        let (refunded, ended) = tokio::join!(refund(&other, order_id, in_transaction), async {
            until_waiting(&db, 1).await?;
            tx.commit().await?;
            Ok::<_, BoxError>(())
        });
        ended?;
        answer!(refunded, Ok(Outcome::Applied(row)) if row.version() == 3);
        let entries = history(&db, order_id).await?;
        ensure!(entries == "2 paid shipped ship NULL\n3 shipped refunded refund R", "{entries}");
    }
    Ok(())
}

async fn refund<DB: Engine>(
    idem: &Idem<DB>,
    order_id: i64,
    in_transaction: bool,
) -> Result<Outcome<OrderStatus, Refunded>, TransitionError> {
    let refund = order(order_id).fire(Refund).cause("R");
    if !in_transaction {
        return refund.run(idem.pool()).await;
    }
    let mut tx = idem.begin().await?;
    let outcome = refund.run(&mut *tx).await?;
    tx.commit().await?;
    Ok(outcome)
}

async fn send<DB: Engine>(
    idem: &Idem<DB>,
    order_id: i64,
    in_transaction: bool,
) -> Result<Outcome<OrderStatus, Shipped>, TransitionError> {
    if !in_transaction {
        return order(order_id).fire(ship()).run(idem.pool()).await;
    }
    let mut tx = idem.begin().await?;
    let outcome = order(order_id).fire(ship()).run(&mut *tx).await?;
    tx.commit().await?;
    Ok(outcome)
}

async fn multi_source_against_a_transition<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    refund_and_ship_together(&db, &db.idem(8).await?, 0..ROUNDS, false).await
}

async fn multi_source_against_a_transition_in_a_transaction<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    refund_and_ship_together(&db, &db.idem(8).await?, 0..ROUNDS, true).await
}

/// Both at once at each of the orders.
pub(crate) async fn refund_and_ship_together<DB: Engine>(
    db: &TestDb<DB>,
    idem: &Idem<DB>,
    orders: Range<i64>,
    in_transaction: bool,
) -> TestResult {
    for order_id in orders {
        new_paid_order(db, order_id).await?;
        let answers = release_together(|task| {
            let idem = idem.clone();
            async move { fire_until_told(&idem, order_id, in_transaction, task % 2 == 0).await }
        });
        for answer in answers.await? {
            answer!(answer, Ok(()) | Err(TransitionError::Illegal { current: "Refunded", event: "ship", .. }));
        }
        let entries = history(db, order_id).await?;
        let both = "2 paid shipped ship NULL\n3 shipped refunded refund R";
        ensure!(entries == both || entries == "2 paid refunded refund R", "in round {order_id}: {entries}");
    }
    Ok(())
}

/// Refunds or ships, again for as long as the answer is to run it all again.
async fn fire_until_told<DB: Engine>(
    idem: &Idem<DB>,
    order_id: i64,
    in_transaction: bool,
    refunds: bool,
) -> Result<(), TransitionError> {
    loop {
        let answer = if refunds {
            refund(idem, order_id, in_transaction).await.map(drop)
        } else {
            send(idem, order_id, in_transaction).await.map(drop)
        };
        match answer {
            Err(error) if error.is_retryable() => {}
            answer => return answer,
        }
    }
}

/// A transaction whose caller goes on although the future of a transition in it was dropped.
async fn dropped_inside_a_transaction_that_commits<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    let idem = db.idem(2).await?;
    let slot = Mutex::new(None);
    let mut refusals = 0;
    let prepare = async |polls| {
        *slot.lock().await = Some(open_with_a_note(&db, &idem, id_of(polls)).await?);
        Ok(())
    };
    let call = |polls| {
        let slot = &slot;
        async move {
            let mut slot = slot.lock().await;
            let tx = slot.as_mut().ok_or("prepared before")?;
            let pay = Pay { trade_no: "T".to_owned() };
            Ok(order(id_of(polls)).fire(pay).cause("T").run(&mut **tx).await?.is_applied())
        }
    };
    let check = async |polls, ended: Ended<Result<bool, BoxError>>| {
        let committed = slot.lock().await.take().ok_or("prepared before")?.commit().await;
        if let Err(error) = &committed {
            ensure!(format!("{error:?}").contains("an effect in it was cut off"), "{error:?}");
            refusals += 1;
        }
        if let Ended::Completed(applied) = ended {
            ensure!(applied? && committed.is_ok(), "a call that has answered is kept: {committed:?}");
        }
        all_or_nothing(&db, id_of(polls), committed.is_ok()).await
    };
    drop_at_every_await(prepare, call, check).await?;
    ensure!(refusals > 0 || DB::DIALECT == Dialect::Postgres, "no future was dropped between two statements");
    Ok(())
}

fn id_of(polls: usize) -> i64 {
    i64::try_from(polls).unwrap_or(i64::MAX)
}

/// A transaction in which something else has been written.
async fn open_with_a_note<DB: Engine>(
    db: &TestDb<DB>,
    idem: &Idem<DB>,
    order_id: i64,
) -> Result<Box<Tx<'static, DB>>, BoxError> {
    crate::shop::new_order(db, order_id).await?;
    let mut tx = idem.begin().await?;
    let _ = note(&mut *tx, order_id, 5, "beside").await?;
    Ok(tx)
}

/// The row and its history moved together or not at all, and only with what stood beside them.
async fn all_or_nothing<DB: Engine>(db: &TestDb<DB>, order_id: i64, committed: bool) -> TestResult {
    let notes = db.integer(format!("SELECT COUNT(*) FROM ledger WHERE order_id = {order_id}")).await?;
    let found = (status(db, order_id).await?, history(db, order_id).await?);
    let moved = found == ("paid 1".to_owned(), "1 pending paid pay T".to_owned());
    let stayed = found == ("pending 0".to_owned(), String::new());
    ensure!(stayed || (moved && committed), "committed: {committed}: {found:?}");
    ensure!(notes == i64::from(committed), "committed: {committed}: {notes} notes");
    Ok(())
}
