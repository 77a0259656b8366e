//! What a driver has to do for idem, and what its errors mean.

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::{Database, Either, Execute, SqlStr};

use crate::machine::Repr;

/// What a statement gives back, row by row.
pub(crate) type Many<'e, DB> =
    BoxStream<'e, Result<Either<<DB as Database>::QueryResult, <DB as Database>::Row>, sqlx::Error>>;

/// What an error of the database means for the work around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A unique index already holds the key.
    Duplicate,
    /// The transaction is dead, and running all of it again may succeed: deadlock, serialization failure, busy, a
    /// statement that the server cut.
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
pub enum Leaves {
    /// Only the statement was undone: the transaction goes on.
    Transaction,
    /// Nothing is accepted until a rollback to a savepoint.
    Savepoint,
    /// Whether there still is a transaction has to be asked.
    Doubt,
    /// Nothing: the transaction was rolled back.
    Nothing,
}

/// The driver's calls, written once a driver, so that generic code needs no bound on a connection.
pub trait Driver: Database {
    /// The statements that open a transaction, sent as one.
    const BEGIN: &'static str;
    /// Whether there is only one writer at a time, so that writers wait in this process and in order.
    const ONE_WRITER: bool;
    /// Whether a connection is in step with its server after a statement was cut off.
    const SURVIVES_CUT: bool;

    fn fetch_many<'c: 'e, 'q: 'e, 'e, E>(connection: &'c mut Self::Connection, query: E) -> Many<'e, Self>
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

    /// Throws the connection's prepared statements away, so that each is prepared anew.
    fn forget_statements(connection: &mut Self::Connection) -> BoxFuture<'_, Result<(), sqlx::Error>>;

    /// What a value of this Rust type, as it is written, is sent as; where that is not known, the type that leaves it to
    /// the server.
    fn parameter_type(rust: &str) -> Self::TypeInfo;
    /// Whether it is known.
    fn knows_type(rust: &str) -> bool;

    fn rows_affected(done: &Self::QueryResult) -> u64;
    /// The version that an UPDATE handed back, where the dialect has no other way and its answer tells.
    fn new_version(done: &Self::QueryResult) -> Option<i64>;
    fn text(row: &Self::Row, column: &str) -> Result<Option<String>, sqlx::Error>;
    fn integer(row: &Self::Row, column: &str) -> Result<Option<i64>, sqlx::Error>;

    /// The type as which a state is sent.
    fn status_type(repr: Repr) -> Self::TypeInfo;
    /// Whether a column of this type can hold states.
    fn reads_status(repr: Repr, column: &Self::TypeInfo) -> bool;
    fn encode_text(text: &str, buffer: &mut Self::ArgumentBuffer) -> Result<IsNull, BoxDynError>;
    fn encode_integer(number: i64, buffer: &mut Self::ArgumentBuffer) -> Result<IsNull, BoxDynError>;
    fn decode_text(value: Self::ValueRef<'_>) -> Result<String, BoxDynError>;
    fn decode_integer(value: Self::ValueRef<'_>) -> Result<i64, BoxDynError>;

    /// Whether the transaction that [`BEGIN`](Self::BEGIN) opened is still there. On MySQL it can be asked once, at the
    /// end; on SQLite another one is open if it is not.
    fn still_open(connection: &mut Self::Connection) -> BoxFuture<'_, bool>;

    fn classify(error: &sqlx::Error) -> Class;
    /// Whether a statement that the driver had prepared fits the schema no more: its class is [`Class::Retry`].
    fn is_outdated(error: &sqlx::Error) -> bool;
    /// What an error of the server leaves of the transaction.
    fn leaves(error: &sqlx::Error) -> Leaves;
}

/// What an error means that the server did not send.
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
pub(super) fn classify_transport(error: &sqlx::Error) -> Class {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::Tls(_) | sqlx::Error::WorkerCrashed => Class::Lost,
        _ => Class::Other,
    }
}

/// An error that sqlx found on this side, such as a column of another type, leaves the transaction as it is.
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
pub(super) fn leaves_transport(error: &sqlx::Error) -> Leaves {
    match classify_transport(error) {
        Class::Lost => Leaves::Nothing,
        _ => Leaves::Transaction,
    }
}

/// The type inside of an `Option`, without the path before its name.
#[cfg(feature = "postgres")]
pub(super) fn bare(rust: &str) -> &str {
    let inner = rust.split_once("Option<").and_then(|(_, inner)| inner.strip_suffix('>')).unwrap_or(rust);
    inner.rsplit("::").next().unwrap_or(inner)
}

/// Implements the driver's calls for one of sqlx's databases.
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
macro_rules! driver_calls {
    ($DB:ty) => {
        fn fetch_many<'c: 'e, 'q: 'e, 'e, E>(
            connection: &'c mut Self::Connection,
            query: E,
        ) -> $crate::dialect::driver::Many<'e, Self>
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

        fn forget_statements(
            connection: &mut Self::Connection,
        ) -> futures_core::future::BoxFuture<'_, Result<(), sqlx::Error>> {
            Box::pin(sqlx::Connection::clear_cached_statements(connection))
        }

        fn rows_affected(done: &Self::QueryResult) -> u64 {
            done.rows_affected()
        }

        fn encode_text(
            text: &str,
            buffer: &mut Self::ArgumentBuffer,
        ) -> Result<sqlx::encode::IsNull, sqlx::error::BoxDynError> {
            sqlx::Encode::<Self>::encode(text.to_owned(), buffer)
        }

        fn encode_integer(
            number: i64,
            buffer: &mut Self::ArgumentBuffer,
        ) -> Result<sqlx::encode::IsNull, sqlx::error::BoxDynError> {
            sqlx::Encode::<Self>::encode(number, buffer)
        }

        fn decode_text(value: Self::ValueRef<'_>) -> Result<String, sqlx::error::BoxDynError> {
            sqlx::Decode::<Self>::decode(value)
        }

        fn decode_integer(value: Self::ValueRef<'_>) -> Result<i64, sqlx::error::BoxDynError> {
            sqlx::Decode::<Self>::decode(value)
        }
    };
}

#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
pub(super) use driver_calls;
