//! A misplaced `#[machine(..)]` is not also missing.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[transition(pay: Pending => Paid)]
enum OrderStatus {
    #[machine(table = "orders", id(order_id: i64))]
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
}

fn main() {}
