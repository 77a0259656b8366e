//! The path of `upgrade` is a function from an older result, which serde reads, to the one of today.

use idem_runtime::{Error, Tx, idempotent};
use sqlx::Sqlite;

fn to_text(cents: i64) -> String {
    cents.to_string()
}

#[idempotent(scope = "order.pay", key = order_id, upgrade = to_text)]
async fn pay(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, Error> {
    Ok(order_id)
}

struct OldReceipt(i64);

impl OldReceipt {
    fn cents(self) -> i64 {
        self.0
    }
}

#[idempotent(scope = "order.refund", key = order_id, upgrade = OldReceipt::cents)]
async fn refund(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, Error> {
    Ok(order_id)
}

fn main() {}
