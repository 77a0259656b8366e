//! With `display` the names are shown, so a misspelt one leaves them their use.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64), repr = int, dispaly)]
#[transition(pay: Pending => Paid)]
enum OrderStatus {
    #[state(initial, value = 1)]
    Pending,
    #[state(terminal, value = 2, rename = "settled")]
    Paid,
}

fn main() {}
