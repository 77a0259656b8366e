//! S64: five mistakes are five errors, all in one build.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(id(order_id: i64), status = "")]
#[transition(pay: Pending => Paid, set(version: i64))]
#[transition(finish: Shipped => Done)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
    Shipped,
    Done,
}

fn main() {}
