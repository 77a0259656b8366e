//! An error names the rule, and on MySQL a column of that name marks the rows.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[create(order_id: i64, buyer: i64)]
#[unique_while(buyer: buyer in Pending)]
#[unique_while(one_open: buyer in Pending)]
#[unique_while(one_open: buyer in Paid)]
#[unique_while(one_paid = buyer in Paid)]
#[transition(pay: Pending => Paid)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
}

fn main() {}
