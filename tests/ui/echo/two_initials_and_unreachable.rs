//! With two initial states, no state is unreachable from one of them.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(pay: Pending => Paid)]
#[transition(settle: Late => Paid)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(initial)]
    Late,
    #[state(terminal)]
    Paid,
}

fn main() {}
