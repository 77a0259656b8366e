//! S21: A row is given away with the event that is fired at it, so that nobody goes on from a state that it may have left.

use idem_runtime::prelude::*;
use order_status::{Cancel, Pay, Pending};
use sqlx::PgPool;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64), history)]
#[transition(pay: Pending => Paid)]
#[transition(cancel: Pending => Cancelled)]
pub enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
    #[state(terminal)]
    Cancelled,
}

async fn pay_or_cancel(pool: &PgPool, pending: Row<OrderStatus, Pending>) -> Result<(), TransitionError> {
    if pending.fire(Pay).run(pool).await.is_err() {
        let _ = pending.fire(Cancel).run(pool).await?;
    }
    Ok(())
}

fn main() {
    let _ = pay_or_cancel;
}
