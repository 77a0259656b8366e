//! What the status column cannot hold would never be found in it.
use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "lifts", id(lift_id: i64))]
#[transition(rise: Ground => Top)]
enum Lift {
    #[state(initial, value = 0)]
    Ground,
    #[state(terminal, alias = 7)]
    Top,
}

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "doors", id(door_id: i64), repr = int)]
#[transition(close: Open => Shut)]
enum Door {
    #[state(initial, value = 0)]
    Open,
    #[state(terminal, value = 1, alias = "shut")]
    Shut,
}

fn main() {}
