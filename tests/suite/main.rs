//! The behaviour suite: each test is written once and runs on every engine.

mod acts;
mod adoption;
mod answers;
mod batches;
mod bulk;
mod calls;
mod check_sql;
mod claims;
mod commits;
mod creation;
mod effects;
mod endings;
mod failures;
mod fingerprints;
mod foreign;
mod gates;
mod guard;
mod interleavings;
mod isolation;
mod joining;
mod keys;
mod layers;
mod lease_locks;
mod leases;
mod locks;
mod lookups;
mod machines;
mod migrations;
mod notes;
mod operator;
mod options;
mod pools;
mod prepared;
mod races;
mod redis_tokens;
mod releases;
mod replay_cache;
mod reports;
mod reruns;
mod results;
mod rows;
mod schema_changes;
mod seats;
mod settle;
mod shop;
mod statements;
mod support;
mod tokens;
mod transactions;
mod unique_while;
mod upgrades;
mod values;
mod walks;
mod ways;

use std::process::ExitCode;

use support::Suite;

fn main() -> ExitCode {
    let mut suite = support::Suite::default();
    support::self_tests::add(&mut suite);
    add_idempotent_functions(&mut suite);
    if !support::gate::is_on() {
        add_what_no_gate_sees(&mut suite);
    }
    suite.run()
}

/// They run twice, the second time behind a gate.
fn add_idempotent_functions(suite: &mut Suite) {
    batches::add(suite);
    calls::add(suite);
    claims::add(suite);
    commits::add(suite);
    effects::add(suite);
    endings::add(suite);
    failures::add(suite);
    fingerprints::add(suite);
    isolation::add(suite);
    joining::add(suite);
    keys::add(suite);
    leases::add(suite);
    lookups::add(suite);
    operator::add(suite);
    options::add(suite);
    pools::add(suite);
    reruns::add(suite);
    results::add(suite);
    tokens::add(suite);
    transactions::add(suite);
    ways::add(suite);
}

/// Machines, tables, locks on names; and the gate itself, whose tests make their own.
fn add_what_no_gate_sees(suite: &mut Suite) {
    adoption::add(suite);
    answers::add(suite);
    bulk::add(suite);
    check_sql::add(suite);
    creation::add(suite);
    foreign::add(suite);
    suite.with_redis(gates::add);
    guard::add(suite);
    interleavings::add(suite);
    suite.with_redis(layers::add);
    lease_locks::add(suite);
    locks::add(suite);
    migrations::add(suite);
    notes::add(suite);
    prepared::add(suite);
    races::add(suite);
    suite.with_redis(redis_tokens::add);
    releases::add(suite);
    replay_cache::add(suite);
    reports::add(suite);
    rows::add(suite);
    schema_changes::add(suite);
    seats::add(suite);
    statements::add(suite);
    unique_while::add(suite);
    upgrades::add(suite);
    values::add(suite);
    walks::add(suite);
}
