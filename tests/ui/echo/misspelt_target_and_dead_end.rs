//! A misspelt target is not also a state that nothing leads out of.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(pay: Pending => Paid)]
#[transition(ship: Paid => Shiped)]
#[transition(return_: Shipped => Paid)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    Paid,
    Shipped,
}

fn main() {}
