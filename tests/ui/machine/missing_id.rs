//! Without an identifier no row can be told from another.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders")]
#[transition(pay: Pending => Paid)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
}

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "invoices", id())]
#[transition(pay: Pending => Paid)]
enum Invoice {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
}

fn main() {}
