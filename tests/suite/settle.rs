//! The idempotent functions that the behaviour suite calls.

use idem_runtime::prelude::*;
use serde::{Deserialize, Serialize};

use crate::shop::OrderStatus;
use crate::shop::order_status::Pay;
use crate::support::{Engine, sql};

/// What a settled payment gives back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Receipt {
    pub(crate) order_id: i64,
    pub(crate) amount: i64,
}

/// Why a payment was not settled.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PayError {
    #[error("the amount is refused")]
    Refused,
    #[error(transparent)]
    Idem(#[from] Error),
    #[error(transparent)]
    Transition(#[from] TransitionError),
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
}

/// Moves the order, writes the ledger, and makes the receipt; refuses a negative amount after it has written.
#[idempotent(scope = "order.settle", key = (order_id, trade_no), payload = amount)]
pub(crate) async fn settle<DB: Engine>(
    tx: &mut Tx<'_, DB>,
    order_id: i64,
    trade_no: &str,
    amount: i64,
) -> Result<Once<Receipt>, PayError> {
    let pay = Pay { trade_no: trade_no.to_owned() };
    let _ = OrderStatus::row(order_id).fire(pay).cause(trade_no).run(&mut *tx).await?;
    note(&mut *tx, order_id, amount, "settle").await?;
    if amount < 0 {
        return Err(PayError::Refused);
    }
    Ok(Receipt { order_id, amount }.into())
}

/// Writes a ledger row, once for each order and note.
#[idempotent(scope = "order.note", key = (order_id, what))]
pub(crate) async fn note<DB: Engine>(
    tx: &mut Tx<'_, DB>,
    order_id: i64,
    amount: i64,
    what: &str,
) -> Result<i64, PayError> {
    sql::<DB>("INSERT INTO ledger (order_id, amount, note) VALUES (?, ?, ?)")
        .bind(order_id)
        .bind(amount)
        .bind(what.to_owned())
        .execute(&mut *tx)
        .await?;
    Ok(amount)
}
