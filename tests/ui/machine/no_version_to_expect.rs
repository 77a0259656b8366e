//! Rows without a version cannot be compared with one.
use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64), version = none)]
#[transition(pay: Pending => Paid)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
}

fn main() {
    let _ = OrderStatus::row(1).fire(order_status::Pay).expect_version(3);
}

fn version(row: &Row<OrderStatus>) -> i64 {
    row.version()
}
