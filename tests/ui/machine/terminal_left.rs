//! `terminal` is a promise to readers: nothing happens to such a row any more.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(pay: Pending => Paid)]
#[transition(refund: Pending | Paid => Refunded)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
    #[state(terminal)]
    Refunded,
}

fn main() {}
