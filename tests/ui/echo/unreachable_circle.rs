//! A circle that nothing leads to is unreachable as one.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(pay: Pending => Paid)]
#[transition(park: Parked => Queued)]
#[transition(queue: Queued => Parked)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
    Parked,
    Queued,
}

fn main() {}
