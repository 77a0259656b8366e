//! A crate without a prelude: the expansion names everything in full.

#![no_implicit_prelude]
#![deny(warnings)]

use ::idem_runtime::prelude::StateMachine;

/// A question.
#[derive(
    StateMachine,
    ::core::fmt::Debug,
    ::core::clone::Clone,
    ::core::marker::Copy,
    ::core::cmp::PartialEq,
    ::core::cmp::Eq,
)]
#[machine(table = "questions", id(question_id: i64), history)]
#[transition(ask: Open => Asked, set(text: ::std::string::String, at = now))]
#[transition(answer: Asked | Late => Answered)]
#[transition(delay: Asked => Late)]
#[transition(reopen: Late => Open)]
pub enum Question {
    /// Nobody has asked it.
    #[state(initial)]
    Open,
    /// Somebody has.
    Asked,
    /// The answer takes long.
    Late,
    /// It is answered.
    #[state(terminal)]
    Answered,
}

fn main() {
    let event = question::Ask { text: ::std::string::String::new() };
    ::core::mem::drop(Question::row(1).fire(event).cause("c"));
    ::core::assert!(Question::allows(Question::Open, Question::Asked));
}
