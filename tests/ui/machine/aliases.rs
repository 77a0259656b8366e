//! A value of the status column stands for one state, whether it is written or only read.
use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "lifts", id(lift_id: i64), rename_all = "snake_case")]
#[transition(rise: Ground => Top)]
#[transition(fall: Top => Cellar)]
enum Lift {
    #[state(initial, alias = "ground", alias = "low")]
    Ground,
    #[state(alias = "Low ", alias = "high")]
    Top,
    #[state(terminal, alias = "top")]
    Cellar,
}

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "doors", id(door_id: i64), repr = int)]
#[transition(close: Open => Shut)]
enum Door {
    #[state(initial, value = 0, alias = 7)]
    Open,
    #[state(terminal, value = 7)]
    Shut,
}

fn main() {}
