//! S5: a row that comes back to a state looks as it did before: without a version a late duplicate would move it again.
use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "papers", id(paper_id: i64), version = none)]
#[transition(submit: Draft => Review)]
#[transition(reject: Review => Draft)]
#[transition(approve: Review => Approved)]
enum Paper {
    #[state(initial)]
    Draft,
    Review,
    #[state(terminal)]
    Approved,
}

fn main() {}
