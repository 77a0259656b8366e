//! Where the shop lives: a SQLite file of its own, or a fresh database on a server. It never touches what is there.

use std::path::PathBuf;

use idem_runtime::schema;
use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{AssertSqlSafe, MySql, MySqlPool, PgPool, Pool, Postgres, Sqlite, SqlitePool};
use uuid::Uuid;

use crate::broken;
use crate::machines::{OrderStatus, PaymentStatus};
use crate::store::sql;

/// Fewer than the workers: a call that waits for its turn must not need a connection.
const CONNECTIONS: u32 = 16;

/// Makes a new file in a new folder. Both are kept, so that a reader can run the checker's statements.
pub(crate) async fn sqlite() -> Result<(SqlitePool, PathBuf), Box<dyn std::error::Error>> {
    let file = tempfile::Builder::new().prefix("idem-payment-").tempdir()?.keep().join("shop.db");
    let options = SqliteConnectOptions::new()
        .filename(&file)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Normal);
    let pool = SqlitePoolOptions::new().max_connections(CONNECTIONS).connect_with(options).await?;
    Ok((pool, file))
}

/// A database that this run has made on a server, and drops at its end.
pub(crate) struct Fresh<DB: Database> {
    pub(crate) pool: Pool<DB>,
    pub(crate) name: String,
    server: Pool<DB>,
}

impl<DB: Database> Fresh<DB> {
    /// Drops the database.
    pub(crate) async fn drop(self) -> sqlx::Result<()> {
        self.pool.close().await;
        DB::script(&self.server, format!("DROP DATABASE {}", self.name)).await
    }
}

/// Makes a fresh database on a PostgreSQL server.
pub(crate) async fn postgres(server: PgConnectOptions) -> sqlx::Result<Fresh<Postgres>> {
    let name = fresh_name();
    let maker = PgPool::connect_with(server.clone()).await?;
    Postgres::script(&maker, format!("CREATE DATABASE {name}")).await?;
    let pool = PgPoolOptions::new().max_connections(CONNECTIONS).connect_with(server.database(&name)).await?;
    Ok(Fresh { pool, name, server: maker })
}

/// Makes a fresh database on a MySQL or MariaDB server.
pub(crate) async fn mysql(server: MySqlConnectOptions) -> sqlx::Result<Fresh<MySql>> {
    let name = fresh_name();
    let maker = MySqlPool::connect_with(server.clone()).await?;
    let create = format!("CREATE DATABASE {name} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin");
    MySql::script(&maker, create).await?;
    let pool = MySqlPoolOptions::new().max_connections(CONNECTIONS).connect_with(server.database(&name)).await?;
    Ok(Fresh { pool, name, server: maker })
}

fn fresh_name() -> String {
    format!("idem_payment_{}", Uuid::new_v4().simple())
}

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
pub(crate) trait Database: broken::Broken {
    /// The shop's own tables.
    const SCHEMA: &'static str;

    /// Runs statements without values.
    fn script(pool: &Pool<Self>, text: String) -> impl Future<Output = sqlx::Result<()>> + Send;

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

            async fn script(pool: &Pool<Self>, text: String) -> sqlx::Result<()> {
                sqlx::raw_sql(AssertSqlSafe(text)).execute(pool).await?;
                Ok(())
            }

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
