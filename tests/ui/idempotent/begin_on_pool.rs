//! A call begins on the engine or in a transaction of idem's: a bare pool has no record of what ran.

use idem_runtime::{Error, Tx, idempotent};
use sqlx::{Sqlite, SqlitePool};

#[idempotent(scope = "order.pay", key = order_id)]
async fn pay(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, Error> {
    Ok(order_id)
}

async fn callback(pool: &SqlitePool) -> Result<i64, Error> {
    pay(pool, 42).await
}

fn main() {
    let _ = callback;
}
