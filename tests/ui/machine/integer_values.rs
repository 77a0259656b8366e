//! A number that nobody wrote down would change with the order of the variants: `repr = int` wants one for each state.
use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "lifts", id(lift_id: i64), repr = int)]
#[transition(rise: Ground => Top)]
enum Lift {
    #[state(initial, value = 0)]
    Ground,
    #[state(terminal)]
    Top,
}

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "doors", id(door_id: i64), repr = int)]
#[transition(close: Open => Shut)]
enum Door {
    #[state(initial)]
    Open,
    #[state(terminal)]
    Shut,
}

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "lamps", id(lamp_id: i64), repr = int)]
#[transition(light: Dark => Lit)]
enum Lamp {
    #[state(initial, value = 1)]
    Dark = 0,
    #[state(terminal)]
    Lit = 2,
}

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "seals", id(seal_id: i64), repr = int)]
#[transition(press: Soft => Hard)]
enum Seal {
    #[state(initial, value = "soft")]
    Soft,
    #[state(terminal, value = 9_223_372_036_854_775_808)]
    Hard,
}

fn main() {}
