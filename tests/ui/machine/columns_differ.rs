//! Status, version and identifier are three things, so they are three columns.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64, status: i64, Order_Id: i64))]
#[transition(pay: Pending => Paid)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
}

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "invoices", id(invoice_id: i64), version = "status")]
#[transition(pay: Pending => Paid)]
enum Invoice {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
}

fn main() {}
