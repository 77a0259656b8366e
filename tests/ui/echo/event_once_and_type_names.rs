//! An event that is declared twice is told once when a state has its name.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(ship: Pending => Paid)]
#[transition(paid: Pending => Shipped)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
    #[state(terminal)]
    Shipped,
}

fn main() {}
