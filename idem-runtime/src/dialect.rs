//! The three databases: what they are called, which statement is whose, and what their errors mean.

mod driver;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;

use sqlx::{Database, IntoArguments};

use driver::Driver;
pub(crate) use driver::{Class, Leaves, Many};
pub use sqlx::error::BoxDynError;

/// The SQL that a database speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// PostgreSQL 12 and newer.
    Postgres,
    /// MySQL 8 and MariaDB 10.6 and newer.
    MySql,
    /// SQLite 3.35 and newer, the version that sqlx bundles included.
    Sqlite,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Postgres, Self::MySql, Self::Sqlite];

    /// The name of its golden files: `postgres`, `mysql`, `sqlite`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::MySql => "mysql",
            Self::Sqlite => "sqlite",
        }
    }
}

/// One value for each dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerDialect<T> {
    /// PostgreSQL's.
    pub postgres: T,
    /// That of MySQL and MariaDB.
    pub mysql: T,
    /// SQLite's.
    pub sqlite: T,
}

impl<T> PerDialect<T> {
    /// The value of one dialect.
    #[must_use]
    pub const fn of(&self, dialect: Dialect) -> &T {
        match dialect {
            Dialect::Postgres => &self.postgres,
            Dialect::MySql => &self.mysql,
            Dialect::Sqlite => &self.sqlite,
        }
    }
}

/// "`Self` can store a `T`", with the database as `Self`, so that it can be a supertrait of [`SqlDialect`]:
/// generic code then needs `DB: SqlDialect` and nothing else.
#[diagnostic::on_unimplemented(
    message = "`{T}` cannot be written to a column of `{Self}`",
    label = "no `sqlx::Encode` and `sqlx::Type` for `{Self}`",
    note = "derive `sqlx::Type` for it, or use a type that sqlx knows"
)]
pub trait Binds<T>: Database {
    /// Adds the value to a statement's arguments.
    ///
    /// # Errors
    ///
    /// When sqlx cannot encode the value.
    fn bind(arguments: &mut Self::Arguments, value: &T) -> Result<(), BoxDynError>;
}

/// "`Self` can give a `T` back", with the database as `Self` as in [`Binds`].
#[diagnostic::on_unimplemented(
    message = "`{T}` cannot be read from a column of `{Self}`",
    label = "no `sqlx::Decode` and `sqlx::Type` for `{Self}`",
    note = "derive `sqlx::Type` for it, or use a type that sqlx knows"
)]
pub trait Reads<T>: Database {
    /// Reads the value of a column.
    ///
    /// # Errors
    ///
    /// When there is no such column, or it holds something else.
    fn read(row: &Self::Row, column: &str) -> Result<T, sqlx::Error>;
}

/// The types that every supported database stores.
#[doc(hidden)]
pub trait BindsStandard:
    Binds<i16>
    + Binds<i32>
    + Binds<i64>
    + Binds<bool>
    + Binds<f64>
    + Binds<String>
    + Binds<Vec<u8>>
    + Binds<Option<i16>>
    + Binds<Option<i32>>
    + Binds<Option<i64>>
    + Binds<Option<bool>>
    + Binds<Option<f64>>
    + Binds<Option<String>>
    + Binds<Option<Vec<u8>>>
    + Reads<i16>
    + Reads<i32>
    + Reads<i64>
    + Reads<bool>
    + Reads<String>
    + Reads<Vec<u8>>
    + BindsUuid
{
}

/// `Uuid`, when the feature `uuid` is on.
#[cfg(feature = "uuid")]
#[doc(hidden)]
pub trait BindsUuid: Binds<uuid::Uuid> + Binds<Option<uuid::Uuid>> + Reads<uuid::Uuid> {}
/// `Uuid`, when the feature `uuid` is on.
#[cfg(not(feature = "uuid"))]
#[doc(hidden)]
pub trait BindsUuid {}

mod sealed {
    pub trait Sealed {}
}

/// A database that idem speaks: sqlx's `Postgres`, `MySql` and `Sqlite`, each when its feature is on.
pub trait SqlDialect:
    sealed::Sealed + Driver + BindsStandard + Database<Arguments: IntoArguments<Self>, Row: Send>
{
    /// Its dialect.
    const DIALECT: Dialect;
}

/// Implements the traits that have nothing of their own to say for one of sqlx's databases.
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
macro_rules! sql_dialect {
    ($DB:ty, $dialect:expr) => {
        impl $crate::dialect::sealed::Sealed for $DB {}
        impl $crate::dialect::BindsStandard for $DB {}
        impl $crate::dialect::BindsUuid for $DB {}
        impl $crate::dialect::SqlDialect for $DB {
            const DIALECT: $crate::dialect::Dialect = $dialect;
        }

        #[diagnostic::do_not_recommend]
        impl<T> $crate::dialect::Binds<T> for $DB
        where
            T: for<'q> sqlx::Encode<'q, $DB> + sqlx::Type<$DB>,
        {
            fn bind(arguments: &mut Self::Arguments, value: &T) -> Result<(), $crate::dialect::BoxDynError> {
                sqlx::Arguments::add(arguments, value)
            }
        }

        #[diagnostic::do_not_recommend]
        impl<T> $crate::dialect::Reads<T> for $DB
        where
            T: for<'r> sqlx::Decode<'r, $DB> + sqlx::Type<$DB>,
        {
            // MySQL calls a text that compares as bytes bytes: whether it is a text is seen when it is read.
            fn read(row: &Self::Row, column: &str) -> Result<T, sqlx::Error> {
                sqlx::Row::try_get_unchecked(row, column)
            }
        }
    };
}

#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
use sql_dialect;
