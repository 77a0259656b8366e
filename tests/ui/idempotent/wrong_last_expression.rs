//! The body is checked as if it stood alone: a wrong value is one error at its own token.

use idem_runtime::{Tx, idempotent};
use sqlx::Sqlite;

#[derive(Debug, thiserror::Error)]
enum PayError {
    #[error(transparent)]
    Idem(#[from] idem_runtime::Error),
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
}

#[idempotent(scope = "order.pay", key = order_id)]
async fn pay(_tx: &mut Tx<'_, Sqlite>, order_id: i32) -> Result<i64, PayError> {
    Ok(order_id)
}

#[idempotent(scope = "order.refund", key = order_id)]
async fn refund(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, PayError> {
    if order_id == 0 {
        return Err("no such order");
    }
    Ok(order_id)
}

#[idempotent(scope = "order.ship", key = order_id)]
async fn ship(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, PayError> {
    let _ = order_id;
}

fn main() {}
