//! Where a transition runs.

use sqlx::Pool;

use crate::dialect::SqlDialect;
use crate::engine::Idem;
use crate::tx::{Root, Tx};

mod sealed {
    pub trait Sealed {}
}

/// What a transition runs on.
///
/// | | the row and its history | an effect beside it |
/// | --- | --- | --- |
/// | `&mut *tx` | together or not at all, with the rest of the transaction | in the same transaction |
/// | `&idem`, `&pool` | together or not at all, committed before the call returns | in none: a crash may come in between |
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
}

impl<DB: SqlDialect> SeatKind<'_, DB> {
    /// The same place for the next statements.
    pub(crate) fn again(&mut self) -> SeatKind<'_, DB> {
        match self {
            Self::Tx(root, level) => SeatKind::Tx(root, *level),
            Self::Pool(pool) => SeatKind::Pool(pool),
            Self::Idem(idem) => SeatKind::Idem(idem),
        }
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
