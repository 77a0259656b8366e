//! A state is a value in a column, which has no type parameter.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(pay: Pending => Paid)]
enum OrderStatus<const N: usize> {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
}

fn main() {}
