//! What the status and version columns are is said by one of a few words.
use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64), repr = integer, version = nil)]
#[transition(pay: Pending => Paid)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
}

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "bills", id(bill_id: i64), repr = natve, version = 3)]
#[transition(send: Draft => Sent)]
enum Bill {
    #[state(initial)]
    Draft,
    #[state(terminal)]
    Sent,
}

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "doors", id(door_id: i64), repr = native(""))]
#[transition(close: Open => Shut)]
enum Door {
    #[state(initial)]
    Open,
    #[state(terminal)]
    Shut,
}

fn main() {}
