//! What the shop does with a notification: one idempotent function, two machines, one transaction.

use idem_runtime::machine::Handle;
use idem_runtime::prelude::*;
use serde::{Deserialize, Serialize};

use crate::callbacks::{Notification, TradeStatus};
use crate::machines::order_status::{self, Pay};
use crate::machines::payment_status::{self, Capture, Close, GiveBack, Refuse};
use crate::machines::{OrderStatus, PaymentStatus};
use crate::money::Money;
use crate::store::{Entry, Shop};

/// What the buyer gets for the trouble, with each partial refund.
pub(crate) const GOODWILL: Money = Money(100);

/// Settles one notification, however often and in whatever order notifications are delivered.
///
/// The key is the notification's own number: a second delivery of it replays the first one's verdict. `notify_time`
/// is not part of the payload, since the channel writes another one at each push.
///
/// The cause is the trade's number, the same in every notification that reports the money: `TRADE_FINISHED`
/// after `TRADE_SUCCESS` is another key with the same cause, and so no second charge.
#[idempotent(
    scope = "payment.notify",
    key = notify.notify_id,
    payload = (notify.trade_no, notify.out_trade_no, notify.trade_status, notify.total_amount, notify.refund_fee)
)]
pub(crate) async fn settle<DB: Shop>(tx: &mut Tx<'_, DB>, notify: &Notification) -> Result<Once<Verdict>, NotifyError> {
    let verdict = book(&mut *tx, notify, &notify.trade_no).await?;
    Ok(verdict.into())
}

/// How a notification was settled. It is stored with the key, and a duplicate gets the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Verdict {
    /// Nobody has paid yet: there is nothing to book.
    Noted,
    /// It moved money or a row.
    Executed,
    /// Another notification had told the same before.
    Already,
    /// The order does not take this money: it waits to be given back.
    SetAside(Reason),
    /// The trade was booked for another order, or with another amount.
    Mismatch,
}

/// Why an order does not take a trade's money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Reason {
    /// Another trade has paid it.
    OtherCause,
    /// It is cancelled, shipped, refunded: its state does not accept a payment.
    Illegal,
    /// It costs another amount.
    Amount,
    /// There is no such order.
    NotFound,
}

/// Why a notification is not settled yet. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotifyError {
    /// The refund overtook the payment.
    #[error("a refund of a trade whose payment has not arrived")]
    Early,
    /// What idem answers in place of a verdict.
    #[error(transparent)]
    Idem(#[from] Error),
    /// A row did not move, and that is no verdict.
    #[error(transparent)]
    Transition(#[from] TransitionError),
    /// One of the shop's own statements failed.
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
}

impl NotifyError {
    /// What to tell the channel. A refusal that can be settled is a verdict, so whatever else is left comes again.
    pub(crate) const fn reply(&self) -> Reply {
        match self {
            Self::Idem(error) => error.reply(),
            Self::Early | Self::Transition(_) | Self::Sql(_) => Reply::Resend,
        }
    }
}

/// Books what the notification tells. Every path moves the payment first and the order second: transactions that lock
/// their rows in one order never wait for one another in a circle.
pub(crate) async fn book<DB: Shop>(
    tx: &mut Tx<'_, DB>,
    notify: &Notification,
    cause: &str,
) -> Result<Verdict, NotifyError> {
    DB::open_payment(&mut *tx, notify).await?;
    match (notify.trade_status, notify.refund_fee) {
        (TradeStatus::WaitBuyerPay, _) => Ok(Verdict::Noted),
        (TradeStatus::TradeSuccess, Some(refunded)) => give_back(tx, notify, cause, refunded).await,
        (TradeStatus::TradeSuccess | TradeStatus::TradeFinished, _) => charge(tx, notify, cause).await,
        (TradeStatus::TradeClosed, Some(refunded)) => refund(tx, notify, cause, refunded).await,
        (TradeStatus::TradeClosed, None) => close(tx, notify, cause).await,
    }
}

/// The money has come: the order takes it, or it is set aside.
async fn charge<DB: Shop>(tx: &mut Tx<'_, DB>, notify: &Notification, cause: &str) -> Result<Verdict, NotifyError> {
    let captured = Capture { out_trade_no: notify.out_trade_no.clone(), amount: notify.total_amount.0 };
    let payment = match payment(notify).fire(captured).cause(cause).run(&mut *tx).await {
        Ok(outcome) => outcome.into_row(),
        Err(refusal) => return refuse(tx, notify, cause, refusal).await,
    };
    // Known money may have gone further since: then its fate is sealed, and the order is not asked again.
    if payment.state() != PaymentStatus::Captured {
        return Ok(Verdict::Already);
    }
    if DB::price(&mut *tx, &notify.out_trade_no).await?.is_some_and(|price| price != notify.total_amount) {
        return set_aside(tx, notify, cause, Reason::Amount).await;
    }
    pay(tx, notify, cause).await
}

/// Asks the order to take the money.
async fn pay<DB: Shop>(tx: &mut Tx<'_, DB>, notify: &Notification, cause: &str) -> Result<Verdict, NotifyError> {
    let paid = Pay { trade_no: notify.trade_no.clone() };
    match order(notify).fire(paid).cause(cause).run(&mut *tx).await {
        Ok(Outcome::Applied(_)) => {
            DB::write(tx, Entry::Charge, notify, notify.total_amount).await?;
            Ok(Verdict::Executed)
        }
        Ok(Outcome::Replayed(_) | Outcome::Already(_)) => Ok(Verdict::Already),
        Err(refusal) => refuse(tx, notify, cause, refusal).await,
    }
}

/// Money has come that the row does not take: what is a verdict is settled here, the rest has to come again.
async fn refuse<DB: Shop>(
    tx: &mut Tx<'_, DB>,
    notify: &Notification,
    cause: &str,
    refusal: TransitionError,
) -> Result<Verdict, NotifyError> {
    match refusal {
        TransitionError::Mismatch { .. } => Ok(Verdict::Mismatch),
        TransitionError::Illegal { .. } => set_aside(tx, notify, cause, Reason::Illegal).await,
        TransitionError::NotFound { .. } => set_aside(tx, notify, cause, Reason::NotFound).await,
        // Without a recorded cause nobody knows what paid the order: no reason to give money back unasked.
        TransitionError::OtherCause { recorded: Some(_), .. } => set_aside(tx, notify, cause, Reason::OtherCause).await,
        other => Err(other.into()),
    }
}

/// Keeps the money apart until the shop has given it back.
async fn set_aside<DB: Shop>(
    tx: &mut Tx<'_, DB>,
    notify: &Notification,
    cause: &str,
    reason: Reason,
) -> Result<Verdict, NotifyError> {
    let refused = Refuse { reason: format!("{reason:?}") };
    if !payment(notify).fire(refused).cause(cause).run(&mut *tx).await?.is_applied() {
        return Ok(Verdict::Already);
    }
    DB::write(tx, Entry::SetAside, notify, notify.total_amount).await?;
    Ok(Verdict::SetAside(reason))
}

/// Part of the money went back. The channel tells the sum of all refunds, so that one which was overtaken by a later
/// one has nothing left to book.
async fn give_back<DB: Shop>(
    tx: &mut Tx<'_, DB>,
    notify: &Notification,
    cause: &str,
    refunded: Money,
) -> Result<Verdict, NotifyError> {
    let charged = charge(&mut *tx, notify, cause).await?;
    let known = payment(notify).load(&mut *tx).await?;
    if known.state() == PaymentStatus::SetAside || charged == Verdict::Mismatch {
        return Ok(charged);
    }
    // No machine stands behind this row: the key alone keeps it to one for each refund.
    DB::write(&mut *tx, Entry::Goodwill, notify, GOODWILL).await?;
    let before = DB::refunded(&mut *tx, &notify.trade_no).await?;
    if known.state() == PaymentStatus::Captured && before < refunded {
        // What moves the row is this refund, not the trade. The version makes sure that `before` is still true.
        let part = format!("{cause}/{refunded}");
        let given = GiveBack { refunded: refunded.0 };
        let outcome = payment(notify).fire(given).cause(&part).expect_version(known.version()).run(&mut *tx).await?;
        if outcome.is_applied() {
            DB::write(tx, Entry::Refund, notify, refunded - before).await?;
        }
    }
    Ok(Verdict::Executed)
}

/// All of the money went back.
async fn refund<DB: Shop>(
    tx: &mut Tx<'_, DB>,
    notify: &Notification,
    cause: &str,
    refunded: Money,
) -> Result<Verdict, NotifyError> {
    let known = payment(notify).load(&mut *tx).await?;
    if matches!(known.state(), PaymentStatus::Waiting | PaymentStatus::Closed) {
        return Err(NotifyError::Early);
    }
    let before = DB::refunded(&mut *tx, &notify.trade_no).await?;
    let back = payment_status::Refund { refunded: refunded.0 };
    let outcome = payment(notify).fire(back).cause(cause).expect_version(known.version()).run(&mut *tx).await?;
    if !outcome.is_applied() {
        return Ok(Verdict::Already);
    }
    DB::write(&mut *tx, Entry::Refund, notify, refunded - before).await?;
    if known.state() == PaymentStatus::Captured {
        refund_order(tx, notify, cause).await?;
    }
    Ok(Verdict::Executed)
}

/// Takes the order back whose money went back. A finished order stays finished all the same.
async fn refund_order<DB: Shop>(tx: &mut Tx<'_, DB>, notify: &Notification, cause: &str) -> Result<(), NotifyError> {
    match order(notify).fire(order_status::Refund).cause(cause).run(tx).await {
        Ok(_) | Err(TransitionError::Illegal { .. }) => Ok(()),
        Err(other) => Err(other.into()),
    }
}

/// The channel closed the trade unpaid. When money has come after all, there is nothing to close.
async fn close<DB: Shop>(tx: &mut Tx<'_, DB>, notify: &Notification, cause: &str) -> Result<Verdict, NotifyError> {
    match payment(notify).fire(Close).cause(cause).run(tx).await {
        Ok(Outcome::Applied(_)) => Ok(Verdict::Executed),
        Ok(_) | Err(TransitionError::Illegal { .. }) => Ok(Verdict::Already),
        Err(other) => Err(other.into()),
    }
}

fn payment(notify: &Notification) -> Handle<PaymentStatus> {
    PaymentStatus::row(notify.trade_no.clone())
}

fn order(notify: &Notification) -> Handle<OrderStatus> {
    OrderStatus::row(notify.out_trade_no.clone())
}
