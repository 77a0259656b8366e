//! The shop that the behaviour suite plays: an order, its table, and what it earns.

use idem_runtime::prelude::*;
use idem_runtime::schema;

use crate::support::{Engine, TestDb, TestResult};

/// The life of an order.
#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64), history, rename_all = "snake_case")]
#[transition(pay:    Pending        => Paid,     set(paid_at = now, trade_no: String))]
#[transition(ship:   Paid           => Shipped,  set(carrier: String))]
#[transition(finish: Shipped        => Done)]
#[transition(cancel: Pending        => Cancelled)]
#[transition(refund: Paid | Shipped => Refunded)]
pub(crate) enum OrderStatus {
    #[state(initial)]
    Pending,
    Paid,
    Shipped,
    #[state(terminal)]
    Done,
    #[state(terminal)]
    Cancelled,
    #[state(terminal)]
    Refunded,
}

/// Makes the tables of the shop.
pub(crate) async fn create_tables<DB: Engine>(db: &TestDb<DB>) -> TestResult {
    let text = text_type(DB::DIALECT);
    let time = match DB::DIALECT {
        Dialect::Postgres => "TIMESTAMPTZ",
        Dialect::MySql => "DATETIME(6)",
        Dialect::Sqlite => "TEXT",
    };
    db.execute(format!(
        "CREATE TABLE IF NOT EXISTS orders (order_id BIGINT NOT NULL PRIMARY KEY, status {text} NOT NULL DEFAULT 'pending', \
         version BIGINT NOT NULL DEFAULT 0, paid_at {time}, trade_no {text}, carrier {text})"
    ))
    .await?;
    db.execute(schema::history::<OrderStatus>(DB::DIALECT).ok_or("orders keep a history")?).await?;
    db.execute(format!(
        "CREATE TABLE IF NOT EXISTS ledger (order_id BIGINT NOT NULL, amount BIGINT NOT NULL, note {text})"
    ))
    .await?;
    Ok(())
}

/// The type of a column for short text that compares as bytes.
pub(crate) fn text_type(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::MySql => "VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        Dialect::Postgres | Dialect::Sqlite => "TEXT",
    }
}

/// Makes a pending order.
pub(crate) async fn new_order<DB: Engine>(db: &TestDb<DB>, order_id: i64) -> TestResult {
    db.execute(format!("INSERT INTO orders (order_id) VALUES ({order_id})")).await.map(drop)
}

/// The committed status and version of an order.
pub(crate) async fn status<DB: Engine>(db: &TestDb<DB>, order_id: i64) -> Result<String, crate::support::BoxError> {
    let rows = db.rows(format!("SELECT status, version FROM orders WHERE order_id = {order_id}")).await?;
    Ok(rows.iter().map(|row| row.join(" ")).collect::<Vec<_>>().join(", "))
}

/// The committed history of an order, an entry a line: version, source, target, event, cause.
pub(crate) async fn history<DB: Engine>(db: &TestDb<DB>, order_id: i64) -> Result<String, crate::support::BoxError> {
    let rows = db
        .rows(format!(
            "SELECT version, source, target, event, cause FROM orders_history WHERE order_id = {order_id} ORDER BY version"
        ))
        .await?;
    Ok(rows.iter().map(|row| row.join(" ")).collect::<Vec<_>>().join("\n"))
}
