use std::sync::Arc;
use std::time::Duration;

use super::Idem;
use super::gated::{Gated, Passed};
use super::in_flight::{Joined, Turn};
use super::replays::Replays;
use crate::dialect::SqlDialect;
use crate::record::{Claim, Record};

/// How a call came to the database, or why it did not have to.
#[derive(Debug)]
pub(crate) enum Arrived {
    /// It is ours to ask the database.
    Turn(Arrival),
    /// An earlier call has ended so, and its record is committed.
    Ended(Arc<Record>),
    /// Another call of this process runs, for as long as that by now.
    Waited(Duration),
}

/// A call whose turn it is. Those that have joined it, the gate and the memory hear from here how it has ended; dropped
/// before that, it leaves its turn to the next one.
#[derive(Debug)]
pub(crate) struct Arrival {
    // Declared in the order in which they are dropped: whoever is next asks the gate for himself.
    turn: Turn,
    passed: Passed,
    replays: Replays,
}

impl<DB: SqlDialect> Idem<DB> {
    /// Past the answers in memory, after the call of this process that runs, through the gate.
    pub(crate) async fn arrive(&self, claim: &Claim, wait: Duration) -> Arrived {
        match self.take_turn(claim, wait).await {
            Arrived::Turn(arrival) => arrival.pass(self.gated(), claim).await,
            arrived => arrived,
        }
    }

    /// The same but for the gate.
    pub(crate) async fn take_turn(&self, claim: &Claim, wait: Duration) -> Arrived {
        if let Some(record) = self.engine.replays.find(claim).await {
            return Arrived::Ended(record);
        }
        match self.in_flight().join(claim.spec.scope, &claim.key, wait).await {
            Joined::Turn(turn) => {
                Arrived::Turn(Arrival { turn, passed: Passed::default(), replays: self.engine.replays.clone() })
            }
            Joined::Ended(record) => Arrived::Ended(record),
            Joined::Waited(time) => Arrived::Waited(time),
        }
    }

    pub(crate) fn gated(&self) -> &Gated {
        &self.engine.gated
    }
}

impl Arrival {
    /// Through the gate, which answers only where it was asked to.
    pub(crate) async fn pass(mut self, gated: &Gated, claim: &Claim) -> Arrived {
        self.passed = gated.enter(claim).await;
        match self.passed.record() {
            Some(record) => {
                self.turn.tell(Arc::clone(&record));
                Arrived::Ended(record)
            }
            None => Arrived::Turn(self),
        }
    }

    /// Whether the call is said to have ended: then it is looked up first.
    pub(crate) fn says_ended(&self) -> bool {
        self.passed.says_ended()
    }

    /// The database knows nothing of a call that was said to have ended.
    pub(crate) fn note_false_hint(&self) {
        self.passed.note_false_hint();
    }

    /// Our record is committed, outermost.
    pub(crate) fn ended(self, claim: &Claim, record: &Arc<Record>) {
        self.tell(claim, record, Some(record));
    }

    /// Another call's record was found: if it answers, it answers the others too. It is kept only when it answers for ever: how
    /// near another end is, nobody here knows.
    pub(crate) fn found(self, claim: &Claim, record: &Arc<Record>) {
        if record.answer.is_some() {
            let is_for_ever = !record.is_gone && claim.spec.retention.shortest().is_none();
            self.tell(claim, record, is_for_ever.then_some(record));
        }
    }

    /// `kept` is what may answer later calls without the database.
    fn tell(self, claim: &Claim, record: &Arc<Record>, kept: Option<&Arc<Record>>) {
        if let Some(kept) = kept {
            self.replays.keep(claim, kept);
        }
        self.passed.ended(kept);
        self.turn.tell(Arc::clone(record));
    }
}
