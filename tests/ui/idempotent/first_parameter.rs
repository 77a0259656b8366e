//! The first parameter says how the body runs.

use idem_runtime::{Error, Idem, Tx, idempotent};
use sqlx::{Sqlite, SqliteConnection};

#[idempotent(scope = "none", key = 1)]
async fn none() -> Result<i64, Error> {
    Ok(1)
}

#[idempotent(scope = "connection", key = order_id)]
async fn connection(_connection: &mut SqliteConnection, order_id: i64) -> Result<i64, Error> {
    Ok(order_id)
}

#[idempotent(scope = "engine", key = order_id)]
async fn engine(_idem: &Idem<Sqlite>, order_id: i64) -> Result<i64, Error> {
    Ok(order_id)
}

#[idempotent(scope = "shared", key = order_id)]
async fn shared(_tx: &Tx<'_, Sqlite>, order_id: i64) -> Result<i64, Error> {
    Ok(order_id)
}

#[idempotent(scope = "forgotten", key = order_id)]
async fn forgotten(order_id: &str) -> Result<i64, Error> {
    Ok(1)
}

fn main() {}
