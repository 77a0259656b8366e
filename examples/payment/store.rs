//! The shop's own statements.
//!
//! A shop has one database, and writes `sqlx::query("..")` where it needs it. This one runs on three, so its few
//! statements stand here, once, and a macro makes them for each driver.

use idem_runtime::prelude::*;
use sqlx::{MySql, Pool, Postgres, Sqlite};

use crate::callbacks::{Notification, OrderLine};
use crate::machines::{OrderStatus, PaymentStatus};
use crate::money::Money;
use crate::place::sql;

/// A kind of movement in the ledger.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Entry {
    /// A trade pays an order.
    Charge,
    /// A trade's money is kept apart, to be given back.
    SetAside,
    /// Money went back to the buyer.
    Refund,
    /// A present for the trouble.
    Goodwill,
}

impl Entry {
    const fn name(self) -> &'static str {
        match self {
            Self::Charge => "charge",
            Self::SetAside => "set_aside",
            Self::Refund => "refund",
            Self::Goodwill => "goodwill",
        }
    }
}

/// A database that the shop can live in.
pub(crate) trait Shop: SqlDialect {
    /// Takes an order.
    fn take_order(pool: &Pool<Self>, order: &OrderLine) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// Makes sure that the trade has its row, whichever of its notifications comes first.
    fn open_payment(tx: &mut Tx<'_, Self>, notify: &Notification) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// What an order costs, if there is one.
    fn price(tx: &mut Tx<'_, Self>, out_trade_no: &str) -> impl Future<Output = sqlx::Result<Option<Money>>> + Send;

    /// How much of a trade went back so far.
    fn refunded(tx: &mut Tx<'_, Self>, trade_no: &str) -> impl Future<Output = sqlx::Result<Money>> + Send;

    /// Writes an entry of the ledger.
    fn write(
        tx: &mut Tx<'_, Self>,
        entry: Entry,
        notify: &Notification,
        amount: Money,
    ) -> impl Future<Output = sqlx::Result<()>> + Send;
}

macro_rules! shop {
    ($DB:ty, $if_absent:literal) => {
        impl Shop for $DB {
            async fn take_order(pool: &Pool<Self>, order: &OrderLine) -> sqlx::Result<()> {
                sqlx::query(sql::<Self>("INSERT INTO orders (out_trade_no, amount, status) VALUES (?, ?, ?)"))
                    .bind(&order.out_trade_no)
                    .bind(order.amount.0)
                    .bind(OrderStatus::INITIAL.stored())
                    .execute(pool)
                    .await?;
                Ok(())
            }

            async fn open_payment(tx: &mut Tx<'_, Self>, notify: &Notification) -> sqlx::Result<()> {
                const INSERT: &str = concat!(
                    "INSERT INTO payments (trade_no, out_trade_no, amount, status) VALUES (?, ?, ?, ?) ",
                    $if_absent
                );
                sqlx::query(sql::<Self>(INSERT))
                    .bind(&notify.trade_no)
                    .bind(&notify.out_trade_no)
                    .bind(notify.total_amount.0)
                    .bind(PaymentStatus::INITIAL.stored())
                    .execute(tx)
                    .await?;
                Ok(())
            }

            async fn price(tx: &mut Tx<'_, Self>, out_trade_no: &str) -> sqlx::Result<Option<Money>> {
                let price = sqlx::query_scalar(sql::<Self>("SELECT amount FROM orders WHERE out_trade_no = ?"))
                    .bind(out_trade_no)
                    .fetch_optional(tx)
                    .await?;
                Ok(price.map(Money))
            }

            async fn refunded(tx: &mut Tx<'_, Self>, trade_no: &str) -> sqlx::Result<Money> {
                sqlx::query_scalar(sql::<Self>("SELECT refunded FROM payments WHERE trade_no = ?"))
                    .bind(trade_no)
                    .fetch_one(tx)
                    .await
                    .map(Money)
            }

            async fn write(
                tx: &mut Tx<'_, Self>,
                entry: Entry,
                notify: &Notification,
                amount: Money,
            ) -> sqlx::Result<()> {
                const INSERT: &str =
                    "INSERT INTO ledger (kind, trade_no, out_trade_no, amount, notify_id) VALUES (?, ?, ?, ?, ?)";
                sqlx::query(sql::<Self>(INSERT))
                    .bind(entry.name())
                    .bind(&notify.trade_no)
                    .bind(&notify.out_trade_no)
                    .bind(amount.0)
                    .bind(&notify.notify_id)
                    .execute(tx)
                    .await?;
                Ok(())
            }
        }
    };
}

shop!(Postgres, "ON CONFLICT (trade_no) DO NOTHING");
shop!(MySql, "ON DUPLICATE KEY UPDATE trade_no = payments.trade_no");
shop!(Sqlite, "ON CONFLICT (trade_no) DO NOTHING");
