//! Which errors are final is asked of the function's own errors.

use idem_runtime::{Tx, idempotent};
use serde::{Deserialize, Serialize};
use sqlx::Sqlite;

#[derive(Debug, Serialize, Deserialize, thiserror::Error)]
enum PayError {
    #[error("refused")]
    Refused,
    #[error(transparent)]
    #[serde(skip)]
    Idem(#[from] idem_runtime::Error),
}

fn is_constraint(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Database(error) if error.constraint().is_some())
}

#[idempotent(scope = "order.pay", key = order_id, record_err = is_constraint)]
async fn pay(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, PayError> {
    if order_id == 0 { Err(PayError::Refused) } else { Ok(order_id) }
}

fn main() {}
