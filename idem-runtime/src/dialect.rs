//! The three databases: what they are called, which statement is whose, and what their errors mean.

#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use sqlx::{Database, Either, Execute, IntoArguments, SqlStr};

pub use sqlx::error::BoxDynError;

/// What a statement gives back, row by row.
pub type Many<'e, DB> =
    BoxStream<'e, Result<Either<<DB as Database>::QueryResult, <DB as Database>::Row>, sqlx::Error>>;

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
    + BindsUuid
{
}

/// `Uuid`, when the feature `uuid` is on.
#[cfg(feature = "uuid")]
#[doc(hidden)]
pub trait BindsUuid: Binds<uuid::Uuid> + Binds<Option<uuid::Uuid>> {}
/// `Uuid`, when the feature `uuid` is on.
#[cfg(not(feature = "uuid"))]
#[doc(hidden)]
pub trait BindsUuid {}

/// What an error of the database means for the work around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// A unique index already holds the key.
    Duplicate,
    /// The transaction is dead, and running all of it again may succeed: deadlock, serialization failure, busy.
    Retry,
    /// A lock was not granted in time.
    LockTimeout,
    /// The answer to a statement was lost: nobody knows whether it ran.
    Lost,
    /// Anything else.
    Other,
}

/// What an error leaves of the transaction in which it happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaves {
    /// Only the statement was undone: the transaction goes on.
    Transaction,
    /// Nothing is accepted until a rollback to a savepoint.
    Savepoint,
    /// Whether there still is a transaction has to be asked.
    Doubt,
    /// Nothing: the transaction was rolled back.
    Nothing,
}

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

/// The driver's calls, written once a driver, so that generic code needs no bound on a connection.
#[doc(hidden)]
#[allow(private_interfaces, reason = "the trait is sealed: only this crate names its types")]
pub trait Driver: Database {
    /// The statements that open a transaction, sent as one.
    const BEGIN: &'static str;
    /// Whether there is only one writer at a time, so that writers wait in this process and in order.
    const ONE_WRITER: bool;

    fn fetch_many<'c: 'e, 'q: 'e, 'e, E>(
        connection: &'c mut Self::Connection,
        query: E,
    ) -> Many<'e, Self>
    where
        E: 'q + Execute<'q, Self>;

    fn fetch_optional<'c: 'e, 'q: 'e, 'e, E>(
        connection: &'c mut Self::Connection,
        query: E,
    ) -> BoxFuture<'e, Result<Option<Self::Row>, sqlx::Error>>
    where
        E: 'q + Execute<'q, Self>;

    fn prepare_with<'c: 'e, 'e>(
        connection: &'c mut Self::Connection,
        sql: SqlStr,
        parameters: &'e [Self::TypeInfo],
    ) -> BoxFuture<'e, Result<Self::Statement, sqlx::Error>>;

    fn describe<'c: 'e, 'e>(
        connection: &'c mut Self::Connection,
        sql: SqlStr,
    ) -> BoxFuture<'e, Result<sqlx::Describe<Self>, sqlx::Error>>;

    fn rows_affected(done: &Self::QueryResult) -> u64;
    fn text(row: &Self::Row, column: &str) -> Result<Option<String>, sqlx::Error>;
    fn integer(row: &Self::Row, column: &str) -> Result<Option<i64>, sqlx::Error>;

    fn classify(error: &sqlx::Error) -> Class;
    /// What an error of the server leaves of the transaction.
    fn leaves(error: &sqlx::Error) -> Leaves;
}

/// Implements the driver's calls for one of sqlx's databases.
macro_rules! driver_calls {
    ($DB:ty) => {
        fn fetch_many<'c: 'e, 'q: 'e, 'e, E>(
            connection: &'c mut Self::Connection,
            query: E,
        ) -> $crate::dialect::Many<'e, Self>
        where
            E: 'q + sqlx::Execute<'q, Self>,
        {
            sqlx::Executor::fetch_many(connection, query)
        }

        fn fetch_optional<'c: 'e, 'q: 'e, 'e, E>(
            connection: &'c mut Self::Connection,
            query: E,
        ) -> futures_core::future::BoxFuture<'e, Result<Option<Self::Row>, sqlx::Error>>
        where
            E: 'q + sqlx::Execute<'q, Self>,
        {
            sqlx::Executor::fetch_optional(connection, query)
        }

        fn prepare_with<'c: 'e, 'e>(
            connection: &'c mut Self::Connection,
            sql: sqlx::SqlStr,
            parameters: &'e [Self::TypeInfo],
        ) -> futures_core::future::BoxFuture<'e, Result<Self::Statement, sqlx::Error>> {
            sqlx::Executor::prepare_with(connection, sql, parameters)
        }

        fn describe<'c: 'e, 'e>(
            connection: &'c mut Self::Connection,
            sql: sqlx::SqlStr,
        ) -> futures_core::future::BoxFuture<'e, Result<sqlx::Describe<Self>, sqlx::Error>> {
            sqlx::Executor::describe(connection, sql)
        }

        fn rows_affected(done: &Self::QueryResult) -> u64 {
            done.rows_affected()
        }
    };
}

/// Implements the traits that have nothing of their own to say for one of sqlx's databases.
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
            fn bind(
                arguments: &mut Self::Arguments,
                value: &T,
            ) -> Result<(), $crate::dialect::BoxDynError> {
                sqlx::Arguments::add(arguments, value)
            }
        }
    };
}

#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
pub(crate) use {driver_calls, sql_dialect};
