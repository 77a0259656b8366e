//! A misspelt source is not also a state that nothing leads out of.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(pay: Pending => Paid)]
#[transition(ship: Piad => Shipped)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    Paid,
    #[state(terminal)]
    Shipped,
}

fn main() {}
