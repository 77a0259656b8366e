use std::fmt;
use std::ops::Deref;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::final_error::Recording;
use super::kind;
use crate::engine::Inside;
use crate::error::Error;
use crate::json;
use crate::record::{Ending, Status, Stored};

/// A result, and whether this call made it or an earlier one.
///
/// A body makes one with `.into()`; whether it is a replay is the runtime's to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Once<T> {
    value: T,
    is_replay: bool,
}

impl<T> Once<T> {
    /// Whether an earlier call made it.
    #[must_use]
    pub const fn is_replay(&self) -> bool {
        self.is_replay
    }

    /// The result alone.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.value
    }
}

impl<T> Once<T> {
    pub(super) const fn replayed(value: T) -> Self {
        Self { value, is_replay: true }
    }
}

impl<T> From<T> for Once<T> {
    fn from(value: T) -> Self {
        Self { value, is_replay: false }
    }
}

impl<T> Deref for Once<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// `Result<T, E>` under any alias, so that the macro never reads the return type.
#[diagnostic::on_unimplemented(
    message = "an idempotent function returns a `Result`, not `{Self}`",
    label = "expected `Result<T, E>`",
    note = "a call can be in progress, mismatched or lost, and has to say so"
)]
pub trait IsResult: Sized {
    /// What is stored and replayed.
    type Ok;
    /// What is not.
    type Err;

    /// Itself, from a plain result.
    fn from_result(result: Result<Self::Ok, Self::Err>) -> Self;
    /// Itself, seen as a plain result.
    ///
    /// # Errors
    ///
    /// Its own.
    fn as_result(&self) -> Result<&Self::Ok, &Self::Err>;
}

impl<T, E> IsResult for Result<T, E> {
    type Ok = T;
    type Err = E;

    fn from_result(result: Self) -> Self {
        result
    }

    fn as_result(&self) -> Result<&T, &E> {
        self.as_ref()
    }
}

/// The `Ok` type of a result.
pub type OkOf<R> = <R as IsResult>::Ok;
/// The `Err` type of a result.
pub type ErrOf<R> = <R as IsResult>::Err;

/// A result that can be stored and replayed: any `T` with serde's two traits, and [`Once<T>`] of such a `T`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored and replayed",
    label = "`Serialize` or `DeserializeOwned` is missing",
    note = "the first result is stored as JSON and given to every later call: `#[derive(Serialize, Deserialize)]`"
)]
pub trait Answer: Sized {
    /// Whether there is one value only, with nothing in it that could be forgotten.
    #[doc(hidden)]
    const IS_UNIT: bool;
    #[doc(hidden)]
    fn kind() -> String;
    /// Itself, as an earlier call's.
    #[doc(hidden)]
    #[must_use]
    fn replayed(self) -> Self;
    #[doc(hidden)]
    fn store(&self) -> serde_json::Result<String>;
    #[doc(hidden)]
    fn restore(text: &str) -> serde_json::Result<Self>;
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned> Answer for T {
    const IS_UNIT: bool = size_of::<T>() == 0;

    fn kind() -> String {
        kind::of::<T>()
    }

    fn replayed(self) -> Self {
        self
    }

    fn store(&self) -> serde_json::Result<String> {
        json::to_string(self)
    }

    fn restore(text: &str) -> serde_json::Result<Self> {
        json::from_str(text)
    }
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned> Answer for Once<T> {
    const IS_UNIT: bool = size_of::<T>() == 0;

    fn kind() -> String {
        kind::of::<T>()
    }

    fn replayed(self) -> Self {
        Self { is_replay: true, ..self }
    }

    fn store(&self) -> serde_json::Result<String> {
        json::to_string(&self.value)
    }

    fn restore(text: &str) -> serde_json::Result<Self> {
        json::from_str(text).map(Self::replayed)
    }
}

/// An error type that can hold the runtime's.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot carry an error of the runtime",
    label = "`From<idem_runtime::Error>` is missing",
    note = "an idempotent call can be in progress, mismatched or lost: give the error type a variant with `#[from] idem_runtime::Error`"
)]
pub trait CarriesError: Sized {
    #[doc(hidden)]
    fn carry(error: Error) -> Self;
}

#[diagnostic::do_not_recommend]
impl<E: From<Error>> CarriesError for E {
    fn carry(error: Error) -> Self {
        error.into()
    }
}

/// What a call needs of its result, as plain functions: every bound is asked in one place, and nowhere once more.
pub struct Codec<R, T, E> {
    split: fn(&R) -> Result<&T, &E>,
    join: fn(Result<T, E>) -> R,
    is_unit: bool,
    kind: fn() -> String,
    replayed: fn(T) -> T,
    store: fn(&T) -> serde_json::Result<String>,
    restore: fn(&str) -> serde_json::Result<T>,
    carry: fn(Error) -> E,
    /// Without it, every error releases the claim.
    recording: Option<Recording<E>>,
    upgrade: Option<Upgrade<T>>,
}

/// Reads a result of an older shape.
type Upgrade<T> = Box<dyn Fn(&str) -> serde_json::Result<T> + Send + Sync>;

/// The codec of a function's result. `T` and `E` are named apart, so that each is an error where it is written.
#[must_use]
pub fn codec<R: IsResult<Ok = T, Err = E>, T: Answer, E: CarriesError>() -> Codec<R, T, E> {
    Codec {
        split: R::as_result,
        join: R::from_result,
        is_unit: T::IS_UNIT,
        kind: T::kind,
        replayed: T::replayed,
        store: T::store,
        restore: T::restore,
        carry: E::carry,
        recording: None,
        upgrade: None,
    }
}

/// Reads results of an older shape as well: what is not today's `T` is read as an `Old` and converted.
#[must_use]
pub fn upgrade<R, T, E, Old>(codec: Codec<R, T, E>, upgrade: fn(Old) -> T) -> Codec<R, T, E>
where
    T: 'static,
    Old: DeserializeOwned + 'static,
{
    let replayed = codec.replayed;
    let read = move |text: &str| json::from_str(text).map(|old| replayed(upgrade(old)));
    Codec { upgrade: Some(Box::new(read)), ..codec }
}

impl<R, T, E> Codec<R, T, E> {
    pub(super) fn recording(self, recording: Recording<E>) -> Self {
        Self { recording: Some(recording), ..self }
    }

    /// Whether an error can be an answer.
    pub(super) const fn records_errors(&self) -> bool {
        self.recording.is_some()
    }

    pub(super) fn is_error(&self, answer: &R) -> bool {
        (self.split)(answer).is_err()
    }

    /// What is stored of an answer; nothing of an error that releases the claim.
    pub(super) fn keep(&self, answer: &R) -> Option<Result<Ending, Error>> {
        match (self.split)(answer) {
            Ok(value) => Some(self.completed(value)),
            Err(error) => {
                let recording = self.recording.as_ref().filter(|recording| (recording.is_final)(error))?;
                let stored =
                    (recording.store)(error).map_err(|source| Error::Unencodable { what: "the error", source });
                Some(stored.map(|text| ending(Status::Failed, text, recording.kind, false)))
            }
        }
    }

    /// What is stored of a result.
    pub(super) fn completed(&self, value: &T) -> Result<Ending, Error> {
        let stored = (self.store)(value).map_err(|source| Error::Unencodable { what: "the result", source });
        stored.map(|text| ending(Status::Completed, text, self.kind, self.is_unit))
    }

    /// The answer of a call whose body does not run.
    pub(super) fn replay(&self, status: Status, stored: &Stored) -> R {
        self.join(self.restore(status, stored))
    }

    /// A result that was made by an earlier call.
    pub(super) fn replayed(&self, value: T) -> R {
        (self.join)(Ok((self.replayed)(value)))
    }

    /// An error of the user's own.
    pub(super) fn fail(&self, error: E) -> R {
        (self.join)(Err(error))
    }

    /// The answer of a call that has none of its own.
    pub(super) fn refuse(&self, error: Error) -> R {
        self.join(Err(error))
    }

    fn join(&self, restored: Result<Result<T, E>, Error>) -> R {
        (self.join)(restored.unwrap_or_else(|error| {
            Inside::note_error();
            Err((self.carry)(error))
        }))
    }

    fn restore(&self, status: Status, stored: &Stored) -> Result<Result<T, E>, Error> {
        match (status, &self.recording) {
            (Status::Failed, Some(recording)) => read(stored, recording.kind, recording.restore, None).map(Err),
            _ => self.restore_result(status, stored).map(Ok),
        }
    }

    pub(super) fn restore_result(&self, status: Status, stored: &Stored) -> Result<T, Error> {
        if status == Status::Failed {
            let error = serde::de::Error::custom("an error was recorded, and is none any more");
            return Err(Error::Undecodable(error));
        }
        read(stored, self.kind, self.restore, self.upgrade.as_ref())
    }
}

fn ending(status: Status, text: String, kind: fn() -> String, is_unit: bool) -> Ending {
    Ending { status, answer: Stored { text, kind: Some(kind()) }, is_unit }
}

/// Reads an answer as the type that it was written from, or as an older shape of it.
pub(super) fn read<T>(
    stored: &Stored,
    kind: fn() -> String,
    restore: fn(&str) -> serde_json::Result<T>,
    upgrade: Option<&Upgrade<T>>,
) -> Result<T, Error> {
    let wanted = kind();
    let stored_kind = stored.kind.as_deref();
    let restored = if kind::is_of(stored_kind, &wanted)? {
        restore(&stored.text).map_err(Error::Undecodable)
    } else {
        let stored = stored_kind.map(kind::name).unwrap_or_default();
        Err(Error::ScopeClash { stored, wanted: kind::name(&wanted) })
    };
    restored.or_else(|error| upgrade.and_then(|upgrade| upgrade(&stored.text).ok()).ok_or(error))
}

impl<R, T, E> fmt::Debug for Codec<R, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Codec").finish_non_exhaustive()
    }
}

/// Names a type in an expression that is never run.
#[must_use]
pub fn never<T>() -> T {
    unreachable!("an expansion calls it behind `if false`")
}
