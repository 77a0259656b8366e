//! Tokens in Redis: reserved, then confirmed or released, by scripts; or taken by GETDEL.

mod getdel;
mod reservation;
mod script;
mod store;

use std::fmt;
use std::time::Duration;

use ::redis::aio::ConnectionLike;

use self::reservation::{Asked, Names};
use self::store::Store;
use super::{LIFE, TokenError, new_token};
use crate::engine::Inside;
use crate::key::{Key, KeyParts};
use crate::remote::{expiry, milliseconds};

pub use getdel::GetdelTokens;
pub use reservation::{Confirmed, Reservation, Reserve};

/// The tokens of one purpose, in Redis 7.0 or newer, one server or a cluster.
///
/// ```no_run
/// # use idem_runtime::prelude::*;
/// # use idem_runtime::token::{RedisTokens, TokenError};
/// # #[derive(Debug, thiserror::Error)]
/// # #[error(transparent)]
/// # enum OrderError { Idem(#[from] Error), Token(#[from] TokenError), Sql(#[from] sqlx::Error) }
/// # async fn f(
/// #     idem: Idem<sqlx::Sqlite>, connection: redis::aio::ConnectionManager, user_id: i64, request_id: &str,
/// # ) -> Result<(), OrderError> {
/// let tokens = RedisTokens::new(connection, "order.form");
/// let token = tokens.issue(&user_id).await?; // into the page
///
/// // when the form is sent; an error from here on drops the reservation, and so gives the token back
/// let mut reservation = tokens.reserve(&token, &user_id).request(request_id).run().await?;
/// let order = idem.once("order.create", &token).run(async |mut tx| {
///     sqlx::query("INSERT INTO orders (user_id) VALUES (?)").bind(user_id).execute(&mut *tx).await?;
///     Ok::<_, OrderError>(())
/// });
/// order.await?; // committed
/// reservation.confirm().await?;
/// # Ok(())
/// # }
/// ```
///
/// **It is a layer, and what is below it decides.** No token in Redis is used in the transaction of the effect, so that one of
/// the two can be kept without the other:
///
/// | | [`Tokens::consume`](super::Tokens::consume), in the database | [`RedisTokens::reserve`] | [`GetdelTokens::take`] |
/// | --- | --- | --- | --- |
/// | a rollback | gives it back | gives it back | **loses it** |
/// | a crash before the commit | gives it back | gives it back after [`hold`](RedisTokens::hold) | **loses it** |
/// | a crash after the commit | it is used | **gives it back** after `hold`, until `confirm` was heard | it is used |
/// | an answer that is lost | the same request is let through | is asked for again, and the same request is let through | **loses it** |
/// | an effect that takes longer than `hold` | keeps it | **another one may have it meanwhile** | keeps it |
/// | Redis forgets it: a flush, an eviction | | `Unknown` | `Absent` |
/// | Redis forgets the last second: a failover, a restart | | **it can be used again** | **it can be used again** |
/// | told apart | `Used`, `Expired`, `Unknown`, `WrongSubject` | these, and in progress | nothing: `Absent` |
/// | the same request again | is let through | is let through | is refused |
/// | others meanwhile | wait for the transaction | `InProgress` at once | are refused |
/// | round trips | one to the database | two to Redis | one to Redis |
///
/// Where two effects must not be, take the token in the database, or put a claim below it, as in the example.
#[derive(Clone)]
#[must_use = "it does nothing by itself"]
pub struct RedisTokens {
    store: Store,
    purpose: &'static str,
    life: Duration,
    hold: Duration,
    keep: Duration,
}

impl RedisTokens {
    /// The tokens of one purpose, such as `"order.form"`, over a connection of the `redis` crate that mends itself: a
    /// `ConnectionManager`, or a `ClusterConnection`. A token of another purpose is unknown here.
    pub fn new(connection: impl ConnectionLike + Clone + Send + Sync + 'static, purpose: &'static str) -> Self {
        let (hold, keep) = (Duration::from_secs(30), Duration::from_hours(1));
        Self { store: Store::new(connection), purpose, life: LIFE, hold, keep }
    }

    /// How long a token can be reserved after it was issued, by Redis's clock: five minutes unless it is set. One that was
    /// reserved in time can be confirmed later.
    pub fn life(self, life: Duration) -> Self {
        Self { life, ..self }
    }

    /// How long a token that was reserved, and neither confirmed nor released, is kept from others: 30 seconds unless it is set.
    /// Make it far longer than the effect takes: after it another request may have the token, though this one still runs.
    pub fn hold(self, hold: Duration) -> Self {
        Self { hold, ..self }
    }

    /// For how long Redis can tell after its end that a token was used, or has expired: an hour unless it is set. Then it is
    /// unknown.
    pub fn keep(self, keep: Duration) -> Self {
        Self { keep, ..self }
    }

    /// What stands before each key: `idem` unless it is set. Two services with one Redis need two.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.store.prefix = prefix.into();
        self
    }

    /// How long Redis is waited for, one second unless it is set. Within it, what was lost with its connection is asked again.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.store.timeout = timeout;
        self
    }

    /// Issues a token to a subject, such as a user: one value, or a tuple. It is 40 hexadecimal digits, 160 random bits of the
    /// operating system. Only hashes of it and of the subject are stored.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidKey`](crate::Error::InvalidKey) for a subject that no key can be made of, [`TokenError::Store`].
    pub async fn issue(&self, subject: &(impl KeyParts + ?Sized)) -> Result<String, TokenError> {
        let issued = self.issue_to(subject.key()).await;
        issued.inspect_err(|_| Inside::note_error())
    }

    async fn issue_to(&self, subject: Key) -> Result<String, TokenError> {
        let token = new_token()?;
        let names = Names::of(&self.store, self.purpose, &token, subject, None)?;
        let (life, keep) = (milliseconds(self.life).to_string(), expiry(self.keep).to_string());
        match self.store.run(&script::ISSUE, &names.key, &[&names.subject, &life, &keep]).await?.as_str() {
            "issued" => Ok(token),
            other => Err(store::not_understood(other)),
        }
    }

    /// Begins to reserve a token, for the subject that it was issued to.
    pub fn reserve<'r>(&'r self, token: &'r str, subject: &(impl KeyParts + ?Sized)) -> Reserve<'r> {
        Reserve::new(Asked { tokens: self, token, subject: subject.key(), request: None })
    }
}

impl fmt::Debug for RedisTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisTokens").field("purpose", &self.purpose).finish_non_exhaustive()
    }
}
