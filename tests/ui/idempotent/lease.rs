//! A lease is counted in milliseconds, is not over before it begins, and holds a lost call's key for a day at most.

use idem_runtime::{Attempt, Error, idempotent};
use sqlx::Sqlite;

#[idempotent(scope = "transfer.send", key = id, lease = "0s")]
async fn send(_attempt: &mut Attempt<'_, Sqlite>, id: i64) -> Result<i64, Error> {
    Ok(id)
}

#[idempotent(scope = "transfer.revoke", key = id, lease = "500us")]
async fn revoke(_attempt: &mut Attempt<'_, Sqlite>, id: i64) -> Result<i64, Error> {
    Ok(id)
}

#[idempotent(scope = "transfer.repeat", key = id, lease = "25h")]
async fn repeat(_attempt: &mut Attempt<'_, Sqlite>, id: i64) -> Result<i64, Error> {
    Ok(id)
}

fn main() {}
