//! With a history the fields of an event are hashed, so they are `Serialize`.

use idem_runtime::prelude::*;

#[derive(Debug, Clone)]
struct Carrier;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64), history)]
#[transition(pay: Pending => Paid, set(carrier: Carrier))]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
}

fn main() {}
