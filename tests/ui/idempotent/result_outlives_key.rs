//! Without its key a result cannot be found.

use idem_runtime::{Error, Tx, idempotent};
use sqlx::Sqlite;

#[idempotent(scope = "order.pay", key = order_id, retain(result = "7d", key = "24h"))]
async fn pay(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, Error> {
    Ok(order_id)
}

#[idempotent(scope = "order.refund", key = order_id, retain(key = "24h", result = forever))]
async fn refund(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, Error> {
    Ok(order_id)
}

fn main() {}
