//! S26: What a call answers cannot be passed over in silence: this call may have moved nothing, or was never made.

#![deny(unused_must_use)]

use idem_runtime::prelude::*;
use sqlx::PgPool;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64), history)]
#[create(order_id: i64)]
#[transition(pay: Pending => Paid)]
pub enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
}

async fn pay(pool: &PgPool) -> Result<(), TransitionError> {
    OrderStatus::row(1).fire(order_status::Pay).run(pool).await?;
    Ok(())
}

async fn pay_all(pool: &PgPool) -> Result<(), TransitionError> {
    OrderStatus::rows([1, 2]).fire(order_status::Pay).run(pool).await?;
    Ok(())
}

async fn place(pool: &PgPool) -> Result<(), TransitionError> {
    OrderStatus::create(order_status::New { order_id: 1 }).run(pool).await?;
    Ok(())
}

async fn pay_later(pool: &PgPool) {
    OrderStatus::row(1).fire(order_status::Pay).cause("T1");
    OrderStatus::row(1).fire(order_status::Pay).run(pool);
}

fn main() {
    let _ = (pay, pay_all, place, pay_later);
}
