use crate::dialect::SqlDialect;
use crate::error::{Error, Reply};

/// Why a token does not let a request through.
///
/// | error | [`reply`](Self::reply) |
/// | --- | --- |
/// | `Used`, `Expired`, `Unknown`, `WrongSubject` | ack: the same request will never be let through |
/// | `Runtime` | that of the error |
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// Another request has used it.
    #[error("the token was used before")]
    Used,
    /// Nobody has used it in its time.
    #[error("the token has expired")]
    Expired,
    /// No such token was issued for this purpose, or it was removed since.
    #[error("no such token was issued")]
    Unknown,
    /// It was issued to another subject. It stays as it is.
    #[error("the token was issued to somebody else")]
    WrongSubject,
    /// What stops every statement: a database that cannot be reached, a deadlock.
    #[error(transparent)]
    Runtime(#[from] Error),
}

impl TokenError {
    pub(super) fn statement<DB: SqlDialect>(error: sqlx::Error) -> Self {
        Self::Runtime(Error::statement::<DB>(error))
    }

    /// Whether the same request may be let through later, without another token.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::Runtime(error) => error.is_retryable(),
            _ => false,
        }
    }

    /// What to tell a sender that pushes until it hears success.
    #[must_use]
    pub const fn reply(&self) -> Reply {
        match self {
            Self::Runtime(error) => error.reply(),
            _ => Reply::Ack,
        }
    }
}
