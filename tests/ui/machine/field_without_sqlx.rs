//! The fields of an event are written to columns, so sqlx has to know their types.

use idem_runtime::prelude::*;

#[derive(Debug, Clone)]
struct Carrier;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(pay: Pending => Paid, set(carrier: Carrier))]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
}

async fn pay(idem: &Idem<sqlx::Sqlite>) {
    drop(OrderStatus::row(1).fire(order_status::Pay { carrier: Carrier }).run(idem).await);
}

fn main() {
    drop(pay);
}
