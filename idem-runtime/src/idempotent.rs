//! Idempotent functions: what `#[idempotent]` expands to calls.

mod answer;
mod call;
mod end;
mod final_error;
mod kind;
mod lookup;
mod many;
mod once;

pub use answer::{Answer, CarriesError, Codec, ErrOf, IsResult, OkOf, Once, codec, never, upgrade};
pub(crate) use call::new_owner;
pub use call::{Claimed, Opened, open};
pub use final_error::{FinalError, record_err};
pub use lookup::{Lookup, RecordedError};
pub use many::Many;
pub use once::{OnceCall, OnceTx, One};

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
}

/// How long an answer and a key are kept after the call has ended, in seconds by the database's clock; without one, for
/// ever.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Retention {
    pub(crate) result: Option<u64>,
    pub(crate) key: Option<u64>,
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
