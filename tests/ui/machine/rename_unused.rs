//! An option without effect is one that was meant to have another.
use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "lifts", id(lift_id: i64), repr = int, rename_all = "snake_case")]
#[transition(rise: Ground => Top)]
enum Lift {
    #[state(initial, value = 0)]
    Ground,
    #[state(terminal, value = 1, rename = "roof")]
    Top,
}

fn main() {}
