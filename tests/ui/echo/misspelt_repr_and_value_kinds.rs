//! While nobody knows what the status column is, it may hold numbers.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64), repr = itn)]
#[transition(pay: Pending => Paid)]
enum OrderStatus {
    #[state(initial, value = 1)]
    Pending,
    #[state(terminal, value = 2)]
    Paid,
}

fn main() {}
