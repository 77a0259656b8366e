use futures_core::future::BoxFuture;
use sqlx::mysql::{MySqlDatabaseError, MySqlQueryResult, MySqlRow, MySqlTypeInfo};
use sqlx::{Column as _, Executor as _, MySql, Row as _, Type, TypeInfo as _};

use super::driver::{self, Class, Driver, Leaves, driver_calls};
use super::{Dialect, sql_dialect};
use crate::machine::Repr;

sql_dialect!(MySql, Dialect::MySql);

/// A prepared statement has to be prepared anew, and the server's own tries to do so have failed.
const OUTDATED: u16 = 1615;

/// The transaction reads a state of the database in which the table was another one.
const ALTERED: u16 = 1412;

impl Driver for MySql {
    /// The savepoint tells at the end whether this is still the same transaction: an implicit commit removes it.
    const BEGIN: &'static str = "BEGIN; SAVEPOINT idem_0";
    const ONE_WRITER: bool = false;
    const SURVIVES_CUT: bool = false;

    driver_calls!(MySql);

    /// A statement is prepared without the types of its parameters.
    fn parameter_type(_: &str) -> MySqlTypeInfo {
        <str as Type<Self>>::type_info()
    }

    fn knows_type(_: &str) -> bool {
        false
    }

    fn status_type(repr: Repr) -> MySqlTypeInfo {
        match repr {
            Repr::Text | Repr::Native(_) => <str as Type<Self>>::type_info(),
            Repr::Int => <i64 as Type<Self>>::type_info(),
        }
    }

    /// A text may be kept as bytes, and an integer in any size, signed or not.
    fn reads_status(repr: Repr, column: &MySqlTypeInfo) -> bool {
        match repr {
            Repr::Text | Repr::Native(_) => {
                <str as Type<Self>>::compatible(column) || <[u8] as Type<Self>>::compatible(column)
            }
            Repr::Int => <i64 as Type<Self>>::compatible(column) || <u64 as Type<Self>>::compatible(column),
        }
    }

    /// `version = LAST_INSERT_ID(version + 1)` hands the new version back in the answer to the UPDATE, unless a trigger of
    /// the table runs a statement of its own: then the answer holds 0, and the session still knows.
    fn new_version(done: &MySqlQueryResult) -> Option<i64> {
        i64::try_from(done.last_insert_id()).ok().filter(|version| *version != 0)
    }

    /// Columns that compare as bytes arrive as bytes, and the type of a subquery's column depends on the server.
    fn text(row: &MySqlRow, column: &str) -> Result<Option<String>, sqlx::Error> {
        row.try_get_unchecked(column)
    }

    /// An unsigned number that is too large is an error, not another number.
    fn integer(row: &MySqlRow, column: &str) -> Result<Option<i64>, sqlx::Error> {
        if !row.try_column(column)?.type_info().name().ends_with("UNSIGNED") {
            return row.try_get_unchecked(column);
        }
        let number: Option<u64> = row.try_get_unchecked(column)?;
        number.map(i64::try_from).transpose().map_err(|error| sqlx::Error::Decode(error.into()))
    }

    fn still_open(connection: &mut Self::Connection) -> BoxFuture<'_, bool> {
        Box::pin(async move { connection.execute("RELEASE SAVEPOINT idem_0").await.is_ok() })
    }

    fn is_outdated(error: &sqlx::Error) -> bool {
        let error = error.as_database_error().and_then(|error| error.try_downcast_ref());
        error.map(MySqlDatabaseError::number) == Some(OUTDATED)
    }

    /// By the server's number: 1205 and 1020 both carry the SQLSTATE HY000.
    fn classify(error: &sqlx::Error) -> Class {
        let Some(error) = error.as_database_error() else {
            return driver::classify_transport(error);
        };
        match error.try_downcast_ref::<MySqlDatabaseError>().map_or(0, MySqlDatabaseError::number) {
            1022 | 1062 | 1169 | 1586 => Class::Duplicate,
            // Deadlock, record changed since the snapshot (MariaDB), lock table full: all roll the transaction back. And a
            // table that was altered since the snapshot, and a statement that was cut: by KILL QUERY, or after its time on
            // MariaDB or MySQL.
            1213 | 1020 | 1206 | ALTERED | OUTDATED | 1317 | 1969 | 3024 => Class::Retry,
            1205 | 3572 => Class::LockTimeout,
            1053 | 1927 | 2006 | 2013 => Class::Lost,
            _ => Class::Other,
        }
    }

    /// Errors about the statement or its data undo the statement; of every other one we do not know, and after 1205
    /// it depends on `innodb_rollback_on_timeout`.
    fn leaves(error: &sqlx::Error) -> Leaves {
        let Some(error) = error.as_database_error() else {
            return driver::leaves_transport(error);
        };
        match error.try_downcast_ref::<MySqlDatabaseError>().and_then(MySqlDatabaseError::code) {
            Some(state) if ["21", "22", "23", "42", "45"].iter().any(|class| state.starts_with(class)) => {
                Leaves::Transaction
            }
            _ => Leaves::Nothing,
        }
    }
}
