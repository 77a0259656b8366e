//! What becomes of a call in doubt is one of three.

use idem_runtime::{Attempt, Error, idempotent};
use sqlx::Sqlite;

#[idempotent(scope = "transfer.send", key = id, on_expired = retry(3), downstream = idempotent)]
async fn send(_attempt: &mut Attempt<'_, Sqlite>, id: i64) -> Result<i64, Error> {
    Ok(id)
}

fn main() {}
