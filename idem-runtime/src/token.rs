//! One-time tokens: a form, a link or a button that can be sent once.
//!
//! A token is issued with the page and comes back with the request, which consumes it in the transaction of its effect: it is
//! used if, and only if, the effect is there.
//!
//! ```no_run
//! # use idem_runtime::prelude::*;
//! # use idem_runtime::token::TokenError;
//! # #[derive(Debug, thiserror::Error)]
//! # #[error(transparent)]
//! # enum OrderError { Idem(#[from] Error), Token(#[from] TokenError), Sql(#[from] sqlx::Error) }
//! # async fn f(idem: Idem<sqlx::Sqlite>, user_id: i64) -> Result<(), OrderError> {
//! let tokens = idem.tokens("order.form");
//! let token = tokens.issue(&user_id).await?; // into the page
//!
//! let mut tx = idem.begin().await?; // when the form is sent
//! tokens.consume(&token, &user_id).run(&mut tx).await?;
//! sqlx::query("INSERT INTO orders (user_id) VALUES (?)").bind(user_id).execute(&mut *tx).await?;
//! tx.commit().await?;
//! # Ok(())
//! # }
//! ```
//!
//! **A plain form needs no token store**: let the token *be* the key. A page that has a random number in it, and a function
//! with `#[idempotent(key = (user_id, form_number), ..)]`, answer the second click with the first one's result, where a token
//! can only say that it was used. A token is for what must have been offered before: it expires, and nobody makes one up.
//!
//! With the feature `redis`, `RedisTokens` and `GetdelTokens` keep tokens in Redis, outside of the effect's transaction. What that
//! costs is a table at `RedisTokens`.

mod error;
#[cfg(feature = "redis")]
mod redis;
mod sql;

use std::fmt;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::backoff;
use crate::dialect::{Class, SqlDialect};
use crate::engine::{Idem, Inside};
use crate::error::Error;
use crate::hexadecimal::hexadecimal;
use crate::key::{Key, KeyPart, KeyParts};
use crate::record::{bind, bind_texts};
use crate::tx::{Root, Tx};

#[cfg(feature = "redis")]
pub use self::redis::{Confirmed, GetdelTokens, RedisTokens, Reservation, Reserve};
pub use error::TokenError;
pub(crate) use sql::SQL;

/// How long a token can be used, unless it is said otherwise.
pub const LIFE: Duration = Duration::from_mins(5);

/// For how long a statement is asked again whose answer was lost.
const PATIENCE: Duration = Duration::from_secs(2);

/// The tokens of one purpose, in the database. Made by [`Idem::tokens`].
#[derive(Debug)]
#[must_use = "it does nothing by itself"]
pub struct Tokens<'i, DB: SqlDialect> {
    idem: &'i Idem<DB>,
    purpose: &'static str,
    life: Duration,
}

impl<DB: SqlDialect> Idem<DB> {
    /// The tokens of one purpose, such as `"order.form"`. One of another purpose is unknown here.
    pub fn tokens(&self, purpose: &'static str) -> Tokens<'_, DB> {
        Tokens { idem: self, purpose, life: LIFE }
    }
}

impl<DB: SqlDialect> Tokens<'_, DB> {
    /// How long a token can be used after it was issued, by the database's clock: five minutes unless it is set.
    pub fn life(self, life: Duration) -> Self {
        Self { life, ..self }
    }

    /// Issues a token to a subject, such as a user: one value, or a tuple. It is 40 hexadecimal digits, 160 random bits of the
    /// operating system. Only its hash is stored, so that who reads the table has no token.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidKey`] for a subject that no key can be made of, [`Error::SecondConnection`] inside a body that holds
    /// the only connection, [`Error::Database`].
    pub async fn issue(&self, subject: &(impl KeyParts + ?Sized)) -> Result<String, Error> {
        let issued = self.issue_to(subject.key()).await;
        issued.inspect_err(|_| Inside::note_error())
    }

    async fn issue_to(&self, subject: Key) -> Result<String, Error> {
        let (token, subject) = (new_token()?, subject.finish()?);
        let life = i64::try_from(self.life.as_millis()).unwrap_or(i64::MAX);
        let query = || {
            let mut arguments = DB::Arguments::default();
            bind_texts::<DB>(&mut arguments, &[&hash(&token), self.purpose, &subject])?;
            bind::<DB, _>(&mut arguments, &life)?;
            Ok((SQL.of(DB::DIALECT).issue, Some(arguments)))
        };
        match self.idem.ask_alone(PATIENCE, query).await {
            // There is no other one like it: a try before this one has stored it, and its answer was lost.
            Err(Error::Database(error)) if DB::classify(&error) == Class::Duplicate => Ok(token),
            stored => stored.map(|_| token),
        }
    }

    /// Begins to use a token up, for the subject that it was issued to.
    pub fn consume<'c>(&self, token: &'c str, subject: &(impl KeyParts + ?Sized)) -> Consume<'c> {
        Consume { purpose: self.purpose, token, subject: subject.key(), request: None }
    }
}

/// A token on its way to be used. Made by [`Tokens::consume`].
#[must_use = "nothing is used up before `run`"]
pub struct Consume<'c> {
    purpose: &'static str,
    token: &'c str,
    subject: Key,
    request: Option<Key>,
}

/// That a token has let a request through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consumed {
    /// This call has used it, if its transaction commits.
    Now,
    /// The same request has used it before.
    Again,
}

impl Consume<'_> {
    /// Says which request it is, so that the same one is let through again: a client that did not get its answer sends all of
    /// it once more.
    pub fn request(self, request: &(impl KeyPart + ?Sized)) -> Self {
        Self { request: Some(Key::new().part(request)), ..self }
    }

    /// Uses the token up in the transaction of the effect. A rollback gives it back, and so does an error of the idempotent
    /// body that it is used in. Of many requests at once one gets it; the others wait until its transaction has ended.
    ///
    /// # Errors
    ///
    /// [`TokenError`]: each of them is what the token is once no rival uses it any more.
    pub async fn run<DB: SqlDialect>(self, tx: &mut Tx<'_, DB>) -> Result<Consumed, TokenError> {
        let consumed = self.consume(tx.root()).await;
        consumed.inspect_err(|_| Inside::note_error())
    }

    async fn consume<DB: SqlDialect>(self, root: &mut Root<DB>) -> Result<Consumed, TokenError> {
        let Self { purpose, token, subject, request } = self;
        let (hash, subject) = (hash(token), subject.finish()?);
        let request = request.map(Key::finish).transpose()?;
        let mut pauses = backoff::pauses();
        loop {
            let mut arguments = DB::Arguments::default();
            bind::<DB, _>(&mut arguments, &request).map_err(Error::Database)?;
            bind_texts::<DB>(&mut arguments, &[&hash, purpose, &subject]).map_err(Error::Database)?;
            let used = root.ask((SQL.of(DB::DIALECT).consume, Some(arguments))).await;
            if used.map_err(TokenError::statement::<DB>)?.rows_affected() == 1 {
                return Ok(Consumed::Now);
            }
            let mut arguments = DB::Arguments::default();
            bind_texts::<DB>(&mut arguments, &[&hash]).map_err(Error::Database)?;
            let read = root.ask((SQL.of(DB::DIALECT).read, Some(arguments))).await;
            let Some(row) = read.map_err(TokenError::statement::<DB>)?.row else { return Err(TokenError::Unknown) };
            let found = Found::of::<DB>(&row).map_err(Error::Database)?;
            if let Some(answer) = found.answer(purpose, &subject, request.as_deref()) {
                return answer;
            }
            // Whoever had it was rolled back between the two statements.
            let Some(pause) = pauses.next() else { return Err(Error::given_up().into()) };
            tokio::time::sleep(pause).await;
        }
    }
}

impl fmt::Debug for Consume<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consume").field("purpose", &self.purpose).finish_non_exhaustive()
    }
}

/// A token that was not to be had.
struct Found {
    purpose: String,
    subject: String,
    used_by: Option<String>,
    is_used: bool,
    is_expired: bool,
}

impl Found {
    fn of<DB: SqlDialect>(row: &DB::Row) -> Result<Self, sqlx::Error> {
        Ok(Self {
            purpose: DB::text(row, "purpose")?.unwrap_or_default(),
            subject: DB::text(row, "subject")?.unwrap_or_default(),
            used_by: DB::text(row, "used_by")?,
            is_used: DB::integer(row, "used")?.is_some(),
            is_expired: DB::integer(row, "expired")?.is_some(),
        })
    }

    /// One that was used is never called expired, however long ago that was; and who may not have it is told nothing else.
    fn answer(&self, purpose: &str, subject: &str, request: Option<&str>) -> Option<Result<Consumed, TokenError>> {
        let is_same = request.is_some() && self.used_by.as_deref() == request;
        match self {
            _ if self.purpose != purpose => Some(Err(TokenError::Unknown)),
            _ if self.subject != subject => Some(Err(TokenError::WrongSubject)),
            Self { is_used: true, .. } if is_same => Some(Ok(Consumed::Again)),
            Self { is_used: true, .. } => Some(Err(TokenError::Used)),
            Self { is_expired: true, .. } => Some(Err(TokenError::Expired)),
            _ => None,
        }
    }
}

fn new_token() -> Result<String, Error> {
    let mut bytes = [0; 20];
    getrandom::fill(&mut bytes).map_err(|_| Error::Configuration("the operating system gives no random bytes"))?;
    Ok(hexadecimal(&bytes))
}

fn hash(token: &str) -> String {
    hexadecimal(&Sha256::digest(token))
}
