//! Without a key no call can be told to be a duplicate.

use idem_runtime::{Error, Tx, idempotent};
use sqlx::Sqlite;

#[idempotent(scope = "order.pay")]
async fn pay(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, Error> {
    Ok(order_id)
}

#[idempotent(scope = "report.close")]
async fn no_arguments(_tx: &mut Tx<'_, Sqlite>) -> Result<i64, Error> {
    Ok(1)
}

fn main() {}
