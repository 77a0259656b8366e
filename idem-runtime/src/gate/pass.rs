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

    /// The call has ended, and its record is committed. Nobody waits for Redis to hear of it, which may answer with the record
    /// that it is given, if it was asked to answer.
    pub(crate) fn ended(mut self, kept: Option<&Arc<Record>>) {
        self.is_marked = false;
        let record = kept.filter(|_| self.gate.settings.replay.is_some()).cloned();
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
