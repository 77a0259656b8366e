use std::time::Duration;

use crate::engine::Inside;
use crate::error::Error;
use crate::record::Status;

/// Why an operator's verb did nothing. [`Runtime`](Self::Runtime) with [`Error::UnknownCommit`] alone leaves it open:
/// [`show`](super::Operator::show) tells.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OperatorError {
    /// There is no record: the call never began, or the record was released.
    #[error("no record has this scope and key")]
    NotFound,
    /// The record has an answer already, which later calls are given.
    #[error("the record has ended: it is {status}")]
    Ended {
        /// Completed or failed.
        status: Status,
    },
    /// An attempt may be running at this moment. [`even_running`](super::Operator::even_running) does it nevertheless.
    #[error("an attempt may be running: its lease goes on for {} ms", lease_left.as_millis())]
    InProgress {
        /// How long its lease goes on, unless it is renewed.
        lease_left: Duration,
    },
    /// Something has written the record since it was read: look at it again.
    #[error("the record has changed since it was read; look at it again")]
    Changed,
    /// The actor or the reason cannot stand in the audit.
    #[error("{what} {fault}")]
    Invalid {
        /// The actor or the reason.
        what: &'static str,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// What was to be stored as the result is no JSON.
    #[error("the result is no JSON")]
    NoJson(#[source] serde_json::Error),
    /// What stops every call: the database, a result that is too large.
    #[error(transparent)]
    Runtime(Error),
}

impl From<Error> for OperatorError {
    fn from(error: Error) -> Self {
        Inside::note_error();
        Self::Runtime(error)
    }
}
