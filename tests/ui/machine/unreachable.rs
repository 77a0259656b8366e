//! No row can ever be in such a state: a transition is missing, or the state is not needed.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(pay: Pending => Paid)]
#[transition(ship: Packed => Shipped)]
#[transition(finish: Shipped => Done)]
#[transition(park: Parked => Queued)]
#[transition(queue: Queued => Parked)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
    Packed,
    Shipped,
    #[state(terminal)]
    Done,
    Parked,
    Queued,
    Forgotten,
}

fn main() {}
