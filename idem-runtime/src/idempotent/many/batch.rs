use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;

use crate::backoff;
use crate::dialect::SqlDialect;
use crate::engine::{Arrival, Arrived, Gated, Idem, Inside};
use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::idempotent::answer::{Codec, Once};
use crate::idempotent::call::{in_progress, new_owner};
use crate::idempotent::{Spec, end};
use crate::key::Key;
use crate::on::SeatKind;
use crate::record::{self, Claim, Ending, Record};
use crate::steps::{Step, reached};
use crate::tx::Tx;

/// Many calls on their way.
pub(super) struct Batch {
    /// Each call, in the caller's order, or why it cannot be one.
    calls: Vec<Result<Claim, Error>>,
    /// For each key, in the order of the keys, the first call that has it.
    firsts: Vec<usize>,
    /// What became of each key.
    found: Vec<Found>,
    /// The calls that are to run, as places in the caller's list and in its order.
    pub(super) new: Vec<usize>,
    spec: Spec,
}

/// What became of one key of a batch.
enum Found {
    /// It is not claimed yet, and it is our turn if there are turns.
    Open(Option<Arrival>),
    /// We have claimed it. Who waits hears from the arrival how it ends.
    Ours(Option<Arrival>),
    /// The record is stored, of an earlier call or by now ours.
    Record { record: Arc<Record>, committed: bool },
    /// Another call of this process runs, for as long as that by now.
    InProgress(Duration),
}

impl Found {
    const fn is_open(&self) -> bool {
        matches!(self, Self::Open(_))
    }

    /// One whose turn it is goes through the gate.
    async fn pass(&mut self, gated: &Gated, claim: &Claim) {
        if let Self::Open(arrival) = self
            && let Some(arrival) = arrival.take()
        {
            *self = arrival.pass(gated, claim).await.into();
        }
    }
}

impl From<Arrived> for Found {
    fn from(arrived: Arrived) -> Self {
        match arrived {
            Arrived::Turn(arrival) => Self::Open(Some(arrival)),
            Arrived::Ended(record) => Self::Record { record, committed: true },
            Arrived::Waited(time) => Self::InProgress(time),
        }
    }
}

/// How many calls of a batch ask the gate at once.
const ABREAST: usize = 64;

impl Batch {
    pub(super) fn new(spec: Spec, calls: Vec<(Key, Fingerprint)>) -> Self {
        let owner = new_owner();
        let claim = |(key, payload): (Key, Fingerprint)| {
            Ok(Claim { spec, key: key.finish()?, fingerprint: payload.finish()?, owner: owner.clone() })
        };
        let calls: Vec<_> = calls.into_iter().map(claim).collect();
        let mut firsts: Vec<_> = (0..calls.len()).filter(|call| calls[*call].is_ok()).collect();
        firsts.sort_by_key(|call| calls[*call].as_ref().ok().map(|claim| &claim.key));
        firsts.dedup_by_key(|call| calls[*call].as_ref().ok().map(|claim| &claim.key));
        Self { found: firsts.iter().map(|_| Found::Open(None)).collect(), new: Vec::new(), calls, firsts, spec }
    }

    /// The claims of the keys that are as `wanted`, in the order of the keys.
    fn claims(&self, wanted: impl Fn(&Found) -> bool) -> Vec<&Claim> {
        let keys = self.firsts.iter().zip(&self.found).filter(|(_, found)| wanted(found));
        keys.filter_map(|(call, _)| self.calls[*call].as_ref().ok()).collect()
    }

    /// Claims what nobody has claimed. None when there is nothing to run.
    pub(super) async fn claim<'t, DB: SqlDialect>(
        &mut self,
        seat: SeatKind<'t, DB>,
    ) -> Result<Option<(Tx<'t, DB>, Inside)>, Error> {
        let (tx, engine) = match seat {
            SeatKind::Tx(root, level) => {
                let tx = root.nest(level).await?;
                (self.try_claim(tx, Instant::now() + self.spec.wait, false).await?, None)
            }
            SeatKind::Idem(idem) => (self.claim_in_turn(idem).await?, Some(idem.id())),
            SeatKind::Pool(_) | SeatKind::Connection(_) => {
                return Err(Error::Configuration("idempotent calls begin on an engine or a transaction"));
            }
        };
        Ok(tx.map(|tx| (tx, Inside::new(engine))))
    }

    async fn claim_in_turn<DB: SqlDialect>(&mut self, idem: &Idem<DB>) -> Result<Option<Tx<'static, DB>>, Error> {
        idem.check_second_writer()?;
        let until = Instant::now() + self.spec.wait;
        self.take_turns(idem, until).await;
        self.pass_gate(idem).await;
        if self.is_said_to_have_ended() {
            self.look(idem).await?;
        }
        let mut pauses = backoff::pauses();
        loop {
            if !self.found.iter().any(Found::is_open) {
                return Ok(None);
            }
            match (self.try_claim(idem.open().await?, until, true).await, pauses.next()) {
                (Err(Error::Retry(_)), Some(pause)) => tokio::time::sleep(pause).await,
                (tried, _) => return tried,
            }
        }
    }

    /// In the order of the keys, so that two batches do not wait for one another.
    async fn take_turns<DB: SqlDialect>(&mut self, idem: &Idem<DB>, until: Instant) {
        for (call, found) in self.firsts.iter().zip(&mut self.found) {
            let Ok(claim) = &self.calls[*call] else { continue };
            let wait = until.saturating_duration_since(Instant::now());
            *found = idem.take_turn(claim, wait).await.into();
        }
    }

    async fn pass_gate<DB: SqlDialect>(&mut self, idem: &Idem<DB>) {
        let mut passing = Vec::new();
        for (call, found) in self.firsts.iter().zip(&mut self.found) {
            if let Ok(claim) = &self.calls[*call] {
                passing.push(found.pass(idem.gated(), claim));
            }
        }
        let mut passing = passing.into_iter();
        while passing.len() > 0 {
            join_all(passing.by_ref().take(ABREAST)).await;
        }
    }

    /// Whether each call that is open is said to have ended: then one look may answer all of them.
    fn is_said_to_have_ended(&self) -> bool {
        self.found.iter().all(|found| match found {
            Found::Open(arrival) => arrival.as_ref().is_some_and(Arrival::says_ended),
            _ => true,
        })
    }

    async fn look<DB: SqlDialect>(&mut self, idem: &Idem<DB>) -> Result<(), Error> {
        let open = self.claims(Found::is_open);
        if !open.is_empty() {
            let mut lent = idem.acquire().await?;
            let found = record::look_all(&open, &mut lent).await.map_err(Error::statement::<DB>)?;
            self.note(found, true);
        }
        Ok(())
    }

    /// Claims in the transaction; gives it back if there is something to run.
    async fn try_claim<'t, DB: SqlDialect>(
        &mut self,
        mut tx: Tx<'t, DB>,
        until: Instant,
        committed: bool,
    ) -> Result<Option<Tx<'t, DB>>, Error> {
        let open = self.claims(Found::is_open);
        let wait = until.saturating_duration_since(Instant::now());
        let claimed = record::claim_all(&open, wait, tx.root()).await.map_err(Error::statement::<DB>)?;
        let Some(claimed) = claimed else {
            let _ = tx.rollback().await;
            return Err(in_progress(self.spec.wait));
        };
        if claimed.iter().any(|it| matches!(it, record::Claimed::Nobodys | record::Claimed::Waited)) {
            let _ = tx.rollback().await;
            // Its rival was rolled back: what is claimed already has to come after it in the order of the keys.
            return Err(Error::given_up());
        }
        reached(Step::Claimed);
        let is_something_ours = claimed.iter().any(|it| matches!(it, record::Claimed::Ours));
        self.note(claimed, committed);
        if is_something_ours {
            return Ok(Some(tx));
        }
        // Nothing was written, so that a rollback that fails changes no answer.
        let _ = tx.rollback().await;
        Ok(None)
    }

    /// Learns what became of the keys that were open, and tells those that have joined them.
    fn note(&mut self, claimed: Vec<record::Claimed>, committed: bool) {
        let keys = self.firsts.iter().zip(&mut self.found);
        let open = keys.filter(|(_, found)| found.is_open());
        for ((call, found), claimed) in open.zip(claimed) {
            let (Found::Open(arrival), Ok(claim)) = (&mut *found, &self.calls[*call]) else { continue };
            let arrival = arrival.take();
            *found = match claimed {
                record::Claimed::Ours => {
                    self.new.push(*call);
                    Found::Ours(arrival)
                }
                record::Claimed::Theirs(record) => {
                    let record = Arc::new(record);
                    if let Some(arrival) = arrival {
                        arrival.found(claim, &record);
                    }
                    Found::Record { record, committed }
                }
                record::Claimed::Nobodys | record::Claimed::Waited => {
                    arrival.iter().for_each(Arrival::note_false_hint);
                    Found::Open(arrival)
                }
            };
        }
        self.new.sort_unstable();
    }

    /// Stores the results of the new calls, and commits.
    pub(super) async fn complete<DB: SqlDialect, R, T, E>(
        &mut self,
        mut tx: Tx<'_, DB>,
        results: &[T],
        codec: &Codec<R, T, E>,
    ) -> Result<(), Error> {
        reached(Step::BodyReturned);
        let claims = self.claims(|found| matches!(found, Found::Ours(_)));
        let fit = match self.endings(results, codec) {
            Ok(endings) => record::fit_all(&claims, &endings, tx.root()).await.map(|()| endings),
            Err(error) => Err(error),
        };
        match fit {
            Ok(endings) => {
                let stored = record::end_all(&claims, &endings, tx.root()).await;
                end::commit(tx, &claims, stored).await?;
                self.tell(endings);
                Ok(())
            }
            Err(error) => {
                let _ = tx.rollback().await;
                Err(error)
            }
        }
    }

    /// What is stored, in the order of the keys.
    fn endings<R, T, E>(&self, results: &[T], codec: &Codec<R, T, E>) -> Result<Vec<Ending>, Error> {
        if self.new.len() != results.len() {
            return Err(Error::Configuration("a body has given more or fewer results than there were new calls"));
        }
        let results: HashMap<_, _> = self.new.iter().zip(results).collect();
        self.firsts.iter().filter_map(|call| results.get(call)).map(|result| codec.completed(result)).collect()
    }

    /// Tells whoever has to hear of it, and remembers for the duplicates in the batch itself.
    fn tell(&mut self, endings: Vec<Ending>) {
        let ours = self.firsts.iter().zip(&mut self.found).filter(|(_, found)| matches!(found, Found::Ours(_)));
        for ((call, found), ending) in ours.zip(endings) {
            let (Found::Ours(arrival), Ok(claim)) = (&mut *found, &self.calls[*call]) else { continue };
            let record = Arc::new(ending.recorded(claim.fingerprint.clone()));
            if let Some(arrival) = arrival.take() {
                arrival.ended(claim, &record);
            }
            *found = Found::Record { record, committed: true };
        }
    }

    /// The answer to every call.
    pub(super) fn answers<R, T, E>(self, results: Vec<T>, codec: &Codec<R, T, E>) -> Vec<Result<Once<T>, Error>> {
        let keys = self.claims(|_| true).into_iter().map(|claim| claim.key.clone());
        let found: HashMap<_, _> = keys.zip(&self.found).collect();
        let mut results: HashMap<_, _> = self.new.into_iter().zip(results).collect();
        let answers = self.calls.into_iter().enumerate().map(|(call, claim)| {
            let claim = claim?;
            match (results.remove(&call), found.get(&claim.key)) {
                (Some(result), _) => Ok(Once::from(result)),
                (None, Some(Found::Record { record, committed })) => {
                    let stored = record.answer_to(&claim, *committed)?;
                    codec.restore_result(record.status, stored).map(Once::replayed)
                }
                (None, Some(Found::InProgress(time))) => Err(in_progress(*time)),
                // A key that is left open, or is ours and without a result, is one of a batch that has failed as a whole.
                (None, _) => Err(Error::given_up()),
            }
        });
        answers.map(|answer| answer.inspect_err(|_| Inside::note_error())).collect()
    }
}
