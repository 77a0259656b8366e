//! The rows and their history are two tables, and on PostgreSQL a table is also a type of its name.
use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64), history = "Orders")]
#[transition(pay: Pending => Paid)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
}

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "bill", id(bill_id: i64), repr = native)]
#[transition(send: Draft => Sent)]
enum Bill {
    #[state(initial)]
    Draft,
    #[state(terminal)]
    Sent,
}

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "shop.door", id(door_id: i64), repr = native("shop.door"))]
#[transition(close: Open => Shut)]
enum Door {
    #[state(initial)]
    Open,
    #[state(terminal)]
    Shut,
}

fn main() {}
