//! S61: the same edge twice is an edge too many, or another one that was meant.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(pay: Pending | Late | Pending => Paid)]
#[transition(delay: Pending => Late)]
#[transition(delay: Pending => Late)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    Late,
    #[state(terminal)]
    Paid,
}

fn main() {}
