//! A creation gives the row back by its identifier, which only the caller can know.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(tenant_id: i64, order_id: i64))]
#[create(tenant_id = 1, amount: i64)]
#[create(order_id: i64)]
#[transition(pay: Pending => Paid)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
}

fn main() {
    let _ = OrderStatus::create(order_status::New { amount: 5 });
}
