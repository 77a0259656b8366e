//! The key of a rule is made of columns that come with a creation, are never NULL and stay as they are.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64))]
#[create(order_id: i64, buyer: i64, coupon: Option<i64>, channel = null)]
#[unique_while(one_open: byer, nothing, coupon, channel, buyer, buyer in Pending)]
#[transition(pay: Pending => Paid, set(buyer: i64))]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
}

fn main() {}
