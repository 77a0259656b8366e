use std::fmt;
use std::time::Duration;

use super::store::{Store, not_understood};
use super::{RedisTokens, script};
use crate::engine::Inside;
use crate::error::Error;
use crate::finish::FinishOnDrop;
use crate::hexadecimal::{hexadecimal, sha256};
use crate::idempotent::new_owner;
use crate::key::{Key, KeyPart};
use crate::remote::expiry;
use crate::token::{Consumed, TokenError};

/// Most effects end long before their reservation does.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// A token that is about to be reserved. Made by [`RedisTokens::reserve`].
#[must_use = "nothing is reserved before `run`"]
pub struct Reserve<'r>(Asked<'r>);

/// Who wants which token.
pub(super) struct Asked<'r> {
    pub(super) tokens: &'r RedisTokens,
    pub(super) token: &'r str,
    pub(super) subject: Key,
    pub(super) request: Option<Key>,
}

/// What Redis hears of a token, its subject and its request: hashes, each of which only who has the token can make.
pub(super) struct Names {
    pub(super) key: String,
    pub(super) subject: String,
    request: String,
}

/// A token that nobody else can have, until it is confirmed or given back.
///
/// Dropped, it is given back by a task of its own, and so by every error on the way to the commit. Only
/// [`confirm`](Self::confirm) keeps it from others for good. Call it, too, after an error that leaves open whether the effect is
/// there, such as [`Error::UnknownCommit`]: the same request is let through again and finds out, and no other one is.
#[must_use = "it is given back when it is dropped"]
pub struct Reservation {
    store: Store,
    key: String,
    owner: String,
    request: String,
    keep: String,
    consumed: Consumed,
    /// Whether a drop gives it back.
    is_open: bool,
}

/// What became of a token whose effect is committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmed {
    /// It is used, and refused from now on.
    Used,
    /// It is not this reservation's any more: [`hold`](RedisTokens::hold) was over and another request has it, or Redis has
    /// forgotten it. No error, since the effect is there; only what is below the token can have kept a second one away.
    Lost,
}

impl Names {
    pub(super) fn of(
        store: &Store,
        purpose: &str,
        token: &str,
        subject: Key,
        request: Option<Key>,
    ) -> Result<Self, Error> {
        let salted = |what, text: &str| hexadecimal(&sha256(&[what, token, text]));
        let subject = salted("subject", &subject.finish()?);
        let request = request.map(Key::finish).transpose()?;
        let request = request.map(|request| salted("request", &request)).unwrap_or_default();
        Ok(Self { key: store.key(&[purpose, token]), subject, request })
    }
}

impl<'r> Reserve<'r> {
    pub(super) const fn new(asked: Asked<'r>) -> Self {
        Self(asked)
    }

    /// Says which request it is, so that the same one is let through again, whether it has used the token, is still at it, or has
    /// crashed with it: a client that did not get its answer sends all of it once more.
    pub fn request(self, request: &(impl KeyPart + ?Sized)) -> Self {
        Self(Asked { request: Some(Key::new().part(request)), ..self.0 })
    }

    /// Reserves the token, before the effect is begun. Of many requests at once one gets it.
    ///
    /// # Errors
    ///
    /// [`TokenError`]: each of them is what the token is now, and [`Error::InProgress`] while another request has it.
    pub async fn run(self) -> Result<Reservation, TokenError> {
        let reserved = self.reserve().await;
        reserved.inspect_err(|_| Inside::note_error())
    }

    async fn reserve(self) -> Result<Reservation, TokenError> {
        let Asked { tokens, token, subject, request } = self.0;
        let names = Names::of(&tokens.store, tokens.purpose, token, subject, request)?;
        let (hold, keep) = (expiry(tokens.hold).to_string(), expiry(tokens.keep).to_string());
        let reservation = Reservation {
            store: tokens.store.clone(),
            key: names.key,
            owner: new_owner(),
            request: names.request,
            keep,
            consumed: Consumed::Now,
            is_open: true,
        };
        // Who goes away meanwhile has dropped it once it is there.
        FinishOnDrop::new(reservation.reserved(names.subject, hold)).await
    }
}

impl Reservation {
    /// Dropped by an error: whatever was done is undone.
    async fn reserved(mut self, subject: String, hold: String) -> Result<Self, TokenError> {
        let arguments = [&*subject, &self.owner, &self.request, &hold, &self.keep];
        let answer = self.store.run(&script::RESERVE, &self.key, &arguments).await?;
        self.is_open = answer == "reserved";
        match answer.as_str() {
            "reserved" => Ok(self),
            "again" => {
                self.consumed = Consumed::Again;
                Ok(self)
            }
            "used" => Err(TokenError::Used),
            "expired" => Err(TokenError::Expired),
            "unknown" => Err(TokenError::Unknown),
            "wrong subject" => Err(TokenError::WrongSubject),
            other => Err(held(other).unwrap_or_else(|| not_understood(other))),
        }
    }

    /// Whether this call got the token, or an earlier one of the same request.
    #[must_use]
    pub const fn consumed(&self) -> Consumed {
        self.consumed
    }

    /// Says that the effect is there: call it after the outermost commit, and never before. The token is used then, even if its
    /// life is over by now. From the first call on a drop gives nothing back.
    ///
    /// # Errors
    ///
    /// [`TokenError::Store`], which says nothing about the effect: that is committed. Call it again; until Redis has heard it,
    /// the token is given back when [`hold`](RedisTokens::hold) is over.
    pub async fn confirm(&mut self) -> Result<Confirmed, TokenError> {
        self.is_open = false;
        let confirmed = FinishOnDrop::new({
            let (store, key) = (self.store.clone(), self.key.clone());
            let [owner, request, keep] = [&self.owner, &self.request, &self.keep].map(String::clone);
            async move { store.run(&script::CONFIRM, &key, &[&owner, &request, &keep]).await }
        });
        let confirmed = confirmed.await.inspect_err(|_| Inside::note_error())?;
        match confirmed.as_str() {
            "used" => Ok(Confirmed::Used),
            "lost" => Ok(Confirmed::Lost),
            other => Err(not_understood(other)),
        }
    }

    /// Gives the token back after a rollback, if it is still this reservation's. One of the same request that was let through
    /// [again](Consumed::Again) gives nothing back: the other one may be at it.
    ///
    /// # Errors
    ///
    /// [`TokenError::Store`]; the token is then given back when [`hold`](RedisTokens::hold) is over.
    pub async fn release(mut self) -> Result<(), TokenError> {
        match self.releasing() {
            Some(releasing) => releasing.await.inspect_err(|_| Inside::note_error()),
            None => Ok(()),
        }
    }

    /// Once.
    fn releasing(&mut self) -> Option<FinishOnDrop<Result<(), TokenError>>> {
        if !std::mem::take(&mut self.is_open) {
            return None;
        }
        let (store, key, owner) = (self.store.clone(), self.key.clone(), self.owner.clone());
        Some(FinishOnDrop::new(async move { store.run(&script::RELEASE, &key, &[&owner]).await.map(drop) }))
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        drop(self.releasing());
    }
}

/// Another one has it, for so many milliseconds at most.
fn held(answer: &str) -> Option<TokenError> {
    let left = Duration::from_millis(answer.strip_prefix("held ")?.parse().ok()?);
    Some(Error::InProgress { retry_after: left.min(RETRY_AFTER) }.into())
}

impl fmt::Debug for Reserve<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reserve").field("tokens", &self.0.tokens).finish_non_exhaustive()
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation").field("consumed", &self.consumed).finish_non_exhaustive()
    }
}
