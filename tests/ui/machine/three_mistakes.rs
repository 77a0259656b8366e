//! S64: three mistakes of three kinds are three errors.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64), histroy)]
#[transition(pay: Pending => Piad)]
#[transition(pay_back: Paid => Pending, set(at = now, at = now))]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
}

fn main() {}
