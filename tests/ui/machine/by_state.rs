//! The enum that holds a row by its state stands beside the types of the states and events.
use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(pay: Pending => ByState)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    ByState,
}

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "bills", id(bill_id: i64))]
#[transition(by_state: Draft => Sent)]
enum Bill {
    #[state(initial)]
    Draft,
    #[state(terminal)]
    Sent,
}

fn main() {}
