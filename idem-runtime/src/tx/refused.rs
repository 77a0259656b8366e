use std::error::Error as StdError;
use std::fmt;

use sqlx::error::{DatabaseError, ErrorKind};

use crate::dialect::{Class, SqlDialect};

/// Why a transaction takes no further statement. It travels as an `sqlx::Error`, since that is what an executor gives.
#[derive(Debug, Clone)]
pub(crate) struct Refused {
    message: String,
    /// Running the whole transaction again may succeed.
    pub(crate) retry: bool,
}

impl Refused {
    pub(crate) fn new(reason: &str) -> Self {
        Self { message: format!("the transaction is over: {reason}"), retry: false }
    }

    /// A future was dropped before its statement had an answer: what the transaction holds is not known.
    pub(crate) fn cut(reason: &str) -> Self {
        Self { retry: true, ..Self::new(reason) }
    }

    /// A statement that never reached the server; the transaction goes on.
    pub(crate) fn statement(sql: &str) -> Self {
        Self { message: format!("refused in this transaction, because it would end it: {sql}"), retry: false }
    }

    pub(crate) fn because<DB: SqlDialect>(error: &sqlx::Error) -> Self {
        let retry = matches!(DB::classify(error), Class::Retry | Class::LockTimeout | Class::Lost);
        Self { retry, ..Self::new(&error.to_string()) }
    }

    pub(crate) fn in_error(error: &sqlx::Error) -> Option<&Self> {
        error.as_database_error()?.try_downcast_ref()
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Refused {}

impl DatabaseError for Refused {
    fn message(&self) -> &str {
        &self.message
    }

    fn as_error(&self) -> &(dyn StdError + Send + Sync + 'static) {
        self
    }

    fn as_error_mut(&mut self) -> &mut (dyn StdError + Send + Sync + 'static) {
        self
    }

    fn into_error(self: Box<Self>) -> Box<dyn StdError + Send + Sync + 'static> {
        self
    }

    fn kind(&self) -> ErrorKind {
        ErrorKind::Other
    }
}
