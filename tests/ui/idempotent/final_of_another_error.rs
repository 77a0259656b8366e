//! Whether an error is final, a function over that error says.

use idem_runtime::{Error, Tx, idempotent};
use serde::{Deserialize, Serialize};
use sqlx::Sqlite;

#[derive(Serialize, Deserialize)]
enum PayError {
    Refused,
    #[serde(skip)]
    Idem(Error),
}

impl From<Error> for PayError {
    fn from(error: Error) -> Self {
        Self::Idem(error)
    }
}

fn is_final(status: u16) -> bool {
    status == 402
}

#[idempotent(scope = "order.pay", key = order_id, record_err = is_final)]
async fn pay(_tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, PayError> {
    Err(PayError::Refused)
}

fn main() {}
