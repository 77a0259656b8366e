//! Four ways to get it wrong, each seen in real shops. They show that the checker can fail.

use clap::ValueEnum;
use idem_runtime::prelude::*;
use sqlx::{MySql, Pool, Postgres, Sqlite};

use crate::callbacks::{Notification, TradeStatus};
use crate::machines::PaymentStatus;
use crate::machines::payment_status::Capture;
use crate::place::sql;
use crate::service::{NotifyError, Verdict, book};
use crate::store::{Entry, Shop};

/// What `--break` takes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Break {
    /// The order's UPDATE names neither the status nor the version
    UnconditionalUpdate,
    /// The effects commit first, the key is stored afterwards in a transaction of its own
    ClaimAfterBody,
    /// The cause is the message's number instead of the trade's
    CauseNotifyId,
    /// The function is not idempotent at all
    NoClaim,
}

/// Settles a notification the wrong way. The flag tells a replay.
pub(crate) async fn settle<DB: Broken>(
    how: Break,
    idem: &Idem<DB>,
    notify: &Notification,
) -> Result<(Verdict, bool), NotifyError> {
    match how {
        Break::UnconditionalUpdate => unconditional_update(idem, notify).await.map(told),
        Break::CauseNotifyId => cause_notify_id(idem, notify).await.map(told),
        Break::ClaimAfterBody => claim_after_body(idem, notify).await,
        Break::NoClaim => Ok((no_claim(idem, notify).await?, false)),
    }
}

fn told(once: Once<Verdict>) -> (Verdict, bool) {
    let replay = once.is_replay();
    (once.into_inner(), replay)
}

/// Every new message about the trade "pays" the order: it never asks whether the order is still pending.
#[idempotent(scope = "broken.unconditional_update", key = notify.notify_id)]
async fn unconditional_update<DB: Broken>(
    tx: &mut Tx<'_, DB>,
    notify: &Notification,
) -> Result<Once<Verdict>, NotifyError> {
    let reports_money = matches!(notify.trade_status, TradeStatus::TradeSuccess | TradeStatus::TradeFinished);
    if !reports_money || notify.refund_fee.is_some() {
        return Ok(book(&mut *tx, notify, &notify.trade_no).await?.into());
    }
    DB::open_payment(&mut *tx, notify).await?;
    let captured = Capture { out_trade_no: notify.out_trade_no.clone(), amount: notify.total_amount.0 };
    let payment = PaymentStatus::row(notify.trade_no.clone());
    match payment.fire(captured).cause(&notify.trade_no).run(&mut *tx).await {
        Ok(_) => {}
        Err(TransitionError::Mismatch { .. }) => return Ok(Verdict::Mismatch.into()),
        Err(other) => return Err(other.into()),
    }
    DB::overwrite_order(&mut *tx, notify).await?;
    DB::write(tx, Entry::Charge, notify, notify.total_amount).await?;
    Ok(Verdict::Executed.into())
}

/// Two messages about one trade look like two trades: the second is set aside, and the buyer gets the goods for free.
#[idempotent(scope = "broken.cause_notify_id", key = notify.notify_id)]
async fn cause_notify_id<DB: Broken>(tx: &mut Tx<'_, DB>, notify: &Notification) -> Result<Once<Verdict>, NotifyError> {
    let verdict = book(&mut *tx, notify, &notify.notify_id).await?;
    Ok(verdict.into())
}

/// Between the look at the keys and the moment when the key is stored, a duplicate runs the body too.
async fn claim_after_body<DB: Broken>(idem: &Idem<DB>, notify: &Notification) -> Result<(Verdict, bool), NotifyError> {
    if DB::has_seen(idem.pool(), &notify.notify_id).await? {
        return Ok((Verdict::Already, true));
    }
    let verdict = no_claim(idem, notify).await?;
    DB::mark_seen(idem.pool(), &notify.notify_id).await?;
    Ok((verdict, false))
}

/// The machines still hold, and what has no machine behind it happens at each delivery.
async fn no_claim<DB: Broken>(idem: &Idem<DB>, notify: &Notification) -> Result<Verdict, NotifyError> {
    let mut tx = idem.begin().await?;
    let verdict = book(&mut tx, notify, &notify.trade_no).await?;
    tx.commit().await?;
    Ok(verdict)
}

/// The statements of the wrong ways.
pub(crate) trait Broken: Shop {
    /// Writes `paid`, whatever the order is.
    fn overwrite_order(tx: &mut Tx<'_, Self>, notify: &Notification) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// Whether the message's number is stored.
    fn has_seen(pool: &Pool<Self>, notify_id: &str) -> impl Future<Output = sqlx::Result<bool>> + Send;

    /// Stores it.
    fn mark_seen(pool: &Pool<Self>, notify_id: &str) -> impl Future<Output = sqlx::Result<()>> + Send;
}

macro_rules! broken {
    ($DB:ty) => {
        impl Broken for $DB {
            async fn overwrite_order(tx: &mut Tx<'_, Self>, notify: &Notification) -> sqlx::Result<()> {
                const UPDATE: &str =
                    "UPDATE orders SET status = 'paid', trade_no = ?, version = version + 1 WHERE out_trade_no = ?";
                let update = sqlx::query(sql::<Self>(UPDATE)).bind(&notify.trade_no).bind(&notify.out_trade_no);
                update.execute(tx).await?;
                Ok(())
            }

            async fn has_seen(pool: &Pool<Self>, notify_id: &str) -> sqlx::Result<bool> {
                let select = sqlx::query(sql::<Self>("SELECT notify_id FROM seen WHERE notify_id = ?")).bind(notify_id);
                Ok(select.fetch_optional(pool).await?.is_some())
            }

            async fn mark_seen(pool: &Pool<Self>, notify_id: &str) -> sqlx::Result<()> {
                let insert = sqlx::query(sql::<Self>("INSERT INTO seen (notify_id) VALUES (?)")).bind(notify_id);
                insert.execute(pool).await?;
                Ok(())
            }
        }
    };
}

broken!(Postgres);
broken!(MySql);
broken!(Sqlite);

/// Where the keys are kept that are claimed too late.
pub(crate) const TABLE: &str = "CREATE TABLE seen (notify_id VARCHAR(191) NOT NULL)";
