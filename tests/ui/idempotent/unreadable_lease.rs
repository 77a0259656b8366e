//! An option of a lease that cannot be read is told with what it looks like.

use idem_runtime::{Attempt, Error, idempotent};
use sqlx::Sqlite;

#[idempotent(scope = "transfer.send", key = id, lease = 30, on_expired = "takeover", downstream = idempotent)]
async fn send(_attempt: &mut Attempt<'_, Sqlite>, id: i64) -> Result<i64, Error> {
    Ok(id)
}

#[idempotent(scope = "transfer.revoke", key = id, lease = "half a minute", on_expired = probe)]
async fn revoke(_attempt: &mut Attempt<'_, Sqlite>, id: i64) -> Result<i64, Error> {
    Ok(id)
}

#[idempotent(scope = "transfer.repeat", key = id, on_expired = probe(), downstream = "idempotent")]
async fn repeat(_attempt: &mut Attempt<'_, Sqlite>, id: i64) -> Result<i64, Error> {
    Ok(id)
}

#[idempotent(scope = "transfer.book", key = id, on_expired = takeover, downstream = "idempotent")]
async fn book(_attempt: &mut Attempt<'_, Sqlite>, id: i64) -> Result<i64, Error> {
    Ok(id)
}

fn main() {}
