//! S60: a state that does not exist can never be entered or left.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(pay: Pending => Piad)]
#[transition(ship: Pad => Shipped)]
#[transition(audit: Shipped => Archived)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
    #[state(terminal)]
    Shipped,
}

fn main() {}
