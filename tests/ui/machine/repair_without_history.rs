//! A repair leaves an entry in the history: without one nobody would know that the row was moved by hand.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(pay: Pending => Paid)]
pub enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
}

fn main() {
    drop(OrderStatus::row(1).repair(OrderStatus::Paid, "INC-1"));
}
