//! The INSERT itself writes status and version, and a column once; what is no column is an option.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[create(order_id: i64, status: String, version = 1, amount: i64, amount = 0, fresh_di)]
#[transition(pay: Pending => Paid)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
}

fn main() {}
