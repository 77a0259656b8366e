//! A name that no database takes, or that PostgreSQL would cut off, must not reach a statement.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(
    table = "shop.",
    id(order_id: i64),
    status = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    version = "ver\0sion"
)]
#[transition(pay: Pending => Paid)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
}

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "moved", id(order_id: i64))]
#[transition(pay: Pending => Paid)]
enum Moved {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
}

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "public.locked", id(order_id: i64), history)]
#[transition(pay_for_everything_that_was_ordered_since_the_beginning_of_the_year: Pending => Paid)]
enum Locked {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
}

fn main() {}
