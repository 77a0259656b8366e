//! While nobody knows how long the column is, no value is too long for it.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64), length = "80")]
#[transition(pay: Pending => Paid)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal, rename = "paid_paid_paid_paid_paid_paid_paid_paid_paid_paid_paid_paid_paid_")]
    Paid,
}

fn main() {}
