//! `length` is that of a column of text, which the history can copy.
use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "lifts", id(lift_id: i64), length = 256)]
#[transition(rise: Ground => Top)]
enum Lift {
    #[state(initial)]
    Ground,
    #[state(terminal)]
    Top,
}

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "doors", id(door_id: i64), repr = int, length = 4)]
#[transition(close: Open => Shut)]
enum Door {
    #[state(initial, value = 0)]
    Open,
    #[state(terminal, value = 1)]
    Shut,
}

fn main() {}
