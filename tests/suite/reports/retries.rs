//! A transaction that the database gives up is run again from its beginning, and what follows its commit happens once.

use idem_runtime::prelude::*;
use sqlx::{MySql, Postgres};

use super::{book, left, pay, ship};
use crate::acts::insist;
use crate::answers::answer;
use crate::settle::PayError;
use crate::shop::{self, OrderStatus, new_order};
use crate::support::{BoxError, Engine, Suite, TestDb, TestResult, ensure, on_engines};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_engines!(
        suite,
        [Postgres, MySql],
        "SQLite gives up no transaction that has begun as a writer",
        [
            s36_idem_runs_its_own_transaction_again,
            s36_a_callers_retry_needs_a_transaction_of_its_own,
            s36_an_idempotent_call_is_called_again,
        ]
    );
}

/// How many times the triggers below give up a write before they let it through.
const GIVEN_UP: i64 = 2;

/// Lets the database give up whoever inserts into the table, for the first times. No rollback undoes the count.
async fn give_up_inserts<DB: Engine>(db: &TestDb<DB>, table: &str) -> TestResult {
    let (count, then) = if DB::DIALECT == Dialect::Postgres {
        (POSTGRES_COUNT, "EXECUTE FUNCTION give_up()")
    } else {
        (MYSQL_COUNT, MYSQL_GIVE_UP)
    };
    db.execute(count).await?;
    db.execute(format!("CREATE TRIGGER give_up BEFORE INSERT ON {table} FOR EACH ROW {then}")).await.map(drop)
}

const POSTGRES_COUNT: &str = "CREATE SEQUENCE tries; \
     CREATE FUNCTION give_up() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
     IF nextval('tries') <= 2 THEN RAISE EXCEPTION USING ERRCODE = '40001'; END IF; RETURN NEW; END $$";
const MYSQL_COUNT: &str = "CREATE TABLE tries (n BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY) ENGINE = MyISAM";
const MYSQL_GIVE_UP: &str = "BEGIN INSERT INTO tries VALUES (); IF (SELECT COUNT(*) FROM tries) <= 2 THEN \
     SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'given up'; END IF; END";

/// How many inserts the database has seen.
async fn tries<DB: Engine>(db: &TestDb<DB>) -> Result<i64, BoxError> {
    let is_postgres = DB::DIALECT == Dialect::Postgres;
    db.integer(if is_postgres { "SELECT last_value FROM tries" } else { "SELECT COUNT(*) FROM tries" }).await
}

async fn s36_idem_runs_its_own_transaction_again<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    give_up_inserts(&db, "orders_history").await?;
    let idem = db.idem(1).await?;
    new_order(&db, 1).await?;
    answer!(OrderStatus::row(1).fire(pay("T1")).cause("T1").run(&idem).await, Ok(Outcome::Applied(row)) if row.version() == 1);
    ensure!(tries(&db).await? == GIVEN_UP + 1, "{} tries", tries(&db).await?);
    left(&db, 1, "paid 1", "1 pending paid pay T1", 0).await
}

async fn s36_a_callers_retry_needs_a_transaction_of_its_own<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    give_up_inserts(&db, "orders_history").await?;
    let idem = db.idem(1).await?;
    new_order(&db, 1).await?;
    let order = || OrderStatus::row(1).fire(pay("T1")).cause("T1");
    let (mut told, mut attempts) = (0, 0);
    loop {
        attempts += 1;
        let mut tx = idem.begin().await?;
        book(&mut tx, 1).await?;
        match order().run(&mut *tx).await {
            Ok(outcome) => {
                ensure!(outcome.is_applied(), "{outcome:?}");
                tx.commit().await?;
                told += 1;
                break;
            }
            Err(TransitionError::Retry(_)) => {}
            Err(error) => return Err(error.into()),
        }
        // In the transaction that was given up no retry ever works, nor does anything else reach the database.
        for _ in 0..3 {
            answer!(order().run(&mut *tx).await, Err(TransitionError::Retry(_)));
            answer!(OrderStatus::row(1).fire(ship()).run(&mut *tx).await, Err(TransitionError::Retry(_)));
            ensure!(book(&mut tx, 1).await.is_err(), "a statement was taken");
        }
        ensure!(tries(&db).await? == attempts, "{} tries in {attempts} transactions", tries(&db).await?);
        answer!(tx.commit().await, Err(Error::Retry(_)));
        left(&db, 1, "pending 0", "", 0).await?;
    }
    ensure!((attempts, told) == (GIVEN_UP + 1, 1), "{attempts} attempts, told {told} times");
    left(&db, 1, "paid 1", "1 pending paid pay T1", 1).await
}

/// Pays and books; the table of the ledger gives it up.
#[idempotent(scope = "report.pay_and_book", key = order_id)]
async fn pay_and_book<DB: Engine>(tx: &mut Tx<'_, DB>, order_id: i64, bodies: &mut i64) -> Result<i64, PayError> {
    *bodies += 1;
    let paid = OrderStatus::row(order_id).fire(pay("T1")).cause("T1").run(&mut *tx).await?.expect_applied()?;
    book(tx, order_id).await?;
    Ok(paid.version())
}

async fn s36_an_idempotent_call_is_called_again<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    give_up_inserts(&db, "ledger").await?;
    let idem = db.idem(1).await?;
    new_order(&db, 1).await?;
    let mut bodies = 0;
    answer!(pay_and_book(&idem, 1, &mut bodies).await, Err(PayError::Idem(Error::Retry(_))));
    left(&db, 1, "pending 0", "", 0).await?;
    ensure!(bodies == 1 && tries(&db).await? == 1, "{bodies} bodies, {} tries", tries(&db).await?);
    let mut told = 0;
    for _ in 0..3 {
        let calls = std::sync::Mutex::new(&mut bodies);
        let version = insist(async || {
            let mut ran = 0;
            let answer = pay_and_book(&idem, 1, &mut ran).await;
            **calls.lock().unwrap_or_else(std::sync::PoisonError::into_inner) += ran;
            answer
        })
        .await?;
        told += version;
    }
    // Two bodies were given up, one has paid, and three calls have heard of it.
    ensure!((bodies, told) == (GIVEN_UP + 1, 3), "{bodies} bodies, told {told} times");
    left(&db, 1, "paid 1", "1 pending paid pay T1", 1).await
}
