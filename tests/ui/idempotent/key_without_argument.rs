//! A key that names no argument would be the same for all work, and only the first call would ever run.

use idem_runtime::{Error, Tx, idempotent};
use sqlx::Sqlite;

const REGION: i64 = 7;

#[idempotent(scope = "literal", key = 7)]
async fn literal(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, Error> {
    Ok(order_id)
}

#[idempotent(scope = "constants", key = (REGION, "pay"))]
async fn constants(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, Error> {
    Ok(order_id)
}

#[idempotent(scope = "nothing", key = ())]
async fn nothing(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, Error> {
    Ok(order_id)
}

fn main() {}
