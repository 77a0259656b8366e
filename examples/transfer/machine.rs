//! What can become of a transfer, and the table that it lives in.

use idem_runtime::prelude::*;
use idem_runtime::schema;

/// The life of a transfer. That it was sent is booked once, with the number that the provider gave it.
#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "transfers", id(transfer_id: i64), history, rename_all = "snake_case")]
#[transition(book: Requested => Sent, set(number: String))]
pub(crate) enum TransferStatus {
    #[state(initial)]
    Requested,
    #[state(terminal)]
    Sent,
}

/// The table of transfers.
pub(crate) fn tables(dialect: Dialect) -> String {
    let columns = schema::columns::<TransferStatus>(dialect);
    format!(
        "CREATE TABLE transfers (
  transfer_id BIGINT NOT NULL PRIMARY KEY,
  provider VARCHAR(16) NOT NULL,
  amount BIGINT NOT NULL,
  {columns},
  number VARCHAR(64)
);"
    )
}
