//! A state is one value of one column: what else there is to say belongs in other columns.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(pay: Pending => Paid)]
#[transition(ship: Pending => Shipped)]
#[transition(cancel: Pending => Cancelled)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid(i64),
    #[state(terminal)]
    Shipped { carrier: u8 },
    #[state(terminal)]
    Cancelled(),
}

fn main() {}
