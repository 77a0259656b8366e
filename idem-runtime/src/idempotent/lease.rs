//! A call that holds a lease: claimed, taken over, ended.

mod ours;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ours::Ours;

use super::answer::Codec;
use super::call::{Opened, Theirs, in_progress};
use super::{OnExpired, Spec};
use crate::attempt::{Attempt, Hold};
use crate::dialect::{Class, SqlDialect};
use crate::engine::{Arrival, Arrived, Idem, Inside, UNTIL_NOW};
use crate::error::Error;
use crate::fingerprint::{self, Fingerprint};
use crate::finish::FinishOnDrop;
use crate::key::Key;
use crate::record::lease::Seen;
use crate::record::{Claim, Ending, Status};
use crate::steps::{Step, reached};
use crate::tx::Answer;

/// What a probe has found out about a call that is in doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probe<T> {
    /// It happened, with this result: the call has ended with it, and the body does not run. What the attempt had yet to do
    /// after its outside call, such as a booking, the probe has done.
    Done(T),
    /// It certainly had no effect and never will have one: the body runs.
    Absent,
    /// Nobody can tell yet: it stays in doubt, and the next call asks again.
    Unknown,
}

/// A claim that is ours, while its probe or its body runs.
pub struct Leased<'t, DB: SqlDialect> {
    attempt: Attempt<'t, DB>,
    inside: Inside,
    ours: Ours<DB>,
}

/// Claims the key, takes a call over that is not heard of any more, or finds what an earlier one left.
pub async fn lease<'t, DB: SqlDialect, R, T, E>(
    idem: &'t Idem<DB>,
    spec: &Spec,
    key: Key,
    payload: Fingerprint,
    codec: &Codec<R, T, E>,
) -> Opened<Leased<'t, DB>, R> {
    match claim(idem, *spec, key, payload).await {
        Ok(Found::Ours(leased)) => Opened::Run(leased),
        Ok(Found::Theirs(theirs)) => Opened::Done(theirs.answer(codec)),
        Err(error) => Opened::Done(codec.refuse(error)),
    }
}

/// What a claim came to, before any type of the user's is needed.
enum Found<'t, DB: SqlDialect> {
    Ours(Leased<'t, DB>),
    Theirs(Theirs),
}

async fn claim<DB: SqlDialect>(
    idem: &Idem<DB>,
    spec: Spec,
    key: Key,
    payload: Fingerprint,
) -> Result<Found<'_, DB>, Error> {
    let claim = Claim::new(spec, key, payload)?;
    idem.check_second_writer()?;
    let until = Instant::now() + spec.wait;
    match idem.arrive(&claim, spec.wait).await {
        Arrived::Turn(arrival) => Claiming { idem, claim, until, arrival }.claim().await,
        Arrived::Ended(record) => Ok(Found::Theirs(Theirs { record, claim, committed: true })),
        Arrived::Waited(time) => Err(in_progress(time)),
    }
}

/// A call whose turn it is to ask the database.
struct Claiming<'t, DB: SqlDialect> {
    idem: &'t Idem<DB>,
    claim: Claim,
    until: Instant,
    arrival: Arrival,
}

/// What to do about a record that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// It answers.
    Answer,
    /// Whoever holds it is let alone.
    Wait,
    TakeOver,
    /// The answer to our own statement was lost.
    Ours,
}

impl<'t, DB: SqlDialect> Claiming<'t, DB> {
    /// Until the call is ours, or there is an answer. Between two looks no connection is held.
    async fn claim(self) -> Result<Found<'t, DB>, Error> {
        let mut pauses = pauses();
        if !self.claim.spec.reads_first
            && !self.arrival.says_ended()
            && let Some(ours) = self.insert().await?
        {
            return Ok(self.leased(ours));
        }
        loop {
            let seen = self.look().await?;
            let next = seen.as_ref().map(|seen| self.next(seen)).transpose()?;
            let ours = match (seen, next) {
                (None, _) => {
                    self.arrival.note_false_hint();
                    self.insert().await?
                }
                (Some(seen), Some(Next::TakeOver)) => self.take_over(seen).await?,
                (Some(seen), Some(Next::Ours)) => Some(Ours::of(self.idem, &self.claim, seen)),
                (Some(seen), Some(Next::Answer)) => return Ok(self.theirs(seen)),
                (Some(_), _) => None,
            };
            if let Some(ours) = ours {
                return Ok(self.leased(ours));
            }
            self.pause(pauses.next()).await?;
        }
    }

    async fn look(&self) -> Result<Option<Seen>, Error> {
        let mut lent = self.idem.acquire().await?;
        Seen::read(self.claim.spec.scope, &self.claim.key, &mut lent).await.map_err(Error::statement::<DB>)
    }

    /// Nobody gets another payload's answer, nor goes on with another payload's work.
    fn next(&self, seen: &Seen) -> Result<Next, Error> {
        fingerprint::compare(&seen.record.fingerprint, &self.claim.fingerprint)?;
        Ok(match seen.record.status {
            Status::Completed | Status::Failed => Next::Answer,
            _ if seen.owner == self.claim.owner => Next::Ours,
            _ if seen.record.is_leased => Next::Wait,
            // Of a transaction, and committed by a statement that nobody saw.
            _ if seen.attempt == 0 => Next::Answer,
            Status::InDoubt if self.claim.spec.on_expired == OnExpired::Hold => Next::Answer,
            Status::InProgress | Status::InDoubt => Next::TakeOver,
        })
    }

    async fn insert(&self) -> Result<Option<Ours<DB>>, Error> {
        let (wait, claim, idem) = (self.left(), self.claim.clone(), self.idem.clone());
        // Dropped on its way, it would leave a lease behind that nobody holds.
        let inserted = FinishOnDrop::new(async move {
            let inserted = idem.ask_alone(UNTIL_NOW, || claim.lease_query::<DB>(wait)).await;
            Ok(is_ours(inserted)?.then(|| Ours::new(&idem, claim, 1, Vec::new())))
        });
        let inserted = inserted.await?;
        if inserted.is_some() {
            reached(Step::Leased);
        }
        Ok(inserted)
    }

    /// Misses when anything has become of the record since it was seen.
    async fn take_over(&self, seen: Seen) -> Result<Option<Ours<DB>>, Error> {
        let (wait, claim, idem) = (self.left(), self.claim.clone(), self.idem.clone());
        let taken_over = FinishOnDrop::new(async move {
            let taken_over = idem.ask_alone(UNTIL_NOW, || claim.take_over_query::<DB>(&seen, wait)).await;
            Ok(is_ours(taken_over)?.then(|| Ours::new(&idem, claim, seen.attempt + 1, seen.begun)))
        });
        let taken_over = taken_over.await?;
        if taken_over.is_some() {
            reached(Step::TakenOver);
        }
        Ok(taken_over)
    }

    fn leased(self, mut ours: Ours<DB>) -> Found<'t, DB> {
        ours.arrival = Some(self.arrival);
        let inside = Inside::opening(self.idem.id());
        let attempt = Attempt::new(self.idem, Arc::clone(&ours.hold), inside.clone());
        Found::Ours(Leased { attempt, inside, ours })
    }

    fn theirs(self, seen: Seen) -> Found<'t, DB> {
        let record = Arc::new(seen.record);
        self.arrival.found(&self.claim, &record);
        Found::Theirs(Theirs { record, claim: self.claim, committed: true })
    }

    fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    async fn pause(&self, pause: Option<Duration>) -> Result<(), Error> {
        let pause = pause.unwrap_or(LONGEST_PAUSE).min(self.left());
        if pause.is_zero() {
            return Err(in_progress(self.claim.spec.wait));
        }
        tokio::time::sleep(pause).await;
        Ok(())
    }
}

/// Whether a statement made the record ours. Where that is not known, the next look tells.
fn is_ours<DB: SqlDialect>(answer: Result<Answer<DB>, Error>) -> Result<bool, Error> {
    match answer {
        Ok(answer) => Ok(answer.rows_affected() == 1),
        Err(Error::Retry(_) | Error::UnknownCommit(_)) => Ok(false),
        Err(Error::Database(error)) if DB::classify(&error) == Class::Duplicate => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whoever waits in this process is told; one of another process looks again, at most so often.
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

fn pauses() -> impl Iterator<Item = Duration> {
    (0..5).map(|n| Duration::from_millis(10 << n))
}

impl<'t, DB: SqlDialect> Leased<'t, DB> {
    /// What the body works with.
    pub fn attempt(&mut self) -> &mut Attempt<'t, DB> {
        &mut self.attempt
    }

    /// The same as something to own.
    pub(super) fn own_attempt(&self) -> Attempt<'t, DB> {
        Attempt::new(self.attempt.idem(), Arc::clone(&self.ours.hold), self.inside.clone())
    }

    /// What marks the body's calls as made from inside of it.
    #[must_use]
    pub fn inside(&self) -> Inside {
        self.inside.clone()
    }

    /// Whether something had begun when it was taken over.
    #[must_use]
    pub fn is_in_doubt(&self) -> bool {
        !self.attempt.begun().is_empty()
    }

    /// Ends the call as a probe has found it, or says that the body runs.
    pub async fn settle<R, T: From<P>, P, E>(
        self,
        found: Result<Probe<P>, E>,
        codec: &Codec<R, T, E>,
    ) -> Opened<Self, R> {
        match found {
            Ok(Probe::Done(value)) => Opened::Done(self.complete_as_found(value.into(), codec).await),
            Ok(Probe::Absent) => self.begin_again(codec).await,
            Ok(Probe::Unknown) => {
                self.ours.let_go().await;
                Opened::Done(codec.refuse(Error::Indeterminate))
            }
            Err(error) => {
                self.ours.let_go().await;
                Opened::Done(codec.fail(error))
            }
        }
    }

    /// The result is that of an earlier attempt.
    async fn complete_as_found<R, T, E>(self, value: T, codec: &Codec<R, T, E>) -> R {
        let ended = match codec.completed(&value) {
            Ok(ending) => self.ours.complete(ending).await,
            Err(error) => {
                self.ours.let_go().await;
                Err(error)
            }
        };
        match ended {
            Ok(()) => codec.replayed(value),
            Err(error) => codec.refuse(error),
        }
    }

    /// Nothing has happened: the record says so before anything does.
    async fn begin_again<R, T, E>(mut self, codec: &Codec<R, T, E>) -> Opened<Self, R> {
        match self.attempt.forget_begun().await {
            Ok(()) => {
                // An error that the probe was given is none of the body's.
                self.inside = Inside::opening(self.attempt.idem().id());
                self.attempt = self.own_attempt();
                Opened::Run(self)
            }
            Err(error) => {
                self.ours.let_go().await;
                Opened::Done(codec.refuse(error))
            }
        }
    }

    /// Stores a result or a final error; another error frees the key, or leaves the call in doubt when something has begun.
    pub async fn finish<R, T, E>(self, out: R, codec: &Codec<R, T, E>) -> R {
        match self.ending(&out, codec) {
            Some(Ok(ending)) => {
                reached(Step::BodyReturned);
                match self.ours.complete(ending).await {
                    Ok(()) => out,
                    Err(error) => codec.refuse(error),
                }
            }
            Some(Err(error)) => {
                self.ours.let_go().await;
                codec.refuse(error)
            }
            None => {
                self.ours.let_go().await;
                out
            }
        }
    }

    /// What is stored of the body's answer. An error may be idem's own, in the clothes of the body's, when idem has made
    /// one: another call would not meet it.
    fn ending<R, T, E>(&self, out: &R, codec: &Codec<R, T, E>) -> Option<Result<Ending, Error>> {
        if codec.is_error(out) && self.inside.met_error() {
            Inside::note_error();
            return None;
        }
        codec.keep(out)
    }
}

impl<DB: SqlDialect> fmt::Debug for Leased<'_, DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leased").field("attempt", &self.attempt).finish_non_exhaustive()
    }
}
