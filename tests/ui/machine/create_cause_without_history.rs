//! Causes are kept in the history, those of creations too.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[create(order_id: i64)]
#[transition(pay: Pending => Paid)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
}

fn main() {
    let _ = OrderStatus::create(order_status::New { order_id: 1 }).cause("R1");
}
