//! The first result is stored and given to every later call.

use idem_runtime::{Error, Tx, idempotent};
use sqlx::Sqlite;

struct Receipt(i64);

#[idempotent(scope = "order.pay", key = order_id)]
async fn pay(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<Receipt, Error> {
    Ok(Receipt(order_id))
}

fn main() {}
