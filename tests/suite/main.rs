//! The behaviour suite: each test is written once and runs on every engine.

mod acts;
mod adoption;
mod answers;
mod bulk;
mod check_sql;
mod claims;
mod creation;
mod effects;
mod endings;
mod failures;
mod foreign;
mod guard;
mod interleavings;
mod keys;
mod locks;
mod machines;
mod migrations;
mod notes;
mod pools;
mod prepared;
mod races;
mod releases;
mod reports;
mod results;
mod rows;
mod schema_changes;
mod seats;
mod settle;
mod shop;
mod statements;
mod support;
mod transactions;
mod unique_while;
mod values;
mod walks;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut suite = support::Suite::default();
    support::self_tests::add(&mut suite);
    adoption::add(&mut suite);
    answers::add(&mut suite);
    bulk::add(&mut suite);
    check_sql::add(&mut suite);
    claims::add(&mut suite);
    creation::add(&mut suite);
    effects::add(&mut suite);
    endings::add(&mut suite);
    failures::add(&mut suite);
    foreign::add(&mut suite);
    guard::add(&mut suite);
    interleavings::add(&mut suite);
    keys::add(&mut suite);
    locks::add(&mut suite);
    migrations::add(&mut suite);
    notes::add(&mut suite);
    pools::add(&mut suite);
    prepared::add(&mut suite);
    races::add(&mut suite);
    releases::add(&mut suite);
    reports::add(&mut suite);
    results::add(&mut suite);
    rows::add(&mut suite);
    schema_changes::add(&mut suite);
    seats::add(&mut suite);
    statements::add(&mut suite);
    transactions::add(&mut suite);
    unique_while::add(&mut suite);
    values::add(&mut suite);
    walks::add(&mut suite);
    suite.run()
}
