//! What a user writes: callbacks, rows whose state is known by type, code for any database.

use idem_runtime::prelude::*;
use order_status::{Cancel, Paid, Pay, Pending, Refund};

/// The life of an order.
#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64), history, rename_all = "snake_case")]
#[transition(pay:    Pending        => Paid,     set(paid_at = now, trade_no: String))]
#[transition(ship:   Paid           => Shipped,  set(shipped_at = now, carrier: String))]
#[transition(finish: Shipped        => Done)]
#[transition(cancel: Pending        => Cancelled)]
#[transition(refund: Paid | Shipped => Refunded)]
pub enum OrderStatus {
    /// It was placed.
    #[state(initial)]
    Pending,
    /// The money is there.
    Paid,
    /// It is on its way.
    Shipped,
    /// It has arrived.
    #[state(terminal)]
    Done,
    /// Nobody pays any more.
    #[state(terminal)]
    Cancelled,
    /// The money went back.
    #[state(terminal)]
    Refunded,
}

async fn callback(tx: &mut Tx<'_, sqlx::Sqlite>, trade_no: String) -> Result<(), TransitionError> {
    match OrderStatus::row(42).fire(Pay { trade_no: trade_no.clone() }).cause(&trade_no).run(&mut *tx).await? {
        Outcome::Applied(row) => {
            let _: Row<OrderStatus, Paid> = row;
        }
        Outcome::Replayed(row) | Outcome::Already(row) => {
            let _: Row<OrderStatus> = row;
        }
    }
    Ok(())
}

/// On any database, without a bound of its own.
async fn typed<DB: SqlDialect>(idem: &Idem<DB>, trade_no: String) -> Result<(), TransitionError> {
    let order: Row<OrderStatus, Pending> = OrderStatus::row(42).load(idem).await?.in_state()?;
    let paid: Row<OrderStatus, Paid> = order.fire(Pay { trade_no }).run(idem).await?.expect_applied()?;
    let _ = paid.fire(Refund).run(idem).await?;
    let _ = OrderStatus::row(42).fire(Cancel).expect_version(3).run(idem).await?;
    Ok(())
}

fn main() {
    let _ = (callback, typed::<sqlx::Sqlite>);
    assert!(OrderStatus::allows(OrderStatus::Paid, OrderStatus::Refunded));
}
