//! What the status column holds.

use sqlx::encode::IsNull;
use sqlx::{Database, TypeInfo as _};

use super::StateMachine;
use crate::dialect::{BoxDynError, SqlDialect};
use crate::error::TransitionError;

/// What the status column is to the database: `repr` of `#[machine(..)]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repr {
    /// A text.
    Text,
    /// An integer; each state's `value`.
    Int,
    /// An enum type of PostgreSQL by this name, an `ENUM` of MySQL, a text of SQLite.
    Native(&'static str),
}

/// A value that is no state of the machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{raw:?} is not a state of `{machine}`")]
pub struct UnknownState {
    /// The enum.
    pub machine: &'static str,
    /// The value as read.
    pub raw: String,
}

impl From<UnknownState> for TransitionError {
    fn from(UnknownState { machine, raw }: UnknownState) -> Self {
        Self::UnknownState { machine, raw }
    }
}

/// The state that a value of the status column stands for.
pub(super) fn from_stored<M: StateMachine>(raw: String) -> Result<M, UnknownState> {
    M::from_stored(&raw).ok_or(UnknownState { machine: M::NAME, raw })
}

/// The state of that name, or of that alias where aliases are names.
///
/// # Errors
///
/// [`UnknownState`] when it is the name of none.
pub fn from_label<M: StateMachine>(label: &str) -> Result<M, UnknownState> {
    let named = M::STATES.iter().find(|state| state.label() == label).map(M::copied);
    let state = if M::REPR == Repr::Int { named } else { named.or_else(|| M::from_stored(label)) };
    state.ok_or_else(|| UnknownState { machine: M::NAME, raw: label.to_owned() })
}

/// The type as which a state is sent.
#[must_use]
pub fn status_type<M: StateMachine, DB: SqlDialect>() -> DB::TypeInfo {
    DB::status_type(M::REPR)
}

/// Whether a column of this type can hold states.
pub fn reads_status<M: StateMachine, DB: SqlDialect>(column: &DB::TypeInfo) -> bool {
    column.is_null() || DB::reads_status(M::REPR, column)
}

/// Sends a state.
///
/// # Errors
///
/// When sqlx cannot encode the value.
pub fn encode_status<M: StateMachine, DB: SqlDialect>(
    state: &M,
    buffer: &mut <DB as Database>::ArgumentBuffer,
) -> Result<IsNull, BoxDynError> {
    match M::REPR {
        Repr::Text | Repr::Native(_) => DB::encode_text(state.stored(), buffer),
        Repr::Int => DB::encode_integer(state.stored().parse()?, buffer),
    }
}

/// Reads a state.
///
/// # Errors
///
/// [`UnknownState`], and when sqlx cannot decode the value.
pub fn decode_status<M: StateMachine, DB: SqlDialect>(value: <DB as Database>::ValueRef<'_>) -> Result<M, BoxDynError> {
    let raw = match M::REPR {
        Repr::Text | Repr::Native(_) => DB::decode_text(value)?,
        Repr::Int => DB::decode_integer(value)?.to_string(),
    };
    Ok(from_stored(raw)?)
}
