//! What is kept is kept for whole seconds.

use idem_runtime::{Error, Tx, idempotent};
use sqlx::Sqlite;

#[idempotent(scope = "order.pay", key = order_id, retain(result = "0s", key = "1500ms"))]
async fn pay(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, Error> {
    Ok(order_id)
}

#[idempotent(scope = "order.refund", key = order_id, retain(key = "101y"))]
async fn refund(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, Error> {
    Ok(order_id)
}

fn main() {}
