//! What a call can answer instead of a result, and what to tell the sender.

use std::fmt;
use std::time::Duration;

use crate::dialect::{Class, SqlDialect};
use crate::engine::Inside;
use crate::machine::{GuardRefusal, guard_refusal};
use crate::tx::Refused;

/// What an idempotent call can answer instead of its function's own result.
///
/// | error | what happened to the effect | [`reply`](Self::reply) |
/// | --- | --- | --- |
/// | `InProgress` | another call is at it | resend |
/// | `Mismatch` | done before, for another payload | ack |
/// | `Gone` | done before; its result is not kept any more | ack |
/// | `Indeterminate` | unknown until somebody looks | resend |
/// | `StaleOwner` | another attempt is at it, or an operator has settled it | resend |
/// | `Undecodable` | done before; its result cannot be read | ack |
/// | `ScopeClash` | unknown: another function, or this one when it returned another type, has used the key | resend |
/// | `Unencodable`, `ResultTooLarge` | undone: the result cannot be stored | resend |
/// | `InvalidKey` | never begun | resend |
/// | `SecondConnection` | never begun | resend |
/// | `Configuration` | never begun | resend |
/// | `Retry` | undone by the database | resend |
/// | `UnknownCommit` | unknown; the same key tells | resend |
/// | `Database` | undone | resend |
///
/// *Undone* is what is in the transaction of the call. A body that works with an [`Attempt`](crate::Attempt) has none:
/// what it has sent and committed before such an error stays, and its record is in doubt.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another call with this key is still running.
    #[error("another call with this key is in progress; ask again in {} ms", retry_after.as_millis())]
    InProgress {
        /// How long to wait before the next try.
        retry_after: Duration,
    },
    /// The key was used before, with another payload.
    #[error("the key was used before with another payload")]
    Mismatch,
    /// An earlier call has ended for good, and the time for which its answer is kept is over: `retain(result = ..)`. It
    /// does not run again.
    #[error("an earlier call with this key has ended, and its result is not kept any more")]
    Gone,
    /// The scope holds an answer of another type for this key: two functions use one scope, and the key is the other one's;
    /// or the type has another name now, and `upgrade = path` reads what it was.
    #[error("the key holds a `{stored}`, not a `{wanted}`: another function has this scope, or the type was renamed")]
    ScopeClash {
        /// The name of the type that the stored answer was written from.
        stored: String,
        /// The name of the type that this function would have stored.
        wanted: String,
    },
    /// An earlier call ended in a way that leaves open whether its effect happened. An [operator](crate::operator) who
    /// has looked it up completes or releases the record.
    #[error("an earlier call with this key ended in doubt; its effect has to be looked up")]
    Indeterminate,
    /// The lease of this attempt was over, and another one has taken the call over or an operator has settled it. Nothing of
    /// this one's last transaction is kept, and its result is nobody's. Call again with the same key: it tells what happened.
    #[error("the call is not this attempt's any more: another one has taken it over, or an operator has settled it")]
    StaleOwner,
    /// An earlier call has ended for good, and its stored answer does not fit the function's types any more: its result,
    /// or an error that was recorded.
    #[error("the stored answer does not fit the function's types")]
    Undecodable(#[source] serde_json::Error),
    /// A value cannot be written as JSON and read back as what it was, so that it could not be compared or replayed:
    /// a map whose keys are no strings, a float that is no number, `Some(None)` inside of another value. The effect was
    /// rolled back.
    #[error("{what} cannot be written as JSON")]
    Unencodable {
        /// The result or the payload.
        what: &'static str,
        /// What `serde_json` says.
        source: serde_json::Error,
    },
    /// The result, written as JSON, is larger than [`Builder::result_limit`](crate::Builder::result_limit), or than a
    /// packet that the server takes. The effect was rolled back.
    #[error("the result is too large to be stored: {bytes} bytes of at most {limit}")]
    ResultTooLarge {
        /// Its size.
        bytes: usize,
        /// The most that can be stored.
        limit: usize,
    },
    /// The idempotency key or the cause cannot be one.
    #[error("invalid key: {reason}")]
    InvalidKey {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A body called an idempotent function with `&idem`, which needs a second connection, while it holds the only
    /// one. Pass `&mut *tx` to stay in its transaction.
    #[error(
        "a call inside an idempotent body needs a second connection, and the body holds the only one: pass `&mut *tx`"
    )]
    SecondConnection,
    /// The pool cannot carry idem.
    #[error("{0}")]
    Configuration(&'static str),
    /// The transaction was given up (deadlock, serialization failure, busy, a statement that the server cut, a lost
    /// connection): nothing of it is kept, and running all of it again may work.
    #[error("the transaction was given up by the database; run all of it again")]
    Retry(#[source] sqlx::Error),
    /// The answer to COMMIT was lost. Call again with the same key: it tells what happened.
    #[error("the answer to COMMIT was lost; call again with the same key")]
    UnknownCommit(#[source] sqlx::Error),
    /// Any other error of the database or its driver. Nothing was kept. That `idem_record` does not exist means that
    /// [`Idem::migrate`](crate::Idem::migrate) was not called.
    #[error(transparent)]
    Database(sqlx::Error),
}

/// Why a row did not move. Not generic over the machine, so that one `#[from]` takes those of all machines.
///
/// | error | [`reply`](Self::reply) |
/// | --- | --- |
/// | `OtherCause`, `Illegal`, `Mismatch` | ack, after it was set aside |
/// | every other | resend |
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransitionError {
    /// The history holds this event with this cause, and other field values or, where a cause moves one row only,
    /// another row.
    ///
    /// Of a creation, whose event is `create`: the row that is there began with other values.
    #[error("event `{event}` of `{machine}` happened before, with other values")]
    Mismatch {
        /// The enum.
        machine: &'static str,
        /// The event.
        event: &'static str,
    },
    /// No row has the identifier.
    #[error("no row of `{machine}` has this identifier")]
    NotFound {
        /// The enum.
        machine: &'static str,
    },
    /// The status column holds a value that is no state of the machine.
    #[error("{raw:?} is not a state of `{machine}`")]
    UnknownState {
        /// The enum.
        machine: &'static str,
        /// The value as read.
        raw: String,
    },
    /// The row accepts the event, and in the target it would break a rule `#[unique_while(..)]`: another row with the
    /// rule's key is there.
    #[error("another row of `{machine}` keeps this one out of the target of `{event}`, by the rule `{rule}`")]
    UniqueWhile {
        /// The enum.
        machine: &'static str,
        /// The event.
        event: &'static str,
        /// The rule.
        rule: &'static str,
    },
    /// The row accepts the event, and its version is not the expected one.
    #[error("the row of `{machine}` is at version {found}, not {expected}")]
    Stale {
        /// The enum.
        machine: &'static str,
        /// The version that the caller held.
        expected: i64,
        /// The row's version.
        found: i64,
    },
    /// The row is in the target, and another cause put it there.
    #[error("event `{event}` of `{machine}` was applied by {}", ByCause(recorded.as_deref()))]
    OtherCause {
        /// The enum.
        machine: &'static str,
        /// The event.
        event: &'static str,
        /// The cause in the history. `None`: the row got there without a recorded cause, before the history began or
        /// by hand; that is never a reason for an automatic refund.
        recorded: Option<String>,
    },
    /// The row's state does not accept the event.
    #[error("`{machine}` in state `{current}` does not accept event `{event}`")]
    Illegal {
        /// The enum.
        machine: &'static str,
        /// The event.
        event: &'static str,
        /// The variant that the row is in.
        current: &'static str,
        /// The history's entry that shows the row in the target earlier.
        passed: Option<Passed>,
    },
    /// The guard in the database refused what the machine allows: it is older than this program, or newer.
    #[error("the installed guard `{guard}` does not allow this transition: install the one of this release")]
    Guarded {
        /// The name of the guard that is installed.
        guard: String,
        /// What the database said.
        source: sqlx::Error,
    },
    /// The row was read in another state than the one asked for.
    #[error("the row of `{machine}` is in state `{found}`, not `{expected}`")]
    NotInState {
        /// The enum.
        machine: &'static str,
        /// The variant that was asked for.
        expected: &'static str,
        /// The variant that the row is in.
        found: &'static str,
    },
    /// The row was in the target before this call.
    #[error("the row of `{machine}` had reached `{target}` before this call")]
    NotApplied {
        /// The enum.
        machine: &'static str,
        /// The variant that the row was found in, or had gone through.
        target: &'static str,
    },
    /// Another transaction kept the row for as long as the call might wait. This one goes on as if it had not asked.
    #[error("another transaction holds the row of `{machine}`")]
    Locked {
        /// The enum.
        machine: &'static str,
    },
    /// The transaction was given up (deadlock, serialization failure, busy, a statement that the server cut, a lost
    /// connection): nothing of it is kept, and running all of it again may work.
    #[error("the transaction was given up by the database; run all of it again")]
    Retry(#[source] sqlx::Error),
    /// The answer to COMMIT was lost, or that to a statement which commits by itself. Fire again with the same cause: it tells what happened.
    #[error("the answer to COMMIT was lost; fire again with the same cause")]
    UnknownCommit(#[source] sqlx::Error),
    /// Any other error of the database or its driver. That a history does not exist means that the text of
    /// [`schema::history`](crate::schema::history) was not run: `Idem::migrate` does not make it.
    #[error(transparent)]
    Database(sqlx::Error),
    /// What stops a call before the database is asked, such as an empty cause.
    #[error(transparent)]
    Runtime(Error),
}

impl From<Error> for TransitionError {
    fn from(error: Error) -> Self {
        if !matches!(error, Error::Database(_)) {
            Inside::note_error();
        }
        match error {
            Error::Retry(source) => Self::Retry(source),
            Error::UnknownCommit(source) => Self::UnknownCommit(source),
            Error::Database(source) => match guard_refusal(&source) {
                Some(GuardRefusal { guard, .. }) => Self::Guarded { guard, source },
                None => Self::Database(source),
            },
            other => Self::Runtime(other),
        }
    }
}

/// The entry of a history that shows that the row was in the target before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed {
    /// The version that the row had then.
    pub version: i64,
    /// The cause that moved it, if one was given.
    pub cause: Option<String>,
}

/// What to tell a sender that pushes until it hears success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// It need not come again.
    Ack,
    /// It has to come again.
    Resend,
}

impl Error {
    /// An error of a statement, sorted by what it means.
    pub(crate) fn statement<DB: SqlDialect>(error: sqlx::Error) -> Self {
        if let Some(refused) = Refused::in_error(&error) {
            return if refused.retry { Self::Retry(error) } else { Self::Database(error) };
        }
        match DB::classify(&error) {
            // A lost connection takes its transaction with it.
            Class::Retry | Class::LockTimeout | Class::Lost => Self::Retry(error),
            _ => Self::Database(error),
        }
    }

    /// The database gave up the transaction of a body, whatever error the body made of it.
    pub(crate) fn given_up() -> Self {
        Self::Retry(sqlx::Error::Protocol("the body's transaction was given up".to_owned()))
    }

    /// An error of COMMIT: when the answer was lost, nobody knows.
    pub(crate) fn commit<DB: SqlDialect>(error: sqlx::Error) -> Self {
        match DB::classify(&error) {
            Class::Lost => Self::UnknownCommit(error),
            _ => Self::statement::<DB>(error),
        }
    }

    /// Whether an earlier call with this key has ended for good, though this one cannot give its answer.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        matches!(self, Self::Undecodable(_) | Self::Gone)
    }

    /// Whether the same call may succeed later without anybody's help.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::InProgress { .. } | Self::StaleOwner | Self::Retry(_) | Self::UnknownCommit(_) => true,
            Self::Database(error) => is_out_of_reach(error),
            _ => false,
        }
    }

    /// How long to wait before the next try, where that is known.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::InProgress { retry_after } => Some(*retry_after),
            _ => None,
        }
    }

    /// What to tell a sender that pushes until it hears success.
    #[must_use]
    pub const fn reply(&self) -> Reply {
        match self {
            Self::Mismatch | Self::Undecodable(_) | Self::Gone => Reply::Ack,
            _ => Reply::Resend,
        }
    }
}

impl TransitionError {
    /// Whether the same call may succeed later without anybody's help.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::Locked { .. } | Self::Retry(_) | Self::UnknownCommit(_) => true,
            Self::Database(error) => is_out_of_reach(error),
            _ => false,
        }
    }

    /// What to tell a sender that pushes until it hears success. What is acknowledged has to be set aside first: money
    /// may have come that the row does not take.
    #[must_use]
    pub const fn reply(&self) -> Reply {
        match self {
            Self::Mismatch { .. } | Self::OtherCause { .. } | Self::Illegal { .. } => Reply::Ack,
            _ => Reply::Resend,
        }
    }
}

/// No connection was to be had, so that nothing was begun.
const fn is_out_of_reach(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::PoolTimedOut | sqlx::Error::Io(_))
}

struct ByCause<'c>(Option<&'c str>);

impl fmt::Display for ByCause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(_) => f.write_str("another cause"),
            None => f.write_str("something without a recorded cause"),
        }
    }
}
