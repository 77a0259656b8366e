//! Idempotent functions: what `#[idempotent]` expands to calls.

mod answer;
mod call;
mod final_error;

pub use answer::{Answer, CarriesError, Codec, ErrOf, IsResult, OkOf, Once, codec, never};
pub use call::{Claimed, Opened, open};
pub use final_error::{FinalError, record_err};

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
    pub scope: &'static str,
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
