//! A call can be in progress or lost, so the error type has to carry idem's errors.

use idem_runtime::{Tx, idempotent};
use sqlx::Sqlite;

struct PayError;

#[idempotent(scope = "order.pay", key = order_id)]
async fn pay(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, PayError> {
    if order_id == 0 { Err(PayError) } else { Ok(order_id) }
}

fn main() {}
