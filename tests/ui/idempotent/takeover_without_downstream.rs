//! A body that runs again calls the provider again, so that the provider has to promise something.

use idem_runtime::{Attempt, Error, idempotent};
use sqlx::Sqlite;

#[idempotent(scope = "transfer.send", key = id, on_expired = takeover)]
async fn send(_attempt: &mut Attempt<'_, Sqlite>, id: i64) -> Result<i64, Error> {
    Ok(id)
}

fn main() {}
