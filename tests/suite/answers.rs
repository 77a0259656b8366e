//! What a transition answers, in the order of the contract.

use idem_runtime::Passed;
use idem_runtime::prelude::*;
use idem_runtime::schema;

use crate::shop::order_status::{Cancel, Finish, Paid, Pay, Pending, Refund, Ship};
use crate::shop::{OrderStatus, create_tables, history, new_order, status};
use crate::support::{BoxError, Engine, Suite, TestDb, TestResult, ensure, on_every_engine};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            answers_on_an_engine,
            answers_in_a_transaction,
            typed_rows,
            fields_that_the_row_refuses,
            two_machines_on_one_table
        ]
    );
}

fn pay(trade_no: &str) -> Pay {
    Pay { trade_no: trade_no.to_owned() }
}

/// Asserts that an expression matches a pattern, and shows what it was otherwise.
macro_rules! answer {
    ($answer:expr, $pattern:pat $(if $guard:expr)?) => {
        match $answer {
            $pattern $(if $guard)? => {}
            other => return Err(format!("line {}: {other:?}", line!()).into()),
        }
    };
}
pub(crate) use answer;

async fn answers_on_an_engine<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(4).await?;
    let on = &idem;
    create_tables(&db).await?;
    new_order(&db, 1).await?;
    let order = || OrderStatus::row(1);

    answer!(OrderStatus::row(9).fire(Cancel).run(on).await, Err(TransitionError::NotFound { .. }));
    answer!(
        order().fire(pay("T1")).cause("T1").expect_version(7).run(on).await,
        Err(TransitionError::Stale { expected: 7, found: 0, .. })
    );
    answer!(
        order().fire(Finish).run(on).await,
        Err(TransitionError::Illegal { current: "Pending", event: "finish", passed: None, .. })
    );
    answer!(order().fire(pay("T1")).cause("T1").expect_version(0).run(on).await,
        Ok(Outcome::Applied(row)) if row.version() == 1 && row.state() == OrderStatus::Paid);
    answer!(order().fire(pay("T1")).cause("T1").run(on).await,
        Ok(Outcome::Replayed(row)) if row.version() == 1 && row.state() == OrderStatus::Paid);
    answer!(order().fire(pay("other fields")).cause("T1").run(on).await, Err(TransitionError::Mismatch { .. }));
    answer!(order().fire(pay("T2")).cause("T2").run(on).await,
        Err(TransitionError::OtherCause { recorded: Some(cause), .. }) if cause == "T1");
    answer!(order().fire(pay("T2")).run(on).await, Ok(Outcome::Already(row)) if row.version() == 1);
    answer!(order().fire(Ship { carrier: "sf".into() }).run(on).await, Ok(Outcome::Applied(row)) if row.version() == 2);
    answer!(order().fire(pay("T1")).cause("T1").run(on).await,
        Ok(Outcome::Replayed(row)) if row.state() == OrderStatus::Shipped && row.version() == 2);
    answer!(order().fire(pay("T2")).cause("T2").run(on).await,
        Err(TransitionError::Illegal { current: "Shipped", passed: Some(Passed { version: 1, cause: Some(cause) }), .. })
            if cause == "T1");
    answer!(order().fire(Refund).cause("R1").run(on).await, Ok(Outcome::Applied(row)) if row.version() == 3);

    db.execute("UPDATE orders SET status = 'lost' WHERE order_id = 1").await?;
    answer!(order().fire(Finish).run(on).await, Err(TransitionError::UnknownState { raw, .. }) if raw == "lost");
    answer!(order().load(on).await, Err(TransitionError::UnknownState { raw, .. }) if raw == "lost");
    ensure!(
        history(&db, 1).await? == "1 pending paid pay T1\n2 paid shipped ship NULL\n3 shipped refunded refund R1",
        "{}",
        history(&db, 1).await?
    );
    // Paid by hand, long before idem.
    db.execute("INSERT INTO orders (order_id, status, version) VALUES (2, 'paid', 5)").await?;
    answer!(
        OrderStatus::row(2).fire(pay("T1")).cause("T1").run(on).await,
        Err(TransitionError::OtherCause { recorded: None, .. })
    );
    answer!(
        OrderStatus::row(2).fire(pay("T1")).cause("").run(on).await,
        Err(TransitionError::Runtime(Error::InvalidKey { .. }))
    );
    Ok(())
}

async fn answers_in_a_transaction<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(4).await?;
    create_tables(&db).await?;
    new_order(&db, 1).await?;
    let order = || OrderStatus::row(1);

    let mut tx = idem.begin().await?;
    answer!(order().fire(pay("T1")).cause("T1").run(&mut *tx).await, Ok(Outcome::Applied(row)) if row.version() == 1);
    tx.rollback().await?;
    ensure!(status(&db, 1).await? == "pending 0", "a rollback undoes the row");
    ensure!(history(&db, 1).await?.is_empty(), "and its history");

    let mut tx = idem.begin().await?;
    answer!(order().fire(Finish).run(&mut *tx).await, Err(TransitionError::Illegal { .. }));
    answer!(order().fire(pay("T1")).cause("T1").run(&mut *tx).await, Ok(Outcome::Applied(_)));
    answer!(order().fire(pay("T1")).cause("T1").run(&mut *tx).await, Ok(Outcome::Replayed(_)));
    answer!(order().fire(pay("T2")).cause("T2").run(&mut *tx).await, Err(TransitionError::OtherCause { .. }));
    answer!(order().fire(Refund).cause("T1").run(&mut *tx).await, Ok(Outcome::Applied(row)) if row.version() == 2);
    answer!(
        order().fire(pay("T3")).cause("T3").run(&mut *tx).await,
        Err(TransitionError::Illegal { passed: Some(_), .. })
    );
    tx.commit().await?;
    ensure!(status(&db, 1).await? == "refunded 2", "answers that are errors leave the transaction whole");
    Ok(())
}

async fn typed_rows<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(4).await?;
    create_tables(&db).await?;
    new_order(&db, 1).await?;

    let mut tx = idem.begin().await?;
    let pending: Row<OrderStatus, Pending> = OrderStatus::row(1).load(&mut *tx).await?.in_state()?;
    let stale = pending.clone();
    let paid: Row<OrderStatus, Paid> = pending.fire(pay("T1")).run(&mut *tx).await?.expect_applied()?;
    answer!(stale.fire(Cancel).run(&mut *tx).await, Err(TransitionError::Illegal { current: "Paid", .. }));
    let refunded = paid.fire(Refund).run(&mut *tx).await?.expect_applied()?;
    ensure!(refunded.version() == 2, "two transitions");
    tx.commit().await?;
    let row = OrderStatus::row(1).load(idem.pool()).await?;
    answer!(row.in_state::<Paid>(), Err(TransitionError::NotInState { expected: "Paid", found: "Refunded", .. }));
    Ok::<_, BoxError>(())
}

/// The history's entry is written before the row refuses the fields: neither stays, and the reason is told.
async fn fields_that_the_row_refuses<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    new_order(&db, 1).await?;
    refuse_a_trade_number::<DB>(&db).await?;
    let pay = || OrderStatus::row(1).fire(pay("refused")).cause("T");
    answer!(pay().run(&idem).await, Err(TransitionError::Database(_)));

    let mut tx = idem.begin().await?;
    answer!(pay().run(&mut *tx).await, Err(error @ TransitionError::Database(_)) if !error.is_retryable());
    answer!(OrderStatus::row(1).load(&mut *tx).await, Err(TransitionError::Database(_)));
    let error = tx.commit().await.err().ok_or("half of a transition was committed")?;
    ensure!(!error.is_retryable() && error.to_string().contains("trade_no_refused"), "{error}");
    ensure!(status(&db, 1).await? == "pending 0" && history(&db, 1).await?.is_empty(), "something was kept");
    Ok(())
}

async fn refuse_a_trade_number<DB: Engine>(db: &TestDb<DB>) -> TestResult {
    let refuse = match DB::DIALECT {
        Dialect::Sqlite => {
            "CREATE TRIGGER refuse BEFORE UPDATE ON orders WHEN NEW.trade_no = 'refused' \
             BEGIN SELECT RAISE(ABORT, 'trade_no_refused'); END"
        }
        Dialect::Postgres | Dialect::MySql => {
            "ALTER TABLE orders ADD CONSTRAINT trade_no_refused CHECK (trade_no <> 'refused')"
        }
    };
    db.execute(refuse).await.map(drop)
}

/// A second machine on the table of the orders, with an event and a cause that the first one has too.
#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64), status = "carrier", history, rename_all = "snake_case")]
#[transition(pay: Called => Paid)]
enum CarrierStatus {
    #[state(initial)]
    Called,
    #[state(terminal)]
    Paid,
}

async fn two_machines_on_one_table<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    db.execute(schema::history::<CarrierStatus>(DB::DIALECT).ok_or("it keeps a history")?).await?;
    new_order(&db, 1).await?;
    new_order(&db, 2).await?;
    db.execute("UPDATE orders SET carrier = 'called' WHERE order_id = 1").await?;
    let carrier = |order_id| CarrierStatus::row(order_id).fire(carrier_status::Pay).cause("T");
    answer!(OrderStatus::row(1).fire(pay("T")).cause("T").run(&idem).await, Ok(Outcome::Applied(_)));
    answer!(carrier(1).run(&idem).await, Ok(Outcome::Applied(row)) if row.version() == 2);
    answer!(carrier(1).run(&idem).await, Ok(Outcome::Replayed(_)));
    // The second order has no carrier yet: that is neither a state nor a row that is missing.
    answer!(carrier(2).run(&idem).await, Err(TransitionError::Database(_)));
    answer!(CarrierStatus::row(2).load(&idem).await, Err(TransitionError::Database(_)));
    Ok(())
}
