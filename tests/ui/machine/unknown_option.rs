//! S62: an option that nobody reads is a slip of the pen.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(tabel = "orders", id(order_id: i64), banana, history(couse = once))]
#[transition(pay: Pending => Paid, banana(x))]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(final)]
    Paid,
}

fn main() {}
