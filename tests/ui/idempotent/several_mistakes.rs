//! S63, S64: all mistakes are told in one build, and the callers add none of their own.

use idem_runtime::{Idem, Tx, idempotent};
use sqlx::Sqlite;

#[derive(Debug, thiserror::Error)]
enum PayError {
    #[error(transparent)]
    Idem(#[from] idem_runtime::Error),
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
}

#[idempotent(scop = "order.pay", key = (tenant, ordr_id), payload = amount, payload = amount)]
fn pay(tx: &mut Tx<'_, Sqlite>, tenant_id: i64, order_id: i64, amount: i64) -> Result<i64, PayError> {
    sqlx::query("SELECT 1").execute(&mut *tx).await?;
    Ok(tenant_id + order_id + amount)
}

// The callers of a function with mistakes add none of their own.
async fn five_callers(idem: &Idem<Sqlite>) -> Result<(), PayError> {
    pay(idem, 1, 2, 3).await?;
    pay(idem, 1, 2, 3).await?;
    let again: i64 = pay(idem, 1, 2, 3).await?;
    tokio::try_join!(pay(idem, 1, 2, again), pay(idem, 1, 2, 3))?;
    Ok(())
}

fn main() {
    let _ = five_callers;
}
