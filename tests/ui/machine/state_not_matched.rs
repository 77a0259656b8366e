//! The match on a row by its state handles every state, or does not compile.
use idem_runtime::prelude::*;
use order_status::ByState;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(pay: Pending => Paid)]
#[transition(cancel: Pending => Cancelled)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
    #[state(terminal)]
    Cancelled,
}

fn open(row: Row<OrderStatus>) -> bool {
    match row.by_state() {
        ByState::Pending(_) => true,
        ByState::Paid(_) => false,
    }
}

fn main() {}
