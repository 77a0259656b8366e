//! While nobody knows where rows begin, no state is unreachable.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(pay: Pending => Paid)]
enum OrderStatus {
    Pending,
    #[state(terminal)]
    Paid,
}

fn main() {}
