//! What can become of a reservation, and the tables that it lives in.

use idem_runtime::prelude::*;
use idem_runtime::schema;
use uuid::Uuid;

/// The life of a reservation: some pieces of one article, kept for a line of an order until it is paid.
///
/// Its number is made by each call, so that it is no part of what was asked for: the request's number is the cause, and
/// tells a request that comes again. Two requests for one line of an order (a double click) meet by the rule.
#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "reservations", id(reservation_id: Uuid), history, rename_all = "snake_case")]
#[create(reservation_id: Uuid, order_id: i64, line: i64, sku: String, quantity: i64, pay_until: i64, fresh_id)]
#[unique_while(one_live: order_id, line in Reserved | Deducted)]
#[transition(deduct:  Reserved => Deducted, set(trade_no: String, deducted_at = now))]
#[transition(release: Reserved => Released)]
pub(crate) enum Reservation {
    #[state(initial)]
    Reserved,
    #[state(terminal)]
    Deducted,
    #[state(terminal)]
    Released,
}

/// The warehouse's tables, each statement ended by a semicolon.
///
/// No constraint keeps a quantity from becoming negative, and no unique index a second entry from being written: what the
/// checker does not find, the statements have kept out.
pub(crate) fn tables(dialect: Dialect) -> String {
    let columns = schema::columns::<Reservation>(dialect);
    let (id, time) = match dialect {
        Dialect::Postgres => ("UUID", "TIMESTAMPTZ"),
        Dialect::MySql => ("BINARY(16)", "DATETIME(6)"),
        Dialect::Sqlite => ("BLOB", "TEXT"),
    };
    format!(
        "CREATE TABLE stock (
  sku VARCHAR(32) NOT NULL PRIMARY KEY,
  counted BIGINT NOT NULL,
  available BIGINT NOT NULL,
  reserved BIGINT NOT NULL DEFAULT 0,
  deducted BIGINT NOT NULL DEFAULT 0
);
CREATE TABLE reservations (
  reservation_id {id} NOT NULL PRIMARY KEY,
  order_id BIGINT NOT NULL,
  line BIGINT NOT NULL,
  sku VARCHAR(32) NOT NULL,
  quantity BIGINT NOT NULL,
  pay_until BIGINT NOT NULL,
  {columns},
  trade_no VARCHAR(64),
  deducted_at {time}
);
CREATE TABLE entries (
  reservation_id {id} NOT NULL,
  sku VARCHAR(32) NOT NULL,
  entry VARCHAR(16) NOT NULL,
  quantity BIGINT NOT NULL
);
CREATE TABLE told (
  cause VARCHAR(64) NOT NULL,
  event VARCHAR(16) NOT NULL,
  reservation_id {id} NOT NULL,
  accepted BIGINT NOT NULL
);"
    )
}
