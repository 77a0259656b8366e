use idem_runtime::{Error, Tx, idempotent};
use sqlx::Sqlite;

#[idempotent(scope = "order.pay", key = order_id)]
async fn pay(_tx: &mut Tx<'_, Sqlite>, order_id: &str) -> Result<i64, Error> {
    let order_id: i64 = order_id.parse()?;
    Ok(order_id)
}

fn main() {}
