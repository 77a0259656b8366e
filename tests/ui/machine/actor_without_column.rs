//! An actor is kept in the history's entry: without the column it would be forgotten at once.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64), history)]
#[transition(pay: Pending => Paid)]
pub enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
}

fn main() {
    drop(OrderStatus::row(1).fire(order_status::Pay).actor("user:7"));
    drop(OrderStatus::row(1).fire(order_status::Pay).metadata(&1));
}
