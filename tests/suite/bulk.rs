//! One event on many rows: the answers of each, what is written, what it costs, and that two of them never wait for each
//! other.

use idem_runtime::dialect::Binds;
use idem_runtime::machine::{ByRow, State};
use idem_runtime::prelude::*;
use sqlx::{MySql, Postgres};
use uuid::Uuid;

use crate::answers::answer;
use crate::creation::cart::{Close, Reopen};
use crate::creation::{self, Cart};
use crate::machines::coupon::{Expire, Redeem};
use crate::machines::lamp::{Light, Quench};
use crate::machines::parcel::Mark;
use crate::machines::review::{Submit, Touch};
use crate::machines::{Coupon, Label, Lamp, Parcel, Review};
use crate::shop::order_status::{Cancel, Pay, Refund};
use crate::shop::{OrderStatus, create_tables, history, new_order, status};
use crate::support::{
    BoxError, Engine, ROUNDS, Suite, TestDb, TestResult, count_statements, ensure, on_engines, on_every_engine, sql,
};
use crate::{machines, shop};

/// Longer than any deadlock lasts.
const LONG: std::time::Duration = std::time::Duration::from_mins(1);

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            answers_of_many_rows,
            answers_of_many_rows_in_a_transaction,
            many_rows_without_a_history,
            many_rows_on_a_cycle,
            rows_of_several_columns_and_of_texts,
            rows_of_uuids,
            c52_one_of_ten_collides,
            c52_one_of_ten_is_kept_out,
            thousand_rows,
            statements_of_many_rows,
            s17_transitions_beside_one_parent,
            i58_opposite_batches_never_wait_for_each_other,
            batches_and_single_calls_about_the_same_rows,
        ]
    );
    on_engines!(
        suite,
        [Postgres, MySql],
        "SQLite's transactions wait for one another at their beginning",
        [s16_transactions_in_opposite_order]
    );
}

fn pay() -> Pay {
    Pay { trade_no: "T1".to_owned() }
}

/// What the answers say, a row a line.
fn told<M: StateMachine<Id: std::fmt::Debug>, T: State<M>>(rows: &ByRow<M, Outcome<M, T>>) -> Vec<String> {
    let each = rows.iter().map(|(id, answer)| match answer {
        Ok(Outcome::Applied(row)) => format!("{id:?} applied {}", row.state().name()),
        Ok(Outcome::Replayed(row)) => format!("{id:?} replayed {}", row.state().name()),
        Ok(Outcome::Already(row)) => format!("{id:?} already {}", row.state().name()),
        Err(error) => format!("{id:?} {error}"),
    });
    each.collect()
}

macro_rules! tell {
    ($rows:expr, $expected:expr) => {
        let (told, expected): (_, &[&str]) = (told(&$rows), &$expected);
        ensure!(told == expected, "line {}: {told:#?}", line!());
    };
}

/// Orders that are in every situation: 1 pending, 2 paid by T1, 3 paid by T1 and refunded, 4 paid by another cause, 5
/// paid by hand, 6 in an unknown state, 7 pending.
async fn orders_in_every_situation<DB: Engine>(db: &TestDb<DB>, idem: &Idem<DB>) -> TestResult {
    create_tables(db).await?;
    for order_id in [1, 2, 3, 4, 7] {
        new_order(db, order_id).await?;
    }
    db.execute("INSERT INTO orders (order_id, status, version) VALUES (5, 'paid', 5), (6, 'lost', 0)").await?;
    for (order_id, cause) in [(2, "T1"), (3, "T1"), (4, "T2")] {
        answer!(OrderStatus::row(order_id).fire(pay()).cause(cause).run(idem).await, Ok(Outcome::Applied(_)));
    }
    answer!(OrderStatus::row(3).fire(Refund).run(idem).await, Ok(Outcome::Applied(_)));
    Ok(())
}

const WITH_CAUSE: [&str; 8] = [
    "1 applied Paid",
    "2 replayed Paid",
    "3 replayed Refunded",
    "4 event `pay` of `OrderStatus` was applied by another cause",
    "5 event `pay` of `OrderStatus` was applied by something without a recorded cause",
    "6 \"lost\" is not a state of `OrderStatus`",
    "7 applied Paid",
    "9 no row of `OrderStatus` has this identifier",
];

async fn answers_of_many_rows<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    orders_in_every_situation(&db, &idem).await?;
    let all = || OrderStatus::rows([9, 7, 1, 6, 2, 2, 5, 3, 4, 7]);
    tell!(all().fire(pay()).cause("T1").run(&idem).await?, WITH_CAUSE);
    ensure!(history(&db, 7).await? == "1 pending paid pay T1", "{}", history(&db, 7).await?);
    ensure!(status(&db, 1).await? == "paid 1", "{}", status(&db, 1).await?);

    let other = Pay { trade_no: "T9".to_owned() };
    answer!(
        &all().fire(other).cause("T1").run(&idem).await?[..],
        [(1, Err(TransitionError::Mismatch { .. })), (2, Err(TransitionError::Mismatch { .. })), ..]
    );
    answer!(&all().fire(pay()).run(idem.pool()).await?[..], [
        (1, Ok(Outcome::Already(row))), (2, Ok(Outcome::Already(_))),
        (3, Err(TransitionError::Illegal { current: "Refunded", passed: Some(_), .. })),
        (4, Ok(Outcome::Already(_))), (5, Ok(Outcome::Already(_))), (6, Err(_)), (7, Ok(Outcome::Already(_))), (9, Err(_)),
    ] if row.version() == 1);
    // Two sources: each entry names its own.
    let refunded = OrderStatus::rows([1, 4, 5]).fire(Refund).cause("R").run(&idem).await?;
    tell!(refunded, ["1 applied Refunded", "4 applied Refunded", "5 applied Refunded"]);
    answer!(&refunded[2], (5, Ok(Outcome::Applied(row))) if row.version() == 6);
    ensure!(history(&db, 5).await? == "6 paid refunded refund R", "{}", history(&db, 5).await?);

    ensure!(OrderStatus::rows([]).fire(Cancel).run(&idem).await?.is_empty(), "no rows, no answers");
    answer!(OrderStatus::rows([]).fire(pay()).cause("").run(&idem).await, Err(TransitionError::Runtime(_)));
    answer!(OrderStatus::rows([1]).fire(pay()).cause("").run(&idem).await, Err(TransitionError::Runtime(_)));
    Ok(())
}

async fn answers_of_many_rows_in_a_transaction<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    orders_in_every_situation(&db, &idem).await?;
    let all = || OrderStatus::rows([9, 7, 6, 5, 4, 3, 2, 1]).fire(pay()).cause("T1");
    let mut tx = idem.begin().await?;
    tell!(all().run(&mut *tx).await?, WITH_CAUSE);
    tx.rollback().await?;
    ensure!(status(&db, 7).await? == "pending 0" && history(&db, 7).await?.is_empty(), "a rollback undoes the rows");

    let mut tx = idem.begin().await?;
    tell!(all().run(&mut *tx).await?, WITH_CAUSE);
    let again = all().run(&mut *tx).await?;
    answer!(&again[0], (1, Ok(Outcome::Replayed(_))));
    tx.commit().await?;
    ensure!(status(&db, 7).await? == "paid 1", "{}", status(&db, 7).await?);
    Ok(())
}

async fn many_rows_without_a_history<DB: Engine>(db: TestDb<DB>) -> TestResult {
    machines::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    db.execute("INSERT INTO lamps (lamp_id, status) VALUES (1, 'dark'), (2, 'lit'), (3, 'retired'), (4, 'dim')")
        .await?;
    let lit = Lamp::rows([4, 3, 2, 1]).fire(Light).any_version().run(&idem).await?;
    tell!(
        lit,
        [
            "1 applied Lit",
            "2 already Lit",
            "3 `Lamp` in state `Retired` does not accept event `light`",
            "4 `Lamp` in state `Dim` does not accept event `light`",
        ]
    );
    let dark = Lamp::rows([1, 2, 3, 4]).fire(Quench).any_version().run(&idem).await?;
    answer!(&dark[..], [(1, Ok(Outcome::Applied(row))), (2, Ok(Outcome::Applied(_))), (3, Err(_)), (4, Ok(Outcome::Applied(_)))]
        if row.version() == 2);
    Ok(())
}

async fn many_rows_on_a_cycle<DB: Engine>(db: TestDb<DB>) -> TestResult {
    machines::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    db.execute("INSERT INTO reviews (review_id) VALUES (1), (2), (3)").await?;
    answer!(Review::row(2).fire(Submit).cause("S").run(&idem).await, Ok(Outcome::Applied(_)));
    db.execute("UPDATE reviews SET status = 'draft', version = version + 1 WHERE review_id = 2").await?;
    let submitted = Review::rows([1, 2, 3]).fire(Submit).cause("S").run(&idem).await?;
    tell!(submitted, ["1 applied Submitted", "2 replayed Draft", "3 applied Submitted"]);
    Ok(())
}

async fn rows_of_several_columns_and_of_texts<DB: Engine>(db: TestDb<DB>) -> TestResult {
    machines::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    let codes = ["A", "a", "it's", "\"q\" \\ \u{e9}\u{1f600}", "[1, null]"];
    let id = |code: &str| (7, code.to_owned());
    let mut tx = idem.begin().await?;
    for code in codes {
        sql::<DB>("INSERT INTO coupons (tenant_id, code) VALUES (7, ?)")
            .bind(code.to_owned())
            .execute(&mut *tx)
            .await?;
    }
    tx.commit().await?;
    let expired = Coupon::rows(codes[1..].iter().copied().map(id)).fire(Expire).run(&idem).await?;
    ensure!(expired.len() == 4 && expired.iter().all(|(_, it)| matches!(it, Ok(Outcome::Applied(_)))), "{expired:?}");
    answer!(Coupon::row(7, "A".to_owned()).load(&idem).await, Ok(row) if row.state() == Coupon::Issued);
    // One cause redeems one coupon only.
    db.execute("UPDATE coupons SET status = 'issued'").await?;
    let redeemed = Coupon::rows(codes.map(id)).fire(Redeem { order_id: 1 }).cause("C").run(&idem).await?;
    let applied = redeemed.iter().filter(|(_, it)| matches!(it, Ok(Outcome::Applied(_)))).count();
    let refused = redeemed.iter().filter(|(_, it)| matches!(it, Err(TransitionError::Mismatch { .. }))).count();
    ensure!((applied, refused) == (1, 4), "{redeemed:?}");

    Ok(())
}

async fn rows_of_uuids<DB>(db: TestDb<DB>) -> TestResult
where
    DB: Engine + Binds<Label> + Binds<Option<Label>>,
{
    machines::create_tables(&db).await?;
    let idem = db.idem(1).await?;
    let parcels = [Uuid::from_u128(7), Uuid::from_u128(u128::MAX), Uuid::from_u128(9)];
    let mut tx = idem.begin().await?;
    for parcel in &parcels[..2] {
        sql::<DB>("INSERT INTO parcels (parcel_id) VALUES (?)").bind(*parcel).execute(&mut *tx).await?;
    }
    tx.commit().await?;
    let mark = Mark { label: Label("fragile".to_owned()), grams: None, batch: Uuid::nil(), seal: None };
    let marked = Parcel::rows(parcels).fire(mark).cause("M").run(&idem).await?;
    answer!(&marked[..], [
        (_, Ok(Outcome::Applied(_))), (_, Err(TransitionError::NotFound { .. })), (last, Ok(Outcome::Applied(_))),
    ] if *last == parcels[1]);
    Ok(())
}

/// Ten orders of which one cannot be paid: nine are, and the collision is that one's answer.
async fn c52_one_of_ten_collides<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    let idem = db.idem(2).await?;
    for order_id in 1..=11 {
        new_order(&db, order_id).await?;
    }
    // A trade number and a carrier name one order.
    db.execute("CREATE UNIQUE INDEX orders_trade ON orders (trade_no, carrier)").await?;
    db.execute("UPDATE orders SET carrier = 'sf' WHERE order_id = 4").await?;
    db.execute("UPDATE orders SET carrier = 'sf', trade_no = 'T1' WHERE order_id = 11").await?;
    for in_transaction in [true, false] {
        let orders = OrderStatus::rows(1..=10).fire(pay()).cause("T1");
        let paid = if in_transaction {
            let mut tx = idem.begin().await?;
            let paid = orders.run(&mut *tx).await?;
            answer!(OrderStatus::row(4).load(&mut *tx).await, Ok(row) if row.version() == 0);
            tx.rollback().await?;
            paid
        } else {
            orders.run(&idem).await?
        };
        let applied = paid.iter().filter(|(_, it)| matches!(it, Ok(Outcome::Applied(_)))).count();
        ensure!(applied == 9, "{paid:?}");
        answer!(&paid[3], (4, Err(TransitionError::Database(error)))
            if error.as_database_error().is_some_and(sqlx::error::DatabaseError::is_unique_violation));
    }
    let found = [status(&db, 3).await?, status(&db, 4).await?, history(&db, 4).await?, status(&db, 10).await?];
    ensure!(found == ["paid 1", "pending 0", "", "paid 1"], "{found:?}");
    Ok(())
}

/// Ten closed carts are opened again, and the buyer of one of them has another one open.
async fn c52_one_of_ten_is_kept_out<DB: Engine>(db: TestDb<DB>) -> TestResult {
    creation::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    for buyer in 1..=10 {
        let _ = Cart::create(creation::new(buyer, buyer, 500)).run(&idem).await?;
    }
    let closed = Cart::rows(1..=10).fire(Close).cause("C").run(&idem).await?;
    ensure!(closed.iter().all(|(_, it)| matches!(it, Ok(Outcome::Applied(_)))), "{closed:?}");
    let _ = Cart::create(creation::new(11, 5, 500)).run(&idem).await?;

    let mut tx = idem.begin().await?;
    let opened = Cart::rows(1..=10).fire(Reopen).cause("R").run(&mut *tx).await?;
    tx.commit().await?;
    let applied = opened.iter().filter(|(_, it)| matches!(it, Ok(Outcome::Applied(_)))).count();
    ensure!(applied == 9, "{opened:?}");
    answer!(&opened[4], (5, Err(TransitionError::UniqueWhile { rule: "one_open", .. })));
    let open = db.integer("SELECT COUNT(*) FROM carts WHERE status = 'open'").await?;
    let entries = db.integer("SELECT COUNT(*) FROM carts_history WHERE cause = 'R'").await?;
    ensure!((open, entries) == (10, 9), "{open} are open, {entries} entries");
    Ok(())
}

/// Orders from 1 to `last`, with one statement.
async fn new_orders<DB: Engine>(db: &TestDb<DB>, last: i64) -> TestResult {
    let values = (1..=last).map(|order_id| format!("({order_id})")).collect::<Vec<_>>().join(", ");
    db.execute(format!("INSERT INTO orders (order_id) VALUES {values}")).await.map(drop)
}

async fn thousand_rows<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    let idem = db.idem(1).await?;
    new_orders(&db, 1_100).await?;
    let (cancelled, counts) = count_statements(&db, idem.pool(), async {
        OrderStatus::rows((1..=1_100).rev()).fire(Cancel).cause("closed").run(&idem).await
    })
    .await?;
    let cancelled = cancelled?;
    ensure!(cancelled.iter().map(|(id, _)| *id).eq(1..=1_100), "an answer for each row, in order");
    ensure!(cancelled.iter().all(|(_, it)| matches!(it, Ok(Outcome::Applied(_)))), "all have moved");
    // A transaction, and for each of three chunks a savepoint and at most four statements.
    ensure!(counts.total() <= 21, "{counts}");
    let query = "SELECT COUNT(*) FROM orders JOIN orders_history ON orders.order_id = orders_history.order_id \
                 AND orders.version = orders_history.version WHERE status = 'cancelled' AND cause = 'closed'";
    ensure!(db.integer(query).await? == 1_100, "each has its entry");
    let again = OrderStatus::rows(1..=1_100).fire(Cancel).cause("closed").run(&idem).await?;
    ensure!(again.iter().all(|(_, it)| matches!(it, Ok(Outcome::Replayed(_)))), "all were replayed");
    Ok(())
}

/// 64 rows cost no more statements than nine compare-and-swaps, and as many when they are replayed.
async fn statements_of_many_rows<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    let idem = db.idem(1).await?;
    new_orders(&db, 64).await?;
    for _ in 0..2 {
        let pay = async { OrderStatus::rows(1..=64).fire(pay()).cause("T").run(&idem).await };
        let (paid, counts) = count_statements(&db, idem.pool(), pay).await?;
        ensure!(paid?.iter().all(|(_, it)| it.is_ok()), "all are paid");
        ensure!(counts.total() <= 9, "{counts}");
    }
    Ok(())
}

async fn touch<DB: Engine>(review_id: i64, tx: &mut Tx<'_, DB>) -> Result<(), TransitionError> {
    Review::row(review_id).fire(Touch).any_version().run(&mut *tx).await?.expect_applied().map(drop)
}

/// Each has a row that the other one wants next: one is told to run again, and then both have done all of it.
async fn s16_transactions_in_opposite_order<DB: Engine>(db: TestDb<DB>) -> TestResult {
    machines::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    db.execute("INSERT INTO reviews (review_id) VALUES (1), (2)").await?;
    for _ in 0..3 {
        let (mut one, mut other) = (idem.begin().await?, idem.begin().await?);
        touch(1, &mut one).await?;
        touch(2, &mut other).await?;
        // The transaction that is refused has to end before the other can go on.
        let one = async move {
            touch(2, &mut one).await?;
            Ok::<_, TransitionError>(one.commit().await?)
        };
        let other = async move {
            touch(1, &mut other).await?;
            Ok::<_, TransitionError>(other.commit().await?)
        };
        let answers =
            futures_util::future::join(tokio::time::timeout(LONG, one), tokio::time::timeout(LONG, other)).await;
        let answers = [answers.0?, answers.1?];
        let refused: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
        ensure!(matches!(refused[..], [TransitionError::Retry(_)]), "{answers:?}");
        ensure!(refused[0].is_retryable(), "{answers:?}");
        let again = Review::rows([1, 2]).fire(Touch).any_version().run(&idem).await?;
        ensure!(again.iter().all(|(_, it)| it.is_ok()), "{again:?}");
    }
    let versions = db.rows("SELECT version FROM reviews ORDER BY review_id").await?.concat();
    ensure!(versions == ["6", "6"], "each transaction once: {versions:?}");
    Ok(())
}

async fn s17_transitions_beside_one_parent<DB: Engine>(db: TestDb<DB>) -> TestResult {
    const TASKS: i64 = 16;
    const EACH: i64 = 10;
    machines::create_tables(&db).await?;
    let idem = db.idem(4).await?;
    db.execute("INSERT INTO reviews (review_id) VALUES (1)").await?;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..TASKS {
        let idem = idem.clone();
        tasks.spawn(async move {
            for _ in 0..EACH {
                let touched = Review::row(1).fire(Touch).any_version().run(&idem).await?;
                let _ = touched.expect_applied()?;
            }
            Ok::<_, TransitionError>(())
        });
    }
    while let Some(task) = tasks.join_next().await {
        task??;
    }
    let versions = db.rows("SELECT version FROM reviews_history ORDER BY version").await?.concat();
    let expected: Vec<_> = (1..=TASKS * EACH).map(|version| version.to_string()).collect();
    ensure!(versions == expected, "a history without a gap: {versions:?}");
    Ok(())
}

async fn i58_opposite_batches_never_wait_for_each_other<DB: Engine>(db: TestDb<DB>) -> TestResult {
    machines::create_tables(&db).await?;
    let idem = db.idem(4).await?;
    for review_id in 1..=20 {
        db.execute(format!("INSERT INTO reviews (review_id) VALUES ({review_id})")).await?;
    }
    let touch = |reversed: bool| {
        let idem = idem.clone();
        async move {
            for _ in 0..ROUNDS {
                let ids: Vec<i64> = if reversed { (1..=20).rev().collect() } else { (1..=20).collect() };
                // In the caller's transaction nothing is run again: a deadlock would be seen.
                let mut tx = idem.begin().await?;
                let touched = Review::rows(ids).fire(Touch).any_version().run(&mut *tx).await?;
                ensure!(touched.iter().all(|(_, it)| it.is_ok()), "{touched:?}");
                tx.commit().await?;
            }
            Ok::<_, BoxError>(())
        }
    };
    let tasks = [false, true, false, true].map(|reversed| tokio::spawn(touch(reversed)));
    for task in tasks {
        task.await??;
    }
    let versions = db.rows("SELECT DISTINCT version FROM reviews").await?.concat();
    ensure!(versions == [(4 * ROUNDS).to_string()], "{versions:?}");
    Ok(())
}

/// However a row is moved, by a batch or by itself: once.
async fn batches_and_single_calls_about_the_same_rows<DB: Engine>(db: TestDb<DB>) -> TestResult {
    const ROWS: i64 = 8;
    shop::create_tables(&db).await?;
    let idem = db.idem(4).await?;
    new_orders(&db, ROWS * 20).await?;
    for round in 0..20 {
        let ids = round * ROWS + 1..=(round + 1) * ROWS;
        let batch = tokio::spawn({
            let (idem, ids) = (idem.clone(), ids.clone());
            async move { OrderStatus::rows(ids).fire(pay()).cause("T1").run(&idem).await }
        });
        let cancelled = tokio::spawn({
            let (idem, ids) = (idem.clone(), ids.clone());
            async move { OrderStatus::rows(ids.rev()).fire(Cancel).run(&idem).await }
        });
        let mut applied = 0;
        for id in ids.rev() {
            applied += usize::from(
                OrderStatus::row(id).fire(pay()).cause("T1").run(&idem).await.is_ok_and(|it| it.is_applied()),
            );
        }
        applied += batch.await??.iter().filter(|(_, it)| it.as_ref().is_ok_and(Outcome::is_applied)).count();
        applied += cancelled.await??.iter().filter(|(_, it)| it.as_ref().is_ok_and(Outcome::is_applied)).count();
        ensure!(i64::try_from(applied)? == ROWS, "{applied} of {ROWS} have moved");
    }
    let entries = db.integer("SELECT COUNT(*) FROM orders_history").await?;
    ensure!(entries == ROWS * 20, "{entries} entries");
    Ok(())
}
