//! The behaviour suite: each test is written once and runs on every engine.

mod answers;
mod effects;
mod machines;
mod prepared;
mod races;
mod rows;
mod seats;
mod settle;
mod shop;
mod statements;
mod support;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut suite = support::Suite::default();
    support::self_tests::add(&mut suite);
    answers::add(&mut suite);
    effects::add(&mut suite);
    prepared::add(&mut suite);
    races::add(&mut suite);
    rows::add(&mut suite);
    seats::add(&mut suite);
    statements::add(&mut suite);
    suite.run()
}
