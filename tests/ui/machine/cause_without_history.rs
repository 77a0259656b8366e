//! A cause is kept in the history: without one, a call with a cause would be forgotten at once.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(pay:    Pending => Paid)]
#[transition(cancel: Pending => Cancelled)]
#[transition(refund: Paid | Shipped => Refunded)]
#[transition(ship:   Paid => Shipped)]
pub enum OrderStatus {
    #[state(initial)]
    Pending,
    Paid,
    Shipped,
    #[state(terminal)]
    Cancelled,
    #[state(terminal)]
    Refunded,
}

fn main() {
    drop(OrderStatus::row(1).fire(order_status::Pay).cause("t-1"));
}
