//! `?` in the body converts to the function's own error, and says so at its own token.

use idem_runtime::{Tx, idempotent};
use sqlx::Sqlite;

#[derive(Debug, thiserror::Error)]
enum PayError {
    #[error(transparent)]
    Idem(#[from] idem_runtime::Error),
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
}

#[idempotent(scope = "order.pay", key = order_id)]
async fn pay(_tx: &mut Tx<'_, Sqlite>, order_id: &str) -> Result<i64, PayError> {
    let order_id: i64 = order_id.parse()?;
    Ok(order_id)
}

fn main() {}
