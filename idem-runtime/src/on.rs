//! Where a transition runs.

use std::time::Duration;

use sqlx::{Pool, Transaction};

use crate::dialect::SqlDialect;
use crate::engine::Idem;
use crate::error::TransitionError;
use crate::tx::{Root, Tx};

mod sealed {
    pub trait Sealed {}
}

/// What a transition, or the reading of a row, runs on.
///
/// | | the row and its history | an effect beside it |
/// | --- | --- | --- |
/// | `&mut *tx` of idem's [`Tx`] | together or not at all, with the rest of the transaction | in the same transaction |
/// | `&idem`, `&pool` | together or not at all, committed before the call returns | in none: a crash may come in between |
/// | sqlx's own transaction, `&mut transaction` or `&mut *transaction` | together or not at all, with the rest of the transaction | in the same transaction |
/// | a plain connection, `&mut *connection` | together or not at all, committed before the call returns | in none |
///
/// Nothing opens a connection beside the one that it is given. The last two are for code that has its transaction from
/// elsewhere; what idem's own [`Tx`] adds is not to be had there:
///
/// - What the database gives up is answered with [`Retry`](crate::TransitionError::Retry) and not run again, on a plain
///   connection neither.
/// - After an error that ends the transaction on the server, `Tx` refuses each further statement. sqlx's does not: on
///   MySQL the next ones commit by themselves, and its `commit` says yes.
/// - A call that is dropped leaves no row without its entry and no entry without its row, whatever is committed later.
///   It may leave a transaction in which each further statement fails (PostgreSQL), and a connection that waits for an
///   answer which never comes (MySQL, as with any statement of sqlx that is dropped): roll back and close it.
/// - A transaction is known by sqlx's own `begin`. One that was opened by the text `BEGIN` is not seen: on SQLite a
///   transition with a history is refused in it, and on PostgreSQL a cause that comes again on a machine that goes round
///   ends it with an error.
/// - On MySQL a transition with a history needs an open transaction of sqlx's: it is two statements, and a `BEGIN` whose
///   future is dropped would leave the connection in a transaction that nobody knows of. On a plain connection it is
///   refused with [`Configuration`](crate::Error::Configuration), before anything is sent.
///
/// In code that is generic over the database, `&mut DB::Connection` is none of these (it could be any type); there a
/// `&mut Transaction<'_, DB>`, a `&Pool<DB>` or a `&mut Tx<'_, DB>` is.
#[diagnostic::on_unimplemented(
    message = "a transition cannot run on `{Self}`",
    label = "expected `&mut *tx`, `&idem` or `&pool`",
    note = "it runs on `&mut Tx`, or by itself on a reference to an `Idem` or a pool of PostgreSQL, MySQL or SQLite"
)]
pub trait On: sealed::Sealed + Send + Sized {
    /// The database.
    type DB: SqlDialect;

    #[doc(hidden)]
    fn seat<'c>(self) -> Seat<'c, Self::DB>
    where
        Self: 'c;
}

/// Where the statements go.
#[doc(hidden)]
pub struct Seat<'c, DB: SqlDialect>(pub(crate) SeatKind<'c, DB>);

pub(crate) enum SeatKind<'c, DB: SqlDialect> {
    /// Into the caller's transaction, at its level of nesting.
    Tx(&'c mut Root<DB>, usize),
    /// Into a transaction of their own.
    Pool(&'c Pool<DB>),
    /// Likewise, in the engine's queue.
    Idem(&'c Idem<DB>),
    /// Onto the caller's connection, in the transaction that sqlx has opened on it, if any.
    Connection(&'c mut DB::Connection),
}

impl<DB: SqlDialect> SeatKind<'_, DB> {
    /// The same place for the next statements.
    pub(crate) fn again(&mut self) -> SeatKind<'_, DB> {
        match self {
            Self::Tx(root, level) => SeatKind::Tx(root, *level),
            Self::Pool(pool) => SeatKind::Pool(pool),
            Self::Idem(idem) => SeatKind::Idem(idem),
            Self::Connection(connection) => SeatKind::Connection(&mut **connection),
        }
    }

    /// How long to wait before the same is run again. In the caller's transaction a retryable error is the caller's; a
    /// transaction of our own is run again while there are pauses.
    pub(crate) fn pause_after<T>(
        &self,
        outcome: &Result<T, TransitionError>,
        pauses: &mut impl Iterator<Item = Duration>,
    ) -> Option<Duration> {
        let is_our_own = matches!(self, Self::Pool(_) | Self::Idem(_));
        let again = is_our_own && matches!(outcome, Err(TransitionError::Retry(_)));
        again.then(|| pauses.next()).flatten()
    }
}

impl<DB: SqlDialect> sealed::Sealed for &mut Tx<'_, DB> {}
impl<DB: SqlDialect> On for &mut Tx<'_, DB> {
    type DB = DB;

    fn seat<'c>(self) -> Seat<'c, DB>
    where
        Self: 'c,
    {
        let level = self.level();
        Seat(SeatKind::Tx(self.root(), level))
    }
}

impl<DB: SqlDialect> sealed::Sealed for &Pool<DB> {}
impl<DB: SqlDialect> On for &Pool<DB> {
    type DB = DB;

    fn seat<'c>(self) -> Seat<'c, DB>
    where
        Self: 'c,
    {
        Seat(SeatKind::Pool(self))
    }
}

impl<DB: SqlDialect> sealed::Sealed for &Idem<DB> {}
impl<DB: SqlDialect> On for &Idem<DB> {
    type DB = DB;

    fn seat<'c>(self) -> Seat<'c, DB>
    where
        Self: 'c,
    {
        Seat(SeatKind::Idem(self))
    }
}

impl<DB: SqlDialect> sealed::Sealed for &mut Transaction<'_, DB> {}
impl<DB: SqlDialect> On for &mut Transaction<'_, DB> {
    type DB = DB;

    fn seat<'c>(self) -> Seat<'c, DB>
    where
        Self: 'c,
    {
        Seat(SeatKind::Connection(&mut **self))
    }
}

/// Implements [`On`] for a driver's connection: not generic, since a connection by its database could be any type.
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
macro_rules! on_connection {
    ($DB:ty, $Connection:ty) => {
        impl sealed::Sealed for &mut $Connection {}
        impl On for &mut $Connection {
            type DB = $DB;

            fn seat<'c>(self) -> Seat<'c, $DB>
            where
                Self: 'c,
            {
                Seat(SeatKind::Connection(self))
            }
        }
    };
}

#[cfg(feature = "mysql")]
on_connection!(sqlx::MySql, sqlx::MySqlConnection);
#[cfg(feature = "postgres")]
on_connection!(sqlx::Postgres, sqlx::PgConnection);
#[cfg(feature = "sqlite")]
on_connection!(sqlx::Sqlite, sqlx::SqliteConnection);
