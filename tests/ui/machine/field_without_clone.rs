//! An event is a value that is shown and sent again, so its fields are `Debug` and `Clone`.

use idem_runtime::prelude::*;

struct Carrier;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(pay: Pending => Paid, set(carrier: Carrier))]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
}

fn main() {}
