use crate::dialect::SqlDialect;
use crate::error::{Error, Reply};

/// Why a token does not let a request through.
///
/// | error | [`reply`](Self::reply) |
/// | --- | --- |
/// | `Used`, `Expired`, `Unknown`, `WrongSubject` | ack: the same request will never be let through |
/// | `Absent` | ack: neither will that |
/// | `Runtime` | that of the error |
/// | `Store` | resend |
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
    /// Redis holds no such token for this subject: it was used, it has expired, it was never issued, or it was issued to somebody
    /// else. GETDEL cannot tell which.
    #[cfg(feature = "redis")]
    #[error("no such token is there: used, expired, never issued, or issued to somebody else")]
    Absent,
    /// What stops every statement: a database that cannot be reached, a deadlock. Of a token in Redis that another request has
    /// reserved, [`Error::InProgress`].
    #[error(transparent)]
    Runtime(#[from] Error),
    /// Redis did not answer, or with an error, which says nothing about the token. The request is not let through.
    #[cfg(feature = "redis")]
    #[error("the store of the tokens did not answer")]
    Store(#[source] redis::RedisError),
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
            #[cfg(feature = "redis")]
            Self::Store(_) => true,
            _ => false,
        }
    }

    /// What to tell a sender that pushes until it hears success.
    #[must_use]
    pub const fn reply(&self) -> Reply {
        match self {
            Self::Runtime(error) => error.reply(),
            #[cfg(feature = "redis")]
            Self::Store(_) => Reply::Resend,
            _ => Reply::Ack,
        }
    }
}
