//! A state with data is still a state that transitions name.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(pay: Pending => Paid)]
#[transition(ship: Paid => Shipped)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    Paid { trade_no: u64 },
    #[state(terminal)]
    Shipped,
}

fn main() {}
