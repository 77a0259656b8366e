//! What the README shows of the compiler.
use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64), history, rename_all = "snake_case")]
#[transition(pay: Pending => Paid, set(trade_no: String))]
#[transition(ship: Paid => Shipped)]
pub enum OrderStatus { #[state(initial)] Pending, Paid, #[state(terminal)] Shipped }

use order_status::{Pending, Ship};

async fn too_early(order: Row<OrderStatus, Pending>, idem: &Idem<sqlx::Sqlite>) {
    let _ = order.fire(Ship).run(idem).await;
}

fn main() {}
