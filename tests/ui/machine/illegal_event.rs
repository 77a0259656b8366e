//! What a state does not accept does not compile, and the compiler shows where the event is declared.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64), history)]
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

fn too_late(paid: Row<OrderStatus, order_status::Paid>) {
    drop(paid.fire(order_status::Cancel));
}

fn too_early(pending: Row<OrderStatus, order_status::Pending>) {
    drop(pending.fire(order_status::Refund));
}

fn never(cancelled: Row<OrderStatus, order_status::Cancelled>) {
    drop(cancelled.fire(order_status::Pay));
}

fn main() {
    let _ = (too_late, too_early, never);
}
