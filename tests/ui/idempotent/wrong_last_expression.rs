use idem_runtime::{Error, Tx, idempotent};
use sqlx::Sqlite;

#[idempotent(scope = "order.pay", key = order_id)]
async fn pay(_tx: &mut Tx<'_, Sqlite>, order_id: i32) -> Result<i64, Error> {
    Ok(order_id)
}

#[idempotent(scope = "order.refund", key = order_id)]
async fn refund(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, Error> {
    if order_id == 0 {
        return Err("no such order");
    }
    Ok(order_id)
}

#[idempotent(scope = "order.ship", key = order_id)]
async fn ship(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, Error> {
    let _ = order_id;
}

fn main() {}
