//! Answers of machines that are not the shop's, and that they are the same on `&pool`, `&idem` and `&mut *tx`.

use idem_runtime::__private::Binds;
use idem_runtime::Passed;
use idem_runtime::prelude::*;
use uuid::Uuid;

use crate::acts::until_waiting;
use crate::answers::answer;
use crate::machines::coupon::{Expire, Redeem};
use crate::machines::lamp::{Light, Lower, Quench, Retire};
use crate::machines::parcel::Mark;
use crate::machines::review::{Hold, Recall, Reject, Submit, Touch};
use crate::machines::{Coupon, Label, Lamp, Parcel, Review};
use crate::settle::note;
use crate::shop::order_status::{Cancel, Finish, Pay, Refund, Ship};
use crate::shop::{OrderStatus, history, new_order, status};
use crate::support::{BoxError, Engine, Suite, TestDb, TestResult, ensure, on_every_engine, sql};
use crate::{machines, shop};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            same_answers_on_every_seat,
            a_cause_that_counts_once,
            a_cause_that_counts_once_raced,
            a_machine_without_a_history,
            late_duplicate_on_a_cycle,
            late_duplicate_on_a_cycle_raced,
            missing_row_writes_nothing,
            versions_that_the_user_raises,
            states_that_somebody_set_by_hand,
            fields_of_any_type,
        ]
    );
}

fn pay(trade_no: &str) -> Pay {
    Pay { trade_no: trade_no.to_owned() }
}

/// Runs a table of calls on an order and lists the answers.
macro_rules! answers_on {
    ($db:expr, $on:expr) => {{
        let order = || OrderStatus::row(1);
        let mut answers = Vec::new();
        macro_rules! call {
            ($call:expr) => {
                answers.push(format!("{:?}", $call.run($on).await))
            };
        }
        call!(OrderStatus::row(9).fire(Cancel));
        call!(order().fire(Finish));
        call!(order().fire(Refund).cause("R1").expect_version(0));
        call!(order().fire(pay("T1")).cause("T1").expect_version(7));
        call!(order().fire(pay("T1")).cause("T1").expect_version(0));
        call!(order().fire(pay("T1")).cause("T1"));
        call!(order().fire(pay("T1")).cause("T1").expect_version(7));
        call!(order().fire(pay("T0")).cause("T1"));
        call!(order().fire(pay("T2")).cause("T2"));
        call!(order().fire(pay("T2")).cause("T2").expect_version(0));
        call!(order().fire(pay("T2")));
        call!(order().fire(Refund).cause("R1").expect_version(0));
        call!(order().fire(Ship { carrier: "sf".to_owned() }));
        call!(order().fire(pay("T1")).cause("T1"));
        call!(order().fire(pay("T2")).cause("T2"));
        call!(order().fire(pay("T2")));
        call!(order().fire(Refund).cause("T1"));
        call!(order().fire(Refund).cause("T1"));
        call!(order().fire(Refund).cause("R2"));
        call!(order().fire(Refund));
        call!(order().fire(pay("T3")).cause("T3"));
        call!(order().fire(Cancel));
        answers
    }};
}

pub(crate) use answers_on;

/// The answers in the order of the calls above.
const ANSWERS: [&str; 22] = [
    r#"Err(NotFound { machine: "OrderStatus" })"#,
    r#"Err(Illegal { machine: "OrderStatus", event: "finish", current: "Pending", passed: None })"#,
    r#"Err(Illegal { machine: "OrderStatus", event: "refund", current: "Pending", passed: None })"#,
    r#"Err(Stale { machine: "OrderStatus", expected: 7, found: 0 })"#,
    "Ok(Applied(Row { id: 1, state: Paid, version: 1 }))",
    "Ok(Replayed(Row { id: 1, state: Paid, version: 1 }))",
    "Ok(Replayed(Row { id: 1, state: Paid, version: 1 }))",
    r#"Err(Mismatch { machine: "OrderStatus", event: "pay" })"#,
    r#"Err(OtherCause { machine: "OrderStatus", event: "pay", recorded: Some("T1") })"#,
    r#"Err(OtherCause { machine: "OrderStatus", event: "pay", recorded: Some("T1") })"#,
    "Ok(Already(Row { id: 1, state: Paid, version: 1 }))",
    r#"Err(Stale { machine: "OrderStatus", expected: 0, found: 1 })"#,
    "Ok(Applied(Row { id: 1, state: Shipped, version: 2 }))",
    "Ok(Replayed(Row { id: 1, state: Shipped, version: 2 }))",
    r#"Err(Illegal { machine: "OrderStatus", event: "pay", current: "Shipped", passed: Some(Passed { version: 1, cause: Some("T1") }) })"#,
    r#"Err(Illegal { machine: "OrderStatus", event: "pay", current: "Shipped", passed: Some(Passed { version: 1, cause: Some("T1") }) })"#,
    "Ok(Applied(Row { id: 1, state: Refunded, version: 3 }))",
    "Ok(Replayed(Row { id: 1, state: Refunded, version: 3 }))",
    r#"Err(OtherCause { machine: "OrderStatus", event: "refund", recorded: Some("T1") })"#,
    "Ok(Already(Row { id: 1, state: Refunded, version: 3 }))",
    r#"Err(Illegal { machine: "OrderStatus", event: "pay", current: "Refunded", passed: Some(Passed { version: 1, cause: Some("T1") }) })"#,
    r#"Err(Illegal { machine: "OrderStatus", event: "cancel", current: "Refunded", passed: None })"#,
];

async fn same_answers_on_every_seat<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    new_order(&db, 1).await?;
    compare("&idem", &answers_on!(db, &idem))?;
    check_and_clear(&db).await?;
    compare("&pool", &answers_on!(db, idem.pool()))?;
    check_and_clear(&db).await?;
    let mut tx = idem.begin().await?;
    compare("&mut *tx", &answers_on!(db, &mut *tx))?;
    tx.commit().await?;
    check_and_clear(&db).await
}

/// Fails unless the answers are those.
pub(crate) fn compare(seat: &str, answers: &[String]) -> TestResult {
    for (at, (found, expected)) in answers.iter().zip(ANSWERS).enumerate() {
        ensure!(found == expected, "call {at} on `{seat}`: {found}\n        not {expected}");
    }
    ensure!(answers.len() == ANSWERS.len(), "{} answers", answers.len());
    Ok(())
}

/// The row and its history after all these calls; then a new order in its place.
pub(crate) async fn check_and_clear<DB: Engine>(db: &TestDb<DB>) -> TestResult {
    let found = (status(db, 1).await?, history(db, 1).await?);
    let entries = "1 pending paid pay T1\n2 paid shipped ship NULL\n3 shipped refunded refund T1";
    ensure!(found == ("refunded 3".to_owned(), entries.to_owned()), "{found:?}");
    db.execute("DELETE FROM orders").await?;
    db.execute("DELETE FROM orders_history").await?;
    new_order(db, 1).await
}

fn coupon(code: &str) -> idem_runtime::machine::Handle<Coupon> {
    Coupon::row(7, code.to_owned())
}

async fn new_coupon<DB: Engine>(db: &TestDb<DB>, code: &str) -> TestResult {
    db.execute(format!("INSERT INTO coupons (tenant_id, code) VALUES (7, '{code}'), (8, '{code}')")).await.map(drop)
}

/// Code, status and version of every coupon that is no longer as it was issued, of whatever tenant.
async fn coupons<DB: Engine>(db: &TestDb<DB>) -> Result<String, BoxError> {
    let query = "SELECT tenant_id, code, status, version FROM coupons WHERE version > 0 ORDER BY tenant_id, code";
    Ok(db.rows(query).await?.iter().map(|row| row.join(" ")).collect::<Vec<_>>().join(", "))
}

async fn a_cause_that_counts_once<DB: Engine>(db: TestDb<DB>) -> TestResult {
    machines::create_tables(&db).await?;
    shop::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    for code in ["a", "b", "c"] {
        new_coupon(&db, code).await?;
    }
    let redeem = |order_id| Redeem { order_id };
    answer!(coupon("a").fire(redeem(1)).cause("O1").run(&idem).await, Ok(Outcome::Applied(row)) if row.version() == 1);
    answer!(coupon("a").fire(redeem(1)).cause("O1").run(&idem).await, Ok(Outcome::Replayed(row)) if row.id().1 == "a");
    answer!(coupon("a").fire(redeem(2)).cause("O1").run(&idem).await, Err(TransitionError::Mismatch { .. }));
    answer!(coupon("b").fire(redeem(1)).cause("O1").run(&idem).await, Err(TransitionError::Mismatch { .. }));
    answer!(
        Coupon::row(8, "a".to_owned()).fire(redeem(1)).cause("O1").run(&idem).await,
        Err(TransitionError::Mismatch { .. })
    );
    answer!(coupon("a").fire(redeem(2)).cause("O2").run(&idem).await,
        Err(TransitionError::OtherCause { recorded: Some(cause), .. }) if cause == "O1");
    // Another event may have the same cause.
    answer!(coupon("c").fire(Expire).cause("O1").run(&idem).await, Ok(Outcome::Applied(_)));

    let mut tx = idem.begin().await?;
    let _ = note(&mut *tx, 1, 5, "beside").await?;
    answer!(coupon("b").fire(redeem(1)).cause("O1").run(&mut *tx).await, Err(TransitionError::Mismatch { .. }));
    answer!(coupon("a").fire(redeem(1)).cause("O1").run(&mut *tx).await, Ok(Outcome::Replayed(_)));
    answer!(coupon("b").fire(redeem(3)).cause("O3").run(&mut *tx).await, Ok(Outcome::Applied(_)));
    answer!(coupon("d").fire(redeem(3)).cause("O4").run(&mut *tx).await, Err(TransitionError::NotFound { .. }));
    tx.commit().await?;
    ensure!(db.integer("SELECT COUNT(*) FROM ledger").await? == 1, "what stood beside the refusals is kept");
    let found = coupons(&db).await?;
    ensure!(found == "7 a redeemed 1, 7 b redeemed 1, 7 c expired 1", "{found}");
    Ok(())
}

/// The second coupon waits for the first one's entry: what it finds then decides.
async fn a_cause_that_counts_once_raced<DB: Engine>(db: TestDb<DB>) -> TestResult {
    machines::create_tables(&db).await?;
    shop::create_tables(&db).await?;
    let (one, other) = (db.idem(2).await?, db.idem(2).await?);
    new_coupon(&db, "a").await?;
    new_coupon(&db, "b").await?;
    let redeem = |code, cause| coupon(code).fire(Redeem { order_id: 1 }).cause(cause);

    let mut first = one.begin().await?;
    answer!(redeem("a", "O1").run(&mut *first).await, Ok(Outcome::Applied(_)));
    let (second, ended) = tokio::join!(redeem("b", "O1").run(&other), async {
        until_waiting(&db, 1).await?;
        first.rollback().await?;
        Ok::<_, BoxError>(())
    });
    ended?;
    answer!(second, Ok(Outcome::Applied(_)));

    let mut first = one.begin().await?;
    answer!(redeem("a", "O2").run(&mut *first).await, Ok(Outcome::Applied(_)));
    let (second, ended) = tokio::join!(redeem_beside_a_note(&other, "O2"), async {
        until_waiting(&db, 1).await?;
        first.commit().await?;
        Ok::<_, BoxError>(())
    });
    ended?;
    answer!(second?, Err(TransitionError::Mismatch { .. }));
    ensure!(db.integer("SELECT COUNT(*) FROM ledger").await? == 1, "the second transaction lives on");
    let found = coupons(&db).await?;
    ensure!(found == "7 a redeemed 1, 7 b redeemed 1", "{found}");
    Ok(())
}

/// Another tenant's coupon with the same cause, in a transaction that does more and commits whatever the answer is.
async fn redeem_beside_a_note<DB: Engine>(
    idem: &Idem<DB>,
    cause: &str,
) -> Result<Result<Outcome<Coupon, machines::coupon::Redeemed>, TransitionError>, BoxError> {
    let mut tx = idem.begin().await?;
    let _ = note(&mut *tx, 1, 5, "beside").await?;
    let redeem = Coupon::row(8, "b".to_owned()).fire(Redeem { order_id: 1 }).cause(cause);
    let answer = redeem.run(&mut *tx).await;
    tx.commit().await?;
    Ok(answer)
}

async fn a_machine_without_a_history<DB: Engine>(db: TestDb<DB>) -> TestResult {
    machines::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    db.execute("INSERT INTO lamps (lamp_id) VALUES (1)").await?;
    let lamp = || Lamp::row(1);
    answer!(Lamp::row(9).fire(Light).any_version().run(&idem).await, Err(TransitionError::NotFound { .. }));
    answer!(
        lamp().fire(Lower).any_version().run(idem.pool()).await,
        Err(TransitionError::Illegal { current: "Dark", event: "lower", passed: None, .. })
    );
    answer!(
        lamp().fire(Light).expect_version(3).run(&idem).await,
        Err(TransitionError::Stale { expected: 3, found: 0, .. })
    );
    answer!(lamp().fire(Light).any_version().run(idem.pool()).await, Ok(Outcome::Applied(row)) if row.version() == 1);
    answer!(lamp().fire(Light).any_version().run(&idem).await, Ok(Outcome::Already(row)) if row.version() == 1);

    let mut tx = idem.begin().await?;
    answer!(lamp().fire(Quench).expect_version(1).run(&mut *tx).await, Ok(Outcome::Applied(row)) if row.version() == 2);
    answer!(lamp().fire(Quench).any_version().run(&mut *tx).await, Ok(Outcome::Already(row)) if row.version() == 2);
    answer!(lamp().fire(Light).any_version().run(&mut *tx).await, Ok(Outcome::Applied(row)) if row.version() == 3);
    answer!(lamp().fire(Light).expect_version(1).run(&mut *tx).await, Ok(Outcome::Already(row)) if row.version() == 3);
    answer!(lamp().fire(Retire).run(&mut *tx).await, Err(TransitionError::Illegal { current: "Lit", .. }));
    tx.commit().await?;
    db.execute("UPDATE lamps SET status = 'broken'").await?;
    answer!(lamp().fire(Light).any_version().run(&idem).await, Err(TransitionError::UnknownState { raw, .. }) if raw == "broken");
    Ok(())
}

/// The status and version of the review, and the number of its entries with the cause `S1`.
async fn review<DB: Engine>(db: &TestDb<DB>) -> Result<(String, i64), BoxError> {
    let row = db.rows("SELECT status, version FROM reviews WHERE review_id = 1").await?;
    let entries = db.integer("SELECT COUNT(*) FROM reviews_history WHERE cause = 'S1'").await?;
    Ok((row.concat().join(" "), entries))
}

async fn late_duplicate_on_a_cycle<DB: Engine>(db: TestDb<DB>) -> TestResult {
    machines::create_tables(&db).await?;
    shop::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    db.execute("INSERT INTO reviews (review_id) VALUES (1)").await?;
    let submit = || Review::row(1).fire(Submit).cause("S1");
    let recall = || Review::row(1).fire(Recall).cause("R1");
    answer!(submit().run(&idem).await, Ok(Outcome::Applied(row)) if row.version() == 1);
    answer!(recall().run(&idem).await, Ok(Outcome::Applied(row)) if row.version() == 2);
    // The row is in the source again, and the cause has done its work.
    answer!(submit().run(&idem).await, Ok(Outcome::Replayed(row)) if row.version() == 2 && row.state() == Review::Draft);
    answer!(submit().run(idem.pool()).await, Ok(Outcome::Replayed(row)) if row.version() == 2);
    answer!(submit().expect_version(2).run(&idem).await, Ok(Outcome::Replayed(row)) if row.version() == 2);

    let mut tx = idem.begin().await?;
    let _ = note(&mut *tx, 1, 5, "beside").await?;
    answer!(submit().run(&mut *tx).await, Ok(Outcome::Replayed(row)) if row.version() == 2);
    answer!(Review::row(1).fire(Submit).cause("S2").run(&mut *tx).await, Ok(Outcome::Applied(row)) if row.version() == 3);
    answer!(recall().run(&mut *tx).await, Ok(Outcome::Replayed(row)) if row.version() == 3);
    answer!(Review::row(1).fire(Hold).any_version().run(&mut *tx).await, Ok(Outcome::Applied(row)) if row.version() == 4);
    answer!(recall().run(&mut *tx).await, Ok(Outcome::Replayed(row)) if row.state() == Review::Held);
    tx.commit().await?;
    ensure!(review(&db).await? == ("held 4".to_owned(), 1), "{:?}", review(&db).await?);
    ensure!(db.integer("SELECT COUNT(*) FROM ledger").await? == 1, "what stood beside the replays is kept");
    Ok(())
}

/// The duplicate looks before its twin has committed, and moves after the row has come back to the source.
async fn late_duplicate_on_a_cycle_raced<DB: Engine>(db: TestDb<DB>) -> TestResult {
    machines::create_tables(&db).await?;
    shop::create_tables(&db).await?;
    let (one, other) = (db.idem(2).await?, db.idem(2).await?);
    for in_transaction in [false, true] {
        db.execute("DELETE FROM reviews_history").await?;
        db.execute("DELETE FROM reviews").await?;
        db.execute("INSERT INTO reviews (review_id) VALUES (1)").await?;
        let mut first = one.begin().await?;
        answer!(Review::row(1).fire(Submit).cause("S1").run(&mut *first).await, Ok(Outcome::Applied(_)));
        answer!(Review::row(1).fire(Reject).any_version().run(&mut *first).await, Ok(Outcome::Applied(_)));
        answer!(Review::row(1).fire(Touch).cause("C1").run(&mut *first).await, Ok(Outcome::Applied(_)));
        let (late, ended) = tokio::join!(submit_late(&other, in_transaction), async {
            until_waiting(&db, 1).await?;
            first.commit().await?;
            Ok::<_, BoxError>(())
        });
        ended?;
        answer!(late?, Outcome::Replayed(row) if row.version() == 3 && row.state() == Review::Draft);
        let found = review(&db).await?;
        ensure!(found == ("draft 3".to_owned(), 1), "in a transaction: {in_transaction}: {found:?}");
    }
    ensure!(db.integer("SELECT COUNT(*) FROM ledger").await? == 1, "the transaction of the duplicate lives on");
    Ok(())
}

async fn submit_late<DB: Engine>(
    idem: &Idem<DB>,
    in_transaction: bool,
) -> Result<Outcome<Review, machines::review::Submitted>, BoxError> {
    let submit = Review::row(1).fire(Submit).cause("S1");
    if !in_transaction {
        return Ok(submit.run(idem).await?);
    }
    let mut tx = idem.begin().await?;
    let _ = note(&mut *tx, 1, 5, "beside").await?;
    let outcome = submit.run(&mut *tx).await?;
    tx.commit().await?;
    Ok(outcome)
}

async fn missing_row_writes_nothing<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    machines::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    new_order(&db, 1).await?;
    let order = || OrderStatus::row(9);
    answer!(order().fire(pay("T1")).cause("T1").run(&idem).await, Err(TransitionError::NotFound { .. }));
    answer!(order().fire(Refund).cause("R1").run(idem.pool()).await, Err(TransitionError::NotFound { .. }));
    let mut tx = idem.begin().await?;
    answer!(
        order().fire(pay("T1")).cause("T1").expect_version(0).run(&mut *tx).await,
        Err(TransitionError::NotFound { .. })
    );
    answer!(
        coupon("a").fire(Redeem { order_id: 1 }).cause("O1").run(&mut *tx).await,
        Err(TransitionError::NotFound { .. })
    );
    answer!(Review::row(9).fire(Submit).cause("S1").run(&mut *tx).await, Err(TransitionError::NotFound { .. }));
    answer!(order().load(&mut *tx).await, Err(TransitionError::NotFound { machine: "OrderStatus" }));
    tx.commit().await?;
    for (table, rows) in [("orders", 1), ("orders_history", 0), ("coupons_history", 0), ("reviews_history", 0)] {
        let found = db.integer(format!("SELECT COUNT(*) FROM {table}")).await?;
        ensure!(found == rows, "{table}: {found} rows");
    }
    ensure!(status(&db, 1).await? == "pending 0", "{}", status(&db, 1).await?);
    Ok(())
}

async fn versions_that_the_user_raises<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    new_order(&db, 1).await?;
    let order = || OrderStatus::row(1);
    let paid = order().fire(pay("T1")).cause("T1").run(&idem).await?.expect_applied()?;
    db.execute("UPDATE orders SET carrier = 'yto', version = version + 5").await?;
    let ship = || Ship { carrier: "sf".to_owned() };
    answer!(paid.clone().fire(ship()).run(&idem).await, Err(TransitionError::Stale { expected: 1, found: 6, .. }));
    let mut tx = idem.begin().await?;
    answer!(paid.fire(ship()).run(&mut *tx).await, Err(TransitionError::Stale { expected: 1, found: 6, .. }));
    sql::<DB>("UPDATE orders SET version = version + ?").bind(10_i64).execute(&mut *tx).await?;
    answer!(order().fire(ship()).expect_version(16).run(&mut *tx).await, Ok(Outcome::Applied(row)) if row.version() == 17);
    answer!(order().fire(pay("T2")).cause("T2").run(&mut *tx).await,
        Err(TransitionError::Illegal { passed: Some(Passed { version: 1, cause: Some(cause) }), .. }) if cause == "T1");
    tx.commit().await?;
    let entries = history(&db, 1).await?;
    ensure!(entries == "1 pending paid pay T1\n17 paid shipped ship NULL", "{entries}");
    Ok(())
}

async fn states_that_somebody_set_by_hand<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    new_order(&db, 1).await?;
    let pay_by = |cause: &'static str| OrderStatus::row(1).fire(pay(cause)).cause(cause);
    answer!(pay_by("T1").run(&idem).await, Ok(Outcome::Applied(_)));
    let ship = Ship { carrier: "sf".to_owned() };
    answer!(OrderStatus::row(1).fire(ship).cause("S1").run(&idem).await, Ok(Outcome::Applied(_)));
    // The last entry has a cause, but it does not lead to where the row is.
    db.execute("UPDATE orders SET status = 'paid', version = version + 1").await?;
    answer!(pay_by("T2").run(&idem).await, Err(TransitionError::OtherCause { recorded: None, .. }));
    answer!(pay_by("T1").run(&idem).await, Ok(Outcome::Replayed(row)) if row.version() == 3);
    // Back at the start: an old cause still does nothing, a new one does.
    db.execute("UPDATE orders SET status = 'pending', version = version + 1").await?;
    answer!(pay_by("T1").run(&idem).await, Ok(Outcome::Replayed(row)) if row.state() == OrderStatus::Pending);
    let mut tx = idem.begin().await?;
    answer!(pay_by("T1").run(&mut *tx).await, Ok(Outcome::Replayed(row)) if row.state() == OrderStatus::Pending);
    answer!(pay_by("T2").run(&mut *tx).await, Ok(Outcome::Applied(row)) if row.version() == 5);
    tx.commit().await?;

    new_order(&db, 2).await?;
    answer!(OrderStatus::row(2).fire(pay("T3")).run(&idem).await, Ok(Outcome::Applied(_)));
    answer!(
        OrderStatus::row(2).fire(pay("T3")).cause("T3").run(&idem).await,
        Err(TransitionError::OtherCause { recorded: None, .. })
    );
    Ok(())
}

async fn fields_of_any_type<DB>(db: TestDb<DB>) -> TestResult
where
    DB: Engine + Binds<Label> + Binds<Option<Label>>,
{
    machines::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    let (parcel_id, batch) = (Uuid::from_u128(7), Uuid::from_u128(8));
    let mut tx = idem.begin().await?;
    sql::<DB>("INSERT INTO parcels (parcel_id) VALUES (?)").bind(parcel_id).execute(&mut *tx).await?;
    tx.commit().await?;
    let mark = |grams| Mark { label: Label("it's 易碎".to_owned()), grams, batch, seal: None };
    let parcel = || Parcel::row(parcel_id);
    answer!(parcel().fire(mark(None)).cause(&batch).run(&idem).await,
        Ok(Outcome::Applied(row)) if *row.id() == parcel_id);
    answer!(parcel().fire(mark(None)).cause(&batch).run(&idem).await, Ok(Outcome::Replayed(_)));
    answer!(parcel().fire(mark(Some(1))).cause(&batch).run(&idem).await, Err(TransitionError::Mismatch { .. }));
    let mut tx = idem.begin().await?;
    answer!(parcel().load(&mut *tx).await, Ok(row) if row.state() == Parcel::Labelled);
    answer!(parcel().fire(mark(None)).cause(&batch).run(&mut *tx).await, Ok(Outcome::Replayed(_)));

    let query = "SELECT label, grams, seal FROM parcels WHERE parcel_id = ? AND batch = ?";
    let found = sql::<DB>(query).bind(parcel_id).bind(batch).rows(&mut *tx).await?;
    ensure!(found == [["it's 易碎", "NULL", "NULL"]], "{found:?}");
    let query = "SELECT version, cause FROM parcels_history WHERE parcel_id = ?";
    let found = sql::<DB>(query).bind(parcel_id).rows(&mut *tx).await?;
    ensure!(found == [["1".to_owned(), batch.to_string()]], "{found:?}");
    Ok(())
}
