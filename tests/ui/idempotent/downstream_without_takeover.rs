//! A promise of the provider that nothing rests on is not written down.

use idem_runtime::{Attempt, Error, idempotent};
use sqlx::Sqlite;

#[idempotent(scope = "transfer.send", key = id, downstream = idempotent)]
async fn send(_attempt: &mut Attempt<'_, Sqlite>, id: i64) -> Result<i64, Error> {
    Ok(id)
}

#[idempotent(scope = "transfer.revoke", key = id, on_expired = hold, downstream = repeatable)]
async fn revoke(_attempt: &mut Attempt<'_, Sqlite>, id: i64) -> Result<i64, Error> {
    Ok(id)
}

fn main() {}
