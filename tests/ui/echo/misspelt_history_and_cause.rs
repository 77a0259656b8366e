//! S63: a misspelt `history` is told once, and not by each call with a cause.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64), histroy)]
#[transition(pay: Pending => Paid)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
}

async fn pay(idem: &Idem<sqlx::Sqlite>) -> Result<(), TransitionError> {
    let _ = OrderStatus::row(1).fire(order_status::Pay).cause("t-1").run(idem).await?;
    Ok(())
}

fn main() {}
