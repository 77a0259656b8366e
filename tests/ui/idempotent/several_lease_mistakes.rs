//! All mistakes are told in one build, and the callers add none of their own.

use idem_runtime::{Attempt, Error, Idem, idempotent};
use sqlx::Sqlite;

#[idempotent(scope = "transfer.send", key = idd, lease = "0s", on_expired = takeover, rerun = 3)]
fn send(_attempt: &mut Attempt<'_, Sqlite>, id: i64) -> Result<i64, Error> {
    tokio::task::yield_now().await;
    Ok(id)
}

async fn caller(idem: &Idem<Sqlite>) -> Result<i64, Error> {
    send(idem, 1).await
}

fn main() {}
