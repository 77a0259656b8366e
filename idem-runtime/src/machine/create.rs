//! The beginning of a row, and what is told when it has begun before.

use std::marker::PhantomData;

use futures_core::future::BoxFuture;
use serde::Serialize;

use super::fire::line::{Line, Plan, Query};
use super::hidden::unexplained;
use super::note::{CheckedNote, Note};
use super::row::{Row, status_and_version};
use super::statement::{Bind, CreateSql, Statement};
use super::value::from_stored;
use super::{HasActor, HasHistory, HasMetadata, MachineOn, StateMachine};
use crate::backoff;
use crate::dialect::{BoxDynError, Class, SqlDialect};
use crate::error::{Error, TransitionError};
use crate::fingerprint::Fingerprint;
use crate::key::{self, KeyPart};
use crate::on::{On, Seat, SeatKind};
use crate::steps::{Step, reached};
use crate::tx::{Answer, Refused};

/// The event by which a history calls a row's beginning.
const CREATE: &str = "create";

/// How often a collision that nothing explains is looked at again before it is told as the database told it.
const LOOKS: usize = 8;

/// A row that is about to begin. Nothing happens until [`run`](Self::run) is awaited.
#[must_use = "a creation does nothing until `.run(..)` is awaited"]
#[derive(Debug)]
pub struct Create<M, N> {
    new: N,
    cause: Option<Result<String, Error>>,
    note: Note,
    machine: PhantomData<fn() -> M>,
}

/// What a creation met. A duplicate is a result, not an error.
#[derive(Debug, Clone)]
#[must_use = "it may say that this call made no row: match on it, or call `.into_row()`"]
pub enum Created<M: StateMachine> {
    /// This call made it.
    New(Row<M>),
    /// This very cause made it earlier; the row may be further on by now.
    Replayed(Row<M>),
    /// A row with these values is there: one with this identifier, or an open one with the key of a rule
    /// `#[unique_while(..)]`. Another call made it, or somebody by hand.
    Existing(Row<M>),
}

impl<M: StateMachine> Created<M> {
    /// The row, whoever made it.
    pub fn into_row(self) -> Row<M> {
        match self {
            Self::New(row) | Self::Replayed(row) | Self::Existing(row) => row,
        }
    }

    /// Whether this call made the row.
    #[must_use]
    pub const fn is_new(&self) -> bool {
        matches!(self, Self::New(_))
    }
}

/// What a row of `M` begins with.
pub trait NewRow<M: StateMachine>: Sized + Send + Sync + 'static {
    /// The statements.
    const SQL: &'static CreateSql;

    /// The row's identifier.
    fn id(&self) -> M::Id;
    /// The hash of what tells one creation from another; none without a history.
    #[doc(hidden)]
    fn fingerprint(&self) -> Option<Fingerprint>;
}

/// The fields of a new row can be bound on `DB`.
pub trait Values<DB: SqlDialect> {
    /// Adds the field at this place.
    ///
    /// # Errors
    ///
    /// When sqlx cannot encode the value.
    fn bind(&self, at: usize, arguments: &mut DB::Arguments) -> Result<(), BoxDynError>;
}

/// The rows of the machine can be found again on `DB`.
pub trait CreatesOn<DB: SqlDialect>: MachineOn<DB> {
    /// Reads the identifier from the columns `id_0`, `id_1`, ..
    ///
    /// # Errors
    ///
    /// When a column holds something else.
    fn read_id(row: &DB::Row) -> Result<Self::Id, sqlx::Error>;
}

impl<M: StateMachine, N: NewRow<M>> Create<M, N> {
    /// A row that begins with `new`.
    pub fn new(new: N) -> Self {
        Self { new, cause: None, note: Note::default(), machine: PhantomData }
    }

    /// Names what in the world asks for the row, such as the request's identifier: the same on every retry. One cause
    /// creates one row of the table, whatever happens to the row afterwards.
    pub fn cause<C: KeyPart + ?Sized>(mut self, cause: &C) -> Self
    where
        M: HasHistory,
    {
        self.cause = Some(key::cause(cause));
        self
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

    /// Makes the row, in the initial state and at version 0, or tells which row is there already.
    ///
    /// On `&mut *tx` the row begins with that transaction; on `&idem` or `&pool` by itself, committed before the call
    /// returns. With a history the row and its entry (event `create`, an empty source, the row's version) are written
    /// together or not at all.
    ///
    /// In this order: [`Replayed`](Created::Replayed) when the history holds a creation with this cause;
    /// [`New`](Created::New); [`Existing`](Created::Existing) when a row has the identifier, or is in a state and has the
    /// key of a rule `#[unique_while(..)]`.
    ///
    /// What was given is compared with what was given when that row began: by the hash in its entry, or, where it has
    /// none, with the columns as they are now (floats and JSON are not compared then). The identifier is compared too,
    /// unless `#[create(.., fresh_id)]` says that each call makes another one.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](TransitionError::Mismatch) in place of `Replayed` or `Existing` when other values were given;
    /// [`NotFound`](TransitionError::NotFound) when the row that the cause made was deleted;
    /// [`UnknownState`](TransitionError::UnknownState); and at any time [`Retry`](TransitionError::Retry),
    /// [`UnknownCommit`](TransitionError::UnknownCommit) and [`Database`](TransitionError::Database), which also tells of
    /// a unique index that the machine does not know.
    pub fn run<'c, C>(self, on: C) -> BoxFuture<'c, Result<Created<M>, TransitionError>>
    where
        C: On + 'c,
        M: CreatesOn<C::DB>,
        N: Values<C::DB>,
    {
        let Seat(seat) = on.seat();
        Box::pin(async move { Begin::new(self)?.run(seat).await })
    }
}

/// A [`Create`] whose values were found to be good.
struct Begin<M: StateMachine, N> {
    new: N,
    id: M::Id,
    cause: Option<String>,
    note: CheckedNote,
    fingerprint: Option<String>,
}

/// Why a row was not made.
enum Unmade {
    /// A unique index already holds what it would have; nothing was kept.
    Collided(sqlx::Error),
    Failed(TransitionError),
}

impl<M: StateMachine, N: NewRow<M>> Begin<M, N> {
    fn new(create: Create<M, N>) -> Result<Self, TransitionError> {
        let fingerprint = create.new.fingerprint().map(Fingerprint::finish).transpose()?;
        let (cause, note) = (create.cause.transpose()?, create.note.check()?);
        Ok(Self { id: create.new.id(), cause, note, new: create.new, fingerprint })
    }

    async fn run<DB>(self, mut seat: SeatKind<'_, DB>) -> Result<Created<M>, TransitionError>
    where
        DB: SqlDialect,
        M: CreatesOn<DB>,
        N: Values<DB>,
    {
        let mut pauses = backoff::pauses();
        loop {
            let created = self.settle(&mut seat).await;
            let Some(pause) = seat.pause_after(&created, &mut pauses) else { return created };
            tokio::time::sleep(pause).await;
        }
    }

    /// Tries until the row is made or the one that is in its place is found: it may have left the place in between.
    async fn settle<DB>(&self, seat: &mut SeatKind<'_, DB>) -> Result<Created<M>, TransitionError>
    where
        DB: SqlDialect,
        M: CreatesOn<DB>,
        N: Values<DB>,
    {
        for looks_left in (0..LOOKS).rev() {
            let collision = match self.make(seat.again()).await {
                Ok(()) => return Ok(Created::New(Row::new(self.id.clone(), M::INITIAL, 0))),
                Err(Unmade::Failed(error)) => return Err(error),
                Err(Unmade::Collided(collision)) => collision,
            };
            match self.find(seat.again()).await? {
                Some(created) => return Ok(created),
                // Not one of the machine's own indexes then, or an entry that should not be there.
                None if looks_left == 0 => {
                    let mut line = Line::open(seat.again(), Plan::READING).await?;
                    return Err(unexplained::<M, DB>(collision, &mut line).await);
                }
                None => {}
            }
        }
        unreachable!("the last look returns")
    }

    /// Writes the row and its entry, or nothing.
    async fn make<DB>(&self, seat: SeatKind<'_, DB>) -> Result<(), Unmade>
    where
        DB: SqlDialect,
        M: CreatesOn<DB>,
        N: Values<DB>,
    {
        let mut line = Line::open(seat, Plan::of_creation::<M, DB>()).await?;
        match self.write(&mut line).await {
            Ok(()) => Ok(line.close(true).await?),
            Err(unmade) => {
                line.drop_effect().await;
                // What the statement answered says more than what the rollback may.
                let _ = line.close(false).await;
                Err(unmade)
            }
        }
    }

    /// The entry first, where it is a statement of its own: as for a transition.
    async fn write<DB>(&self, line: &mut Line<'_, DB>) -> Result<(), Unmade>
    where
        DB: SqlDialect,
        M: CreatesOn<DB>,
        N: Values<DB>,
    {
        let insert = self.query(N::SQL.insert.of(DB::DIALECT))?;
        let Some(enter) = N::SQL.enter.of(DB::DIALECT) else {
            made(line.ask(insert).await, line)?;
            reached(Step::Moved);
            return Ok(());
        };
        let enter = self.query(enter)?;
        line.begin_effect().await?;
        let answer = line.go_on(enter).await;
        made(answer, line)?;
        reached(Step::Entered);
        let answer = line.go_on(insert).await;
        made(answer, line)?;
        line.end_effect().await?;
        reached(Step::Moved);
        Ok(())
    }

    /// The row that the cause made, else the one that is in the way; each read sees what the rival committed.
    async fn find<DB>(&self, seat: SeatKind<'_, DB>) -> Result<Option<Created<M>>, TransitionError>
    where
        DB: SqlDialect,
        M: CreatesOn<DB>,
        N: Values<DB>,
    {
        let mut line = Line::open(seat, Plan::READING).await?;
        if let Some(caused) = N::SQL.caused.as_ref().filter(|_| self.cause.is_some())
            && let Some(row) = self.read(caused.of(DB::DIALECT), &mut line).await?
        {
            return self.judge::<DB>(&row, true).map(|row| Some(Created::Replayed(row)));
        }
        for met in N::SQL.met {
            if let Some(row) = self.read(met.of(DB::DIALECT), &mut line).await? {
                return self.judge::<DB>(&row, false).map(|row| Some(Created::Existing(row)));
            }
        }
        Ok(None)
    }

    async fn read<DB>(&self, statement: &Statement, line: &mut Line<'_, DB>) -> Result<Option<DB::Row>, TransitionError>
    where
        DB: SqlDialect,
        M: CreatesOn<DB>,
        N: Values<DB>,
    {
        let answer = line.ask(self.query(statement)?).await;
        Ok(answer.map_err(Error::statement::<DB>)?.row)
    }

    /// The row that was found, if it began with what this call was given.
    fn judge<DB>(&self, row: &DB::Row, caused: bool) -> Result<Row<M>, TransitionError>
    where
        DB: SqlDialect,
        M: CreatesOn<DB>,
    {
        if !self.is_same::<DB>(row, caused).map_err(TransitionError::Database)? {
            return Err(TransitionError::Mismatch { machine: M::NAME, event: CREATE });
        }
        let found = status_and_version::<DB>(row).map_err(TransitionError::Database)?;
        let (raw, version) = found.ok_or(TransitionError::NotFound { machine: M::NAME })?;
        let id = M::read_id(row).map_err(TransitionError::Database)?;
        Ok(Row::new(id, from_stored::<M>(raw)?, version))
    }

    /// By what its entry keeps; a row without one, by what its columns hold.
    fn is_same<DB: SqlDialect>(&self, row: &DB::Row, caused: bool) -> Result<bool, sqlx::Error> {
        let has_entry = caused || (self.fingerprint.is_some() && DB::integer(row, "made")?.is_some());
        if has_entry {
            return Ok(DB::text(row, "made_fingerprint")? == self.fingerprint);
        }
        Ok(DB::integer(row, "same")? == Some(1))
    }

    /// Binds what a statement asks for.
    fn query<DB>(&self, statement: &Statement) -> Result<Query<DB>, TransitionError>
    where
        DB: SqlDialect,
        M: CreatesOn<DB>,
        N: Values<DB>,
    {
        let query = statement.query::<DB>(|bind, arguments| match bind {
            Bind::Cause => DB::bind(arguments, &self.cause),
            Bind::Fingerprint => DB::bind(arguments, &self.fingerprint),
            Bind::Note => self.note.bind::<M, DB>(arguments),
            Bind::Value(at) => self.new.bind(at, arguments),
            _ => Err("a parameter of a transition".into()),
        });
        query.map_err(TransitionError::Database)
    }
}

/// What the answer to an INSERT of one row means.
fn made<DB: SqlDialect>(answer: Result<Answer<DB>, sqlx::Error>, line: &Line<'_, DB>) -> Result<(), Unmade> {
    match answer {
        Ok(answer) if answer.rows_affected() == 1 => Ok(()),
        Ok(_) => {
            let kept = Refused::new("a row was not inserted; a trigger may have kept it");
            Err(Unmade::Failed(TransitionError::Database(kept.into())))
        }
        Err(error) if DB::classify(&error) == Class::Duplicate => Err(Unmade::Collided(error)),
        Err(error) => Err(line.error(error).into()),
    }
}

impl From<TransitionError> for Unmade {
    fn from(error: TransitionError) -> Self {
        Self::Failed(error)
    }
}

impl From<Error> for Unmade {
    fn from(error: Error) -> Self {
        Self::Failed(error.into())
    }
}
