//! A probe is called with the names of the arguments.

use idem_runtime::{Attempt, Error, Probe, idempotent};
use sqlx::Sqlite;

#[idempotent(scope = "transfer.send", key = id, on_expired = probe(ask))]
async fn send(
    _attempt: &mut Attempt<'_, Sqlite>,
    (id, amount): (i64, i64),
    _: String,
    #[cfg(unix)] memo: i64,
) -> Result<i64, Error> {
    Ok(id + amount + memo)
}

async fn ask(_attempt: &mut Attempt<'_, Sqlite>, _transfer: (i64, i64), _: String) -> Result<Probe<i64>, Error> {
    Ok(Probe::Unknown)
}

fn main() {}
