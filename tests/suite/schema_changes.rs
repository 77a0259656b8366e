//! A schema that changes under pools that live long: what was prepared before is prepared anew.

use idem_runtime::prelude::*;
use idem_runtime::schema;
use sqlx::Postgres;

use crate::answers::answer;
use crate::settle::settle;
use crate::shop::order_status::{Pay, Refund, Ship};
use crate::shop::{OrderStatus, history, new_order};
use crate::support::{Engine, Suite, TestDb, TestResult, ensure, on_engines, on_every_engine};
use crate::values::Invoice;
use crate::values::invoice::{Remind, Send};
use crate::{shop, values};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(suite, [c7_a_column_is_added, s81_a_column_changes_its_type]);
    on_engines!(suite, [Postgres], "only there a plan has a type", [s81_an_enum_type_is_made_anew]);
}

fn pay() -> Pay {
    Pay { trade_no: "T1".to_owned() }
}

fn ship() -> Ship {
    Ship { carrier: "sf".to_owned() }
}

/// Runs every kind of call on one order, so that each is prepared on the pool's only connection.
async fn warm_up<DB: Engine>(db: &TestDb<DB>, idem: &Idem<DB>, order_id: i64) -> TestResult {
    new_order(db, order_id).await?;
    let order = || OrderStatus::row(order_id);
    answer!(order().load(idem).await, Ok(_));
    let _ = settle(idem, order_id, "T1", 5).await?;
    answer!(order().fire(pay()).cause("T2").run(idem.pool()).await, Err(TransitionError::OtherCause { .. }));
    answer!(order().fire(ship()).run(idem).await, Ok(Outcome::Applied(_)));
    answer!(order().fire(Refund).cause("R1").run(idem).await, Ok(Outcome::Applied(_)));
    Ok(())
}

async fn c7_a_column_is_added<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(1).await?;
    warm_up(&db, &idem, 1).await?;
    for (order_id, table) in [(2, "orders"), (3, "orders_history"), (4, "idem_record")] {
        db.execute(format!("ALTER TABLE {table} ADD COLUMN added BIGINT")).await?;
        warm_up(&db, &idem, order_id).await?;
    }
    ensure!(history(&db, 4).await?.lines().count() == 3, "{}", history(&db, 4).await?);
    Ok(())
}

/// Makes the status and the version of another type than their statements were prepared for.
async fn change_types<DB: Engine>(db: &TestDb<DB>, status: &str, version: &str) -> TestResult {
    match DB::DIALECT {
        Dialect::Postgres => {
            let alter = "ALTER TABLE orders ALTER COLUMN status DROP DEFAULT, ALTER COLUMN status TYPE";
            db.execute(format!("{alter} {status} USING status::text::{status}, ALTER COLUMN version TYPE {version}"))
                .await?;
            db.execute("ALTER TABLE orders ALTER COLUMN status SET DEFAULT 'pending'").await?;
        }
        Dialect::MySql => {
            let modify = format!("MODIFY status {status} NOT NULL DEFAULT 'pending'");
            db.execute(format!("ALTER TABLE orders {modify}, MODIFY version {version} NOT NULL DEFAULT 0")).await?;
        }
        // A type is a word there: the table is made anew.
        Dialect::Sqlite => {
            db.execute("ALTER TABLE orders RENAME TO old").await?;
            db.execute(format!(
                "CREATE TABLE orders (trade_no TEXT, carrier TEXT, paid_at TEXT, version {version} NOT NULL DEFAULT 0, \
                 status {status} NOT NULL DEFAULT 'pending', order_id INTEGER PRIMARY KEY)"
            ))
            .await?;
            let columns = "trade_no, carrier, paid_at, version, status, order_id";
            db.execute(format!("INSERT INTO orders ({columns}) SELECT {columns} FROM old")).await?;
            db.execute("DROP TABLE old").await?;
        }
    }
    Ok(())
}

async fn s81_a_column_changes_its_type<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(3).await?;
    for order_id in 1..=3 {
        new_order(&db, order_id).await?;
    }
    load_on_each(&idem).await?;
    warm_up(&db, &idem, 4).await?;
    change_types(&db, "VARCHAR(30)", "INT").await?;

    // By themselves, they work at once.
    answer!(OrderStatus::row(1).load(&idem).await, Ok(row) if row.state() == OrderStatus::Pending);
    answer!(OrderStatus::row(1).fire(pay()).cause("T1").run(&idem).await, Ok(Outcome::Applied(_)));
    answer!(OrderStatus::row(1).fire(pay()).cause("T1").run(&idem).await, Ok(Outcome::Replayed(_)));

    // In a transaction they do, or the answer is to run it again, which does.
    load_on_each(&idem).await?;
    change_types(&db, "VARCHAR(40)", "BIGINT").await?;
    let mut tries = 0;
    loop {
        tries += 1;
        let mut tx = idem.begin().await?;
        let paid = async {
            let _ = OrderStatus::row(2).load(&mut *tx).await?;
            OrderStatus::row(2).fire(pay()).cause("T1").run(&mut *tx).await
        };
        match paid.await {
            Ok(outcome) => {
                ensure!(outcome.is_applied(), "{outcome:?}");
                tx.commit().await?;
                break;
            }
            Err(error) => ensure!(error.is_retryable() && tries < 6, "try {tries}: {error:?}"),
        }
    }
    // The same on a transaction of sqlx's, whose connection goes back to its pool.
    load_on_each(&idem).await?;
    change_types(&db, "VARCHAR(30)", "INT").await?;
    for tries in 1.. {
        let mut transaction = idem.pool().begin().await?;
        match OrderStatus::row(3).load(&mut transaction).await {
            Ok(row) => {
                ensure!(row.state() == OrderStatus::Pending, "{row:?}");
                ensure!(tries > 1 || DB::DIALECT != Dialect::Postgres, "nothing was outdated");
                break;
            }
            Err(error) => ensure!(error.is_retryable() && tries < 6, "try {tries}: {error:?}"),
        }
    }
    Ok(())
}

/// Has each of the pool's three connections prepare a statement that it will run again.
async fn load_on_each<DB: Engine>(idem: &Idem<DB>) -> TestResult {
    let begin = || idem.pool().begin();
    // The first time one may be outdated by an earlier change.
    for renewed in [false, true] {
        for transaction in &mut [begin().await?, begin().await?, begin().await?] {
            let read = OrderStatus::row(3).load(transaction).await;
            ensure!(read.is_ok() || !renewed, "{read:?}");
        }
    }
    Ok(())
}

/// The type goes and comes back by the same name: whatever remembers its number is wrong.
async fn s81_an_enum_type_is_made_anew<DB: Engine>(db: TestDb<DB>) -> TestResult {
    values::create_tables(&db).await?;
    let idem = db.idem(1).await?;
    warm_up_invoice(&db, &idem, 1).await?;
    db.execute("ALTER TYPE invoice_state RENAME TO former").await?;
    db.execute(schema::status_type::<Invoice>(DB::DIALECT).ok_or("an enum type")?).await?;
    let retype = "ALTER COLUMN status TYPE invoice_state USING status::text::invoice_state";
    db.execute(format!("ALTER TABLE invoices ALTER COLUMN status DROP DEFAULT, {retype}")).await?;
    db.execute("DROP TYPE former").await?;
    warm_up_invoice(&db, &idem, 2).await?;
    db.execute("ALTER TYPE invoice_state ADD VALUE 'lost'").await?;
    warm_up_invoice(&db, &idem, 3).await
}

async fn warm_up_invoice<DB: Engine>(db: &TestDb<DB>, idem: &Idem<DB>, id: i64) -> TestResult {
    db.execute(format!("INSERT INTO invoices (invoice_id, status) VALUES ({id}, 'draft')")).await?;
    let invoice = || Invoice::row(id);
    answer!(invoice().fire(Send).run(idem).await, Ok(Outcome::Applied(_)));
    let mut tx = idem.begin().await?;
    answer!(invoice().fire(Remind).cause("R1").run(&mut *tx).await, Ok(Outcome::Applied(_)));
    answer!(invoice().fire(Remind).cause("R1").run(&mut *tx).await, Ok(Outcome::Replayed(_)));
    tx.commit().await?;
    answer!(invoice().load(idem).await, Ok(row) if row.state() == Invoice::Reminded);
    Ok(())
}
