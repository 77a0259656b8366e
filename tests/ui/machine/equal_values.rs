//! S51, S52: many columns compare without case and trailing spaces, so two such values would be one state.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(pay: Pending => Paid)]
#[transition(ship: Pending => Shipped)]
#[transition(send: Pending => Sent)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal, rename = "PENDING")]
    Paid,
    #[state(terminal, rename = "sent")]
    Shipped,
    #[state(terminal, rename = "sent ")]
    Sent,
}

fn main() {}
