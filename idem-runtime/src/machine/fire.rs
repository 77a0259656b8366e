use std::marker::PhantomData;

use futures_core::future::BoxFuture;
use serde::Serialize;

use super::answer::{Decision, Outcome, Question, Reading};
use super::hidden::unexplained;
use super::note::{CheckedNote, Note};
use super::row::Row;
use super::statement::{Bind, Statement};
use super::{EventOf, Fields, HasActor, HasHistory, HasMetadata, HasVersion, MachineOn, State, StateMachine};
use crate::backoff;
use crate::dialect::{BoxDynError, Class, PerDialect, SqlDialect};
use crate::error::{Error, TransitionError};
use crate::fingerprint::Fingerprint;
use crate::key::{self, KeyPart};
use crate::on::{On, Seat, SeatKind};
use crate::steps::{Step, reached};
use crate::tx::{Answer, Refused};

mod borrowed;
pub(super) mod bulk;
pub(super) mod line;

use line::{Line, Plan, Query};

/// How often a row that changes under us is looked at again before the call gives up with a retryable error.
const LOOKS: usize = 8;

/// An event on its way to a row. Nothing happens until [`run`](Self::run) is awaited.
///
/// `P` is [`Pinned`] when a late duplicate cannot apply again, and [`Unpinned`] until then.
#[must_use = "a transition does nothing until `.run(..)` is awaited"]
#[derive(Debug)]
pub struct Fire<M: StateMachine, E, P = Pinned> {
    id: M::Id,
    event: E,
    expected: Option<i64>,
    cause: Option<Result<String, Error>>,
    note: Note,
    pinned: PhantomData<fn() -> P>,
}

/// A [`Fire`] that a late duplicate cannot apply again: the machine never comes back to a state that accepts the event,
/// or the call has a cause or a version, or says that it wants neither.
#[derive(Debug)]
pub enum Pinned {}

/// A [`Fire`] of an event whose target can lead back to one of its sources.
#[derive(Debug)]
pub enum Unpinned {}

/// A call that may run.
#[diagnostic::on_unimplemented(
    message = "event `{E}` could move one row of `{M}` twice",
    label = "a late duplicate would apply again",
    note = "its target can lead back to one of its sources: give it `.cause(..)` or `.expect_version(..)`, or say `.any_version()`"
)]
pub trait AppliesOnce<M, E> {}
#[diagnostic::do_not_recommend]
impl<M, E> AppliesOnce<M, E> for Pinned {}

impl<M: StateMachine, E> From<Fire<M, E, Unpinned>> for Fire<M, E> {
    fn from(fire: Fire<M, E, Unpinned>) -> Self {
        fire.pin()
    }
}

impl<M: StateMachine, E, P> Fire<M, E, P> {
    pub(super) fn new(id: M::Id, event: E, expected: Option<i64>) -> Self {
        Self { id, event, expected, cause: None, note: Note::default(), pinned: PhantomData }
    }

    fn pin(self) -> Fire<M, E> {
        let Self { id, event, expected, cause, note, .. } = self;
        Fire { id, event, expected, cause, note, pinned: PhantomData }
    }
}

impl<M: StateMachine, E: EventOf<M>, P> Fire<M, E, P> {
    /// Names what in the world moves the row: the same on every path that can report it, such as the channel's trade
    /// number; never a message's own identifier.
    pub fn cause<C: KeyPart + ?Sized>(mut self, cause: &C) -> Fire<M, E>
    where
        M: HasHistory,
    {
        self.cause = Some(key::cause(cause));
        self.pin()
    }

    /// Says in the history's entry who asked for it, at most 255 characters. It is no part of what tells one call from
    /// another: the same cause by another actor is `Replayed`, and the entry names the first one.
    pub fn actor(mut self, actor: impl Into<String>) -> Self
    where
        M: HasActor,
    {
        self.note.set_actor(actor.into());
        self
    }

    /// Keeps a value, as JSON, in the history's entry. As with the actor, the first call's is kept.
    pub fn metadata<T: Serialize + ?Sized>(mut self, metadata: &T) -> Self
    where
        M: HasMetadata,
    {
        self.note.set_metadata(metadata);
        self
    }

    /// Moves the row only if it is still at this version.
    pub fn expect_version(mut self, version: i64) -> Fire<M, E>
    where
        M: HasVersion,
    {
        self.expected = Some(version);
        self.pin()
    }

    /// Moves the row at whatever version it is, though a late duplicate of this call would move it again.
    pub fn any_version(self) -> Fire<M, E> {
        self.pin()
    }

    /// Moves the row, or tells why it stays.
    ///
    /// On `&mut *tx` the row moves with that transaction; on `&idem` or `&pool` by itself, committed before the call
    /// returns. A row and its history's entry are written together or not at all. It also runs on a plain connection and
    /// in sqlx's own transaction: [`On`] says what then does not hold.
    ///
    /// # Errors
    ///
    /// In this order, on one consistent reading: [`Mismatch`](TransitionError::Mismatch) when the history holds the
    /// cause with other values, [`NotFound`](TransitionError::NotFound),
    /// [`UnknownState`](TransitionError::UnknownState), [`Stale`](TransitionError::Stale),
    /// [`OtherCause`](TransitionError::OtherCause), [`Illegal`](TransitionError::Illegal),
    /// [`UniqueWhile`](TransitionError::UniqueWhile); and at any time [`Retry`](TransitionError::Retry), [`UnknownCommit`](TransitionError::UnknownCommit) and
    /// [`Database`](TransitionError::Database).
    pub fn run<'c, C>(self, on: C) -> BoxFuture<'c, Result<Outcome<M, E::Target>, TransitionError>>
    where
        C: On + 'c,
        M: MachineOn<C::DB>,
        E: Fields<C::DB>,
        P: AppliesOnce<M, E>,
    {
        let seat = on.seat();
        let fire = self.pin();
        Box::pin(async move { Shot::new(fire)?.run(seat).await })
    }
}

/// A [`Fire`] whose values were found to be good.
struct Shot<M: StateMachine, E> {
    id: M::Id,
    event: E,
    cause: Option<String>,
    note: CheckedNote,
    asked: Question,
}

/// What one try did.
enum Try {
    Applied(i64),
    Missed(Reading),
    /// The entry met another one; nothing was kept of the try.
    Collided(sqlx::Error, Reading),
}

impl<M: StateMachine, E: EventOf<M>> Shot<M, E> {
    fn new(fire: Fire<M, E>) -> Result<Self, TransitionError> {
        let (cause, note) = (fire.cause.transpose()?, fire.note.check()?);
        let fingerprint = fire.event.fingerprint().map(Fingerprint::finish).transpose()?;
        let has_history = M::SQL.history.is_some();
        let asked = Question { expected: fire.expected, has_cause: cause.is_some(), fingerprint, has_history };
        Ok(Self { id: fire.id, event: fire.event, cause, note, asked })
    }

    async fn run<DB>(self, Seat(mut seat): Seat<'_, DB>) -> Result<Outcome<M, E::Target>, TransitionError>
    where
        DB: SqlDialect,
        M: MachineOn<DB>,
        E: Fields<DB>,
    {
        let mut pauses = backoff::pauses();
        loop {
            let outcome = self.once(seat.again()).await;
            let Some(pause) = seat.pause_after(&outcome, &mut pauses) else { return outcome };
            tokio::time::sleep(pause).await;
        }
    }

    async fn once<DB>(&self, seat: SeatKind<'_, DB>) -> Result<Outcome<M, E::Target>, TransitionError>
    where
        DB: SqlDialect,
        M: MachineOn<DB>,
        E: Fields<DB>,
    {
        self.on_line(Line::open(seat, Plan::of::<M, E, DB>()).await?).await
    }

    async fn on_line<DB>(&self, mut line: Line<'_, DB>) -> Result<Outcome<M, E::Target>, TransitionError>
    where
        DB: SqlDialect,
        M: MachineOn<DB>,
        E: Fields<DB>,
    {
        let mut outcome = self.settle(&mut line).await;
        if matches!(outcome, Err(TransitionError::Retry(_))) && line.renew().await {
            outcome = self.settle(&mut line).await;
        }
        let applied = matches!(outcome, Ok(Outcome::Applied(_)));
        match line.close(applied).await {
            Err(error) if applied => Err(error.into()),
            _ => outcome,
        }
    }

    /// Tries until the row has moved or the answer is known.
    async fn settle<DB>(&self, line: &mut Line<'_, DB>) -> Result<Outcome<M, E::Target>, TransitionError>
    where
        DB: SqlDialect,
        M: MachineOn<DB>,
        E: Fields<DB>,
    {
        let mut collision = None;
        for _ in 0..LOOKS {
            let (reading, collided) = match self.attempt(line).await? {
                Try::Applied(version) => {
                    return Ok(Outcome::Applied(Row::new(self.id.clone(), E::Target::STATE, version)));
                }
                Try::Missed(reading) => (reading, None),
                Try::Collided(error, reading) => (reading, Some(error)),
            };
            match (self.judge(reading, line).await?, collided) {
                (Some(outcome), _) => return Ok(outcome),
                (None, Some(error)) => {
                    self.check_unique_while(line).await?;
                    // Not the cause's entry then, but one that should not be there, such as one of this version.
                    if E::SQL.blocked.is_none() {
                        return Err(unexplained::<M, DB>(error, line).await);
                    }
                    collision = Some(error);
                }
                (None, None) => {}
            }
        }
        match collision {
            Some(error) => Err(unexplained::<M, DB>(error, line).await),
            None => Err(TransitionError::Retry(sqlx::Error::Protocol("the row changed at every look".to_owned()))),
        }
    }

    /// After a collision: fails when another row keeps this one out of the target.
    async fn check_unique_while<DB>(&self, line: &mut Line<'_, DB>) -> Result<(), TransitionError>
    where
        DB: SqlDialect,
        M: MachineOn<DB>,
        E: Fields<DB>,
    {
        let Some(blocked) = &E::SQL.blocked else { return Ok(()) };
        let blocked = self.query(blocked.of(DB::DIALECT))?;
        let answer = line.go_on(blocked).await.map_err(Error::statement::<DB>)?;
        let rule = answer.row.as_ref().map_or(Ok(None), |row| DB::text(row, "rule"));
        let rule = rule.map_err(TransitionError::Database)?;
        let names = M::SQL.unique_while.map_or(&[][..], |rules| rules.names);
        match names.iter().copied().find(|name| rule.as_deref() == Some(*name)) {
            Some(rule) => Err(TransitionError::UniqueWhile { machine: M::NAME, event: E::NAME, rule }),
            None => Ok(()),
        }
    }

    /// The answer that a reading gives; none when the row accepts the event now.
    async fn judge<DB>(
        &self,
        reading: Reading,
        line: &mut Line<'_, DB>,
    ) -> Result<Option<Outcome<M, E::Target>>, TransitionError>
    where
        DB: SqlDialect,
        M: MachineOn<DB>,
        E: Fields<DB>,
    {
        let decision = match reading.decide::<M, E>(&self.asked) {
            Decision::Unread => self.explain(line).await?.decide::<M, E>(&self.asked),
            decision => decision,
        };
        let row = |state, version| Row::new(self.id.clone(), state, version);
        match decision {
            Decision::Replayed(state, version) => Ok(Some(Outcome::Replayed(row(state, version)))),
            Decision::Already(state, version) => Ok(Some(Outcome::Already(row(state, version)))),
            Decision::Refused(error) => Err(error),
            Decision::Raced | Decision::Unread => Ok(None),
        }
    }

    async fn attempt<DB>(&self, line: &mut Line<'_, DB>) -> Result<Try, TransitionError>
    where
        DB: SqlDialect,
        M: MachineOn<DB>,
        E: Fields<DB>,
    {
        match self.statement(E::SQL.enter.of(DB::DIALECT), E::SQL.enter_at.of(DB::DIALECT)) {
            Some(enter) => self.enter_and_move(enter, line).await,
            None => self.move_row(line).await,
        }
    }

    fn statement<'s, S>(&self, any_version: &'s S, at_version: &'s S) -> &'s S {
        if self.asked.expected.is_some() { at_version } else { any_version }
    }

    /// The compare-and-swap alone; on PostgreSQL the history is part of it.
    async fn move_row<DB>(&self, line: &mut Line<'_, DB>) -> Result<Try, TransitionError>
    where
        DB: SqlDialect,
        M: MachineOn<DB>,
        E: Fields<DB>,
    {
        let answer = match line.ask(self.query(self.fire_statement().of(DB::DIALECT))?).await {
            Ok(answer) => answer,
            Err(error) if DB::classify(&error) == Class::Duplicate && self.can_collide() => {
                line.undo();
                return Ok(Try::Collided(error, self.explain(line).await?));
            }
            Err(error) => return Err(line.error(error).into()),
        };
        if let Some(version) = applied_version(&answer, M::SQL.versions, line).await? {
            reached(Step::Moved);
            return Ok(Try::Applied(version));
        }
        match answer.row {
            Some(row) => Ok(Try::Missed(
                Reading::of_fire::<DB>(&row, self.asked.has_history).map_err(TransitionError::Database)?,
            )),
            None => Ok(Try::Missed(self.explain(line).await?)),
        }
    }

    /// The entry first: it locks the row and names its true source, and one that is refused leaves nothing to undo.
    async fn enter_and_move<DB>(&self, enter: &Statement, line: &mut Line<'_, DB>) -> Result<Try, TransitionError>
    where
        DB: SqlDialect,
        M: MachineOn<DB>,
        E: Fields<DB>,
    {
        let enter = self.query(enter)?;
        let fire = self.query(self.fire_statement().of(DB::DIALECT))?;
        line.begin_effect().await?;
        let entered = line.go_on(enter).await;
        match entered {
            Ok(answer) if answer.rows_affected() == 1 => {}
            other => {
                line.drop_effect().await;
                return self.not_entered(other, line).await;
            }
        }
        reached(Step::Entered);
        let answer = match line.go_on(fire).await {
            Ok(answer) => answer,
            Err(error) => return Err(self.not_moved(error, line).await),
        };
        let Some(version) = applied_version(&answer, M::SQL.versions, line).await? else {
            let kept = Refused::new("a row did not move after its history was written; a trigger may have kept it");
            line.spoil(kept.clone()).await;
            return Err(TransitionError::Database(kept.into()));
        };
        line.end_effect().await?;
        reached(Step::Moved);
        Ok(Try::Applied(version))
    }

    /// Why a row did not follow its entry. Kept out by another row, it leaves an entry that goes with the line; after any
    /// other error all goes.
    async fn not_moved<DB>(&self, error: sqlx::Error, line: &mut Line<'_, DB>) -> TransitionError
    where
        DB: SqlDialect,
        M: MachineOn<DB>,
        E: Fields<DB>,
    {
        if DB::classify(&error) != Class::Duplicate || E::SQL.blocked.is_none() {
            line.spoil(Refused::because::<DB>(&error)).await;
            return Error::statement::<DB>(error).into();
        }
        // The collision's lock, or being the only writer, keeps the other row where it is.
        let kept_out = self.check_unique_while(line).await;
        line.drop_effect().await;
        kept_out.err().unwrap_or(TransitionError::Database(error))
    }

    async fn not_entered<DB>(
        &self,
        entered: Result<Answer<DB>, sqlx::Error>,
        line: &mut Line<'_, DB>,
    ) -> Result<Try, TransitionError>
    where
        DB: SqlDialect,
        M: MachineOn<DB>,
        E: Fields<DB>,
    {
        match entered {
            Ok(_) => Ok(Try::Missed(self.explain(line).await?)),
            Err(error) if DB::classify(&error) == Class::Duplicate => {
                Ok(Try::Collided(error, self.explain(line).await?))
            }
            Err(error) => Err(Error::statement::<DB>(error).into()),
        }
    }

    /// Reads the row and its history in a new statement, which sees what this one's rival committed.
    async fn explain<DB>(&self, line: &mut Line<'_, DB>) -> Result<Reading, TransitionError>
    where
        DB: SqlDialect,
        M: MachineOn<DB>,
        E: Fields<DB>,
    {
        let explain = self.query(E::SQL.explain.of(DB::DIALECT))?;
        let answer = line.ask(explain).await.map_err(Error::statement::<DB>)?;
        Reading::of_explain::<DB>(answer.row.as_ref(), self.asked.has_history).map_err(TransitionError::Database)
    }

    /// Whether the statement writes something that can be there already.
    const fn can_collide(&self) -> bool {
        self.asked.has_history || E::SQL.blocked.is_some()
    }

    fn fire_statement(&self) -> &'static PerDialect<Statement> {
        self.statement(&E::SQL.fire, &E::SQL.fire_at)
    }

    /// Binds what a statement asks for.
    fn query<DB>(&self, statement: &Statement) -> Result<Query<DB>, TransitionError>
    where
        DB: SqlDialect,
        M: MachineOn<DB>,
        E: Fields<DB>,
    {
        statement.query::<DB>(|bind, arguments| self.bind::<DB>(bind, arguments)).map_err(TransitionError::Database)
    }

    fn bind<DB>(&self, bind: Bind, arguments: &mut DB::Arguments) -> Result<(), BoxDynError>
    where
        DB: SqlDialect,
        M: MachineOn<DB>,
        E: Fields<DB>,
    {
        match bind {
            Bind::Fields => self.event.bind(arguments),
            Bind::Id => M::bind_id(&self.id, arguments),
            Bind::Version => DB::bind(arguments, &self.asked.expected.unwrap_or_default()),
            Bind::Cause => DB::bind(arguments, &self.cause),
            Bind::Fingerprint => DB::bind(arguments, &self.asked.fingerprint),
            Bind::Note => self.note.bind::<M, DB>(arguments),
            Bind::EventName => DB::bind(arguments, &E::NAME.to_owned()),
            Bind::Target => DB::bind(arguments, &E::Target::STATE.stored().to_owned()),
            Bind::Value(_) | Bind::Wait | Bind::Ids => {
                Err("a parameter of no statement about one row that moves".into())
            }
        }
    }
}

/// Tells the version that the last UPDATE of the session handed back.
const HANDED_BACK: &str = "SELECT LAST_INSERT_ID() AS applied";

/// The new version, if the row moved; a number that means nothing where rows have none.
async fn applied_version<DB: SqlDialect>(
    answer: &Answer<DB>,
    versions: bool,
    line: &mut Line<'_, DB>,
) -> Result<Option<i64>, TransitionError> {
    let version = |row| DB::integer(row, "applied").map_err(TransitionError::Database);
    match &answer.row {
        Some(row) => version(row),
        None if answer.rows_affected() != 1 => Ok(None),
        None if !versions => Ok(Some(0)),
        None if DB::new_version(&answer.done).is_some() => Ok(DB::new_version(&answer.done)),
        None => {
            let asked = line.go_on((HANDED_BACK, None)).await.map_err(|error| line.error_after(error))?;
            asked.row.as_ref().map_or(Ok(None), version)
        }
    }
}
