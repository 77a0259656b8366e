//! What can become of an order, and the tables that it lives in.

use idem_runtime::prelude::*;
use idem_runtime::schema;

/// The life of an order that leaves the house in several parcels.
///
/// A parcel more and a refund more each lead back to where the order may be already. What tells a new one from a second
/// message about an old one is its cause: the parcel's and the refund's own number. Once money went back nothing is
/// shipped any more: a refund is for what will not come, or came back.
#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64), history, repr = native, rename_all = "snake_case", sqlx, display)]
#[transition(pay:        Pending => Paid, set(trade_no: String, paid: i64, paid_at = now))]
#[transition(cancel:     Pending => Cancelled)]
#[transition(ship:       Paid | PartlyShipped => PartlyShipped, set(carrier: String))]
#[transition(ship_all:   PartlyShipped => Shipped, set(shipped_at = now))]
#[transition(deliver:    Shipped => Delivered)]
#[transition(refund:     Paid | PartlyShipped | Shipped | Delivered | PartlyRefunded => PartlyRefunded)]
#[transition(refund_all: PartlyRefunded => Refunded)]
pub(crate) enum OrderStatus {
    #[state(initial)]
    Pending,
    Paid,
    /// An older release wrote `part_shipped`. Its rows are read and go on as they are; nothing rewrites them first.
    #[state(alias = "part_shipped")]
    PartlyShipped,
    Shipped,
    Delivered,
    #[state(terminal)]
    Cancelled,
    PartlyRefunded,
    #[state(terminal)]
    Refunded,
}

/// The shop's tables. The columns of the machine come from the machine: their type, their default and what keeps other
/// values out. No unique index stops a second parcel or refund.
pub(crate) fn tables(dialect: Dialect) -> String {
    let columns = schema::columns::<OrderStatus>(dialect);
    let time = match dialect {
        Dialect::Postgres => "TIMESTAMPTZ",
        Dialect::MySql => "DATETIME(6)",
        Dialect::Sqlite => "TEXT",
    };
    format!(
        "CREATE TABLE orders (
  order_id BIGINT NOT NULL PRIMARY KEY,
  price BIGINT NOT NULL,
  parcels BIGINT NOT NULL,
  sent BIGINT NOT NULL DEFAULT 0,
  refunded BIGINT NOT NULL DEFAULT 0,
  {columns},
  trade_no VARCHAR(64),
  paid BIGINT,
  paid_at {time},
  carrier VARCHAR(64),
  shipped_at {time}
);
CREATE TABLE parcels (order_id BIGINT NOT NULL, parcel_no VARCHAR(64) NOT NULL);
CREATE TABLE refunds (order_id BIGINT NOT NULL, refund_no VARCHAR(64) NOT NULL, amount BIGINT NOT NULL);
CREATE TABLE set_aside (order_id BIGINT NOT NULL, trade_no VARCHAR(64) NOT NULL, amount BIGINT NOT NULL);
CREATE TABLE expected (order_id BIGINT NOT NULL PRIMARY KEY, payments BIGINT NOT NULL, repayments BIGINT NOT NULL);"
    )
}
