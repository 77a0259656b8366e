//! A key is the same on every retry, and a float is not.

use idem_runtime::{Error, Tx, idempotent};
use sqlx::Sqlite;

struct Line {
    price: f64,
}

#[idempotent(scope = "order.pay", key = (order_id, amount, line.price))]
async fn pay(_tx: &mut Tx<'_, Sqlite>, order_id: i64, amount: f64, line: &Line) -> Result<i64, Error> {
    println!("{amount} {}", line.price);
    Ok(order_id)
}

fn main() {}
