use std::sync::Arc;
use std::time::{Duration, Instant};

use moka::Expiry;
use moka::sync::Cache;

use crate::record::{Claim, Record};

/// Which call: its scope and its key.
type Call = (&'static str, String);

#[derive(Debug)]
pub(super) struct Entries(Cache<Call, Entry>);

#[derive(Debug, Clone)]
struct Entry {
    record: Arc<Record>,
    /// None is for ever.
    life: Option<Duration>,
}

impl Entries {
    pub(super) fn new(bytes: u64) -> Self {
        Self(Cache::builder().max_capacity(bytes).weigher(weight).expire_after(Life).build())
    }

    pub(super) fn get(&self, claim: &Claim) -> Option<Arc<Record>> {
        self.0.get(&(claim.spec.scope, claim.key.clone())).map(|entry| entry.record)
    }

    pub(super) fn keep(&self, claim: &Claim, record: &Arc<Record>, life: Option<Duration>) {
        self.0.insert((claim.spec.scope, claim.key.clone()), Entry { record: Arc::clone(record), life });
    }
}

/// What an entry takes beside its texts: the structures of the cache and of the record.
const BESIDE: usize = 512;

fn weight((scope, key): &Call, Entry { record, .. }: &Entry) -> u32 {
    let answer = record.answer.as_ref();
    let texts = answer.map_or(0, |it| it.text.len() + it.kind.as_ref().map_or(0, String::len));
    u32::try_from(BESIDE + scope.len() + key.len() + record.fingerprint.len() + texts).unwrap_or(u32::MAX)
}

struct Life;

impl Expiry<Call, Entry> for Life {
    fn expire_after_create(&self, _: &Call, entry: &Entry, _: Instant) -> Option<Duration> {
        entry.life
    }

    fn expire_after_update(&self, _: &Call, entry: &Entry, _: Instant, _: Option<Duration>) -> Option<Duration> {
        entry.life
    }
}
