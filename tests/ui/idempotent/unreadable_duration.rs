//! A span of time is a number with a unit, or several.

use idem_runtime::{Error, Tx, idempotent};
use sqlx::Sqlite;

#[idempotent(scope = "order.pay", key = order_id, wait = "two seconds")]
async fn pay(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, Error> {
    Ok(order_id)
}

#[idempotent(scope = "order.refund", key = order_id, wait = 2, retain(result = "7", key = ever))]
async fn refund(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, Error> {
    Ok(order_id)
}

#[idempotent(scope = "order.cancel", key = order_id, retain())]
async fn cancel(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, Error> {
    Ok(order_id)
}

#[idempotent(scope = "order.ship", key = order_id, retain(results = "7d", key = "7d", key = "8d"))]
async fn ship(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, Error> {
    Ok(order_id)
}

fn main() {}
