use std::fmt;
use std::time::Duration;

use redis::aio::ConnectionLike;
use redis::{Value, cmd};

use super::store::{Store, not_understood};
use crate::engine::Inside;
use crate::error::Error;
use crate::key::{Key, KeyParts};
use crate::remote::expiry;
use crate::token::{LIFE, TokenError, new_token};

/// The tokens of one purpose that are taken from Redis before their effect, by GETDEL: one round trip, and nothing to confirm.
///
/// A rollback, a crash or a lost answer after it **loses the token**, and the user has to load the form again. Whoever is refused is
/// told [`Absent`](TokenError::Absent), since a key that is not there says nothing: used, expired, never issued or of another
/// subject. [`RedisTokens`](super::RedisTokens) has a table of the differences; neither knows the other's tokens.
///
/// ```no_run
/// # use idem_runtime::token::{GetdelTokens, TokenError};
/// # async fn f(connection: redis::aio::ConnectionManager, user_id: i64) -> Result<(), TokenError> {
/// let tokens = GetdelTokens::new(connection, "search.form");
/// let token = tokens.issue(&user_id).await?; // into the page
///
/// tokens.take(&token, &user_id).await?; // when the form is sent: gone, whatever happens from here on
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "it does nothing by itself"]
pub struct GetdelTokens {
    store: Store,
    purpose: &'static str,
    life: Duration,
}

impl GetdelTokens {
    /// The tokens of one purpose, over a connection of the `redis` crate that mends itself: a `ConnectionManager`, or a
    /// `ClusterConnection`.
    pub fn new(connection: impl ConnectionLike + Clone + Send + Sync + 'static, purpose: &'static str) -> Self {
        Self { store: Store::new(connection), purpose, life: LIFE }
    }

    /// How long a token can be taken after it was issued, by Redis's clock: five minutes unless it is set.
    pub fn life(self, life: Duration) -> Self {
        Self { life, ..self }
    }

    /// What stands before each key: `idem` unless it is set. Two services with one Redis need two.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.store.prefix = prefix.into();
        self
    }

    /// How long Redis is waited for, one second unless it is set. Nothing is asked again: what was lost may have been done.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.store.timeout = timeout;
        self
    }

    /// Issues a token to a subject, as [`RedisTokens::issue`](super::RedisTokens::issue) does. Only one hash of both is stored.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidKey`] for a subject that no key can be made of, [`TokenError::Store`].
    pub async fn issue(&self, subject: &(impl KeyParts + ?Sized)) -> Result<String, TokenError> {
        let issued = self.issue_to(subject.key()).await;
        issued.inspect_err(|_| Inside::note_error())
    }

    async fn issue_to(&self, subject: Key) -> Result<String, TokenError> {
        let token = new_token()?;
        let mut set = cmd("SET");
        set.arg(self.key(&token, subject)?).arg(1).arg("PX").arg(expiry(self.life));
        self.store.ask(set).await.map(|_| token)
    }

    /// Takes the token away, if it is there for this subject. A wrong subject takes nothing.
    ///
    /// What is refused is an error and no `false`, so that nobody who forgets to look lets a request through.
    ///
    /// # Errors
    ///
    /// [`TokenError::Absent`]; [`TokenError::Store`], after which the token may be gone.
    pub async fn take(&self, token: &str, subject: &(impl KeyParts + ?Sized)) -> Result<(), TokenError> {
        let answer = self.take_from(token, subject.key()).await;
        answer.inspect_err(|_| Inside::note_error())
    }

    async fn take_from(&self, token: &str, subject: Key) -> Result<(), TokenError> {
        let mut getdel = cmd("GETDEL");
        getdel.arg(self.key(token, subject)?);
        match self.store.ask(getdel).await? {
            Value::Nil => Err(TokenError::Absent),
            Value::BulkString(_) | Value::SimpleString(_) => Ok(()),
            other => Err(not_understood(&format!("{other:?}"))),
        }
    }

    fn key(&self, token: &str, subject: Key) -> Result<String, Error> {
        Ok(self.store.key(&[self.purpose, token, &subject.finish()?]))
    }
}

impl fmt::Debug for GetdelTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GetdelTokens").field("purpose", &self.purpose).finish_non_exhaustive()
    }
}
