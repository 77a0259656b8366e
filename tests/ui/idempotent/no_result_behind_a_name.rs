//! Where a name may be an alias of a `Result`, the compiler is the judge.

use idem_runtime::{Tx, idempotent};
use serde::{Deserialize, Serialize};
use sqlx::Sqlite;

#[derive(Serialize, Deserialize)]
struct Receipt(i64);

#[idempotent(scope = "order.pay", key = order_id)]
async fn pay(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Receipt {
    Receipt(order_id)
}

fn main() {}
