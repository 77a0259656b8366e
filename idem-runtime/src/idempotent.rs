//! Idempotent functions: what `#[idempotent]` expands to calls.

mod answer;
mod call;
mod end;
mod final_error;
mod kind;
mod lease;
mod lookup;
mod many;
mod once;

pub use answer::{Answer, CarriesError, Codec, ErrOf, IsResult, OkOf, Once, codec, never, upgrade};
pub(crate) use call::new_owner;
pub use call::{Claimed, Opened, open};
pub use final_error::{FinalError, record_err};
pub use lease::{Leased, Probe, lease};
pub use lookup::{Lookup, RecordedError};
pub use many::Many;
pub use once::{LeasedCall, OnceCall, OnceTx, One};

use std::time::Duration;

use crate::dialect::SqlDialect;
use crate::engine::Idem;
use crate::fingerprint::Fingerprint;
use crate::key::{Key, KeyPart};
use crate::on::On;
use crate::tx::Tx;

/// What is fixed of an idempotent function.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// Whose keys these are.
    pub(crate) scope: &'static str,
    /// How long a duplicate waits for the call that runs.
    pub(crate) wait: Duration,
    pub(crate) retention: Retention,
    /// Whether the record is looked for before the key is claimed.
    pub(crate) reads_first: bool,
    /// How often a body runs again whose transaction the database gave up.
    pub(crate) reruns: u32,
    /// How long an attempt is let alone after it was last heard of.
    pub(crate) lease: Duration,
    pub(crate) on_expired: OnExpired,
}

/// The longest wait and the longest lease: no database waits for a lock, or adds to a moment, for as long as one likes.
pub(crate) const LONGEST: Duration = Duration::from_hours(24);

/// What becomes of a call that something has begun of and whose attempt is not heard of any more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum OnExpired {
    /// It stays in doubt until an operator has looked.
    #[default]
    Hold,
    /// The next call asks whether it happened.
    Probe,
    /// The next call runs the body again: whatever it does outside is known by its downstream key and done once.
    Takeover,
}

/// How long an answer and a key are kept after the call has ended, in seconds by the database's clock; without one, for
/// ever.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Retention {
    pub(crate) result: Option<u64>,
    pub(crate) key: Option<u64>,
}

impl Retention {
    /// The shorter of the two: whoever keeps an answer elsewhere keeps it no longer. None is for ever.
    pub(crate) fn shortest(self) -> Option<Duration> {
        self.result.into_iter().chain(self.key).min().map(Duration::from_secs)
    }
}

impl Spec {
    /// Waits for two seconds and keeps everything for ever.
    #[must_use]
    pub const fn new(scope: &'static str) -> Self {
        Self {
            scope,
            wait: Duration::from_secs(2),
            retention: Retention { result: None, key: None },
            reads_first: false,
            reruns: 0,
            lease: Duration::from_secs(30),
            on_expired: OnExpired::Hold,
        }
    }

    /// Waits this many milliseconds for a call that runs.
    #[must_use]
    pub const fn wait_ms(self, wait: u64) -> Self {
        Self { wait: Duration::from_millis(wait), ..self }
    }

    /// Keeps the answer for this many seconds after the call has ended.
    #[must_use]
    pub const fn retain_result_s(mut self, seconds: u64) -> Self {
        self.retention.result = Some(seconds);
        self
    }

    /// Runs the body again, this often at most, when the database has given its transaction up.
    #[must_use]
    pub const fn rerun(self, reruns: u32) -> Self {
        Self { reruns, ..self }
    }

    /// Lets an attempt alone for this many milliseconds after it was last heard of.
    #[must_use]
    pub const fn lease_ms(self, lease: u64) -> Self {
        Self { lease: Duration::from_millis(lease), ..self }
    }

    /// Runs a body again whose attempt is not heard of any more, whatever it has begun.
    #[must_use]
    pub const fn takes_over(self) -> Self {
        Self { on_expired: OnExpired::Takeover, ..self }
    }

    /// Asks what has become of an attempt that is not heard of any more.
    #[must_use]
    pub const fn probes(self) -> Self {
        Self { on_expired: OnExpired::Probe, ..self }
    }

    /// Keeps the key, and that the call has ended, for this many seconds after it has.
    #[must_use]
    pub const fn retain_key_s(mut self, seconds: u64) -> Self {
        self.retention.key = Some(seconds);
        self
    }
}

/// Where an idempotent call begins: `&Idem<DB>`, or `&mut Tx<'_, DB>` inside another idempotent body or transaction.
///
/// With `&idem` the call has a transaction of its own. With `&mut *tx` it runs in that transaction, in a savepoint: an
/// outer rollback undoes its record too.
#[diagnostic::on_unimplemented(
    message = "an idempotent function on `{DB}` cannot begin on `{Self}`",
    label = "expected `&idem`, or `&mut *tx` inside another idempotent body",
    note = "`&Idem<{DB}>` opens a transaction; `&mut Tx<'_, {DB}>` runs in that transaction, in a savepoint"
)]
pub trait Begin<DB: SqlDialect>: On<DB = DB> {}
impl<DB: SqlDialect> Begin<DB> for &Idem<DB> {}
impl<DB: SqlDialect> Begin<DB> for &mut Tx<'_, DB> {}

/// Adds a part to a key: a function, so that a type that cannot be one is an error at the part.
#[must_use]
pub fn key_part<T: KeyPart + ?Sized>(key: Key, part: &T) -> Key {
    key.part(part)
}

/// Adds a part to the payload's fingerprint.
#[must_use]
pub fn payload_part<T: serde::Serialize + ?Sized>(payload: Fingerprint, part: &T) -> Fingerprint {
    payload.part(part)
}
