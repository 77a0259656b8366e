use futures_core::future::BoxFuture;
use sqlx::sqlite::{SqliteQueryResult, SqliteRow, SqliteTypeInfo};
use sqlx::{Executor as _, Row as _, Sqlite, Type};

use super::driver::{self, Class, Driver, Leaves, driver_calls};
use super::{Dialect, sql_dialect};
use crate::machine::Repr;

sql_dialect!(Sqlite, Dialect::Sqlite);

/// The schema changed, and again at each of the library's own tries to prepare the statement anew.
const OUTDATED: i32 = 17;

impl Driver for Sqlite {
    /// A deferred transaction that reads and then writes fails at once when another one wrote in between.
    const BEGIN: &'static str = "BEGIN IMMEDIATE";
    const ONE_WRITER: bool = true;
    const SURVIVES_CUT: bool = true;

    driver_calls!(Sqlite);

    /// A statement is prepared without the types of its parameters.
    fn parameter_type(_: &str) -> SqliteTypeInfo {
        <str as Type<Self>>::type_info()
    }

    fn knows_type(_: &str) -> bool {
        false
    }

    fn status_type(repr: Repr) -> SqliteTypeInfo {
        match repr {
            Repr::Text | Repr::Native(_) => <str as Type<Self>>::type_info(),
            Repr::Int => <i64 as Type<Self>>::type_info(),
        }
    }

    fn reads_status(repr: Repr, column: &SqliteTypeInfo) -> bool {
        match repr {
            Repr::Text | Repr::Native(_) => <str as Type<Self>>::compatible(column),
            Repr::Int => <i64 as Type<Self>>::compatible(column),
        }
    }

    fn new_version(_: &SqliteQueryResult) -> Option<i64> {
        None
    }

    fn text(row: &SqliteRow, column: &str) -> Result<Option<String>, sqlx::Error> {
        row.try_get(column)
    }

    fn integer(row: &SqliteRow, column: &str) -> Result<Option<i64>, sqlx::Error> {
        row.try_get(column)
    }

    /// Only inside of a transaction does BEGIN fail.
    fn still_open(connection: &mut Self::Connection) -> BoxFuture<'_, bool> {
        Box::pin(async move { connection.execute("BEGIN").await.is_err() })
    }

    fn classify(error: &sqlx::Error) -> Class {
        match result_code(error) {
            Some(1555 | 2067 | 2579) => Class::Duplicate,
            // The low byte of an extended code is the primary one: 5 busy, 6 locked.
            Some(code) if matches!(code & 0xff, 5 | 6 | OUTDATED) => Class::Retry,
            Some(_) => Class::Other,
            None => driver::classify_transport(error),
        }
    }

    fn is_outdated(error: &sqlx::Error) -> bool {
        result_code(error).is_some_and(|code| code & 0xff == OUTDATED)
    }

    /// `OR ROLLBACK`, `RAISE(ROLLBACK)` and errors such as a full disk end the transaction without saying so.
    fn leaves(error: &sqlx::Error) -> Leaves {
        match error {
            sqlx::Error::Database(_) => Leaves::Doubt,
            other => driver::leaves_transport(other),
        }
    }
}

fn result_code(error: &sqlx::Error) -> Option<i32> {
    error.as_database_error()?.code()?.parse().ok()
}
