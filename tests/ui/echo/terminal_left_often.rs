//! A `terminal` too many is told once, however many transitions leave the state.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(pay: Pending => Paid)]
#[transition(ship: Paid => Shipped)]
#[transition(refund: Paid => Shipped)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
    #[state(terminal)]
    Shipped,
}

fn main() {}
