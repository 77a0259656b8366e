//! An event that is written with its transition, in a table of the test's: who sees it when, and what a kill leaves of it.

use idem_runtime::__steps::Step;
use idem_runtime::prelude::*;

use super::pay;
use crate::settle::PayError;
use crate::shop::{self, OrderStatus, new_order, status, text_type};
use crate::support::{
    BoxError, Called, Engine, Killable, NoAnswer, Scenario, Suite, TestDb, TestResult, ensure, kill_at_steps,
    on_every_engine, sql,
};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(suite, [s33_an_event_is_seen_with_its_row, s34_killed_before_it_publishes]);
}

async fn create_tables<DB: Engine>(db: &TestDb<DB>) -> TestResult {
    shop::create_tables(db).await?;
    let text = text_type(DB::DIALECT);
    let outbox = "order_id BIGINT NOT NULL PRIMARY KEY, sent BIGINT NOT NULL DEFAULT 0";
    db.execute(format!("CREATE TABLE IF NOT EXISTS outbox ({outbox}, event {text} NOT NULL)")).await?;
    db.execute("CREATE TABLE IF NOT EXISTS published (order_id BIGINT NOT NULL)").await?;
    Ok(())
}

/// Pays the order and writes the event that tells of it.
#[idempotent(scope = "report.pay_and_announce", key = order_id)]
async fn pay_and_announce<DB: Engine>(tx: &mut Tx<'_, DB>, order_id: i64) -> Result<i64, PayError> {
    let paid = OrderStatus::row(order_id).fire(pay("T1")).cause("T1").run(&mut *tx).await?.expect_applied()?;
    let insert = sql::<DB>("INSERT INTO outbox (order_id, event) VALUES (?, 'paid')").bind(order_id);
    insert.execute(&mut *tx).await?;
    Ok(paid.version())
}

/// The events that another connection sees.
async fn announced<DB: Engine>(db: &TestDb<DB>) -> Result<Vec<String>, BoxError> {
    Ok(db.rows("SELECT order_id FROM outbox ORDER BY order_id").await?.concat())
}

async fn s33_an_event_is_seen_with_its_row<DB: Engine>(db: TestDb<DB>) -> TestResult {
    const ORDERS: i64 = 20;
    create_tables(&db).await?;
    let idem = db.idem(2).await?;
    for order_id in 1..=ORDERS {
        new_order(&db, order_id).await?;
    }
    let mut tx = idem.begin().await?;
    let _ = pay_and_announce(&mut *tx, 1).await?;
    ensure!(announced(&db).await?.is_empty(), "seen before the commit: {:?}", announced(&db).await?);
    ensure!(status(&db, 1).await? == "pending 0", "{}", status(&db, 1).await?);
    tx.commit().await?;
    ensure!(announced(&db).await? == ["1"], "{:?}", announced(&db).await?);

    // A subscriber that looks all the time reads the row of each event that it sees.
    let payments = tokio::spawn(async move {
        for order_id in 2..=ORDERS {
            let _ = pay_and_announce(&idem, order_id).await?;
        }
        Ok::<_, PayError>(())
    });
    let mut seen = 0;
    while seen < ORDERS {
        let failed = payments.is_finished();
        let events = announced(&db).await?;
        for event in &events {
            let row = status(&db, event.parse()?).await?;
            ensure!(row == "paid 1", "event {event} was seen with its row at {row}");
        }
        seen = i64::try_from(events.len())?;
        ensure!(seen == ORDERS || !failed, "{seen} of {ORDERS} events came");
    }
    Ok(payments.await??)
}

/// Gives every event that waits to the outside world, and then says so.
async fn publish<DB: Engine>(idem: &Idem<DB>) -> Result<(), sqlx::Error> {
    let waiting = DB::rows(idem.pool(), "SELECT order_id FROM outbox WHERE sent = 0".to_owned()).await?;
    for order_id in waiting.concat() {
        DB::execute(idem.pool(), format!("INSERT INTO published (order_id) VALUES ({order_id})")).await?;
        DB::execute(idem.pool(), format!("UPDATE outbox SET sent = 1 WHERE order_id = {order_id}")).await?;
    }
    Ok(())
}

/// A payment that is announced, and published after its commit.
struct Publication;

impl Scenario for Publication {
    const NAME: &'static str = "publication";

    async fn create_tables<DB: Engine>(db: &TestDb<DB>) -> TestResult {
        create_tables(db).await
    }

    async fn prepare<DB: Engine>(db: &TestDb<DB>, round: i64) -> TestResult {
        new_order(db, round).await
    }

    async fn call<DB: Engine>(idem: &Idem<DB>, round: i64) -> Result<(), NoAnswer> {
        let _ = pay_and_announce(idem, round).await?;
        publish(idem).await?;
        let count = format!("SELECT COUNT(*) FROM published WHERE order_id = {round}");
        match &DB::rows(idem.pool(), count).await?.concat()[..] {
            [count] if count == "1" => Ok(()),
            counts => Err(NoAnswer::Never(format!("published {counts:?} times").into())),
        }
    }

    /// The event is there if the row has moved, and it is not published unless it has.
    async fn check<DB: Engine>(db: &TestDb<DB>, round: i64, called: Called) -> TestResult {
        let events = db.rows(format!("SELECT event FROM outbox WHERE order_id = {round}")).await?.concat();
        let published = db.integer(format!("SELECT COUNT(*) FROM published WHERE order_id = {round}")).await?;
        let found = (status(db, round).await?, events.join(","));
        let after = found == ("paid 1".to_owned(), "paid".to_owned());
        let before = found == ("pending 0".to_owned(), String::new()) && published == 0;
        ensure!(after || (called == Called::Cut && before), "{found:?}, published {published} times");
        Ok(())
    }
}

async fn s34_killed_before_it_publishes<DB: Engine>(db: TestDb<DB>) -> TestResult {
    // Those of a transaction.
    let steps =
        [Step::Begun, Step::Claimed, Step::BodyReturned, Step::Completed, Step::Committed, Step::Entered, Step::Moved];
    kill_at_steps(db, "s34_killed_before_it_publishes", vec![Killable::of::<Publication>()], &steps).await
}
