//! The states and the events of a machine are types of one module, so their names differ.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(paid: Pending => Paid)]
#[transition(pay_back: Pending => Refunded)]
#[transition(payBack: Pending => Cancelled)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
    #[state(terminal)]
    Refunded,
    #[state(terminal)]
    Cancelled,
}

fn main() {}
