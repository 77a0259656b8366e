//! A transaction has no lease, and what was done outside of one is not rolled back for another run.

use idem_runtime::{Attempt, Error, Tx, idempotent};
use sqlx::Sqlite;

#[idempotent(scope = "order.pay", key = id, lease = "0s", on_expired = takeover, downstream = idempotent)]
async fn pay(_tx: &mut Tx<'_, Sqlite>, id: i64) -> Result<i64, Error> {
    Ok(id)
}

#[idempotent(scope = "transfer.send", key = id, rerun = 0)]
async fn send(_attempt: &mut Attempt<'_, Sqlite>, id: i64, count: &mut i64) -> Result<i64, Error> {
    *count += 1;
    Ok(id)
}

fn main() {}
