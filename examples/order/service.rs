//! What the shop does with an order: a function for each message that reaches it, each in one transaction.

use idem_runtime::prelude::*;
use serde::{Deserialize, Serialize};

use crate::machine::OrderStatus;
use crate::machine::order_status::{ByState, PartlyRefunded, PartlyShipped};
use crate::machine::order_status::{Cancel, Deliver, Pay, Refund, RefundAll, Ship, ShipAll};
use crate::store::{Shop, Value};

/// What became of a message. It is stored with the key of those that have one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// It moved the order.
    Done,
    /// An earlier message had told the same.
    Again,
    /// The order is past it: no money is booked and nothing leaves the house.
    Refused,
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ShopError {
    /// The message overtook another one, and has to come again.
    #[error("the order is not that far")]
    Early,
    /// More would go back than was paid.
    #[error("the refund exceeds what is left of the payment")]
    TooMuch,
    /// What idem answers in place of the function's own answer.
    #[error(transparent)]
    Idem(#[from] Error),
    /// The order did not move.
    #[error(transparent)]
    Transition(#[from] TransitionError),
    /// One of the shop's own statements failed.
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
}

/// The money has come. An order that was called off does not take it: it is set aside, to be given back.
///
/// This is idempotent by its key, since no transition stands behind what is set aside.
#[idempotent(scope = "order.pay", key = trade_no, payload = (order_id, amount))]
pub(crate) async fn pay<DB: Shop>(
    tx: &mut Tx<'_, DB>,
    order_id: i64,
    trade_no: &str,
    amount: i64,
) -> Result<Once<Answer>, ShopError> {
    let pay = Pay { trade_no: trade_no.to_owned(), paid: amount };
    match OrderStatus::row(order_id).fire(pay).cause(trade_no).run(&mut *tx).await {
        Ok(outcome) => Ok(answer(&outcome).into()),
        Err(TransitionError::Illegal { .. } | TransitionError::OtherCause { .. }) => {
            let insert = "INSERT INTO set_aside (order_id, trade_no, amount) VALUES (?, ?, ?)";
            let values = [Value::Number(order_id), Value::Text(trade_no), Value::Number(amount)];
            DB::write(tx, insert, &values).await?;
            Ok(Answer::Refused.into())
        }
        Err(other) => Err(other.into()),
    }
}

/// A parcel leaves the house; the last one ships the order. The parcel's number is the cause: nothing else keeps a
/// second message about it from being counted.
pub(crate) async fn ship<DB: Shop>(
    tx: &mut Tx<'_, DB>,
    order_id: i64,
    parcel_no: &str,
    carrier: &str,
) -> Result<Answer, ShopError> {
    let ship = Ship { carrier: carrier.to_owned() };
    match OrderStatus::row(order_id).fire(ship).cause(parcel_no).run(&mut *tx).await {
        Ok(Outcome::Applied(order)) => count_parcel(tx, order, parcel_no).await,
        Ok(outcome) => Ok(answer(&outcome)),
        Err(error) => refused(error, &[OrderStatus::Pending]),
    }
}

/// Counts a parcel of an order that has moved for it, in the same transaction.
pub(crate) async fn count_parcel<DB: Shop>(
    tx: &mut Tx<'_, DB>,
    order: Row<OrderStatus, PartlyShipped>,
    parcel_no: &str,
) -> Result<Answer, ShopError> {
    let id = *order.id();
    let insert = "INSERT INTO parcels (order_id, parcel_no) VALUES (?, ?)";
    DB::write(&mut *tx, insert, &[Value::Number(id), Value::Text(parcel_no)]).await?;
    let update = "UPDATE orders SET sent = sent + 1 WHERE order_id = ?";
    DB::write(&mut *tx, update, &[Value::Number(id)]).await?;
    if DB::number(&mut *tx, "SELECT parcels - sent FROM orders WHERE order_id = ?", id).await? == 0 {
        order.fire(ShipAll).run(tx).await?.expect_applied()?;
    }
    Ok(Answer::Done)
}

/// The carrier has handed over everything. It happens once, so that it needs no cause.
pub(crate) async fn deliver<DB: Shop>(tx: &mut Tx<'_, DB>, order_id: i64) -> Result<Answer, ShopError> {
    match OrderStatus::row(order_id).fire(Deliver).run(tx).await {
        Ok(outcome) => Ok(answer(&outcome)),
        Err(error) => refused(error, &[OrderStatus::Pending, OrderStatus::Paid, OrderStatus::PartlyShipped]),
    }
}

/// Money goes back, in part or all that is left.
pub(crate) async fn refund<DB: Shop>(
    tx: &mut Tx<'_, DB>,
    order_id: i64,
    refund_no: &str,
    amount: i64,
) -> Result<Answer, ShopError> {
    match OrderStatus::row(order_id).fire(Refund).cause(refund_no).run(&mut *tx).await {
        Ok(Outcome::Applied(order)) => give_back(tx, order, refund_no, amount).await,
        Ok(outcome) => Ok(answer(&outcome)),
        Err(error) => refused(error, &[OrderStatus::Pending]),
    }
}

/// Gives money back for an order that has moved for it. When it is too much, the error undoes that move too.
async fn give_back<DB: Shop>(
    tx: &mut Tx<'_, DB>,
    order: Row<OrderStatus, PartlyRefunded>,
    refund_no: &str,
    amount: i64,
) -> Result<Answer, ShopError> {
    book_refund(&mut *tx, *order.id(), refund_no, amount).await?;
    if money_left(&mut *tx, *order.id()).await? == 0 {
        order.fire(RefundAll).run(tx).await?.expect_applied()?;
    }
    Ok(Answer::Done)
}

/// Books a refund, if that much is left of the payment.
pub(crate) async fn book_refund<DB: Shop>(
    tx: &mut Tx<'_, DB>,
    order_id: i64,
    refund_no: &str,
    amount: i64,
) -> Result<(), ShopError> {
    let (id, sum) = (Value::Number(order_id), Value::Number(amount));
    let update = "UPDATE orders SET refunded = refunded + ? WHERE order_id = ? AND refunded + ? <= paid";
    if DB::write(&mut *tx, update, &[sum, id, sum]).await? == 0 {
        return Err(ShopError::TooMuch);
    }
    let insert = "INSERT INTO refunds (order_id, refund_no, amount) VALUES (?, ?, ?)";
    DB::write(tx, insert, &[id, Value::Text(refund_no), sum]).await?;
    Ok(())
}

async fn money_left<DB: Shop>(tx: &mut Tx<'_, DB>, order_id: i64) -> sqlx::Result<i64> {
    DB::number(tx, "SELECT paid - refunded FROM orders WHERE order_id = ?", order_id).await
}

/// The buyer calls the order off. What that means depends on the state, and every state has its arm: a state that is
/// added to the machine does not compile until somebody has thought of it here, and no arm can fire what its state does
/// not accept.
#[idempotent(scope = "order.call_off", key = request_id, payload = order_id)]
pub(crate) async fn call_off<DB: Shop>(
    tx: &mut Tx<'_, DB>,
    order_id: i64,
    request_id: &str,
) -> Result<Once<Answer>, ShopError> {
    let order = OrderStatus::row(order_id).load(&mut *tx).await?;
    let answer = match order.by_state() {
        ByState::Pending(order) => answer(&order.fire(Cancel).run(tx).await?),
        ByState::Paid(order) => {
            let order = order.fire(Refund).cause(request_id).run(&mut *tx).await?.expect_applied()?;
            let all = money_left(&mut *tx, order_id).await?;
            give_back(tx, order, request_id, all).await?
        }
        // What is on its way has to come back first.
        ByState::PartlyShipped(_) | ByState::Shipped(_) | ByState::Delivered(_) => Answer::Refused,
        ByState::Cancelled(_) | ByState::PartlyRefunded(_) | ByState::Refunded(_) => Answer::Again,
    };
    Ok(answer.into())
}

fn answer<T>(outcome: &Outcome<OrderStatus, T>) -> Answer {
    match outcome {
        Outcome::Applied(_) => Answer::Done,
        Outcome::Replayed(_) | Outcome::Already(_) => Answer::Again,
    }
}

/// A message that the order does not accept is too early in these states, and too late in all others.
pub(crate) fn refused(error: TransitionError, early: &[OrderStatus]) -> Result<Answer, ShopError> {
    match error {
        TransitionError::Illegal { current, .. } if early.iter().any(|state| state.name() == current) => {
            Err(ShopError::Early)
        }
        TransitionError::Illegal { .. } => Ok(Answer::Refused),
        other => Err(other.into()),
    }
}
