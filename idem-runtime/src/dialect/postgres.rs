use futures_core::future::BoxFuture;
use sqlx::error::DatabaseError;
use sqlx::postgres::types::Oid;
use sqlx::postgres::{PgDatabaseError, PgQueryResult, PgRow, PgTypeInfo};
use sqlx::{Executor as _, Postgres, Row as _, Type, TypeInfo as _};

use super::driver::{self, Class, Driver, Leaves, driver_calls};
use super::{Dialect, sql_dialect};
use crate::machine::Repr;

sql_dialect!(Postgres, Dialect::Postgres);

impl Driver for Postgres {
    const BEGIN: &'static str = "BEGIN";
    const ONE_WRITER: bool = false;
    const SURVIVES_CUT: bool = true;

    driver_calls!(Postgres);

    fn parameter_type(rust: &str) -> PgTypeInfo {
        // Zero lets the server infer it.
        known_type(rust).unwrap_or(PgTypeInfo::with_oid(Oid(0)))
    }

    fn knows_type(rust: &str) -> bool {
        known_type(rust).is_some()
    }

    fn status_type(repr: Repr) -> PgTypeInfo {
        match repr {
            Repr::Text => <str as Type<Self>>::type_info(),
            Repr::Int => <i64 as Type<Self>>::type_info(),
            Repr::Native(name) => PgTypeInfo::with_name(name),
        }
    }

    fn reads_status(repr: Repr, column: &PgTypeInfo) -> bool {
        match repr {
            Repr::Text => <str as Type<Self>>::compatible(column),
            Repr::Int => matches!(column.name(), "INT2" | "INT4" | "INT8"),
            Repr::Native(_) => *column == Self::status_type(repr) || <str as Type<Self>>::compatible(column),
        }
    }

    fn new_version(_: &PgQueryResult) -> Option<i64> {
        None
    }

    fn text(row: &PgRow, column: &str) -> Result<Option<String>, sqlx::Error> {
        row.try_get(column)
    }

    fn integer(row: &PgRow, column: &str) -> Result<Option<i64>, sqlx::Error> {
        row.try_get(column)
            .or_else(|_| Ok(row.try_get::<Option<i32>, _>(column)?.map(i64::from)))
            .or_else(|_: sqlx::Error| Ok(row.try_get::<Option<i16>, _>(column)?.map(i64::from)))
    }

    /// Outside of a transaction, and in one that an error ended, no savepoint can be set.
    fn still_open(connection: &mut Self::Connection) -> BoxFuture<'_, bool> {
        Box::pin(async move { connection.execute("SAVEPOINT idem_end").await.is_ok() })
    }

    fn classify(error: &sqlx::Error) -> Class {
        let Some(error) = error.as_database_error() else {
            return driver::classify_transport(error);
        };
        match error.code().as_deref() {
            Some("23505") => Class::Duplicate,
            // Serialization failure, deadlock, and a statement that was cut: by `statement_timeout`, or by somebody.
            Some("40001" | "40P01" | "57014") => Class::Retry,
            Some("55P03") => Class::LockTimeout,
            Some(_) if is_outdated(error) => Class::Retry,
            // The connection or the server is going away: 57P01 to 57P03, and the class of connection exceptions.
            Some(code) if code.starts_with("08") || code.starts_with("57P0") => Class::Lost,
            _ => Class::Other,
        }
    }

    fn is_outdated(error: &sqlx::Error) -> bool {
        error.as_database_error().is_some_and(is_outdated)
    }

    /// PostgreSQL refuses everything after an error until a savepoint is rolled back to.
    fn leaves(error: &sqlx::Error) -> Leaves {
        match error {
            sqlx::Error::Database(_) => Leaves::Savepoint,
            other => driver::leaves_transport(other),
        }
    }
}

/// Types of the standard library, and `Uuid`, which here can only be the one.
fn known_type(rust: &str) -> Option<PgTypeInfo> {
    match driver::bare(rust) {
        "String" => Some(<str as Type<Postgres>>::type_info()),
        "i16" => Some(<i16 as Type<Postgres>>::type_info()),
        "i32" => Some(<i32 as Type<Postgres>>::type_info()),
        "i64" => Some(<i64 as Type<Postgres>>::type_info()),
        "f64" => Some(<f64 as Type<Postgres>>::type_info()),
        "bool" => Some(<bool as Type<Postgres>>::type_info()),
        "Vec<u8>" => Some(<[u8] as Type<Postgres>>::type_info()),
        #[cfg(feature = "uuid")]
        "Uuid" => Some(<uuid::Uuid as Type<Postgres>>::type_info()),
        _ => None,
    }
}

/// A plan whose result has other types now, which is one case of "not supported" (told by the server's routine, since its
/// words are translated); a prepared statement that is not there, or one of its name that is, as behind a pooler.
fn is_outdated(error: &dyn DatabaseError) -> bool {
    match error.code().as_deref() {
        Some("0A000") => {
            let routine = error.try_downcast_ref().and_then(PgDatabaseError::routine);
            routine == Some("RevalidateCachedQuery")
        }
        Some(code) => matches!(code, "26000" | "42P05"),
        None => false,
    }
}
