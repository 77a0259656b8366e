//! A misplaced transition still leads to its target.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
enum OrderStatus {
    #[state(initial)]
    #[transition(pay: Pending => Paid)]
    Pending,
    #[state(terminal)]
    Paid,
}

fn main() {}
