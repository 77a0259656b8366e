//! The states of a row are the variants of an enum.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
struct Order {
    status: u8,
}

fn main() {}
