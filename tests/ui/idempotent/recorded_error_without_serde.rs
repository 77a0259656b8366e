//! A final error is stored and replayed, so serde has to know its type.

use idem_runtime::{Tx, idempotent};
use sqlx::Sqlite;

#[derive(Debug, thiserror::Error)]
enum PayError {
    #[error("refused")]
    Refused,
    #[error(transparent)]
    Idem(#[from] idem_runtime::Error),
}

impl PayError {
    fn is_final(&self) -> bool {
        matches!(self, Self::Refused)
    }
}

#[idempotent(scope = "order.pay", key = order_id, record_err = PayError::is_final)]
async fn pay(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, PayError> {
    if order_id == 0 { Err(PayError::Refused) } else { Ok(order_id) }
}

fn main() {}
