use std::sync::Arc;
use std::time::Duration;

use super::Gate;
use super::marker::Marker;
use crate::record::{Claim, Record};

/// A call that has gone through the gate. Dropped before the call has ended, it takes its own mark away.
#[derive(Debug)]
pub(crate) struct Pass {
    gate: Gate,
    key: String,
    owner: String,
    before: Marker,
    /// How long an answer may be kept.
    life: Option<Duration>,
    /// Whether the mark that says that the call runs is ours.
    is_marked: bool,
}

impl Pass {
    pub(super) fn new(gate: Gate, key: String, claim: &Claim, before: Marker) -> Self {
        let life = claim.spec.retention.shortest();
        let is_marked = matches!(before, Marker::None);
        Self { gate, key, owner: claim.owner.clone(), before, life, is_marked }
    }

    /// Whether the call is said to have ended: then it is looked up first.
    pub(crate) fn says_ended(&self) -> bool {
        matches!(self.before, Marker::Ended(_))
    }

    /// The record that Redis has for this call, where it may answer.
    pub(crate) fn record(&self) -> Option<Arc<Record>> {
        let Marker::Ended(Some(record)) = &self.before else { return None };
        self.gate.settings.replay?;
        self.gate.count(|counters| &counters.replayed);
        Some(Arc::clone(record))
    }

    /// The database knows nothing of a call that was said to have ended.
    pub(crate) fn note_false_hint(&self) {
        self.gate.count(|counters| &counters.false_hints);
    }

    /// Our record is committed.
    pub(crate) fn ended(self, record: &Arc<Record>) {
        self.mark(Some(record));
    }

    /// A committed record was found. Redis may answer with one whose answer has no end: how near an end is, nobody here knows.
    pub(crate) fn found(self, record: &Arc<Record>) {
        let is_for_ever = !record.is_gone && self.life.is_none();
        self.mark(Some(record).filter(|_| is_for_ever));
    }

    /// Nobody waits for Redis to hear of it.
    fn mark(mut self, record: Option<&Arc<Record>>) {
        self.is_marked = false;
        let record = record.filter(|_| self.gate.settings.replay.is_some()).cloned();
        let knows = matches!(&self.before, Marker::Ended(kept) if kept.is_some() || record.is_none());
        if knows {
            return;
        }
        let (gate, key, life) = (self.gate.clone(), self.key.clone(), self.life);
        spawn(async move { gate.mark_ended(&key, record.as_deref(), life).await });
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if self.is_marked {
            let (gate, key, owner) = (self.gate.clone(), std::mem::take(&mut self.key), self.owner.clone());
            spawn(async move { gate.release(&key, &owner).await });
        }
    }
}

fn spawn(work: impl Future<Output = ()> + Send + 'static) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(work);
    }
}
