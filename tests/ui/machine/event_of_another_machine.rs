//! Events and states belong to one machine: that of another one is no event of a row.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(pay:    Pending => Paid)]
#[transition(cancel: Pending => Cancelled)]
#[transition(refund: Paid | Shipped => Refunded)]
#[transition(ship:   Paid => Shipped)]
pub enum OrderStatus {
    #[state(initial)]
    Pending,
    Paid,
    Shipped,
    #[state(terminal)]
    Cancelled,
    #[state(terminal)]
    Refunded,
}

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "invoices", id(invoice_id: i64))]
#[transition(send: Draft => Sent)]
pub enum InvoiceStatus {
    #[state(initial)]
    Draft,
    #[state(terminal)]
    Sent,
}

async fn mixed_up(idem: &Idem<sqlx::Sqlite>) {
    drop(OrderStatus::row(1).fire(invoice_status::Send).run(idem).await);
}

fn wrong_state(row: Row<OrderStatus>) {
    drop(row.in_state::<invoice_status::Draft>());
}

fn main() {
    drop(mixed_up);
    drop(wrong_state);
}
