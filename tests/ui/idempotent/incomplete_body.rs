//! S74: while a body is being typed, the function and its callers are there, and the editor can complete.

use idem_runtime::{Error, Idem, Tx, idempotent};
use sqlx::Sqlite;

#[idempotent(scope = "order.pay", key = order_id)]
async fn pay(tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, Error> {
    let _ = tx.;
    Ok(order_id)
}

async fn callback(idem: &Idem<Sqlite>) -> Result<i64, Error> {
    pay(idem, 42).await
}

fn main() {
    let _ = callback;
}
