//! A duplicate can be in progress or have another payload, so there must be a place for an error.

use idem_runtime::{Error, Once, Tx, idempotent};
use sqlx::Sqlite;

#[idempotent(scope = "missing", key = order_id)]
async fn missing(_tx: &mut Tx<'_, Sqlite>, order_id: i64) {
    let _ = order_id;
}

#[idempotent(scope = "unit", key = order_id)]
async fn unit(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> () {
    let _ = order_id;
}

#[idempotent(scope = "optional", key = order_id)]
async fn optional(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Option<i64> {
    Some(order_id)
}

#[idempotent(scope = "once", key = order_id)]
async fn once(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Once<i64> {
    order_id.into()
}

type Answer<T> = Result<T, Error>;

#[idempotent(scope = "alias", key = order_id)]
async fn an_alias_is_fine(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Answer<i64> {
    Ok(order_id)
}

fn main() {}
