//! A wait is counted in milliseconds, and no caller has more than a day.

use idem_runtime::{Error, Tx, idempotent};
use sqlx::Sqlite;

#[idempotent(scope = "order.pay", key = order_id, wait = "500us")]
async fn pay(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, Error> {
    Ok(order_id)
}

#[idempotent(scope = "order.refund", key = order_id, wait = "25h")]
async fn refund(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, Error> {
    Ok(order_id)
}

fn main() {}
