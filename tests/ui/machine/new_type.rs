//! What a new row begins with is a type beside those of the states and events, and the history knows its beginning as
//! the event `create`.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[create(order_id: i64)]
#[transition(create: New => Paid)]
enum OrderStatus {
    #[state(initial)]
    New,
    #[state(terminal)]
    Paid,
}

fn main() {}
