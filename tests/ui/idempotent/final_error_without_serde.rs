//! A final error is stored and given to every later call.

use idem_runtime::{Error, Tx, idempotent};
use sqlx::Sqlite;

enum PayError {
    Refused,
    Idem(Error),
}

impl From<Error> for PayError {
    fn from(error: Error) -> Self {
        Self::Idem(error)
    }
}

fn is_final(error: &PayError) -> bool {
    matches!(error, PayError::Refused)
}

#[idempotent(scope = "order.pay", key = order_id, record_err = is_final)]
async fn pay(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, PayError> {
    Ok(order_id)
}

fn main() {}
