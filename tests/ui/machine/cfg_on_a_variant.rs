//! S66: a variant that `#[cfg]` removes is no state, and a transition that names it says so.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[transition(pay: Pending => Paid)]
#[transition(rush: Pending => Rushed)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
    #[cfg(false)]
    #[state(terminal)]
    Rushed,
}

fn main() {}
