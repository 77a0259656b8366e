//! Two ways to get it wrong, which show that the checker can fail.

use clap::ValueEnum;
use idem_runtime::prelude::*;

use crate::machine::OrderStatus;
use crate::machine::order_status::{Refund, Ship};
use crate::service::{self, Answer, ShopError};
use crate::store::Shop;

/// What `--break` takes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Break {
    /// A parcel's number is not the cause: any message about it moves the order
    NoCause,
    /// Refunds are booked whether the order moved for them or not
    IgnoreOutcome,
}

/// It compiles only because `any_version` says aloud that a second message would apply again.
pub(crate) async fn ship<DB: Shop>(
    tx: &mut Tx<'_, DB>,
    order_id: i64,
    parcel_no: &str,
    carrier: &str,
) -> Result<Answer, ShopError> {
    let ship = Ship { carrier: carrier.to_owned() };
    match OrderStatus::row(order_id).fire(ship).any_version().run(&mut *tx).await {
        Ok(Outcome::Applied(order)) => service::count_parcel(tx, order, parcel_no).await,
        Ok(_) => Ok(Answer::Again),
        Err(error) => service::refused(error, &[OrderStatus::Pending]),
    }
}

/// Whether the cause was new is not asked, and the money goes back with each message.
pub(crate) async fn refund<DB: Shop>(
    tx: &mut Tx<'_, DB>,
    order_id: i64,
    refund_no: &str,
    amount: i64,
) -> Result<Answer, ShopError> {
    match OrderStatus::row(order_id).fire(Refund).cause(refund_no).run(&mut *tx).await {
        Ok(_) => service::book_refund(tx, order_id, refund_no, amount).await.map(|()| Answer::Done),
        Err(error) => service::refused(error, &[OrderStatus::Pending]),
    }
}
