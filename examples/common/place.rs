//! Where an example has its tables: a SQLite file of its own, or a fresh database on a server. It never touches what is
//! there.

use std::path::PathBuf;

use idem_runtime::prelude::*;
use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{AssertSqlSafe, MySql, MySqlPool, PgPool, Pool, Postgres, Sqlite, SqlitePool};
use uuid::Uuid;

/// Fewer than the workers: a call that waits for its turn must not need a connection.
const CONNECTIONS: u32 = 16;

/// A database that runs a text of several statements.
pub(crate) trait Script: SqlDialect {
    /// Runs statements without values.
    fn script(pool: &Pool<Self>, text: String) -> impl Future<Output = sqlx::Result<()>> + Send;
}

macro_rules! script {
    ($($DB:ty),+) => {
        $(impl Script for $DB {
            async fn script(pool: &Pool<Self>, text: String) -> sqlx::Result<()> {
                sqlx::raw_sql(AssertSqlSafe(text)).execute(pool).await?;
                Ok(())
            }
        })+
    };
}

script!(Postgres, MySql, Sqlite);

/// The statement with the placeholders of the dialect: PostgreSQL counts them.
pub(crate) fn sql<DB: SqlDialect>(statement: &'static str) -> AssertSqlSafe<String> {
    if DB::DIALECT != Dialect::Postgres {
        return AssertSqlSafe(statement.to_owned());
    }
    let parts = statement.split('?').enumerate();
    AssertSqlSafe(parts.map(|(at, part)| if at == 0 { part.to_owned() } else { format!("${at}{part}") }).collect())
}

/// Makes a new file in a new folder. Both are kept, so that a reader can look into them.
pub(crate) async fn sqlite(example: &str) -> Result<(SqlitePool, PathBuf), Box<dyn std::error::Error>> {
    let folder = tempfile::Builder::new().prefix(&format!("idem-{example}-")).tempdir()?.keep();
    let file = folder.join("shop.db");
    let options = SqliteConnectOptions::new().filename(&file).create_if_missing(true);
    let options = options.journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Normal);
    Ok((SqlitePoolOptions::new().max_connections(CONNECTIONS).connect_with(options).await?, file))
}

/// A database that this run has made on a server, and drops at its end.
pub(crate) struct Fresh<DB: Script> {
    pub(crate) pool: Pool<DB>,
    pub(crate) name: String,
    server: Pool<DB>,
}

impl<DB: Script> Fresh<DB> {
    /// Drops the database.
    pub(crate) async fn drop(self) -> sqlx::Result<()> {
        self.pool.close().await;
        DB::script(&self.server, format!("DROP DATABASE {}", self.name)).await
    }
}

/// Makes a fresh database on a PostgreSQL server.
pub(crate) async fn postgres(example: &str, server: PgConnectOptions) -> sqlx::Result<Fresh<Postgres>> {
    let (name, maker) = (fresh_name(example), PgPool::connect_with(server.clone()).await?);
    Postgres::script(&maker, format!("CREATE DATABASE {name}")).await?;
    let pool = PgPoolOptions::new().max_connections(CONNECTIONS).connect_with(server.database(&name)).await?;
    Ok(Fresh { pool, name, server: maker })
}

/// Makes a fresh database on a MySQL or MariaDB server.
pub(crate) async fn mysql(example: &str, server: MySqlConnectOptions) -> sqlx::Result<Fresh<MySql>> {
    let (name, maker) = (fresh_name(example), MySqlPool::connect_with(server.clone()).await?);
    let create = format!("CREATE DATABASE {name} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin");
    MySql::script(&maker, create).await?;
    let pool = MySqlPoolOptions::new().max_connections(CONNECTIONS).connect_with(server.database(&name)).await?;
    Ok(Fresh { pool, name, server: maker })
}

fn fresh_name(example: &str) -> String {
    format!("idem_{example}_{}", Uuid::new_v4().simple())
}
