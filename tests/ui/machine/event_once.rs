//! An event is one type and one statement, so it has one target and is declared once.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(pay: Pending => Paid)]
#[transition(pay: Late => Settled)]
#[transition(delay: Pending => Late)]
#[transition(refund: Paid => Refunded)]
#[transition(refund: Settled => Refunded)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    Late,
    Paid,
    Settled,
    #[state(terminal)]
    Refunded,
}

fn main() {}
