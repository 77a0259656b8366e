//! A function under a lease commits its claim before the body runs, so that it cannot begin in a transaction.

use idem_runtime::{Attempt, Error, Tx, idempotent};
use sqlx::Sqlite;

#[idempotent(scope = "transfer.send", key = id)]
async fn send(_attempt: &mut Attempt<'_, Sqlite>, id: i64) -> Result<i64, Error> {
    Ok(id)
}

#[idempotent(scope = "order.pay", key = id)]
async fn pay(tx: &mut Tx<'_, Sqlite>, id: i64) -> Result<i64, Error> {
    send(&mut *tx, id).await
}

fn main() {}
