//! Where the statements of one transition go.

use super::super::{EventOf, StateMachine};
use super::borrowed::Borrowed;
use crate::dialect::{Dialect, SqlDialect};
use crate::error::Error;
use crate::on::SeatKind;
use crate::tx::{Answer, Lent, Refused, Root, Tx};

/// A statement with its arguments.
pub(in crate::machine) type Query<DB> = (&'static str, Option<<DB as sqlx::Database>::Arguments>);

/// What a transition needs around its statements.
#[derive(Debug, Clone, Copy)]
pub(in crate::machine) struct Plan {
    /// It is one statement, so that it needs no transaction of its own.
    pub(super) one_statement: bool,
    /// Its entry can meet another one, which on PostgreSQL ends the transaction unless it can be undone alone.
    pub(super) savepoint: bool,
}

impl Plan {
    /// Statements that write nothing.
    pub(in crate::machine) const READING: Self = Self { one_statement: true, savepoint: false };

    pub(in crate::machine) fn of<M: StateMachine, E: EventOf<M>, DB: SqlDialect>() -> Self {
        let has_history = M::SQL.history.is_some();
        let postgres = DB::DIALECT == Dialect::Postgres;
        let blocked = E::SQL.blocked.is_some();
        let entry_collides = postgres && has_history && (E::REPEATS || M::SQL.once);
        Self {
            one_statement: postgres || !has_history,
            // The row itself can collide: elsewhere that leaves an entry of its own behind.
            savepoint: entry_collides || (blocked && (postgres || has_history)),
        }
    }

    /// A creation can always meet another row.
    pub(in crate::machine) fn of_creation<M: StateMachine, DB: SqlDialect>() -> Self {
        let (has_history, postgres) = (M::SQL.history.is_some(), DB::DIALECT == Dialect::Postgres);
        Self { one_statement: postgres || !has_history, savepoint: postgres || has_history }
    }
}

const NEEDS_OUR_TRANSACTION: &str = "an event on many rows runs in idem's own transaction (`idem.begin()`), on `&idem` or on \
     the pool, not on a connection of sqlx's";

/// A transaction, or a savepoint of the caller's, that holds nothing else.
pub(super) async fn own<DB: SqlDialect>(seat: SeatKind<'_, DB>) -> Result<Tx<'_, DB>, Error> {
    match seat {
        SeatKind::Tx(root, level) => root.nest(level).await,
        SeatKind::Pool(pool) => {
            let root = Root::begin(Lent::acquire(pool).await?, None).await.map_err(Error::statement::<DB>)?;
            Ok(Tx::outermost(root))
        }
        SeatKind::Idem(idem) => idem.open().await,
        SeatKind::Connection(_) => Err(Error::Configuration(NEEDS_OUR_TRANSACTION)),
    }
}

/// Where the statements go: each variant undoes what has to be undone when it is dropped.
pub(in crate::machine) enum Line<'c, DB: SqlDialect> {
    /// Into the caller's transaction.
    Caller(&'c mut Root<DB>),
    /// Into a transaction, or a savepoint of the caller's, that holds nothing else.
    Own(Tx<'c, DB>),
    /// Each by itself.
    Alone(Lent<DB>),
    /// Onto a connection of the caller's, in sqlx's transaction on it or in none.
    Borrowed(Borrowed<'c, DB>),
}

/// Who runs a statement.
enum Runner<'l, 'c, DB: SqlDialect> {
    Transaction(&'l mut Root<DB>),
    Connection(&'l mut Lent<DB>),
    Borrowed(&'l mut Borrowed<'c, DB>),
}

impl<'c, DB: SqlDialect> Line<'c, DB> {
    pub(in crate::machine) async fn open(seat: SeatKind<'c, DB>, plan: Plan) -> Result<Self, Error> {
        match seat {
            SeatKind::Tx(root, _) if !plan.savepoint => Ok(Self::Caller(root)),
            SeatKind::Pool(pool) if plan.one_statement => Ok(Self::Alone(Lent::acquire(pool).await?)),
            SeatKind::Idem(idem) if plan.one_statement => {
                idem.check_second_writer()?;
                Ok(Self::Alone(idem.acquire().await?))
            }
            SeatKind::Connection(connection) => Ok(Self::Borrowed(Borrowed::open(connection, plan).await?)),
            seat => Ok(Self::Own(own(seat).await?)),
        }
    }

    /// Runs a statement.
    pub(in crate::machine) async fn ask(&mut self, query: Query<DB>) -> Result<Answer<DB>, sqlx::Error> {
        match self.runner() {
            Runner::Transaction(root) => root.ask(query).await,
            Runner::Connection(lent) => lent.ask(query).await,
            Runner::Borrowed(borrowed) => borrowed.ask(query).await,
        }
    }

    /// Runs the second statement of one effect.
    pub(in crate::machine) async fn go_on(&mut self, query: Query<DB>) -> Result<Answer<DB>, sqlx::Error> {
        match self.runner() {
            Runner::Transaction(root) => root.ask_on(query).await,
            Runner::Connection(lent) => lent.ask(query).await,
            Runner::Borrowed(borrowed) => borrowed.ask(query).await,
        }
    }

    fn runner(&mut self) -> Runner<'_, 'c, DB> {
        match self {
            Self::Caller(root) => Runner::Transaction(root),
            Self::Own(tx) => Runner::Transaction(tx.root()),
            Self::Alone(lent) => Runner::Connection(lent),
            Self::Borrowed(borrowed) => Runner::Borrowed(borrowed),
        }
    }

    /// Whether it is part of a transaction of the caller's, which has begun before.
    pub(in crate::machine) fn is_in_callers(&self) -> bool {
        match self {
            Self::Caller(_) => true,
            Self::Own(tx) => tx.level() > 0,
            Self::Alone(_) => false,
            Self::Borrowed(borrowed) => borrowed.is_in_transaction(),
        }
    }

    /// Begins an effect in several statements: a future that is dropped between them leaves a transaction that keeps
    /// nothing.
    pub(in crate::machine) async fn begin_effect(&mut self) -> Result<(), Error> {
        match self.runner() {
            Runner::Transaction(root) => {
                root.settle().await.map_err(Error::statement::<DB>)?;
                root.half_done(true);
            }
            Runner::Connection(_) => {}
            Runner::Borrowed(borrowed) => borrowed.begin_effect().await?,
        }
        Ok(())
    }

    /// The effect is whole.
    pub(in crate::machine) async fn end_effect(&mut self) -> Result<(), Error> {
        match self.runner() {
            Runner::Transaction(root) => root.half_done(false),
            Runner::Connection(_) => {}
            Runner::Borrowed(borrowed) => borrowed.end_effect().await?,
        }
        Ok(())
    }

    /// Nothing of the effect was done.
    pub(in crate::machine) async fn drop_effect(&mut self) {
        match self.runner() {
            Runner::Transaction(root) => root.half_done(false),
            Runner::Connection(_) => {}
            Runner::Borrowed(borrowed) => borrowed.undo_effect().await,
        }
    }

    /// Half of the effect was done and the other half will not be: with it, nothing is committed, and this is why. What
    /// holds nothing else, or has a savepoint, is undone by itself.
    pub(in crate::machine) async fn spoil(&mut self, why: Refused) {
        match self {
            Self::Caller(root) => root.spoil(why),
            Self::Own(tx) => tx.root().half_done(false),
            Self::Alone(_) => {}
            Self::Borrowed(borrowed) => borrowed.undo_effect().await,
        }
    }

    /// After a statement that fits the schema no more: whether the same one fits now, on this very connection. Inside of
    /// a transaction that is for the caller to try, from its beginning.
    pub(in crate::machine) async fn renew(&mut self) -> bool {
        match self {
            Self::Alone(lent) => lent.renew().await,
            Self::Caller(_) | Self::Own(_) | Self::Borrowed(_) => false,
        }
    }

    /// What an error of a statement that moves the row means: where it commits by itself, a lost answer leaves open
    /// whether it did.
    pub(in crate::machine) fn error(&self, error: sqlx::Error) -> Error {
        match self {
            Self::Alone(_) => Error::commit::<DB>(error),
            Self::Borrowed(borrowed) => borrowed.error(error),
            Self::Caller(_) | Self::Own(_) => Error::statement::<DB>(error),
        }
    }

    /// What an error means once the row has moved: where that is committed, it must not be run again.
    pub(in crate::machine) fn error_after(&self, error: sqlx::Error) -> Error {
        let is_committed = match self {
            Self::Alone(_) => true,
            Self::Borrowed(borrowed) => !borrowed.is_in_transaction(),
            Self::Caller(_) | Self::Own(_) => false,
        };
        if is_committed { Error::UnknownCommit(error) } else { Error::statement::<DB>(error) }
    }

    /// After an entry met another one: undoes what that left, if anything.
    pub(in crate::machine) fn undo(&mut self) {
        match self {
            Self::Own(tx) if tx.level() > 0 => tx.undo(),
            Self::Borrowed(borrowed) => borrowed.undo(),
            _ => {}
        }
    }

    /// Keeps what was done, or undoes it.
    pub(in crate::machine) async fn close(self, keep: bool) -> Result<(), Error> {
        match self {
            Self::Own(tx) if keep => tx.commit().await,
            Self::Own(tx) => tx.rollback().await,
            Self::Borrowed(borrowed) => borrowed.close(keep).await,
            Self::Caller(_) | Self::Alone(_) => Ok(()),
        }
    }
}

#[cfg(all(test, feature = "sqlite"))]
mod tests {
    use super::*;

    /// It was told to come again for the row's new version alone: fired again, it would move the row twice.
    #[tokio::test]
    async fn what_is_committed_is_not_to_be_run_again() {
        let pool = sqlx::SqlitePool::connect("sqlite::memory:").await.expect("a database");
        let cut = || sqlx::Error::from(Refused::cut("a statement in it was cut off"));
        let line = Line::Alone(Lent::acquire(&pool).await.expect("a connection"));
        assert!(matches!(line.error_after(cut()), Error::UnknownCommit(_)));
        let root = Root::begin(Lent::acquire(&pool).await.expect("a connection"), None).await.expect("a transaction");
        assert!(matches!(Line::Own(Tx::outermost(root)).error_after(cut()), Error::Retry(_)));
    }
}
