//! An option has one value: nobody could tell which of two counts.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64), table = "order")]
#[transition(pay: Pending => Paid, set(a = now), set(b = now))]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal, rename = "paid")]
    #[state(rename = "settled")]
    Paid,
}

fn main() {}
