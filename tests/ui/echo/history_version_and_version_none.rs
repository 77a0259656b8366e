//! A history without versions is not also a cycle without them: one column mends both.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64), version = none, history)]
#[transition(pay: Pending => Paid)]
#[transition(reopen: Paid => Pending)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    Paid,
}

fn main() {}
