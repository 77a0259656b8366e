use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use futures_core::future::BoxFuture;

use super::fire::{Fire, Unpinned};
use super::lock::LockRow;
use super::statement::Bind;
use super::value::from_stored;
use super::{Event, EventOf, HasVersion, MachineOn, State, StateMachine};
use crate::dialect::SqlDialect;
use crate::error::{Error, TransitionError};
use crate::on::{On, Seat, SeatKind};
use crate::tx::{Answer, Lent, ask};

/// The type parameter of a [`Row`] whose state is known as a value only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnyState {}

/// A row by its identifier; nothing is loaded.
#[must_use]
#[derive(Debug, Clone)]
pub struct Handle<M: StateMachine> {
    id: M::Id,
}

/// A row as it was read: its identifier, state and version. `S` is the marker of its state where the type tells it.
///
/// It is what the row was then. Nothing keeps the row so, unless the transaction that read it holds a lock. It is read and
/// never set: only an event moves the row, and what it answers is another `Row`.
///
/// ```compile_fail,E0616
/// # use idem_runtime::prelude::*;
/// fn pay<M: StateMachine>(mut row: Row<M>, paid: M) {
///     row.state = paid;
/// }
/// ```
pub struct Row<M: StateMachine, S = AnyState> {
    id: M::Id,
    state: M,
    version: i64,
    by_type: PhantomData<fn() -> S>,
}

impl<M: StateMachine> Handle<M> {
    /// The row with this identifier.
    pub const fn new(id: M::Id) -> Self {
        Self { id }
    }

    pub(super) fn into_id(self) -> M::Id {
        self.id
    }

    /// Reads the row's state and version.
    ///
    /// # Errors
    ///
    /// [`TransitionError::NotFound`], [`TransitionError::UnknownState`], and what the database answers.
    pub fn load<'c, C>(self, on: C) -> BoxFuture<'c, Result<Row<M>, TransitionError>>
    where
        C: On + 'c,
        M: MachineOn<C::DB>,
    {
        let seat = on.seat();
        Box::pin(async move { load(self.id, seat).await })
    }

    /// Keeps the row from every other writer until the transaction ends, after a wait of at most `wait` for those that
    /// have it now; zero does not wait. A lock is for a decision that needs more than the row's state: without one, fire
    /// the event, and the database decides.
    pub fn lock_row(self, wait: Duration) -> LockRow<M> {
        LockRow::new(self.id, wait)
    }

    /// Fires an event at the row, whatever its state: the database decides.
    pub fn fire<E: EventOf<M>>(self, event: E) -> E::Fire {
        Fire::<M, E, Unpinned>::new(self.id, event, None).into()
    }
}

impl<M: StateMachine, S> Row<M, S> {
    pub(super) const fn new(id: M::Id, state: M, version: i64) -> Self {
        Self { id, state, version, by_type: PhantomData }
    }

    /// The row's identifier.
    pub const fn id(&self) -> &M::Id {
        &self.id
    }

    /// The state that it was read in.
    pub fn state(&self) -> M {
        self.state.copied()
    }

    /// The version that it was read at.
    pub const fn version(&self) -> i64
    where
        M: HasVersion,
    {
        self.version
    }

    /// Takes the state into the type: what it does not accept will not compile.
    ///
    /// # Errors
    ///
    /// [`TransitionError::NotInState`].
    pub fn in_state<T: State<M>>(self) -> Result<Row<M, T>, TransitionError> {
        if self.state.index() == T::STATE.index() {
            return Ok(Row::new(self.id, self.state, self.version));
        }
        Err(TransitionError::NotInState { machine: M::NAME, expected: T::STATE.name(), found: self.state.name() })
    }

    /// Takes the state into the type, whichever it is: a `match` on this handles every state, or does not compile.
    pub fn by_state(self) -> M::ByState {
        M::by_state(self.any_state())
    }

    /// Forgets the state's type.
    pub fn any_state(self) -> Row<M> {
        Row::new(self.id, self.state, self.version)
    }
}

impl<M: StateMachine, S: State<M>> Row<M, S> {
    /// Fires an event that the state accepts, at the version that was read.
    ///
    /// Without versions (`version = none`) any source of the event will do: nothing tells whether the row is still as it
    /// was read.
    pub fn fire<E: Event<S, M>>(self, event: E) -> E::FireAt {
        let version = M::SQL.versions.then_some(self.version);
        Fire::<M, E>::new(self.id, event, version).into()
    }
}

async fn load<M: MachineOn<DB>, DB: SqlDialect>(
    id: M::Id,
    Seat(seat): Seat<'_, DB>,
) -> Result<Row<M>, TransitionError> {
    let statement = M::SQL.load.of(DB::DIALECT);
    let query = || {
        let query = statement.query::<DB>(|bind, arguments| match bind {
            Bind::Id => M::bind_id(&id, arguments),
            _ => Ok(()),
        });
        query.map_err(TransitionError::Database)
    };
    let mut lent = match seat {
        SeatKind::Tx(root, _) => return answer(id.clone(), root.ask(query()?).await),
        SeatKind::Connection(connection) => return answer(id.clone(), ask::<DB>(connection, query()?).await),
        SeatKind::Pool(pool) => Lent::acquire(pool).await?,
        SeatKind::Idem(idem) => idem.acquire().await?,
    };
    let mut found = lent.ask(query()?).await;
    if found.is_err() && lent.renew().await {
        found = lent.ask(query()?).await;
    }
    answer(id.clone(), found)
}

fn answer<M: StateMachine, DB: SqlDialect>(
    id: M::Id,
    answer: Result<Answer<DB>, sqlx::Error>,
) -> Result<Row<M>, TransitionError> {
    let answer = answer.map_err(Error::statement::<DB>)?;
    read::<M, DB>(id, answer.row.as_ref())
}

/// A row from the columns `status` and `version`, if there is one.
pub(super) fn read<M: StateMachine, DB: SqlDialect>(
    id: M::Id,
    row: Option<&DB::Row>,
) -> Result<Row<M>, TransitionError> {
    let read = row.map_or(Ok(None), status_and_version::<DB>).map_err(TransitionError::Database)?;
    let (raw, version) = read.ok_or(TransitionError::NotFound { machine: M::NAME })?;
    let state = from_stored::<M>(raw)?;
    Ok(Row::new(id, state, version))
}

/// The columns `status` and `version`; none when the row is not there, where another table's is.
pub(super) fn status_and_version<DB: SqlDialect>(row: &DB::Row) -> Result<Option<(String, i64)>, sqlx::Error> {
    match (DB::text(row, "status")?, DB::integer(row, "version")?) {
        (Some(status), Some(version)) => Ok(Some((status, version))),
        (None, None) => Ok(None),
        _ => Err(is_null()),
    }
}

fn is_null() -> sqlx::Error {
    sqlx::Error::Decode("a row's status or version is NULL: both columns have to be NOT NULL".into())
}

/// A row of whose state nothing but its type was asked.
pub fn in_known_state<M: StateMachine, S: State<M>>(row: Row<M>) -> Row<M, S> {
    Row::new(row.id, row.state, row.version)
}

impl<M: StateMachine, S> Clone for Row<M, S> {
    fn clone(&self) -> Self {
        Self::new(self.id.clone(), self.state.copied(), self.version)
    }
}

impl<M: StateMachine, S> PartialEq for Row<M, S>
where
    M::Id: PartialEq,
{
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && self.state.index() == other.state.index() && self.version == other.version
    }
}

impl<M: StateMachine, S> fmt::Debug for Row<M, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Row")
            .field("id", &self.id)
            .field("state", &format_args!("{}", self.state.name()))
            .field("version", &self.version)
            .finish()
    }
}
