use serde::Serialize;
use serde::de::DeserializeOwned;

use super::answer::Codec;
use super::kind;
use crate::json;

/// An error that can be recorded and replayed as the same variant.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be recorded and replayed",
    label = "`Serialize` or `DeserializeOwned` is missing",
    note = "a final error is stored as JSON: `#[derive(Serialize, Deserialize)]`, with `#[serde(skip)]` on each variant that carries an error of another crate"
)]
pub trait FinalError: Sized {
    #[doc(hidden)]
    fn kind() -> String;
    #[doc(hidden)]
    fn store(&self) -> serde_json::Result<String>;
    #[doc(hidden)]
    fn restore(text: &str) -> serde_json::Result<Self>;
}

#[diagnostic::do_not_recommend]
impl<E: Serialize + DeserializeOwned> FinalError for E {
    fn kind() -> String {
        kind::of::<E>()
    }

    fn store(&self) -> serde_json::Result<String> {
        json::to_string(self)
    }

    fn restore(text: &str) -> serde_json::Result<Self> {
        json::from_str(text)
    }
}

/// Which errors are recorded, and how.
#[derive(Debug)]
pub(super) struct Recording<E> {
    pub(super) is_final: fn(&E) -> bool,
    pub(super) kind: fn() -> String,
    pub(super) store: fn(&E) -> serde_json::Result<String>,
    pub(super) restore: fn(&str) -> serde_json::Result<E>,
}

/// Records the errors that `is_final` says yes to. Named apart from the codec, so that each bound is asked where the option
/// is written.
#[must_use]
pub fn record_err<R, T, E: FinalError>(codec: Codec<R, T, E>, is_final: fn(&E) -> bool) -> Codec<R, T, E> {
    codec.recording(Recording { is_final, kind: E::kind, store: E::store, restore: E::restore })
}
