//! What a caller has in memory, and what a call that moved nothing makes of it.

use idem_runtime::prelude::*;

use super::{left, pay, ship};
use crate::answers::answer;
use crate::shop::order_status::{Cancel, Finish, Paid, Pending};
use crate::shop::{self, OrderStatus, new_order};
use crate::support::{Engine, Suite, TestDb, TestResult, ensure, on_every_engine, sql};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(suite, [s11_who_loses_keeps_what_is_not_saved, s21_after_each_refusal_the_row_is_read_again]);
}

/// A form: the order as it was read, and a note that is not saved yet.
#[derive(Debug, Clone)]
struct Form {
    order: Row<OrderStatus, Pending>,
    note: String,
}

/// Pays, and saves and announces the note with it.
async fn submit<DB: Engine>(idem: &Idem<DB>, form: &Form) -> Result<(), TransitionError> {
    let mut tx = idem.begin().await?;
    let paid = form.order.clone().fire(pay("T1")).run(&mut *tx).await?.expect_applied()?;
    let insert = sql::<DB>("INSERT INTO ledger (order_id, amount, note) VALUES (?, 1, ?)");
    let insert = insert.bind(*paid.id()).bind(form.note.clone());
    insert.execute(&mut *tx).await.map_err(TransitionError::Database)?;
    Ok(tx.commit().await?)
}

/// A compare-and-swap reads nothing into the caller's struct, so that nothing of it is overwritten.
async fn s11_who_loses_keeps_what_is_not_saved<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    new_order(&db, 1).await?;
    let order: Row<OrderStatus, Pending> = OrderStatus::row(1).load(&idem).await?.in_state()?;
    let winner = Form { order: order.clone(), note: "leave it at the door".to_owned() };
    let loser = Form { order, note: "ring twice".to_owned() };
    let before = format!("{loser:?}");
    submit(&idem, &winner).await?;
    answer!(submit(&idem, &loser).await, Err(TransitionError::NotApplied { .. }));
    ensure!(format!("{loser:?}") == before, "the form is now {loser:?}");
    left(&db, 1, "paid 1", "1 pending paid pay NULL", 1).await?;
    let notes = db.text("SELECT note FROM ledger").await?;
    ensure!(notes == "leave it at the door", "{notes}");

    // The row is read anew into a place of its own.
    let paid: Row<OrderStatus, Paid> = OrderStatus::row(*loser.order.id()).load(&idem).await?.in_state()?;
    ensure!((paid.version(), loser.order.version()) == (1, 0), "{paid:?}, {loser:?}");
    Ok(())
}

/// The row that an event was fired at is given away with the call (that it is, is a compile error of its own); what the
/// row is now can be read in the same transaction, whatever the call answered, and is what the database holds.
async fn s21_after_each_refusal_the_row_is_read_again<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    new_order(&db, 1).await?;
    let order = || OrderStatus::row(1);
    let stale: Row<OrderStatus, Pending> = order().load(&idem).await?.in_state()?;
    let mut tx = idem.begin().await?;
    answer!(order().fire(pay("T1")).expect_version(3).run(&mut *tx).await, Err(TransitionError::Stale { .. }));
    answer!(order().load(&mut *tx).await, Ok(row) if (row.state(), row.version()) == (OrderStatus::Pending, 0));
    answer!(order().fire(pay("T1")).cause("T1").run(&mut *tx).await, Ok(Outcome::Applied(_)));

    answer!(stale.clone().fire(Cancel).run(&mut *tx).await, Err(TransitionError::Illegal { current: "Paid", .. }));
    check_paid(&mut tx).await?;
    answer!(order().fire(Finish).run(&mut *tx).await, Err(TransitionError::Illegal { current: "Paid", .. }));
    check_paid(&mut tx).await?;
    answer!(order().fire(pay("T2")).cause("T1").run(&mut *tx).await, Err(TransitionError::Mismatch { .. }));
    check_paid(&mut tx).await?;
    answer!(order().fire(pay("T2")).cause("T2").run(&mut *tx).await, Err(TransitionError::OtherCause { .. }));
    check_paid(&mut tx).await?;
    let outcome = stale.fire(pay("T1")).run(&mut *tx).await?;
    answer!(&outcome, Outcome::Already(row) if (row.state(), row.version()) == (OrderStatus::Paid, 1));
    answer!(outcome.expect_applied(), Err(TransitionError::NotApplied { .. }));
    check_paid(&mut tx).await?;
    answer!(OrderStatus::row(2).fire(Cancel).run(&mut *tx).await, Err(TransitionError::NotFound { .. }));

    let paid: Row<OrderStatus, Paid> = order().load(&mut *tx).await?.in_state()?;
    answer!(paid.fire(ship()).run(&mut *tx).await, Ok(Outcome::Applied(row)) if row.version() == 2);
    tx.commit().await?;
    left(&db, 1, "shipped 2", "1 pending paid pay T1\n2 paid shipped ship NULL", 0).await
}

async fn check_paid<DB: Engine>(tx: &mut Tx<'_, DB>) -> TestResult {
    let row = OrderStatus::row(1).load(&mut *tx).await?;
    ensure!((row.state(), row.version()) == (OrderStatus::Paid, 1), "{row:?}");
    Ok(())
}
