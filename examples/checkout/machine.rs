//! What can become of an order, and the tables that it lives in.

use idem_runtime::prelude::*;
use idem_runtime::schema;
use uuid::Uuid;

/// The life of an order. A cart has one that is not cancelled: a paid one counts, or a click that comes late would find no
/// open order and make another.
#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: Uuid), history, rename_all = "snake_case")]
#[create(order_id: Uuid, cart_id: i64, amount: i64, fresh_id)]
#[unique_while(one_order: cart_id in Created | Paid)]
#[transition(pay:    Created => Paid, set(payment_id: String))]
#[transition(cancel: Created => Cancelled)]
pub(crate) enum OrderStatus {
    #[state(initial)]
    Created,
    #[state(terminal)]
    Paid,
    #[state(terminal)]
    Cancelled,
}

/// The shop's tables, each statement ended by a semicolon.
///
/// No unique index keeps a second charge out: what the checker does not find, the layers have kept out.
pub(crate) fn tables(dialect: Dialect) -> String {
    let columns = schema::columns::<OrderStatus>(dialect);
    let id = match dialect {
        Dialect::Postgres => "UUID",
        Dialect::MySql => "BINARY(16)",
        Dialect::Sqlite => "BLOB",
    };
    format!(
        "CREATE TABLE orders (
  order_id {id} NOT NULL PRIMARY KEY,
  cart_id BIGINT NOT NULL,
  amount BIGINT NOT NULL,
  {columns},
  payment_id VARCHAR(64)
);
CREATE TABLE charges (
  delivery_id BIGINT NOT NULL,
  cart_id BIGINT NOT NULL,
  amount BIGINT NOT NULL
);
CREATE INDEX orders_cart ON orders (cart_id);"
    )
}
