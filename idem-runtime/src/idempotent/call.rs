use std::time::Duration;

use super::answer::Codec;
use super::{Begin, Spec};
use crate::backoff;
use crate::dialect::{Dialect, SqlDialect};
use crate::engine::{Idem, Inside, Turn};
use crate::error::Error;
use crate::fingerprint::{self, Fingerprint};
use crate::key::Key;
use crate::on::{Seat, SeatKind};
use crate::record::{self, Claim, Record, Stored};
use crate::steps::{Step, reached};
use crate::tx::Tx;

const WAIT: Duration = Duration::from_millis(record::WAIT_MS.unsigned_abs());

/// What a duplicate is told to wait that could not wait itself for as long as the call runs.
const RETRY_AFTER: Duration = Duration::from_secs(1);

const COMPLETED: i64 = 2;
const FAILED: i64 = 3;
const IN_DOUBT: i64 = 4;

/// How an idempotent call goes on.
#[derive(Debug)]
pub enum Opened<'t, DB: SqlDialect, R> {
    /// The body runs: this call has claimed the key.
    Run(Claimed<'t, DB>),
    /// An earlier call's result, or why there is none.
    Done(R),
}

/// A claim, and the transaction that holds it.
#[derive(Debug)]
pub struct Claimed<'t, DB: SqlDialect> {
    // Declared in the order in which they are dropped: the next call comes when the rollback is on its way.
    tx: Tx<'t, DB>,
    claim: Claim,
    inside: Inside,
    _turn: Option<Turn>,
}

/// Claims the key or finds what an earlier call left.
pub async fn open<'t, DB, B, R, T, E>(
    begin: B,
    spec: &'static Spec,
    key: Key,
    payload: Fingerprint,
    codec: &Codec<R, T, E>,
) -> Opened<'t, DB, R>
where
    DB: SqlDialect,
    B: Begin<DB> + 't,
{
    let Seat(seat) = begin.seat();
    let found = match claim(seat, spec, key, payload).await {
        Ok(Found::Ours(claimed)) if codec.records_errors() => claimed.marked().await.map(Found::Ours),
        found => found,
    };
    match found {
        Ok(Found::Ours(claimed)) => Opened::Run(claimed),
        Ok(Found::Answer(stored)) => Opened::Done(codec.answer(Ok(stored))),
        Err(error) => Opened::Done(codec.answer(Err(error))),
    }
}

/// What a claim came to, before any type of the user's is needed.
enum Found<'t, DB: SqlDialect> {
    Ours(Claimed<'t, DB>),
    Answer(Stored),
}

async fn claim<'t, DB: SqlDialect>(
    seat: SeatKind<'t, DB>,
    spec: &'static Spec,
    key: Key,
    payload: Fingerprint,
) -> Result<Found<'t, DB>, Error> {
    let claim = Claim {
        scope: spec.scope,
        key: key.finish()?,
        fingerprint: payload.finish()?,
        owner: uuid::Uuid::new_v4().to_string(),
    };
    match seat {
        SeatKind::Tx(root, level) => {
            let tx = root.nest(level).await?;
            try_claim(tx, &claim).await?.found(claim, None, None)
        }
        SeatKind::Idem(idem) => claim_first(idem, claim).await,
        SeatKind::Pool(_) | SeatKind::Connection(_) => {
            Err(Error::Configuration("an idempotent call begins on an engine or a transaction"))
        }
    }
}

/// In a transaction of our own what the database gives up before the body ran is tried again.
async fn claim_first<'t, DB: SqlDialect>(idem: &Idem<DB>, claim: Claim) -> Result<Found<'t, DB>, Error> {
    let mut turn = Some(idem.turn(claim.scope, &claim.key, WAIT).await?);
    let mut pauses = backoff::pauses();
    loop {
        let tx = idem.open().await?;
        let tried = try_claim(tx, &claim).await;
        match (tried, pauses.next()) {
            (Ok(Tried::Nobodys) | Err(Error::Retry(_)), Some(pause)) => tokio::time::sleep(pause).await,
            (tried, _) => return tried?.found(claim, Some(idem.id()), turn.take()),
        }
    }
}

/// How one try to claim ended.
enum Tried<'t, DB: SqlDialect> {
    Ours(Tx<'t, DB>),
    Theirs(Record),
    Nobodys,
    Waited,
}

async fn try_claim<'t, DB: SqlDialect>(mut tx: Tx<'t, DB>, claim: &Claim) -> Result<Tried<'t, DB>, Error> {
    let claimed = claim.make(tx.root()).await.map_err(Error::statement::<DB>)?;
    let tried = match claimed {
        record::Claimed::Ours => {
            reached(Step::Claimed);
            return Ok(Tried::Ours(tx));
        }
        record::Claimed::Theirs(record) => Tried::Theirs(record),
        record::Claimed::Nobodys => Tried::Nobodys,
        record::Claimed::Waited => Tried::Waited,
    };
    // Nothing was written, so that a rollback that fails changes no answer.
    let _ = tx.rollback().await;
    Ok(tried)
}

impl<'t, DB: SqlDialect> Tried<'t, DB> {
    fn found(self, claim: Claim, engine: Option<u64>, turn: Option<Turn>) -> Result<Found<'t, DB>, Error> {
        match self {
            Self::Ours(tx) => Ok(Found::Ours(Claimed { tx, claim, inside: Inside::new(engine), _turn: turn })),
            Self::Theirs(record) => record.answer(&claim, engine.is_some()).map(Found::Answer),
            Self::Nobodys | Self::Waited => Err(Error::InProgress { retry_after: RETRY_AFTER }),
        }
    }
}

impl Record {
    /// What it says to a duplicate. The fingerprint comes before anything else: nobody gets another payload's answer.
    fn answer(self, claim: &Claim, committed: bool) -> Result<Stored, Error> {
        fingerprint::compare(&self.fingerprint, &claim.fingerprint)?;
        match (self.status, self.result) {
            (COMPLETED, Some(result)) => Ok(Stored::Completed(result)),
            (FAILED, Some(error)) => Ok(Stored::Failed(error)),
            (IN_DOUBT, _) => Err(Error::Indeterminate),
            // A claim is committed together with its result, unless a statement that nobody saw committed it before: its
            // call has ended without a result, or will not know what is left of its effect.
            _ if committed => Err(Error::Indeterminate),
            _ => Err(Error::InProgress { retry_after: RETRY_AFTER }),
        }
    }
}

impl<DB: SqlDialect> Idem<DB> {
    async fn turn(&self, scope: &'static str, key: &str, wait: Duration) -> Result<Turn, Error> {
        self.check_second_writer()?;
        let turn = self.in_flight().turn(scope, key, wait).await;
        turn.ok_or(Error::InProgress { retry_after: RETRY_AFTER })
    }
}

impl<'t, DB: SqlDialect> Claimed<'t, DB> {
    /// The transaction for the body.
    pub fn tx(&mut self) -> &mut Tx<'t, DB> {
        &mut self.tx
    }

    /// What marks the body's calls as made from inside of it.
    #[must_use]
    pub fn inside(&self) -> Inside {
        self.inside.clone()
    }

    /// Where a final error goes back to.
    async fn marked(mut self) -> Result<Self, Error> {
        self.tx.mark_claim().await.map_err(Error::statement::<DB>)?;
        Ok(self)
    }

    /// Stores and commits a result or a final error; another error releases the claim.
    pub async fn finish<R, T, E>(self, out: R, codec: &Codec<R, T, E>) -> R {
        let ended = match self.stored(&out, codec) {
            Some(stored) => self.keep(stored).await,
            None => self.release().await,
        };
        match ended {
            Ok(()) => out,
            Err(error) => codec.answer(Err(error)),
        }
    }

    /// Stores and commits as [`finish`](Self::finish) does, or claims the key once more for a body that runs again.
    pub async fn finish_or_rerun<R, T, E>(self, out: R, codec: &Codec<R, T, E>) -> Opened<'t, DB, R> {
        Opened::Done(self.finish(out, codec).await)
    }

    /// What is stored of the body's answer. An error may be idem's own, in the clothes of the body's, when idem has made
    /// one: another call would not meet it.
    fn stored<R, T, E>(&self, out: &R, codec: &Codec<R, T, E>) -> Option<Result<Stored, Error>> {
        if codec.is_error(out) && self.inside.met_error() {
            Inside::note_error();
            return None;
        }
        codec.keep(out)
    }

    /// The error of the body is the answer; a rollback that fails leaves nothing either.
    async fn release(mut self) -> Result<(), Error> {
        let was_given_up = self.tx.was_given_up();
        let _ = self.tx.rollback().await;
        if was_given_up { Err(Error::given_up()) } else { Ok(()) }
    }

    async fn keep(mut self, stored: Result<Stored, Error>) -> Result<(), Error> {
        reached(Step::BodyReturned);
        let stored = match stored {
            Ok(stored) => stored.fit(self.tx.root()).await.map(|()| stored),
            Err(error) => Err(error),
        };
        match stored {
            Ok(Stored::Failed(error)) => self.fail(Stored::Failed(error)).await,
            Ok(result) => self.complete(&result).await,
            Err(error) => {
                let _ = self.tx.rollback().await;
                Err(error)
            }
        }
    }

    /// Nothing stays of a body that has failed for good but its error.
    async fn fail(mut self, error: Stored) -> Result<(), Error> {
        if self.tx.was_given_up() {
            return Err(Error::given_up());
        }
        if let Err(lost) = self.tx.undo_to_claim().await {
            return Err(self.in_doubt(Error::statement::<DB>(lost)).await);
        }
        self.complete(&error).await
    }

    async fn complete(mut self, answer: &Stored) -> Result<(), Error> {
        match self.claim.complete(answer, self.tx.root()).await {
            Err(Error::Indeterminate) => return Err(self.in_doubt(Error::Indeterminate).await),
            completed => completed?,
        }
        reached(Step::Completed);
        if let Err(error) = self.tx.seal().await {
            return Err(self.in_doubt(Error::statement::<DB>(error)).await);
        }
        let outermost = self.tx.level() == 0;
        self.tx.end().await?;
        if outermost {
            reached(Step::Committed);
        }
        Ok(())
    }

    /// A statement that nobody saw may have committed the claim, or undone it, and part of the effect may stay: then
    /// somebody has to look.
    async fn in_doubt(mut self, error: Error) -> Error {
        let claim = &self.claim;
        let Some(lent) = self.tx.unseen_end() else { return error };
        // In a transaction that is still there, the mark is rolled back with everything else.
        if claim.doubt(lent).await.is_err() {
            return error;
        }
        if DB::DIALECT == Dialect::Sqlite {
            // Asking whether the transaction is there may have opened another one, which holds the mark.
            let _ = self.tx.end().await;
        }
        Error::Indeterminate
    }
}
