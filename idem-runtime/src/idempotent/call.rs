use std::sync::Arc;
use std::time::{Duration, Instant};

use super::answer::Codec;
use super::{Begin, Spec, end};
use crate::backoff;
use crate::dialect::SqlDialect;
use crate::engine::{Arrival, Arrived, Idem, Inside};
use crate::error::Error;
use crate::fingerprint::{self, Fingerprint};
use crate::key::Key;
use crate::on::{Seat, SeatKind};
use crate::record::{self, Claim, Ending, Record, Status, Stored};
use crate::steps::{Step, reached};
use crate::tx::Tx;

/// The least that a duplicate is told to wait which could not wait itself for as long as the call runs.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// How an idempotent call goes on.
#[derive(Debug)]
pub enum Opened<C, R> {
    /// The body runs: this call has claimed the key.
    Run(C),
    /// An earlier call's result, or why there is none.
    Done(R),
}

/// A claim, and the transaction that holds it.
#[derive(Debug)]
pub struct Claimed<'t, DB: SqlDialect> {
    // Declared in the order in which they are dropped: the next call comes when the rollback is on its way.
    tx: Tx<'t, DB>,
    claim: Box<Claim>,
    inside: Inside,
    own: Option<Own<'t, DB>>,
}

/// What a call has whose transaction is its own.
#[derive(Debug)]
struct Own<'t, DB: SqlDialect> {
    idem: &'t Idem<DB>,
    arrival: Arrival,
}

/// Claims the key or finds what an earlier call left.
pub async fn open<'t, DB, B, R, T, E>(
    begin: B,
    spec: &Spec,
    key: Key,
    payload: Fingerprint,
    codec: &Codec<R, T, E>,
) -> Opened<Claimed<'t, DB>, R>
where
    DB: SqlDialect,
    B: Begin<DB> + 't,
{
    let Seat(seat) = begin.seat();
    let found = claim(seat, *spec, key, payload).await;
    opened(found, codec).await
}

async fn opened<'t, DB: SqlDialect, R, T, E>(
    found: Result<Found<'t, DB>, Error>,
    codec: &Codec<R, T, E>,
) -> Opened<Claimed<'t, DB>, R> {
    let found = match found {
        Ok(Found::Ours(claimed)) if codec.records_errors() => claimed.marked().await.map(Found::Ours),
        found => found,
    };
    match found {
        Ok(Found::Ours(claimed)) => Opened::Run(claimed),
        Ok(Found::Theirs(theirs)) => Opened::Done(theirs.answer(codec)),
        Err(error) => Opened::Done(codec.refuse(error)),
    }
}

/// What a claim came to, before any type of the user's is needed.
enum Found<'t, DB: SqlDialect> {
    Ours(Claimed<'t, DB>),
    Theirs(Theirs),
}

/// The record of another call, and what we would have claimed.
pub(super) struct Theirs {
    pub(super) record: Arc<Record>,
    pub(super) claim: Claim,
    /// Whether it is known to be committed.
    pub(super) committed: bool,
}

async fn claim<DB: SqlDialect>(
    seat: SeatKind<'_, DB>,
    spec: Spec,
    key: Key,
    payload: Fingerprint,
) -> Result<Found<'_, DB>, Error> {
    let claim = Claim::new(spec, key, payload)?;
    match seat {
        SeatKind::Tx(root, level) => {
            let tx = root.nest(level).await?;
            try_claim(tx, &claim, spec.wait).await?.found(claim, None)
        }
        SeatKind::Idem(idem) => claim_first(idem, claim).await,
        SeatKind::Pool(_) | SeatKind::Connection(_) => {
            Err(Error::Configuration("an idempotent call begins on an engine or a transaction"))
        }
    }
}

impl Claim {
    pub(super) fn new(spec: Spec, key: Key, payload: Fingerprint) -> Result<Self, Error> {
        Ok(Self { spec, key: key.finish()?, fingerprint: payload.finish()?, owner: new_owner() })
    }
}

pub(crate) fn new_owner() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// In a transaction of our own, after a call of this process that runs has ended without an answer.
async fn claim_first<DB: SqlDialect>(idem: &Idem<DB>, claim: Claim) -> Result<Found<'_, DB>, Error> {
    idem.check_second_writer()?;
    let until = Instant::now() + claim.spec.wait;
    let arrival = match idem.arrive(&claim, claim.spec.wait).await {
        Arrived::Turn(arrival) => arrival,
        Arrived::Ended(record) => return Ok(Found::Theirs(Theirs { record, claim, committed: true })),
        Arrived::Waited(time) => return Err(in_progress(time)),
    };
    if claim.spec.reads_first || arrival.says_ended() {
        match look(idem, &claim).await? {
            Some(record) => return Tried::Theirs(record).found(claim, Some(Own { idem, arrival })),
            None => arrival.note_false_hint(),
        }
    }
    claim_in_turn(Own { idem, arrival }, claim, until).await
}

/// What the database gives up before the body ran is tried again.
async fn claim_in_turn<DB: SqlDialect>(own: Own<'_, DB>, claim: Claim, until: Instant) -> Result<Found<'_, DB>, Error> {
    let mut pauses = backoff::pauses();
    loop {
        let tx = own.idem.open().await?;
        let tried = try_claim(tx, &claim, until.saturating_duration_since(Instant::now())).await;
        match (tried, pauses.next()) {
            (Ok(Tried::Nobodys) | Err(Error::Retry(_)), Some(pause)) => tokio::time::sleep(pause).await,
            (tried, _) => return tried?.found(claim, Some(own)),
        }
    }
}

async fn look<DB: SqlDialect>(idem: &Idem<DB>, claim: &Claim) -> Result<Option<Record>, Error> {
    let mut lent = idem.acquire().await?;
    Record::look(claim.spec.scope, &claim.key, &mut lent).await.map_err(Error::statement::<DB>)
}

/// How one try to claim ended.
enum Tried<'t, DB: SqlDialect> {
    Ours(Tx<'t, DB>),
    Theirs(Record),
    Nobodys,
    Waited,
}

async fn try_claim<'t, DB: SqlDialect>(
    mut tx: Tx<'t, DB>,
    claim: &Claim,
    wait: Duration,
) -> Result<Tried<'t, DB>, Error> {
    let claimed = claim.make(wait, tx.root()).await.map_err(Error::statement::<DB>)?;
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
    fn found(self, claim: Claim, own: Option<Own<'t, DB>>) -> Result<Found<'t, DB>, Error> {
        match self {
            Self::Ours(tx) => {
                let inside = Inside::new(own.as_ref().map(|own| own.idem.id()));
                Ok(Found::Ours(Claimed { tx, claim: Box::new(claim), inside, own }))
            }
            Self::Theirs(record) => {
                let (record, committed) = (Arc::new(record), own.is_some());
                if let Some(own) = own {
                    own.arrival.found(&claim, &record);
                }
                Ok(Found::Theirs(Theirs { record, claim, committed }))
            }
            Self::Nobodys | Self::Waited => Err(in_progress(claim.spec.wait)),
        }
    }
}

/// Nobody knows when a call ends that runs. What has run for a while is likely to run for as long again.
pub(super) fn in_progress(seen_running: Duration) -> Error {
    Error::InProgress { retry_after: seen_running.max(RETRY_AFTER) }
}

impl Theirs {
    pub(super) fn answer<R, T, E>(&self, codec: &Codec<R, T, E>) -> R {
        match self.record.answer_to(&self.claim, self.committed) {
            Ok(stored) => codec.replay(self.record.status, stored),
            Err(error) => codec.refuse(error),
        }
    }
}

impl Record {
    /// What it says to a duplicate. The fingerprint comes before anything else: nobody gets another payload's answer.
    pub(super) fn answer_to(&self, claim: &Claim, committed: bool) -> Result<&Stored, Error> {
        fingerprint::compare(&self.fingerprint, &claim.fingerprint)?;
        match (self.status, &self.answer) {
            (Status::Completed | Status::Failed, Some(stored)) if !self.is_gone => Ok(stored),
            (Status::Completed | Status::Failed, _) => Err(Error::Gone),
            // A claim is committed together with its result, unless it has a lease or a statement that nobody saw committed it
            // before: its call has ended without a result, or will not know what is left of its effect.
            (Status::InProgress | Status::InDoubt, _) if self.is_leased => Err(in_progress(claim.spec.wait)),
            (Status::InProgress, _) if !committed => Err(in_progress(claim.spec.wait)),
            (Status::InProgress | Status::InDoubt, _) => Err(Error::Indeterminate),
        }
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

    /// Takes the transaction out.
    pub(super) fn part(self) -> (Tx<'t, DB>, WithoutTx<'t, DB>) {
        let Self { tx, claim, inside, own } = self;
        (tx, WithoutTx { claim, inside, own })
    }

    /// Where a final error goes back to.
    async fn marked(mut self) -> Result<Self, Error> {
        self.tx.mark_claim().await.map_err(Error::statement::<DB>)?;
        Ok(self)
    }

    /// Stores and commits a result or a final error; another error releases the claim.
    pub async fn finish<R, T, E>(self, out: R, codec: &Codec<R, T, E>) -> R {
        let ending = self.ending(&out, codec);
        match self.end(ending).await {
            Ok(()) => out,
            Err(unended) => codec.refuse(unended.error),
        }
    }

    /// Stores and commits as [`finish`](Self::finish) does, or claims the key once more for a body that runs again.
    pub async fn finish_or_rerun<R, T, E>(self, out: R, codec: &Codec<R, T, E>) -> Opened<Claimed<'t, DB>, R> {
        let ending = self.ending(&out, codec);
        match self.end(ending).await {
            Ok(()) => Opened::Done(out),
            Err(Unended { error: Error::Retry(_), claim, own: Some(own) }) if claim.spec.reruns > 0 => {
                opened(claim_again(own, claim).await, codec).await
            }
            Err(unended) => Opened::Done(codec.refuse(unended.error)),
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

    async fn end(self, ending: Option<Result<Ending, Error>>) -> Result<(), Unended<'t, DB>> {
        let Self { tx, claim, own, .. } = self;
        match end::end(tx, &claim, ending).await {
            Ok(ended) => {
                if let (Some(ending), Some(own)) = (ended, own) {
                    own.arrival.ended(&claim, &Arc::new(ending.recorded(claim.fingerprint.clone())));
                }
                Ok(())
            }
            Err(error) => Err(Unended { error, claim, own }),
        }
    }
}

/// A claim whose transaction is lent to its body.
pub(super) struct WithoutTx<'t, DB: SqlDialect> {
    claim: Box<Claim>,
    inside: Inside,
    own: Option<Own<'t, DB>>,
}

impl<'t, DB: SqlDialect> WithoutTx<'t, DB> {
    pub(super) fn with(self, tx: Tx<'t, DB>) -> Claimed<'t, DB> {
        let Self { claim, inside, own } = self;
        Claimed { tx, claim, inside, own }
    }
}

/// A call that did not end as its body did, and all that it takes to claim its key again.
struct Unended<'t, DB: SqlDialect> {
    error: Error,
    claim: Box<Claim>,
    own: Option<Own<'t, DB>>,
}

async fn claim_again<DB: SqlDialect>(own: Own<'_, DB>, mut claim: Box<Claim>) -> Result<Found<'_, DB>, Error> {
    claim.spec.reruns -= 1;
    claim.owner = new_owner();
    if let Some(pause) = backoff::pauses().next() {
        tokio::time::sleep(pause).await;
    }
    let until = Instant::now() + claim.spec.wait;
    claim_in_turn(own, *claim, until).await
}
