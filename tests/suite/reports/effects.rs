//! Code that belongs to a transition: in its transaction, after its commit, and when there is none.

use idem_runtime::prelude::*;

use super::{book, left, pay, ship};
use crate::acts::run;
use crate::answers::answer;
use crate::creation::{self, Cart};
use crate::machines::review::{Hold, Recall, Submit, Touch};
use crate::machines::{self, Review};
use crate::shop::order_status::{Cancel, Finish, Pay, Pending};
use crate::shop::{self, OrderStatus, new_order};
use crate::support::{BoxError, Engine, Suite, TestDb, TestResult, ensure, on_every_engine};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            s30_a_miss_has_no_effect,
            s31_an_effect_that_fails_undoes_the_transition,
            s31_a_notice_that_fails_leaves_the_transition,
            s32_an_error_of_a_check_is_no_refusal,
            s37_the_history_tells_every_step,
            s39_a_failure_is_logged_outside,
            s39_a_refusal_is_logged_inside,
        ]
    );
}

/// What this shop's code says when a payment does not go through.
#[derive(Debug, thiserror::Error)]
enum ShopError {
    #[error("the stock is gone")]
    Effect,
    #[error("the mail server does not answer")]
    Notice,
    #[error("the check says no")]
    Denied,
    #[error("the check does not answer")]
    CheckFailed,
    #[error(transparent)]
    Idem(#[from] Error),
    #[error(transparent)]
    Transition(#[from] TransitionError),
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
}

/// How the code of a payment goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    Effect,
    Notice,
}

/// Pays an order, books it in the same transaction, and tells the buyer after the commit.
async fn pay_book_and_tell<DB: Engine>(
    idem: &Idem<DB>,
    fire: Fire<Pay>,
    fault: Fault,
    told: &mut Vec<i64>,
) -> Result<(), ShopError> {
    let mut tx = idem.begin().await?;
    let paid = fire.run(&mut *tx).await?.expect_applied()?;
    book(&mut tx, *paid.id()).await?;
    if fault == Fault::Effect {
        return Err(ShopError::Effect);
    }
    tx.commit().await?;
    if fault == Fault::Notice {
        return Err(ShopError::Notice);
    }
    told.push(*paid.id());
    Ok(())
}

type Fire<E> = idem_runtime::machine::Fire<OrderStatus, E>;

async fn s30_a_miss_has_no_effect<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    for order_id in [1, 2] {
        new_order(&db, order_id).await?;
    }
    let order = || OrderStatus::row(1);
    let early: Row<OrderStatus, Pending> = order().load(&idem).await?.in_state()?;
    let mut told = Vec::new();
    let mut call = async |fire| pay_book_and_tell(&idem, fire, Fault::None, &mut told).await;
    call(order().fire(pay("T1")).cause("T1")).await?;

    let error = |answer: Result<(), ShopError>| match answer {
        Err(ShopError::Transition(error)) => Ok(error),
        other => Err(format!("{other:?}")),
    };
    answer!(error(call(order().fire(pay("T1"))).await)?, TransitionError::NotApplied { target: "Paid", .. });
    answer!(error(call(order().fire(pay("T1")).cause("T1")).await)?, TransitionError::NotApplied { .. });
    answer!(error(call(order().fire(pay("T2")).cause("T1")).await)?, TransitionError::Mismatch { .. });
    answer!(error(call(order().fire(pay("T2")).cause("T2")).await)?, TransitionError::OtherCause { .. });
    answer!(error(call(early.fire(pay("T1"))).await)?, TransitionError::NotApplied { .. });
    let stale = OrderStatus::row(2).fire(pay("T1")).expect_version(7);
    answer!(error(call(stale).await)?, TransitionError::Stale { expected: 7, found: 0, .. });
    answer!(error(call(OrderStatus::row(9).fire(pay("T1"))).await)?, TransitionError::NotFound { .. });
    answer!(order().fire(ship()).run(&idem).await, Ok(Outcome::Applied(_)));
    answer!(error(call(order().fire(pay("T3"))).await)?, TransitionError::Illegal { current: "Shipped", .. });

    ensure!(told == [1], "told of {told:?}");
    left(&db, 1, "shipped 2", "1 pending paid pay T1\n2 paid shipped ship NULL", 1).await?;
    left(&db, 2, "pending 0", "", 0).await
}

/// The same, as an idempotent function: it fails after it has moved the row and booked.
#[idempotent(scope = "report.pay_and_fail", key = order_id)]
async fn pay_and_fail<DB: Engine>(tx: &mut Tx<'_, DB>, order_id: i64, fails: bool) -> Result<i64, ShopError> {
    let paid = OrderStatus::row(order_id).fire(pay("T1")).cause("T1").run(&mut *tx).await?.expect_applied()?;
    book(tx, order_id).await?;
    if fails { Err(ShopError::Effect) } else { Ok(paid.version()) }
}

async fn s31_an_effect_that_fails_undoes_the_transition<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    for order_id in [1, 2] {
        new_order(&db, order_id).await?;
    }
    let mut told = Vec::new();
    let fire = || OrderStatus::row(1).fire(pay("T1")).cause("T1");
    answer!(pay_book_and_tell(&idem, fire(), Fault::Effect, &mut told).await, Err(ShopError::Effect));
    left(&db, 1, "pending 0", "", 0).await?;
    answer!(pay_book_and_tell(&idem, fire(), Fault::None, &mut told).await, Ok(()));
    left(&db, 1, "paid 1", "1 pending paid pay T1", 1).await?;
    ensure!(told == [1], "told of {told:?}");

    answer!(pay_and_fail(&idem, 2, true).await, Err(ShopError::Effect));
    left(&db, 2, "pending 0", "", 0).await?;
    answer!(pay_and_fail(&idem, 2, false).await, Ok(1));
    answer!(pay_and_fail(&idem, 2, true).await, Ok(1));
    left(&db, 2, "paid 1", "1 pending paid pay T1", 1).await
}

async fn s31_a_notice_that_fails_leaves_the_transition<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    new_order(&db, 1).await?;
    let mut told = Vec::new();
    let fire = || OrderStatus::row(1).fire(pay("T1")).cause("T1");
    answer!(pay_book_and_tell(&idem, fire(), Fault::Notice, &mut told).await, Err(ShopError::Notice));
    left(&db, 1, "paid 1", "1 pending paid pay T1", 1).await?;
    // Whoever calls again hears that it was done, which is neither the notice's error nor a refusal.
    let again = pay_book_and_tell(&idem, fire(), Fault::None, &mut told).await;
    answer!(again, Err(ShopError::Transition(TransitionError::NotApplied { .. })));
    answer!(fire().run(&idem).await, Ok(Outcome::Replayed(_)));
    ensure!(told.is_empty(), "told of {told:?}");
    left(&db, 1, "paid 1", "1 pending paid pay T1", 1).await
}

/// Pays an order after a check that has an answer or an error of its own.
#[idempotent(scope = "report.pay_if_allowed", key = order_id)]
async fn pay_if_allowed<DB: Engine>(
    tx: &mut Tx<'_, DB>,
    order_id: i64,
    allowed: Result<bool, ShopError>,
) -> Result<i64, ShopError> {
    book(tx, order_id).await?;
    if !allowed? {
        return Err(ShopError::Denied);
    }
    Ok(OrderStatus::row(order_id).fire(pay("T1")).run(&mut *tx).await?.expect_applied()?.version())
}

async fn s32_an_error_of_a_check_is_no_refusal<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    for order_id in [1, 2] {
        new_order(&db, order_id).await?;
    }
    answer!(OrderStatus::row(2).fire(Cancel).run(&idem).await, Ok(Outcome::Applied(_)));
    answer!(pay_if_allowed(&idem, 1, Err(ShopError::CheckFailed)).await, Err(ShopError::CheckFailed));
    answer!(pay_if_allowed(&idem, 1, Ok(false)).await, Err(ShopError::Denied));
    answer!(
        pay_if_allowed(&idem, 2, Ok(true)).await,
        Err(ShopError::Transition(TransitionError::Illegal { current: "Cancelled", .. }))
    );
    left(&db, 1, "pending 0", "", 0).await?;
    left(&db, 2, "cancelled 1", "1 pending cancelled cancel NULL", 0).await?;
    ensure!(db.integer("SELECT COUNT(*) FROM idem_record").await? == 0, "an error was recorded");
    // None of these answers stands in the way of the next one.
    answer!(pay_if_allowed(&idem, 1, Ok(true)).await, Ok(1));
    left(&db, 1, "paid 1", "1 pending paid pay NULL", 1).await
}

async fn s37_the_history_tells_every_step<DB: Engine>(db: TestDb<DB>) -> TestResult {
    creation::create_tables(&db).await?;
    machines::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    let _ = Cart::create(creation::new(1, 7, 500)).cause("R1").run(&idem).await?;
    let _ = Cart::row(1).fire(creation::cart::Pay).cause("T1").run(&idem).await?;
    let entries = creation::entries(&db, 1).await?;
    ensure!(entries == "0  open create R1\n1 open paid pay T1", "{entries}");

    // The same state again, once by cause, once at a version; and the true source of an event that has several.
    db.execute("INSERT INTO reviews (review_id) VALUES (1)").await?;
    let review = || Review::row(1);
    for _ in 0..2 {
        let _ = review().fire(Touch).cause("C1").run(&idem).await?;
    }
    answer!(review().fire(Touch).expect_version(1).run(&idem).await, Ok(Outcome::Applied(_)));
    answer!(review().fire(Touch).expect_version(1).run(&idem).await, Err(TransitionError::Stale { found: 2, .. }));
    let _ = review().fire(Submit).any_version().run(&idem).await?;
    let _ = review().fire(Hold).any_version().run(&idem).await?;
    let _ = review().fire(Recall).cause("C2").run(&idem).await?;
    let columns = "version, source, target, event, cause";
    let rows = db.rows(format!("SELECT {columns} FROM reviews_history ORDER BY version")).await?;
    let entries: Vec<_> = rows.iter().map(|row| row.join(" ")).collect();
    let expected = [
        "1 draft draft touch C1",
        "2 draft draft touch NULL",
        "3 draft submitted submit NULL",
        "4 submitted held hold NULL",
        "5 held draft recall C2",
    ];
    ensure!(entries == expected, "{entries:?}");
    for table in ["carts_history", "reviews_history"] {
        let undated = db.integer(format!("SELECT COUNT(*) FROM {table} WHERE at IS NULL")).await?;
        ensure!(undated == 0, "{undated} entries of {table} have no time");
    }
    Ok(())
}

/// What a caller's log says.
async fn failures<DB: Engine>(db: &TestDb<DB>) -> Result<Vec<String>, BoxError> {
    Ok(db.rows("SELECT note FROM ledger WHERE order_id = 0 ORDER BY note").await?.concat())
}

/// A line of that log.
fn failure(error: &ShopError) -> String {
    format!("INSERT INTO ledger (order_id, amount, note) VALUES (0, 0, '{error}')")
}

/// The transaction is gone, whatever was in it; the caller's log is not.
async fn s39_a_failure_is_logged_outside<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    new_order(&db, 1).await?;
    let attempt = async {
        let mut tx = idem.begin().await?;
        book(&mut tx, 1).await?;
        let _ = OrderStatus::row(1).fire(Finish).run(&mut *tx).await?;
        tx.commit().await?;
        Ok::<_, ShopError>(())
    };
    let error = attempt.await.expect_err("a pending order is not finished");
    answer!(&error, ShopError::Transition(TransitionError::Illegal { .. }));
    let _ = DB::execute(idem.pool(), failure(&error)).await?;
    let mut told = Vec::new();
    let fire = OrderStatus::row(1).fire(pay("T1"));
    let error = pay_book_and_tell(&idem, fire, Fault::Effect, &mut told).await.expect_err("its effect fails");
    let _ = DB::execute(idem.pool(), failure(&error)).await?;
    let log = failures(&db).await?;
    ensure!(log == ["`OrderStatus` in state `Pending` does not accept event `finish`", "the stock is gone"], "{log:?}");
    left(&db, 1, "pending 0", "", 0).await
}

/// A refusal ends no transaction: what is written about it in there is kept, and the order can go on.
async fn s39_a_refusal_is_logged_inside<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    new_order(&db, 1).await?;
    let mut tx = idem.begin().await?;
    let error = OrderStatus::row(1).fire(Finish).run(&mut *tx).await.expect_err("a pending order is not finished");
    run(&mut tx, failure(&error.into())).await?;
    answer!(OrderStatus::row(1).fire(pay("T1")).run(&mut *tx).await, Ok(Outcome::Applied(_)));
    tx.commit().await?;
    ensure!(failures(&db).await?.len() == 1, "{:?}", failures(&db).await?);

    // One that the database has given up takes no log, and says so.
    let mut tx = idem.begin().await?;
    let given_up = run(&mut tx, "SELECT nothing FROM nowhere").await;
    ensure!(given_up.is_err(), "there is such a table");
    let error = OrderStatus::row(1).fire(Finish).run(&mut *tx).await.expect_err("a paid order is not finished");
    let logged = run(&mut tx, failure(&error.into())).await;
    ensure!(logged.is_err() == (DB::DIALECT == Dialect::Postgres), "{logged:?}");
    ensure!(tx.commit().await.is_ok() == logged.is_ok(), "a commit that says yes keeps what was written");
    let expected = if DB::DIALECT == Dialect::Postgres { 1 } else { 2 };
    ensure!(failures(&db).await?.len() == expected, "{:?}", failures(&db).await?);
    left(&db, 1, "paid 1", "1 pending paid pay NULL", 0).await
}
