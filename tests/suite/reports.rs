//! The rest of the faults of other state machines that their users reported, as tests. idem has no hooks: what is called
//! one there is code of the caller's here, in the transaction after the outcome or after the commit.

mod concurrency;
mod effects;
mod memory;
mod outbox;
mod retries;

use idem_runtime::prelude::*;

use crate::shop::order_status::{Pay, Ship};
use crate::shop::{history, status};
use crate::support::{Engine, Suite, TestDb, TestResult, ensure, sql};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    concurrency::add(suite);
    effects::add(suite);
    memory::add(suite);
    outbox::add(suite);
    retries::add(suite);
}

fn pay(trade_no: &str) -> Pay {
    Pay { trade_no: trade_no.to_owned() }
}

fn ship() -> Ship {
    Ship { carrier: "sf".to_owned() }
}

/// Writes a ledger row: the effect that belongs to a transition.
async fn book<DB: Engine>(tx: &mut Tx<'_, DB>, order_id: i64) -> Result<(), sqlx::Error> {
    sql::<DB>("INSERT INTO ledger (order_id, amount) VALUES (?, 1)").bind(order_id).execute(tx).await.map(drop)
}

/// Fails unless the order is so, its history holds these lines, and it has so many ledger rows.
async fn left<DB: Engine>(db: &TestDb<DB>, order_id: i64, row: &str, entries: &str, booked: i64) -> TestResult {
    let count = format!("SELECT COUNT(*) FROM ledger WHERE order_id = {order_id}");
    let found = (status(db, order_id).await?, history(db, order_id).await?, db.integer(count).await?);
    ensure!(found == (row.to_owned(), entries.to_owned(), booked), "order {order_id}: {found:?}");
    Ok(())
}
