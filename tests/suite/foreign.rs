//! Transitions on what sqlx opened: its own transaction, and a plain connection.

use std::time::Duration;

use idem_runtime::On;
use idem_runtime::prelude::*;
use sqlx::{AssertSqlSafe, Connection as _, MySql, MySqlConnection, PgConnection, Postgres, Sqlite, SqliteConnection};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::acts::until_waiting;
use crate::answers::answer;
use crate::creation::Cart;
use crate::machines::coupon::Redeem;
use crate::machines::lamp::Light;
use crate::machines::review::{Recall, Submit};
use crate::machines::{Coupon, Lamp, Review};
use crate::seats::{answers_on, check_and_clear, compare};
use crate::settle::settle;
use crate::shop::order_status::{Cancel, Finish, Pay, Refund, Ship};
use crate::shop::{OrderStatus, history, new_order, status};
use crate::support::{
    BoxError, Ended, Engine, Suite, TestDb, TestResult, drop_at_every_await, ensure, on_engines, on_every_engine,
};
use crate::{creation, machines, shop};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            same_answers_in_a_transaction_of_sqlx,
            causes_that_come_again_in_a_transaction_of_sqlx,
            rows_that_begin_in_a_transaction_of_sqlx,
            dropped_at_every_await_in_a_transaction_of_sqlx,
            s22_a_transition_that_fails_inside_a_savepoint,
            s24_a_row_is_read_and_never_set,
            many_rows_ask_for_a_transaction_of_idem,
            s82_nothing_opens_a_connection_of_its_own,
        ]
    );
    on_engines!(
        suite,
        [Sqlite, Postgres],
        "on MySQL a plain connection takes no transition with a history",
        [same_answers_on_a_plain_connection, dropped_at_every_await_on_a_plain_connection]
    );
    on_engines!(suite, [MySql], "the others take it", [a_plain_connection_refuses_two_statements]);
    on_engines!(suite, [Postgres, MySql], "SQLite has one writer", [a_deadlock_in_a_transaction_of_sqlx]);
    on_engines!(suite, [Sqlite], "only there a reader can not become a writer", [a_busy_transaction_of_sqlx]);
}

/// What cannot be written for any database: a connection by its own type.
trait Plain: Engine {
    fn on(connection: &mut Self::Connection) -> impl On<DB = Self> + '_;
    fn run(connection: &mut Self::Connection, sql: String) -> impl Future<Output = Result<(), sqlx::Error>> + Send;
}

macro_rules! plain {
    ($DB:ty, $Connection:ty) => {
        impl Plain for $DB {
            fn on(connection: &mut $Connection) -> impl On<DB = Self> + '_ {
                connection
            }

            async fn run(connection: &mut $Connection, sql: String) -> Result<(), sqlx::Error> {
                sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await.map(drop)
            }
        }
    };
}

plain!(Postgres, PgConnection);
plain!(MySql, MySqlConnection);
plain!(Sqlite, SqliteConnection);

/// Writes something else on the same connection.
async fn note<DB: Plain>(connection: &mut DB::Connection, order_id: i64) -> Result<(), sqlx::Error> {
    DB::run(connection, format!("INSERT INTO ledger (order_id, amount) VALUES ({order_id}, 1)")).await
}

async fn notes<DB: Engine>(db: &TestDb<DB>) -> Result<i64, BoxError> {
    db.integer("SELECT COUNT(*) FROM ledger").await
}

fn pay(trade_no: &str) -> Pay {
    Pay { trade_no: trade_no.to_owned() }
}

async fn same_answers_in_a_transaction_of_sqlx<DB: Plain>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    new_order(&db, 1).await?;
    let mut transaction = db.pool(1)?.begin().await?;
    compare("&mut transaction", &answers_on!(db, &mut transaction))?;
    transaction.commit().await?;
    check_and_clear(&db).await?;

    let mut transaction = db.pool(1)?.begin().await?;
    compare("&mut *transaction", &answers_on!(db, DB::on(&mut transaction)))?;
    transaction.commit().await?;
    check_and_clear(&db).await?;

    let mut transaction = db.pool(1)?.begin().await?;
    answer!(OrderStatus::row(1).fire(pay("T1")).cause("T1").run(&mut transaction).await, Ok(Outcome::Applied(_)));
    transaction.rollback().await?;
    let found = (status(&db, 1).await?, history(&db, 1).await?);
    ensure!(found == ("pending 0".to_owned(), String::new()), "{found:?}");
    Ok(())
}

async fn same_answers_on_a_plain_connection<DB: Plain>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    new_order(&db, 1).await?;
    let mut connection = db.pool(1)?.acquire().await?;
    compare("&mut *connection", &answers_on!(db, DB::on(&mut connection)))?;
    ensure!(!connection.is_in_transaction(), "each call ends its own transaction");
    check_and_clear(&db).await
}

async fn causes_that_come_again_in_a_transaction_of_sqlx<DB: Plain>(db: TestDb<DB>) -> TestResult {
    machines::create_tables(&db).await?;
    shop::create_tables(&db).await?;
    db.execute("INSERT INTO reviews (review_id) VALUES (1)").await?;
    db.execute("INSERT INTO coupons (tenant_id, code) VALUES (7, 'a'), (7, 'b')").await?;
    let mut transaction = db.pool(1)?.begin().await?;
    note::<DB>(&mut transaction, 1).await?;
    let submit = || Review::row(1).fire(Submit).cause("S1");
    answer!(submit().run(&mut transaction).await, Ok(Outcome::Applied(row)) if row.version() == 1);
    answer!(Review::row(1).fire(Recall).cause("R1").run(&mut transaction).await, Ok(Outcome::Applied(_)));
    answer!(submit().run(&mut transaction).await, Ok(Outcome::Replayed(row)) if row.version() == 2);
    let redeem = |code: &str| Coupon::row(7, code.to_owned()).fire(Redeem { order_id: 1 }).cause("O1");
    answer!(redeem("a").run(&mut transaction).await, Ok(Outcome::Applied(_)));
    answer!(redeem("a").run(DB::on(&mut transaction)).await, Ok(Outcome::Replayed(_)));
    answer!(redeem("b").run(&mut transaction).await, Err(TransitionError::Mismatch { .. }));
    note::<DB>(&mut transaction, 1).await?;
    transaction.commit().await?;
    ensure!(notes(&db).await? == 2, "the transaction outlives the refused entries");
    let found = db.rows("SELECT code, status FROM coupons ORDER BY code").await?;
    ensure!(found == [["a", "redeemed"], ["b", "issued"]], "{found:?}");
    ensure!(db.integer("SELECT COUNT(*) FROM reviews_history").await? == 2, "an entry was written twice");
    Ok(())
}

/// A creation that meets another row leaves nothing, and the transaction lives on.
async fn rows_that_begin_in_a_transaction_of_sqlx<DB: Plain>(db: TestDb<DB>) -> TestResult {
    creation::create_tables(&db).await?;
    shop::create_tables(&db).await?;
    let mut transaction = db.pool(1)?.begin().await?;
    note::<DB>(&mut transaction, 1).await?;
    let create = |cart_id, amount| Cart::create(creation::new(cart_id, 7, amount));
    answer!(create(1, 500).cause("R1").run(&mut transaction).await, Ok(Created::New(row)) if *row.id() == 1);
    answer!(create(2, 500).cause("R1").run(&mut transaction).await, Ok(Created::Replayed(row)) if *row.id() == 1);
    answer!(create(2, 500).cause("R2").run(DB::on(&mut transaction)).await, Ok(Created::Existing(_)));
    answer!(create(3, 501).cause("R3").run(&mut transaction).await, Err(TransitionError::Mismatch { .. }));
    note::<DB>(&mut transaction, 1).await?;
    transaction.commit().await?;
    let found = [notes(&db).await?, db.integer("SELECT COUNT(*) FROM carts").await?];
    ensure!(found == [2, 1], "notes and carts: {found:?}");
    ensure!(db.integer("SELECT COUNT(*) FROM carts_history").await? == 1, "a refused entry is kept");
    Ok(())
}

/// The row and its entry, or neither.
async fn whole<DB: Engine>(db: &TestDb<DB>, order_id: i64) -> Result<bool, BoxError> {
    let found = (status(db, order_id).await?, history(db, order_id).await?);
    let (before, after) = ("shipped 4".to_owned(), "refunded 5".to_owned());
    let entry = format!("5 shipped refunded refund {order_id}");
    ensure!(found == (before, String::new()) || found == (after, entry), "in halves: {found:?}");
    Ok(found.0 == "refunded 5")
}

async fn shipped_order<DB: Engine>(db: &TestDb<DB>, order_id: i64) -> TestResult {
    let insert = "INSERT INTO orders (order_id, status, version) VALUES";
    db.execute(format!("{insert} ({order_id}, 'shipped', 4)")).await.map(drop)
}

/// The user goes on after the cut, writes a note and commits: whatever that answers, nothing is there in halves, and what
/// was said to be committed is there.
async fn dropped_at_every_await_in_a_transaction_of_sqlx<DB: Plain>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let slot = Mutex::new(None);
    let prepare = async |polls: usize| {
        shipped_order(&db, i64::try_from(polls)?).await?;
        // A pool for each round: on MySQL a connection may wait for ever after a cut.
        *slot.lock().await = Some(db.pool(1)?.begin().await?);
        Ok(())
    };
    let call = |polls: usize| {
        let order_id = i64::try_from(polls).unwrap_or(i64::MAX);
        let slot = &slot;
        async move {
            let mut slot = slot.lock().await;
            let transaction = slot.as_mut().expect("a round begins with a transaction");
            OrderStatus::row(order_id).fire(Refund).cause(&order_id).run(transaction).await
        }
    };
    let check = async |polls: usize, ended: Ended<Result<_, TransitionError>>| {
        let order_id = i64::try_from(polls)?;
        let mut transaction = slot.lock().await.take().ok_or("a round ends with its transaction")?;
        let (noted, before) = (async { note::<DB>(&mut transaction, order_id).await }, notes(&db).await?);
        let noted = timeout(Duration::from_secs(2), noted).await.is_ok_and(|noted| noted.is_ok());
        let committed = timeout(Duration::from_secs(2), transaction.commit()).await.is_ok_and(|done| done.is_ok());
        let moved = whole(&db, order_id).await?;
        if let Ended::Completed(answer) = ended {
            let _ = answer?;
            ensure!(noted && committed && moved, "noted {noted}, committed {committed}, moved {moved}");
        }
        // On PostgreSQL sqlx says yes to a COMMIT that the server answered with a rollback: only after a failed statement.
        let kept = notes(&db).await? - before;
        ensure!(!(noted && committed) || kept == 1, "a note that was committed is lost");
        Ok(())
    };
    let last_drop = drop_at_every_await(prepare, call, check).await?;
    ensure!(last_drop > 1, "the call never waits, so that nothing was cut");
    Ok(())
}

/// The user goes on with the connection: nothing is in halves, and what it writes then is committed.
async fn dropped_at_every_await_on_a_plain_connection<DB: Plain>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let connection = Mutex::new(db.pool(1)?.acquire().await?);
    let prepare = async |polls: usize| shipped_order(&db, i64::try_from(polls)?).await;
    let call = |polls: usize| {
        let order_id = i64::try_from(polls).unwrap_or(i64::MAX);
        let connection = &connection;
        async move {
            let mut connection = connection.lock().await;
            OrderStatus::row(order_id).fire(Refund).cause(&order_id).run(DB::on(&mut connection)).await
        }
    };
    let check = async |polls: usize, ended: Ended<Result<_, TransitionError>>| {
        let order_id = i64::try_from(polls)?;
        let mut connection = connection.lock().await;
        let before = notes(&db).await?;
        note::<DB>(&mut connection, order_id).await?;
        ensure!(!connection.is_in_transaction(), "a transaction was left open");
        ensure!(notes(&db).await? == before + 1, "what comes next is not committed");
        let moved = whole(&db, order_id).await?;
        if let Ended::Completed(answer) = ended {
            let _ = answer?;
            ensure!(moved, "the call said that the row moved");
        }
        Ok(())
    };
    let last_drop = drop_at_every_await(prepare, call, check).await?;
    ensure!(last_drop > 0, "the call never waits, so that nothing was cut");
    Ok(())
}

async fn a_plain_connection_refuses_two_statements<DB: Plain>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    machines::create_tables(&db).await?;
    new_order(&db, 1).await?;
    db.execute("INSERT INTO lamps (lamp_id) VALUES (1)").await?;
    let mut connection = db.pool(1)?.acquire().await?;
    answer!(
        OrderStatus::row(1).fire(pay("T1")).cause("T1").run(DB::on(&mut connection)).await,
        Err(TransitionError::Runtime(Error::Configuration(why))) if why.contains("connection.begin()")
    );
    answer!(OrderStatus::row(1).load(DB::on(&mut connection)).await, Ok(row) if row.version() == 0);
    answer!(Lamp::row(1).fire(Light).any_version().run(DB::on(&mut connection)).await, Ok(Outcome::Applied(_)));
    let mut transaction = connection.begin().await?;
    answer!(OrderStatus::row(1).fire(pay("T1")).cause("T1").run(&mut transaction).await, Ok(Outcome::Applied(_)));
    transaction.commit().await?;
    ensure!(history(&db, 1).await? == "1 pending paid pay T1", "{}", history(&db, 1).await?);
    Ok(())
}

async fn many_rows_ask_for_a_transaction_of_idem<DB: Plain>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    new_order(&db, 1).await?;
    let mut connection = db.pool(1)?.acquire().await?;
    let mut transaction = connection.begin().await?;
    answer!(
        OrderStatus::rows([1]).fire(pay("T1")).run(&mut transaction).await,
        Err(TransitionError::Runtime(Error::Configuration(why))) if why.contains("idem.begin()")
    );
    transaction.commit().await?;
    ensure!(status(&db, 1).await? == "pending 0", "{}", status(&db, 1).await?);
    Ok(())
}

/// What the savepoint held is gone, the row is as it was before, and no later update brings it back.
async fn s22_a_transition_that_fails_inside_a_savepoint<DB: Plain>(db: TestDb<DB>) -> TestResult {
    machines::create_tables(&db).await?;
    let idem = db.idem(1).await?;
    db.execute("INSERT INTO coupons (tenant_id, code) VALUES (7, 'a'), (7, 'b')").await?;
    let redeem = |code: &str| Coupon::row(7, code.to_owned()).fire(Redeem { order_id: 1 }).cause("O1");
    answer!(redeem("a").run(&idem).await, Ok(Outcome::Applied(_)));

    let mut transaction = db.pool(1)?.begin().await?;
    let mut savepoint = transaction.begin().await?;
    answer!(redeem("b").run(&mut savepoint).await, Err(TransitionError::Mismatch { .. }));
    savepoint.rollback().await?;
    DB::run(&mut transaction, "UPDATE coupons SET order_id = 5 WHERE code = 'b'".to_owned()).await?;
    answer!(Coupon::row(7, "b".to_owned()).load(&mut transaction).await, Ok(row) if row.state() == Coupon::Issued);
    transaction.commit().await?;
    let found = db.rows("SELECT code, status, version, order_id FROM coupons ORDER BY code").await?;
    ensure!(found == [["a", "redeemed", "1", "1"], ["b", "issued", "0", "5"]], "{found:?}");
    ensure!(db.integer("SELECT COUNT(*) FROM coupons_history").await? == 1, "the refused entry is kept");
    Ok(())
}

/// Loading twice gives a row whose state is what the database holds then. That nobody can set it is a compile error,
/// shown beside the type.
async fn s24_a_row_is_read_and_never_set<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(1).await?;
    new_order(&db, 1).await?;
    let row = OrderStatus::row(1).load(&idem).await?;
    ensure!((row.state(), row.version()) == (OrderStatus::Pending, 0), "{row:?}");
    db.execute("UPDATE orders SET status = 'shipped', version = 9").await?;
    ensure!(row.state() == OrderStatus::Pending, "a row is what it was when it was read: {row:?}");
    let row = OrderStatus::row(*row.id()).load(&idem).await?;
    ensure!((row.state(), row.version()) == (OrderStatus::Shipped, 9), "{row:?}");
    Ok(())
}

/// With a pool of one connection, a second one would never come.
async fn s82_nothing_opens_a_connection_of_its_own<DB: Plain>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(1).await?;
    let order = OrderStatus::row;
    for order_id in 1..=4 {
        new_order(&db, order_id).await?;
    }
    let calls = async {
        let mut tx = idem.begin().await?;
        answer!(order(1).fire(pay("T1")).cause("T1").run(&mut *tx).await, Ok(Outcome::Applied(_)));
        answer!(order(1).load(&mut *tx).await, Ok(_));
        let _ = settle(&mut *tx, 2, "T2", 5).await?;
        tx.commit().await?;
        let mut transaction = idem.pool().begin().await?;
        answer!(order(3).fire(pay("T3")).cause("T3").run(&mut transaction).await, Ok(Outcome::Applied(_)));
        answer!(order(3).load(&mut transaction).await, Ok(_));
        transaction.commit().await?;
        let mut connection = idem.pool().acquire().await?;
        answer!(order(4).load(DB::on(&mut connection)).await, Ok(_));
        Ok::<_, BoxError>(())
    };
    timeout(Duration::from_secs(10), calls).await.map_err(|_| "a call waits for a second connection")??;
    ensure!(idem.pool().size() == 1, "{} connections", idem.pool().size());
    ensure!(db.integer("SELECT COUNT(*) FROM orders WHERE status = 'paid'").await? == 3, "not all are paid");
    Ok(())
}

async fn a_deadlock_in_a_transaction_of_sqlx<DB: Plain>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    new_order(&db, 1).await?;
    new_order(&db, 2).await?;
    let (mut one, mut other) = (db.pool(1)?.begin().await?, db.pool(1)?.begin().await?);
    let pay = |order_id: i64| OrderStatus::row(order_id).fire(pay("T")).cause(&order_id);
    answer!(pay(1).run(&mut one).await, Ok(Outcome::Applied(_)));
    answer!(pay(2).run(&mut other).await, Ok(Outcome::Applied(_)));
    let (first, second) = tokio::join!(pay(2).run(&mut one), async {
        until_waiting(&db, 1).await?;
        Ok::<_, BoxError>(pay(1).run(&mut other).await)
    });
    let (winner, won, loser, lost) = match second? {
        second @ Ok(_) => (other, second, one, first),
        second @ Err(_) => (one, first, other, second),
    };
    answer!(won, Ok(Outcome::Applied(_)));
    given_up(lost, loser).await?;
    winner.commit().await?;
    ensure!(db.integer("SELECT COUNT(*) FROM orders_history").await? == 2, "the winner's two entries");
    Ok(())
}

/// The answer in the transaction that the database gave up, and in what is left of it.
async fn given_up<DB: Plain, T: std::fmt::Debug>(
    answer: Result<T, TransitionError>,
    mut transaction: sqlx::Transaction<'_, DB>,
) -> TestResult {
    answer!(&answer, Err(TransitionError::Retry(_)));
    ensure!(answer.is_err_and(|error| error.is_retryable()), "the answer is to run it all again");
    let again = OrderStatus::row(1).fire(pay("T")).cause("T9").run(&mut transaction).await;
    ensure!(again.is_err(), "the transaction is over: {again:?}");
    transaction.rollback().await?;
    Ok(())
}

/// A transaction of sqlx reads first, and may then not write any more.
async fn a_busy_transaction_of_sqlx<DB: Plain>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(1).await?;
    new_order(&db, 1).await?;
    let mut transaction = db.pool(1)?.begin().await?;
    answer!(OrderStatus::row(1).load(&mut transaction).await, Ok(_));
    answer!(OrderStatus::row(1).fire(pay("T1")).cause("T1").run(&idem).await, Ok(Outcome::Applied(_)));
    answer!(OrderStatus::row(1).fire(Refund).cause("R1").run(&mut transaction).await, Err(TransitionError::Retry(_)));
    transaction.rollback().await?;
    ensure!(status(&db, 1).await? == "paid 1", "{}", status(&db, 1).await?);
    Ok(())
}
