//! A backslash ends a text in MySQL and not in PostgreSQL, so no stored value holds one.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(pay: Pending => Paid)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal, rename = "pa\\id")]
    Paid,
}

fn main() {}
