//! Puts a row right that no transition can: past the guard, and with an entry in the history.

use super::note::{CheckedNote, Note};
use super::row::{AnyState, Handle, Row};
use super::statement::{Bind, Statement};
use super::{HasActor, HasHistory, HasMetadata, MachineOn, Outcome, StateMachine};
use serde::Serialize;

use crate::dialect::{BoxDynError, SqlDialect};
use crate::error::{Error, TransitionError};
use crate::fingerprint::Fingerprint;
use crate::key::{self, KeyPart};
use crate::tx::{Answer, Refused, Root, Tx};

/// The event under which the history keeps a repair.
const EVENT: &str = "repair";

/// The statements of a repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepairSql {
    /// Locks the row, where [`read`](Self::read) alone could pair it with an older history.
    pub lock: Option<Statement>,
    /// Reads the row and the entry that holds the reason: the columns `status`, `version`, `caused`,
    /// `caused_fingerprint`, `caused_here`.
    pub read: Statement,
    /// Opens the guard for this transaction.
    pub open: &'static str,
    /// Writes the history's entry. Its only field is the target.
    pub enter: Statement,
    /// Writes the row. Its only field is the target.
    pub write: Statement,
    /// Closes the guard again.
    pub close: &'static str,
}

/// A repair on its way to a row. Nothing happens until [`run`](Self::run) is awaited.
#[must_use = "a repair does nothing until `.run(..)` is awaited"]
#[derive(Debug)]
pub struct Repair<M: StateMachine> {
    id: M::Id,
    target: M,
    reason: Result<String, Error>,
    note: Note,
}

impl<M: StateMachine> Handle<M> {
    /// Puts the row into a state that no transition leads to from where it is, past the [guard](crate::schema::guard): for
    /// what people do by hand after something went wrong. An unknown value in the status column can be repaired too.
    ///
    /// The reason, such as a ticket's number, is the entry's cause. With the same reason a row is repaired once.
    pub fn repair<C: KeyPart + ?Sized>(self, target: M, reason: &C) -> Repair<M>
    where
        M: HasHistory,
    {
        Repair { id: self.into_id(), target, reason: key::cause(reason), note: Note::default() }
    }
}

/// What the row and its history say of the repair.
enum Found<M: StateMachine> {
    Answered(Outcome<M, AnyState>),
    /// The row's version.
    ToWrite(i64),
}

impl<M: HasHistory> Repair<M> {
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

    /// Writes the status, adds 1 to the version and writes an entry with the event `repair` into the history.
    ///
    /// The guard is open for the statement that writes the row and for nothing else: not for other statements of the
    /// transaction, and not for other transactions. Cut off in between, it leaves a transaction that cannot commit.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](TransitionError::Mismatch) when the reason led to another state, or where a cause moves one row only,
    /// to another row; [`NotFound`](TransitionError::NotFound); [`UnknownState`](TransitionError::UnknownState) when the
    /// row was repaired and has met an unknown value since; [`Retry`](TransitionError::Retry) and
    /// [`Database`](TransitionError::Database). On MySQL and SQLite the text of [`schema::guard`](crate::schema::guard)
    /// makes the table that opens it: without it there is nothing to open.
    pub async fn run<DB>(self, tx: &mut Tx<'_, DB>) -> Result<Outcome<M, AnyState>, TransitionError>
    where
        DB: SqlDialect,
        M: MachineOn<DB>,
    {
        let fingerprint = Fingerprint::new().part(self.target.stored()).finish()?;
        let (reason, note) = (self.reason?, self.note.check()?);
        let work = Work { id: self.id, target: self.target, reason, note, fingerprint };
        let root = tx.root();
        match work.find(root).await? {
            Found::Answered(outcome) => Ok(outcome),
            Found::ToWrite(version) => {
                root.settle().await.map_err(Error::statement::<DB>)?;
                root.half_done(true);
                let written = work.write(root).await;
                written
                    .inspect_err(|error| root.spoil(Refused::because::<DB>(error)))
                    .map_err(Error::statement::<DB>)?;
                root.half_done(false);
                Ok(Outcome::Applied(Row::new(work.id, work.target, version + 1)))
            }
        }
    }
}

/// A [`Repair`] whose values were found to be good.
struct Work<M: StateMachine> {
    id: M::Id,
    target: M,
    reason: String,
    note: CheckedNote,
    fingerprint: String,
}

impl<M: StateMachine> Work<M> {
    /// Locks the row and reads it and the entry of the same reason.
    async fn find<DB>(&self, root: &mut Root<DB>) -> Result<Found<M>, TransitionError>
    where
        DB: SqlDialect,
        M: MachineOn<DB>,
    {
        let sql = sql::<M, DB>().map_err(TransitionError::Database)?;
        if let Some(lock) = &sql.lock {
            self.ask(root, lock).await.map_err(Error::statement::<DB>)?;
        }
        let answer = self.ask(root, &sql.read).await.map_err(Error::statement::<DB>)?;
        let row = answer.row.ok_or(TransitionError::NotFound { machine: M::NAME })?;
        self.judge::<DB>(&row)
    }

    fn judge<DB: SqlDialect>(&self, row: &DB::Row) -> Result<Found<M>, TransitionError> {
        let raw = DB::text(row, "status").map_err(TransitionError::Database)?.unwrap_or_default();
        let version = DB::integer(row, "version").map_err(TransitionError::Database)?.unwrap_or_default();
        let now = |state| Row::new(self.id.clone(), state, version);
        match (self.was_done::<DB>(row)?, super::value::from_stored::<M>(raw)) {
            (true, state) => Ok(Found::Answered(Outcome::Replayed(now(state?)))),
            (false, Ok(state)) if state.index() == self.target.index() => {
                Ok(Found::Answered(Outcome::Already(now(state))))
            }
            (false, _) => Ok(Found::ToWrite(version)),
        }
    }

    /// Whether the history holds this very repair.
    fn was_done<DB: SqlDialect>(&self, row: &DB::Row) -> Result<bool, TransitionError> {
        let integer = |column| DB::integer(row, column).map_err(TransitionError::Database);
        if integer("caused")?.is_none() {
            return Ok(false);
        }
        let fingerprint = DB::text(row, "caused_fingerprint").map_err(TransitionError::Database)?;
        if integer("caused_here")? == Some(1) && fingerprint.as_ref() == Some(&self.fingerprint) {
            return Ok(true);
        }
        Err(TransitionError::Mismatch { machine: M::NAME, event: EVENT })
    }

    async fn write<DB>(&self, root: &mut Root<DB>) -> Result<(), sqlx::Error>
    where
        DB: SqlDialect,
        M: MachineOn<DB>,
    {
        let sql = sql::<M, DB>()?;
        root.ask_on(sql.open).await?;
        self.ask_on(root, &sql.enter).await?;
        let written = self.ask_on(root, &sql.write).await?;
        root.ask_on(sql.close).await?;
        if written.rows_affected() == 1 {
            return Ok(());
        }
        Err(Refused::new("a row was not repaired after its history was written; a trigger may have kept it").into())
    }

    async fn ask<DB>(&self, root: &mut Root<DB>, statement: &Statement) -> Result<Answer<DB>, sqlx::Error>
    where
        DB: SqlDialect,
        M: MachineOn<DB>,
    {
        root.settle().await?;
        self.ask_on(root, statement).await
    }

    async fn ask_on<DB>(&self, root: &mut Root<DB>, statement: &Statement) -> Result<Answer<DB>, sqlx::Error>
    where
        DB: SqlDialect,
        M: MachineOn<DB>,
    {
        root.ask_on(statement.query::<DB>(|bind, arguments| self.bind::<DB>(bind, arguments))?).await
    }

    fn bind<DB>(&self, bind: Bind, arguments: &mut DB::Arguments) -> Result<(), BoxDynError>
    where
        DB: SqlDialect,
        M: MachineOn<DB>,
    {
        match bind {
            Bind::Id => M::bind_id(&self.id, arguments),
            Bind::Cause => DB::bind(arguments, &self.reason),
            Bind::Fingerprint => DB::bind(arguments, &self.fingerprint),
            Bind::Note => self.note.bind::<M, DB>(arguments),
            Bind::Fields => DB::bind(arguments, &self.target.stored().to_owned()),
            _ => Err("no parameter of a repair".into()),
        }
    }
}

/// The machine's statements.
fn sql<M: StateMachine, DB: SqlDialect>() -> Result<&'static RepairSql, sqlx::Error> {
    let sql = M::SQL.repair.as_ref().map(|sql| sql.of(DB::DIALECT));
    sql.ok_or_else(|| sqlx::Error::Configuration("the machine keeps no history".into()))
}
