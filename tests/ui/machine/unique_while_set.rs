//! What keeps a row out is looked up by the values that it has: a row keeps its key.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[create(order_id: i64, buyer: i64)]
#[unique_while(one_open: buyer in Pending)]
#[transition(pay: Pending => Paid, set(buyer: i64))]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
}

fn main() {}
