//! The shop's tables, and plain statements on them.

use idem_runtime::schema;
use sqlx::{MySql, Pool, Postgres, Sqlite};

use crate::broken;
use crate::machines::{OrderStatus, PaymentStatus};
use crate::place::{Script, sql};

/// Creates the shop's tables and the histories of its machines. idem's record table is `Idem::migrate`'s.
pub(crate) async fn create_tables<DB: Database>(pool: &Pool<DB>) -> sqlx::Result<()> {
    let dialect = DB::DIALECT;
    let histories = [schema::history::<PaymentStatus>(dialect), schema::history::<OrderStatus>(dialect)];
    let tables = [Some(DB::SCHEMA), Some(broken::TABLE)];
    for ddl in tables.into_iter().chain(histories).flatten() {
        DB::script(pool, ddl.to_owned()).await?;
    }
    Ok(())
}

/// A value of a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value<'v> {
    Text(&'v str),
    Integer(i64),
}

/// Plain statements, outside of everything that idem does.
pub(crate) trait Database: broken::Broken + Script {
    /// The shop's own tables.
    const SCHEMA: &'static str;

    /// Runs one statement.
    fn execute(
        pool: &Pool<Self>,
        statement: &'static str,
        values: &[Value<'_>],
    ) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// Reads a column of texts.
    fn texts(
        pool: &Pool<Self>,
        select: &'static str,
        values: &[Value<'_>],
    ) -> impl Future<Output = sqlx::Result<Vec<String>>> + Send;

    /// Reads a column of integers.
    fn integers(pool: &Pool<Self>, select: &'static str) -> impl Future<Output = sqlx::Result<Vec<i64>>> + Send;
}

macro_rules! database {
    ($DB:ty, $schema:literal) => {
        impl Database for $DB {
            const SCHEMA: &'static str = include_str!($schema);

            async fn execute(pool: &Pool<Self>, statement: &'static str, values: &[Value<'_>]) -> sqlx::Result<()> {
                let query = values.iter().fold(sqlx::query(sql::<Self>(statement)), |query, value| match *value {
                    Value::Text(text) => query.bind(text),
                    Value::Integer(integer) => query.bind(integer),
                });
                query.execute(pool).await?;
                Ok(())
            }

            async fn texts(pool: &Pool<Self>, select: &'static str, values: &[Value<'_>]) -> sqlx::Result<Vec<String>> {
                let query = values.iter().fold(sqlx::query_scalar(sql::<Self>(select)), |query, value| match *value {
                    Value::Text(text) => query.bind(text),
                    Value::Integer(integer) => query.bind(integer),
                });
                query.fetch_all(pool).await
            }

            async fn integers(pool: &Pool<Self>, select: &'static str) -> sqlx::Result<Vec<i64>> {
                sqlx::query_scalar(select).fetch_all(pool).await
            }
        }
    };
}

database!(Postgres, "schema/postgres.sql");
database!(MySql, "schema/mysql.sql");
database!(Sqlite, "schema/sqlite.sql");
