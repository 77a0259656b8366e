//! While the rule is unknown, so are the values that it would make.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64), rename_all = "snakecase")]
#[transition(pay: Pending => Paid)]
#[transition(settle: Pending => PAID)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
    #[state(terminal)]
    PAID,
}

fn main() {}
