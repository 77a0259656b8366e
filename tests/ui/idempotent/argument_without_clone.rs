//! A body that runs again has its arguments once more.

use idem_runtime::{Error, Tx, idempotent};
use sqlx::Sqlite;

struct Order {
    id: i64,
}

#[idempotent(scope = "order.pay", key = order.id, rerun = 3)]
async fn pay(_tx: &mut Tx<'_, Sqlite>, order: Order) -> Result<i64, Error> {
    Ok(order.id)
}

#[idempotent(scope = "order.refund", key = id, rerun = 3)]
async fn refund(_tx: &mut Tx<'_, Sqlite>, id: i64, why: impl Fn() -> i64 + Send) -> Result<i64, Error> {
    Ok(id + why())
}

fn main() {}
