//! Values without `repr = int` are one option that is missing, however many states have one.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(pay: Pending => Paid)]
enum OrderStatus {
    #[state(initial, value = 1)]
    Pending,
    #[state(terminal, value = 2)]
    Paid,
}

fn main() {}
