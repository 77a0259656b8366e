//! A misspelt `initial` is not also missing.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(pay: Pending => Paid)]
enum OrderStatus {
    #[state(inital)]
    Pending,
    #[state(terminal)]
    Paid,
}

fn main() {}
