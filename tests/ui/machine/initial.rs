//! A new row has to be in some state, and in one only.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(pay: Pending => Paid)]
enum OrderStatus {
    Pending,
    #[state(terminal)]
    Paid,
}

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(pay: Pending => Paid)]
enum InvoiceStatus {
    #[state(initial)]
    Pending,
    #[state(initial, terminal)]
    Paid,
}

fn main() {}
