//! A transaction is lent to the function that is called, as `&mut *tx`.

use idem_runtime::{Error, Tx, idempotent};
use sqlx::Sqlite;

#[idempotent(scope = "inner", key = order_id)]
async fn inner(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, Error> {
    Ok(order_id)
}

#[idempotent(scope = "outer", key = order_id)]
async fn outer(tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, Error> {
    inner(tx, order_id).await?;
    inner(tx, order_id).await
}

fn main() {}
