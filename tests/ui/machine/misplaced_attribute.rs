//! rustc takes the attributes of a derive anywhere in the enum; in the wrong place they would say nothing.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[state(initial)]
#[transition(pay: Pending => Paid)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[transition(ship: Paid => Shipped)]
    Paid,
    #[state(terminal)]
    Shipped,
}

fn main() {}
