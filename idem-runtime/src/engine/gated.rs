use std::sync::Arc;

use crate::record::{Claim, Record};

/// The gate before the database, if the builder was given one.
#[derive(Debug, Default)]
pub(crate) struct Gated(#[cfg(feature = "redis")] pub(super) Option<crate::gate::Gate>);

/// A call that has gone through the gate, or found none.
#[derive(Debug, Default)]
pub(crate) struct Passed(#[cfg(feature = "redis")] Option<Box<crate::gate::Pass>>);

#[cfg(feature = "redis")]
impl Gated {
    pub(crate) async fn enter(&self, claim: &Claim) -> Passed {
        match &self.0 {
            Some(gate) => Passed(Some(Box::new(gate.enter(claim).await))),
            None => Passed(None),
        }
    }
}

#[cfg(feature = "redis")]
impl Passed {
    /// Whether the call is said to have ended: then it is looked up first.
    pub(crate) fn says_ended(&self) -> bool {
        self.0.as_ref().is_some_and(|pass| pass.says_ended())
    }

    /// The record that Redis has, where it may answer.
    pub(crate) fn record(&self) -> Option<Arc<Record>> {
        self.0.as_ref()?.record()
    }

    /// The database knows nothing of a call that was said to have ended.
    pub(crate) fn note_false_hint(&self) {
        if let Some(pass) = self.0.as_ref().filter(|pass| pass.says_ended()) {
            pass.note_false_hint();
        }
    }

    /// The call has ended, and its record is committed, outermost. Redis may answer with the one that it is given.
    pub(crate) fn ended(self, kept: Option<&Arc<Record>>) {
        if let Some(pass) = self.0 {
            pass.ended(kept);
        }
    }
}

#[cfg(not(feature = "redis"))]
#[expect(clippy::unused_async, reason = "as if there was no gate")]
impl Gated {
    pub(crate) async fn enter(&self, _: &Claim) -> Passed {
        Passed()
    }
}

#[cfg(not(feature = "redis"))]
#[expect(clippy::unused_self, reason = "as if there was no gate")]
impl Passed {
    pub(crate) const fn says_ended(&self) -> bool {
        false
    }

    pub(crate) const fn record(&self) -> Option<Arc<Record>> {
        None
    }

    pub(crate) const fn note_false_hint(&self) {}

    pub(crate) fn ended(self, _: Option<&Arc<Record>>) {}
}
