//! An option has one value: nobody could tell which of two counts.

use idem_runtime::{Error, Tx, idempotent};
use sqlx::Sqlite;

#[idempotent(scope = "order.pay", key = tenant_id, key = order_id)]
async fn pay(_tx: &mut Tx<'_, Sqlite>, tenant_id: i64, order_id: i64) -> Result<i64, Error> {
    Ok(tenant_id + order_id)
}

fn main() {}
