//! A body that runs again has its arguments once more, and so has one behind a probe.

use idem_runtime::{Attempt, Error, Probe, Tx, idempotent};
use sqlx::Sqlite;

struct Order {
    id: i64,
}

#[idempotent(scope = "order.pay", key = order.id, rerun = 3)]
async fn pay(_tx: &mut Tx<'_, Sqlite>, order: Order) -> Result<i64, Error> {
    Ok(order.id)
}

#[idempotent(scope = "order.refund", key = id, rerun = 3)]
async fn refund(_tx: &mut Tx<'_, Sqlite>, id: i64, why: impl Fn() -> i64 + Send) -> Result<i64, Error> {
    Ok(id + why())
}

#[idempotent(scope = "transfer.send", key = order.id, on_expired = probe(ask))]
async fn send(_attempt: &mut Attempt<'_, Sqlite>, order: Order) -> Result<i64, Error> {
    Ok(order.id)
}

async fn ask(_attempt: &mut Attempt<'_, Sqlite>, _order: Order) -> Result<Probe<i64>, Error> {
    Ok(Probe::Unknown)
}

fn main() {}
