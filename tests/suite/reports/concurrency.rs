//! Two that move one row: stale handles, stale snapshots, rows that are gone, and two enums that mean one row.

use std::time::Duration;

use idem_runtime::machine::{AnyState, Statement};
use idem_runtime::prelude::*;
use sqlx::{MySql, Postgres};
use tokio::time::timeout;

use super::{book, left, pay, ship};
use crate::acts::until_waiting;
use crate::answers::answer;
use crate::creation::Cart;
use crate::machines::review::Touch;
use crate::machines::{Coupon, Lamp, Parcel, Review, Word};
use crate::shop::order_status::{Cancel, Paid, Pending, Refund, Refunded};
use crate::shop::{OrderStatus, new_order};
use crate::support::{
    BoxError, Engine, Suite, TASKS, TestDb, TestResult, ensure, on_engines, on_every_engine, release_together,
};
use crate::values::{Invoice, Lift, Sign};
use crate::{machines, shop};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    suite.add_plain("s7_no_statement_moves_a_row_unasked", s7_no_statement_moves_a_row_unasked);
    on_every_engine!(
        suite,
        [
            s4_two_stale_rows_have_one_effect,
            s7_a_row_is_loaded_again_in_the_transaction,
            s9_a_row_that_is_deleted_meanwhile,
            s9_a_row_is_deleted_behind_a_transition,
            s19_two_enums_share_one_history,
            s29_a_call_that_is_cut_is_made_again,
            s29_the_effect_fires_the_event_again,
        ]
    );
    on_engines!(
        suite,
        [Postgres, MySql],
        "SQLite's transactions of idem write one after the other, so that none has an old snapshot",
        [s13_the_refusal_tells_what_the_row_is_now]
    );
}

/// Pays the order that was read, and books it if this call has paid.
async fn pay_and_book<DB: Engine>(
    idem: &Idem<DB>,
    order: Row<OrderStatus, Pending>,
) -> Result<Outcome<OrderStatus, Paid>, TransitionError> {
    let order_id = *order.id();
    let mut tx = idem.begin().await?;
    let outcome = order.fire(pay("T1")).run(&mut *tx).await?;
    if outcome.is_applied() {
        book(&mut tx, order_id).await.map_err(TransitionError::Database)?;
    }
    tx.commit().await?;
    Ok(outcome)
}

async fn s4_two_stale_rows_have_one_effect<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let consoles = [db.idem(4).await?, db.idem(4).await?];
    for order_id in [1, 2] {
        new_order(&db, order_id).await?;
    }
    let first: Row<OrderStatus, Pending> = OrderStatus::row(1).load(&consoles[0]).await?.in_state()?;
    let second = OrderStatus::row(1).load(&consoles[1]).await?.in_state()?;
    answer!(pay_and_book(&consoles[0], first).await, Ok(Outcome::Applied(_)));
    answer!(pay_and_book(&consoles[1], second).await, Ok(Outcome::Already(row)) if row.version() == 1);
    left(&db, 1, "paid 1", "1 pending paid pay NULL", 1).await?;

    let stale: Row<OrderStatus, Pending> = OrderStatus::row(2).load(&consoles[0]).await?.in_state()?;
    let answers = release_together(|task| {
        let (idem, stale) = (consoles[task % 2].clone(), stale.clone());
        async move { pay_and_book(&idem, stale).await }
    });
    let answers = answers.await?.into_iter().collect::<Result<Vec<_>, _>>()?;
    let applied = answers.iter().filter(|answer| answer.is_applied()).count();
    ensure!(applied == 1 && answers.len() == TASKS, "{answers:?}");
    left(&db, 2, "paid 1", "1 pending paid pay NULL", 1).await
}

/// Every write to a machine's table that is no creation and no repair says in which states, and where the caller has a
/// version, at which version.
async fn s7_no_statement_moves_a_row_unasked() -> TestResult {
    for dialect in [Dialect::Postgres, Dialect::MySql, Dialect::Sqlite] {
        check_statements::<OrderStatus>(dialect)?;
        check_statements::<Coupon>(dialect)?;
        check_statements::<Review>(dialect)?;
        check_statements::<Lamp>(dialect)?;
        check_statements::<Word>(dialect)?;
        check_statements::<Parcel>(dialect)?;
        check_statements::<Lift>(dialect)?;
        check_statements::<Invoice>(dialect)?;
        check_statements::<Sign>(dialect)?;
        check_statements::<Cart>(dialect)?;
    }
    Ok(())
}

fn check_statements<M: StateMachine>(dialect: Dialect) -> TestResult {
    let version = M::SPEC.columns.version.ok_or("each of these machines has a version")?;
    for (event, sql) in M::EVENTS {
        let at = |error: BoxError| format!("{} of {}, {}: {error}", event, M::NAME, dialect.name());
        for (statement, pinned) in [(&sql.fire, false), (&sql.fire_at, true), (&sql.fire_all, false)] {
            check_move(statement.of(dialect), M::SPEC.columns.status, version, pinned).map_err(at)?;
        }
        let others = [Some(*sql.explain.of(dialect)), *sql.enter.of(dialect), *sql.enter_at.of(dialect)];
        for other in others.into_iter().flatten() {
            ensure!(writes(other.sql).count() == 0, "{}", at(other.sql.into()));
        }
    }
    let bulk = &M::SQL.bulk;
    let others = [&M::SQL.load, &M::SQL.lock, &M::SQL.lock_now].map(|it| Some(*it.of(dialect)));
    let others = others.into_iter().chain([&bulk.read, &bulk.caused, &bulk.enter].map(|it| *it.of(dialect)));
    for other in others.flatten() {
        ensure!(writes(other.sql).count() == 0, "{}: {}", M::NAME, other.sql);
    }
    Ok(())
}

/// What follows each `UPDATE` that is no lock.
fn writes(sql: &str) -> impl Iterator<Item = &str> {
    sql.match_indices("UPDATE ").filter(|(at, _)| !sql[..*at].ends_with("FOR ")).map(|(at, _)| &sql[at..])
}

fn check_move(statement: &Statement, status: &str, version: &str, pinned: bool) -> TestResult {
    let [write] = writes(statement.sql).collect::<Vec<_>>()[..] else {
        return Err(format!("not one write: {}", statement.sql).into());
    };
    let write = write.split("RETURNING").next().unwrap_or_default().replace(['"', '`'], "");
    let (set, condition) = write.split_once(" WHERE ").ok_or("a write without a condition")?;
    ensure!(set.contains(&format!("{version} = ")) && set.contains(&format!("{version} + 1")), "{set}");
    let names_states = [" = ", " IN ("].iter().any(|sign| condition.contains(&format!("{status}{sign}")));
    ensure!(names_states, "the condition names no state: {condition}");
    let names_version = condition.contains(&format!("{version} = "));
    ensure!(names_version == pinned, "the version is a condition: {names_version}: {condition}");
    ensure!(statement.binds.contains(&idem_runtime::machine::Bind::Version) == pinned, "{:?}", statement.binds);
    Ok(())
}

async fn s7_a_row_is_loaded_again_in_the_transaction<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    new_order(&db, 1).await?;
    let old: Row<OrderStatus, Pending> = OrderStatus::row(1).load(&idem).await?.in_state()?;
    answer!(OrderStatus::row(1).fire(pay("T1")).run(&idem).await, Ok(Outcome::Applied(_)));

    let mut tx = idem.begin().await?;
    answer!(old.fire(Cancel).run(&mut *tx).await, Err(TransitionError::Illegal { current: "Paid", .. }));
    let paid: Row<OrderStatus, Paid> = OrderStatus::row(1).load(&mut *tx).await?.in_state()?;
    answer!(paid.fire(ship()).run(&mut *tx).await, Ok(Outcome::Applied(row)) if row.version() == 2);
    // It sees what the transaction itself has done, and nobody else does yet.
    answer!(OrderStatus::row(1).load(&mut *tx).await, Ok(row) if row.version() == 2);
    answer!(OrderStatus::row(1).load(&idem).await, Ok(row) if row.version() == 1);
    tx.commit().await?;
    left(&db, 1, "shipped 2", "1 pending paid pay NULL\n2 paid shipped ship NULL", 0).await
}

/// How an event is fired at a row that goes away.
#[derive(Debug, Clone, Copy)]
enum How {
    /// A callback: no row was loaded.
    ById,
    /// A row that was read before.
    AtVersion,
    /// From several sources, so that the row is locked first.
    FromSeveral,
    InTransaction,
}

async fn fire<DB: Engine>(
    idem: &Idem<DB>,
    row: Row<OrderStatus, Paid>,
    how: How,
) -> Result<Row<OrderStatus>, TransitionError> {
    let order = OrderStatus::row(*row.id());
    match how {
        How::ById => Ok(order.fire(ship()).cause("S").run(idem).await?.into_row()),
        How::AtVersion => Ok(row.fire(ship()).run(idem).await?.into_row()),
        How::FromSeveral => Ok(order.fire(Refund).cause("S").run(idem).await?.into_row()),
        How::InTransaction => {
            let mut tx = idem.begin().await?;
            let outcome = order.fire(Refund).run(&mut *tx).await;
            tx.commit().await?;
            outcome.map(Outcome::into_row)
        }
    }
}

async fn s9_a_row_that_is_deleted_meanwhile<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    for (order_id, how) in (1..).zip([How::ById, How::AtVersion, How::FromSeveral, How::InTransaction]) {
        db.execute(format!("INSERT INTO orders (order_id, status, version) VALUES ({order_id}, 'paid', 1)")).await?;
        let row = OrderStatus::row(order_id).load(&idem).await?.in_state()?;
        let mut deletion = idem.begin().await?;
        crate::acts::run(&mut deletion, format!("DELETE FROM orders WHERE order_id = {order_id}")).await?;
        let (answer, ended) = tokio::join!(fire(&idem, row.clone(), how), async {
            until_waiting(&db, 1).await?;
            deletion.commit().await?;
            Ok::<_, BoxError>(())
        });
        ended?;
        answer!(answer, Err(TransitionError::NotFound { machine: "OrderStatus" }));
        answer!(fire(&idem, row, how).await, Err(TransitionError::NotFound { .. }));
        left(&db, order_id, "", "", 0).await.map_err(|error| format!("{how:?}: {error}"))?;
    }
    Ok(())
}

/// The deletion waits for the transition; what is fired then makes no new row, and tells of no old one.
async fn s9_a_row_is_deleted_behind_a_transition<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    new_order(&db, 1).await?;
    let mut tx = idem.begin().await?;
    let paid = OrderStatus::row(1).fire(pay("T1")).cause("T1").run(&mut *tx).await?.expect_applied()?;
    let deletion = DB::execute(idem.pool(), "DELETE FROM orders WHERE order_id = 1".to_owned());
    let (deleted, ended) = tokio::join!(deletion, async {
        until_waiting(&db, 1).await?;
        tx.commit().await?;
        Ok::<_, BoxError>(())
    });
    ended?;
    ensure!(deleted? == 1, "the row was there");
    answer!(paid.fire(ship()).run(&idem).await, Err(TransitionError::NotFound { .. }));
    answer!(OrderStatus::row(1).fire(pay("T1")).cause("T1").run(&idem).await, Err(TransitionError::NotFound { .. }));
    left(&db, 1, "", "1 pending paid pay T1", 0).await
}

/// The transaction has read the row, others have moved it since, and its snapshot still shows the old one.
async fn s13_the_refusal_tells_what_the_row_is_now<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    machines::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    for order_id in [1, 2] {
        new_order(&db, order_id).await?;
    }
    db.execute("INSERT INTO reviews (review_id, version) VALUES (1, 5)").await?;
    let order = OrderStatus::row;

    let mut tx = idem.begin().await?;
    let one: Row<OrderStatus, Pending> = order(1).load(&mut *tx).await?.in_state()?;
    let other: Row<OrderStatus, Pending> = order(2).load(&mut *tx).await?.in_state()?;
    let review = Review::row(1).load(&mut *tx).await?;
    answer!(order(1).fire(pay("T1")).cause("T1").run(&idem).await, Ok(Outcome::Applied(_)));
    answer!(order(2).fire(pay("T1")).cause("T1").run(&idem).await, Ok(Outcome::Applied(_)));
    answer!(order(2).fire(ship()).run(&idem).await, Ok(Outcome::Applied(_)));
    answer!(Review::row(1).fire(Touch).any_version().run(&idem).await, Ok(Outcome::Applied(_)));
    let seen = order(1).load(&mut *tx).await?.version();
    ensure!(seen == i64::from(DB::DIALECT == Dialect::Postgres), "the snapshot shows version {seen}");

    answer!(one.clone().fire(Cancel).run(&mut *tx).await, Err(TransitionError::Illegal { current: "Paid", .. }));
    answer!(one.fire(pay("T1")).run(&mut *tx).await, Ok(Outcome::Already(row)) if row.version() == 1);
    answer!(order(1).fire(pay("T2")).cause("T2").run(&mut *tx).await,
        Err(TransitionError::OtherCause { recorded: Some(cause), .. }) if cause == "T1");
    answer!(order(1).fire(pay("T1")).cause("T1").run(&mut *tx).await,
        Ok(Outcome::Replayed(row)) if row.version() == 1 && row.state() == OrderStatus::Paid);
    answer!(other.fire(pay("T1")).run(&mut *tx).await, Err(TransitionError::Illegal { current: "Shipped",
        passed: Some(passed), .. }) if passed.version == 1);
    answer!(
        Review::row(1).fire(Touch).expect_version(review.version()).run(&mut *tx).await,
        Err(TransitionError::Stale { expected: 5, found: 6, .. })
    );
    tx.commit().await?;
    Ok(())
}

/// Another enum for the same rows, such as another service has: fewer states, the same column, the same history.
#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64), history, rename_all = "snake_case")]
#[transition(pay: Pending => Paid, set(trade_no: String))]
enum Checkout {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
}

/// Pays through the one enum or the other. True if this call has moved the row, false if the cause has before.
async fn pay_through<DB: Engine>(idem: &Idem<DB>, order_id: i64, checkout: bool) -> Result<bool, TransitionError> {
    let trade_no = "T1".to_owned();
    if checkout {
        let pay = checkout::Pay { trade_no };
        return told(&Checkout::row(order_id).fire(pay).cause("T1").run(idem).await?);
    }
    told(&OrderStatus::row(order_id).fire(pay("T1")).cause("T1").run(idem).await?)
}

fn told<M: StateMachine, T>(outcome: &Outcome<M, T>) -> Result<bool, TransitionError> {
    match outcome {
        Outcome::Applied(_) => Ok(true),
        Outcome::Replayed(_) => Ok(false),
        Outcome::Already(_) => Err(TransitionError::NotFound { machine: M::NAME }),
    }
}

async fn s19_two_enums_share_one_history<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(8).await?;
    ensure!(Checkout::SPEC.columns.history == OrderStatus::SPEC.columns.history, "two histories of one table");
    for order_id in 1..=3 {
        new_order(&db, order_id).await?;
    }
    for (order_id, checkout) in [(1, true), (2, false)] {
        answer!(pay_through(&idem, order_id, checkout).await, Ok(true));
        answer!(pay_through(&idem, order_id, !checkout).await, Ok(false));
        left(&db, order_id, "paid 1", "1 pending paid pay T1", 0).await?;
    }
    let answers = release_together(|task| {
        let idem = idem.clone();
        async move { pay_through(&idem, 3, task % 2 == 0).await }
    });
    let answers = answers.await?.into_iter().collect::<Result<Vec<_>, _>>()?;
    ensure!(answers.iter().filter(|applied| **applied).count() == 1, "{answers:?}");
    left(&db, 3, "paid 1", "1 pending paid pay T1", 0).await?;

    // What the other enum does not know is told, and left as it is.
    answer!(OrderStatus::row(3).fire(ship()).run(&idem).await, Ok(Outcome::Applied(_)));
    answer!(Checkout::row(3).load(&idem).await, Err(TransitionError::UnknownState { raw, .. }) if raw == "shipped");
    Ok(())
}

/// The caller loses patience while another transaction has the row.
async fn s29_a_call_that_is_cut_is_made_again<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let (one, other) = (db.idem(2).await?, db.idem(1).await?);
    for (order_id, in_transaction) in [(1, false), (2, true)] {
        new_order(&db, order_id).await?;
        let mut holder = one.begin().await?;
        answer!(OrderStatus::row(order_id).fire(Cancel).run(&mut *holder).await, Ok(Outcome::Applied(_)));
        let call = || async {
            if !in_transaction {
                return OrderStatus::row(order_id).fire(pay("T1")).cause("T1").run(&other).await;
            }
            let mut tx = other.begin().await?;
            let outcome = OrderStatus::row(order_id).fire(pay("T1")).cause("T1").run(&mut *tx).await?;
            tx.commit().await?;
            Ok(outcome)
        };
        ensure!(timeout(Duration::from_millis(100), call()).await.is_err(), "the row was to be had");
        holder.rollback().await?;
        match call().await? {
            Outcome::Applied(row) => ensure!(row.version() == 1, "{row:?}"),
            // A statement that commits by itself may go on although nobody waits for its answer any more.
            Outcome::Replayed(row) => ensure!(!in_transaction && row.version() == 1, "{row:?}"),
            Outcome::Already(row) => return Err(format!("{row:?}").into()),
        }
        left(&db, order_id, "paid 1", "1 pending paid pay T1", 0).await?;
    }
    Ok(())
}

/// The code that follows a transition, in its transaction, fires it once more.
async fn s29_the_effect_fires_the_event_again<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    new_order(&db, 1).await?;
    let mut tx = idem.begin().await?;
    let paid = OrderStatus::row(1).fire(pay("T1")).cause("T1").run(&mut *tx).await?.expect_applied()?;
    answer!(OrderStatus::row(1).fire(pay("T1")).cause("T1").run(&mut *tx).await, Ok(Outcome::Replayed(_)));
    answer!(OrderStatus::row(1).fire(pay("T1")).run(&mut *tx).await, Ok(Outcome::Already(_)));
    let refunded: Outcome<OrderStatus, Refunded> = paid.clone().fire(Refund).run(&mut *tx).await?;
    answer!(refunded, Outcome::Applied(row) if row.version() == 2);
    answer!(paid.fire(ship()).run(&mut *tx).await, Err(TransitionError::Illegal { current: "Refunded", .. }));
    let seen: Row<OrderStatus, AnyState> = OrderStatus::row(1).load(&mut *tx).await?;
    ensure!(seen.version() == 2, "{seen:?}");
    tx.commit().await?;
    left(&db, 1, "refunded 2", "1 pending paid pay T1\n2 paid refunded refund NULL", 0).await
}
