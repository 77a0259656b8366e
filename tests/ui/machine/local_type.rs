//! A machine in a function sees the names of the module around it, not the types that the function declares.

use idem_runtime::prelude::*;

fn main() {
    #[derive(Debug, Clone)]
    struct Note(i64);

    #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
    #[machine(table = "orders", id(order_id: i64))]
    #[transition(pay: Pending => Paid, set(note: Note))]
    enum OrderStatus {
        #[state(initial)]
        Pending,
        #[state(terminal)]
        Paid,
    }
}
