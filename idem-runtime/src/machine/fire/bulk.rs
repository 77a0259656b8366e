//! One event on many rows.

use std::marker::PhantomData;
use std::ops::Range;

use futures_core::future::BoxFuture;
use serde::Serialize;
use sqlx::error::ErrorKind;

use super::super::answer::{Outcome, Reading};
use super::super::note::Note;
use super::super::row::Row;
use super::super::rows::Outcomes;
use super::super::statement::{Bind, Statement};
use super::super::{EventOf, Fields, HasActor, HasHistory, HasMetadata, MachineOn, State, StateMachine};
use super::line::{Line, Query, own};
use super::{AppliesOnce, Fire, Pinned, Shot, Unpinned};
use crate::backoff;
use crate::dialect::{Dialect, SqlDialect};
use crate::error::{Error, TransitionError};
use crate::key::{self, KeyPart};
use crate::on::{On, Seat, SeatKind};
use crate::tx::{Refused, Root, Tx};

/// How many rows one statement moves.
const CHUNK: usize = 500;

/// An event on its way to many rows. Nothing happens until [`run`](Self::run) is awaited.
#[must_use = "a transition does nothing until `.run(..)` is awaited"]
#[derive(Debug)]
pub struct FireAll<M: StateMachine, E, P = Pinned> {
    ids: Vec<M::Id>,
    event: E,
    cause: Option<Result<String, Error>>,
    note: Note,
    pinned: PhantomData<fn() -> P>,
}

/// Leads from the call that fires an event at one row to the one that fires it at many, which has to be pinned where the
/// other has to be.
#[doc(hidden)]
pub trait InBulk<M: StateMachine, E> {
    type All: From<FireAll<M, E, Unpinned>>;
}
impl<M: StateMachine, E> InBulk<M, E> for Fire<M, E> {
    type All = FireAll<M, E>;
}
impl<M: StateMachine, E> InBulk<M, E> for Fire<M, E, Unpinned> {
    type All = FireAll<M, E, Unpinned>;
}

impl<M: StateMachine, E> From<FireAll<M, E, Unpinned>> for FireAll<M, E> {
    fn from(all: FireAll<M, E, Unpinned>) -> Self {
        all.pin()
    }
}

impl<M: StateMachine, E> FireAll<M, E, Unpinned> {
    pub(in super::super) fn new(ids: Vec<M::Id>, event: E) -> Self {
        Self { ids, event, cause: None, note: Note::default(), pinned: PhantomData }
    }
}

impl<M: StateMachine, E, P> FireAll<M, E, P> {
    fn pin(self) -> FireAll<M, E> {
        let Self { ids, event, cause, note, .. } = self;
        FireAll { ids, event, cause, note, pinned: PhantomData }
    }
}

impl<M: StateMachine, E: EventOf<M>, P> FireAll<M, E, P> {
    /// Names what in the world moves the rows, as [`Fire::cause`] does. With `history(cause = once)` it moves one of them.
    pub fn cause<C: KeyPart + ?Sized>(mut self, cause: &C) -> FireAll<M, E>
    where
        M: HasHistory,
    {
        self.cause = Some(key::cause(cause));
        self.pin()
    }

    /// Says in each entry of the history who asked for it, at most 255 characters. It is no part of what tells one call from
    /// another: the same cause by another actor is `Replayed`, and the entry names the first one.
    pub fn actor(mut self, actor: impl Into<String>) -> Self
    where
        M: HasActor,
    {
        self.note.set_actor(actor.into());
        self
    }

    /// Keeps a value, as JSON, in each entry of the history. As with the actor, the first call's is kept.
    pub fn metadata<T: Serialize + ?Sized>(mut self, metadata: &T) -> Self
    where
        M: HasMetadata,
    {
        self.note.set_metadata(metadata);
        self
    }

    /// Moves the rows at whatever version they are, though a late duplicate of this call would move them again.
    pub fn any_version(self) -> FireAll<M, E> {
        self.pin()
    }

    /// Moves the rows, and tells of each what [`Fire::run`] would have told. One that is refused, or collides with another
    /// row, does not stop the others.
    ///
    /// The rows are locked in the order of their identifiers, 500 with one statement, so that two calls about the same rows
    /// never wait for each other. On `&mut *tx` they move with that transaction; on `&idem` or `&pool` in one of their own,
    /// committed before the call returns; a connection of sqlx's is refused with
    /// [`Configuration`](Error::Configuration). Why a row is refused is read for each of them, after all others have moved.
    ///
    /// The identifiers travel as JSON. On MySQL and MariaDB a `String` among them is compared by its bytes, for which its
    /// column has to be `utf8mb4_bin` to be found by its index; and where the type of one is none that the history's table
    /// knows, each row is moved by a statement of its own. On SQLite a `Uuid` needs SQLite 3.41.
    ///
    /// # Errors
    ///
    /// Those that are about the call and not about a row: then none of the rows has moved by it.
    /// [`Retry`](TransitionError::Retry), [`UnknownCommit`](TransitionError::UnknownCommit),
    /// [`Database`](TransitionError::Database), [`Runtime`](TransitionError::Runtime).
    pub fn run<'c, C>(self, on: C) -> BoxFuture<'c, Result<Outcomes<M, E>, TransitionError>>
    where
        C: On + 'c,
        M: MachineOn<C::DB, Id: Serialize>,
        E: Fields<C::DB>,
        P: AppliesOnce<M, E>,
    {
        let seat = on.seat();
        let all = self.pin();
        Box::pin(async move { all.run_on(seat).await })
    }
}

impl<M: StateMachine, E: EventOf<M>> FireAll<M, E> {
    async fn run_on<DB>(self, seat: Seat<'_, DB>) -> Result<Outcomes<M, E>, TransitionError>
    where
        DB: SqlDialect,
        M: MachineOn<DB, Id: Serialize>,
        E: Fields<DB>,
    {
        let Some(id) = self.ids.first().cloned() else {
            return Ok(self.cause.transpose().map(|_| std::iter::empty().collect())?);
        };
        let fire =
            Fire { id, event: self.event, expected: None, cause: self.cause, note: self.note, pinned: PhantomData };
        Volley { ids: self.ids, shot: Shot::new(fire)? }.run(seat).await
    }
}

/// A [`FireAll`] whose values were found to be good. The shot is aimed at one row after the other.
struct Volley<M: StateMachine, E> {
    ids: Vec<M::Id>,
    shot: Shot<M, E>,
}

type Answer<M, E> = Result<Outcome<M, <E as EventOf<M>>::Target>, TransitionError>;

impl<M: StateMachine, E: EventOf<M>> Volley<M, E> {
    async fn run<DB>(mut self, Seat(mut seat): Seat<'_, DB>) -> Result<Outcomes<M, E>, TransitionError>
    where
        DB: SqlDialect,
        M: MachineOn<DB, Id: Serialize>,
        E: Fields<DB>,
    {
        let mut pauses = backoff::pauses();
        loop {
            let answers = self.once(seat.again()).await;
            let Some(pause) = seat.pause_after(&answers, &mut pauses) else { return answers };
            tokio::time::sleep(pause).await;
        }
    }

    /// All rows in a transaction, or in a savepoint of the caller's, that holds nothing else.
    async fn once<DB>(&mut self, seat: SeatKind<'_, DB>) -> Result<Outcomes<M, E>, TransitionError>
    where
        DB: SqlDialect,
        M: MachineOn<DB, Id: Serialize>,
        E: Fields<DB>,
    {
        let mut tx = own(seat).await?;
        match self.all(&mut tx).await {
            Ok(answers) => {
                tx.commit().await?;
                Ok(self.ids.iter().cloned().zip(answers).collect())
            }
            Err(error) => {
                // Whatever the rollback says, the first error is the one that tells.
                let _ = tx.rollback().await;
                Err(error)
            }
        }
    }

    async fn all<DB>(&mut self, tx: &mut Tx<'_, DB>) -> Result<Vec<Answer<M, E>>, TransitionError>
    where
        DB: SqlDialect,
        M: MachineOn<DB, Id: Serialize>,
        E: Fields<DB>,
    {
        let mut answers: Vec<Option<Answer<M, E>>> = self.ids.iter().map(|_| None).collect();
        let mut missed = Vec::new();
        let mut chunks = self.chunks::<DB>();
        while let Some(chunk) = chunks.pop() {
            if chunk.len() == 1 {
                answers[chunk.start] = Some(self.single(chunk.start, tx).await?);
                continue;
            }
            let Some(tries) = self.chunk(&chunk, tx).await? else {
                // One of them collides, and nothing tells which one.
                let middle = chunk.start + chunk.len() / 2;
                chunks.extend([middle..chunk.end, chunk.start..middle]);
                continue;
            };
            for (at, found) in chunk.zip(tries) {
                match found {
                    Found::Moved(version) => answers[at] = Some(Ok(self.applied(at, version))),
                    Found::Missed(reading) => missed.push((at, reading)),
                }
            }
        }
        // Last: what these reads lock on MySQL are gaps in which the entries of other calls belong.
        for (at, reading) in missed {
            answers[at] = Some(self.judge(at, reading, tx).await?);
        }
        Ok(answers.into_iter().flatten().collect())
    }

    /// The rows of each statement, the first ones last. A cause that moves one row only is no matter for many.
    fn chunks<DB: SqlDialect>(&self) -> Vec<Range<usize>> {
        let has_statements = DB::DIALECT == Dialect::Postgres || M::SQL.bulk.read.of(DB::DIALECT).is_some();
        let once = M::SQL.once && self.shot.asked.has_cause;
        let size = if has_statements && !once { CHUNK } else { 1 };
        let starts = (0..self.ids.len()).step_by(size).rev();
        starts.map(|start| start..self.ids.len().min(start + size)).collect()
    }

    fn applied(&self, at: usize, version: i64) -> Outcome<M, E::Target> {
        Outcome::Applied(Row::new(self.ids[at].clone(), E::Target::STATE, version))
    }

    /// Moves one row by itself, and undoes nothing else when that fails.
    async fn single<DB>(&mut self, at: usize, tx: &mut Tx<'_, DB>) -> Result<Answer<M, E>, TransitionError>
    where
        DB: SqlDialect,
        M: MachineOn<DB>,
        E: Fields<DB>,
    {
        self.shot.id = self.ids[at].clone();
        let line = Line::Own(tx.nest().await?);
        of_the_row(self.shot.on_line(line).await)
    }

    /// The answer of a row that has not moved.
    async fn judge<DB>(
        &mut self,
        at: usize,
        reading: Reading,
        tx: &mut Tx<'_, DB>,
    ) -> Result<Answer<M, E>, TransitionError>
    where
        DB: SqlDialect,
        M: MachineOn<DB>,
        E: Fields<DB>,
    {
        self.shot.id = self.ids[at].clone();
        let judged = self.shot.judge(reading, &mut Line::Caller(tx.root())).await;
        match judged.transpose() {
            Some(answer) => of_the_row(answer),
            None => self.single(at, tx).await,
        }
    }

    /// What became of each row of a chunk; none when one of them collides with another row, and nothing was kept.
    async fn chunk<DB>(&self, chunk: &Range<usize>, tx: &mut Tx<'_, DB>) -> Result<Option<Vec<Found>>, TransitionError>
    where
        DB: SqlDialect,
        M: MachineOn<DB, Id: Serialize>,
        E: Fields<DB>,
    {
        let mut own = tx.nest().await?;
        match self.fire_chunk(&self.ids[chunk.clone()], own.root()).await {
            Ok(tries) => {
                own.commit().await?;
                Ok(Some(tries))
            }
            Err(error) if is_collision(&error) => {
                own.rollback().await?;
                Ok(None)
            }
            Err(error) => Err(Error::statement::<DB>(error).into()),
        }
    }

    async fn fire_chunk<DB>(&self, ids: &[M::Id], root: &mut Root<DB>) -> Result<Vec<Found>, sqlx::Error>
    where
        DB: SqlDialect,
        M: MachineOn<DB, Id: Serialize>,
        E: Fields<DB>,
    {
        let mut found: Vec<_> = ids.iter().map(|_| Found::Missed(Reading::missing())).collect();
        let has_history = self.shot.asked.has_history;
        let Some(read) = M::SQL.bulk.read.of(DB::DIALECT) else {
            for row in root.ask_rows(self.query::<DB>(E::SQL.fire_all.of(DB::DIALECT), ids)?).await? {
                found[place::<DB>(&row, ids)?] = match DB::integer(&row, "applied")? {
                    Some(version) => Found::Moved(version),
                    None => Found::Missed(Reading::of_fire::<DB>(&row, has_history)?),
                };
            }
            return Ok(found);
        };
        for row in root.ask_rows(self.query::<DB>(read, ids)?).await? {
            found[place::<DB>(&row, ids)?] = Found::Missed(Reading::of_fire::<DB>(&row, false)?);
        }
        self.find_causes(ids, &mut found, root).await?;
        self.move_found(ids, &mut found, root).await?;
        Ok(found)
    }

    /// Reads which of the rows the cause has moved before.
    async fn find_causes<DB>(&self, ids: &[M::Id], found: &mut [Found], root: &mut Root<DB>) -> Result<(), sqlx::Error>
    where
        DB: SqlDialect,
        M: MachineOn<DB, Id: Serialize>,
        E: Fields<DB>,
    {
        let Some(caused) = M::SQL.bulk.caused.of(DB::DIALECT).as_ref().filter(|_| self.shot.asked.has_cause) else {
            return Ok(());
        };
        for row in root.ask_rows(self.query::<DB>(caused, ids)?).await? {
            if let Found::Missed(reading) = &mut found[place::<DB>(&row, ids)?] {
                reading.note_cause::<DB>(&row)?;
            }
        }
        Ok(())
    }

    /// Moves the rows that were locked in a source, after their entries were written.
    async fn move_found<DB>(&self, ids: &[M::Id], found: &mut [Found], root: &mut Root<DB>) -> Result<(), sqlx::Error>
    where
        DB: SqlDialect,
        M: MachineOn<DB, Id: Serialize>,
        E: Fields<DB>,
    {
        let accepting = |found: &Found| match found {
            Found::Missed(reading) => reading.accepts::<M, E>(),
            Found::Moved(_) => None,
        };
        let versions: Vec<_> = found.iter().map(accepting).collect();
        let moving: Vec<_> =
            ids.iter().zip(&versions).filter(|(_, it)| it.is_some()).map(|(id, _)| id.clone()).collect();
        if moving.is_empty() {
            return Ok(());
        }
        let enter = M::SQL.bulk.enter.of(DB::DIALECT);
        for statement in enter.iter().chain([E::SQL.fire_all.of(DB::DIALECT)]) {
            let answer = root.ask(self.query::<DB>(statement, &moving)?).await?;
            if usize::try_from(answer.rows_affected()) != Ok(moving.len()) {
                return Err(Refused::new("not all rows that were locked did move; a trigger may have kept them").into());
            }
        }
        for (found, version) in found.iter_mut().zip(versions) {
            if let Some(version) = version {
                *found = Found::Moved(version + 1);
            }
        }
        Ok(())
    }

    /// Binds what a statement about these rows asks for.
    fn query<DB>(&self, statement: &Statement, ids: &[M::Id]) -> Result<Query<DB>, sqlx::Error>
    where
        DB: SqlDialect,
        M: MachineOn<DB, Id: Serialize>,
        E: Fields<DB>,
    {
        statement.query::<DB>(|bind, arguments| match bind {
            Bind::Ids => DB::bind(arguments, &serde_json::to_string(ids)?),
            bind => self.shot.bind::<DB>(bind, arguments),
        })
    }
}

/// What became of a row of a chunk.
enum Found {
    /// It moved to this version.
    Moved(i64),
    Missed(Reading),
}

/// The place in the list of the row that a row of the answer is about.
fn place<DB: SqlDialect>(row: &DB::Row, ids: &[impl Sized]) -> Result<usize, sqlx::Error> {
    let nth = DB::integer(row, "nth")?.and_then(|nth| usize::try_from(nth).ok());
    let place = nth.and_then(|nth| nth.checked_sub(1)).filter(|place| *place < ids.len());
    place.ok_or_else(|| sqlx::Error::Decode("a row of the answer is about none of the list".into()))
}

/// An error that is about the row is its answer; any other ends the call.
fn of_the_row<T>(answer: Result<T, TransitionError>) -> Result<Result<T, TransitionError>, TransitionError> {
    match answer {
        Err(TransitionError::Database(error)) if !is_collision(&error) => Err(TransitionError::Database(error)),
        Err(error @ (TransitionError::Retry(_) | TransitionError::UnknownCommit(_) | TransitionError::Runtime(_))) => {
            Err(error)
        }
        answer => Ok(answer),
    }
}

/// Whether a constraint of the table, such as a unique index, refused one of the rows.
fn is_collision(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| !matches!(error.kind(), ErrorKind::Other))
}
