//! A value that could not be read is not equal to another one.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(pay: Pending => Paid)]
#[transition(settle: Pending => PAID)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
    #[state(terminal, renam = "settled")]
    PAID,
}

fn main() {}
