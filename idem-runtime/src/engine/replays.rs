#[cfg(feature = "cache")]
mod cache;

use std::sync::Arc;

use crate::record::{Claim, Record};

/// Answers of calls that have ended, in the memory of this process, if the builder was asked to keep some. Each was committed
/// by an outermost transaction, and is compared with the payload of whoever asks, as one from the database is.
#[derive(Debug, Default, Clone)]
pub(crate) struct Replays(#[cfg(feature = "cache")] Option<Arc<cache::Entries>>);

#[cfg(feature = "cache")]
impl Replays {
    pub(super) fn of(bytes: u64) -> Self {
        Self(Some(Arc::new(cache::Entries::new(bytes))))
    }

    /// A hit gives way to other tasks: one that meets nothing but hits would never wait for anything.
    pub(crate) async fn find(&self, claim: &Claim) -> Option<Arc<Record>> {
        let found = self.0.as_ref()?.get(claim)?;
        tokio::task::consume_budget().await;
        Some(found)
    }

    /// Keeps an answer for no longer than the database does, if it was committed just now.
    pub(crate) fn keep(&self, claim: &Claim, record: &Arc<Record>) {
        if let Some(entries) = &self.0 {
            entries.keep(claim, record, claim.spec.retention.shortest());
        }
    }
}

#[cfg(not(feature = "cache"))]
#[expect(clippy::unused_async, clippy::unused_self, reason = "as if nothing was ever kept")]
impl Replays {
    pub(crate) async fn find(&self, _: &Claim) -> Option<Arc<Record>> {
        None
    }

    pub(crate) const fn keep(&self, _: &Claim, _: &Arc<Record>) {}
}
