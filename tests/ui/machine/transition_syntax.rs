//! A transition is written `event: Source => Target`.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(pay => Paid)]
#[transition(ship: Paid -> Shipped)]
#[transition(move: Paid => Shipped)]
#[transition(refund: Paid => Shipped | Pending)]
#[transition(cancel: OrderStatus::Pending => Shipped)]
#[transition]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
    #[state(terminal)]
    Shipped,
}

fn main() {}
