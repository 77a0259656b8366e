//! A rule over a state that does not exist bounds nothing.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[create(order_id: i64, buyer: i64)]
#[unique_while(one_open: buyer in Pendin | Unrelated | Pending | Pending)]
#[transition(pay: Pending => Paid)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
}

fn main() {}
