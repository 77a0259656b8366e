//! The shop's own statements, and where they run: a SQLite file, or a fresh database on a server.
//!
//! A shop has one database, and writes `sqlx::query("..")` where it needs it. This one runs on three, so a macro makes
//! what it needs for each driver.

use std::path::PathBuf;

use idem_runtime::prelude::*;
use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{AssertSqlSafe, MySql, MySqlPool, PgPool, Pool, Postgres, Sqlite, SqlitePool};
use uuid::Uuid;

use crate::script::Wish;
use crate::tables::TABLES;

/// A value of a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value<'v> {
    Number(i64),
    Text(&'v str),
}

/// A database that the accounts can live in.
pub(crate) trait Bank: SqlDialect {
    /// Runs statements without values.
    fn script(pool: &Pool<Self>, text: String) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// Runs one statement, and tells how many rows it wrote.
    fn write(
        tx: &mut Tx<'_, Self>,
        statement: &'static str,
        values: &[Value<'_>],
    ) -> impl Future<Output = sqlx::Result<u64>> + Send;

    /// The texts that a query finds.
    fn find(
        pool: &Pool<Self>,
        query: &'static str,
        values: &[Value<'_>],
    ) -> impl Future<Output = sqlx::Result<Vec<String>>> + Send;
}

macro_rules! bank {
    ($DB:ty) => {
        impl Bank for $DB {
            async fn script(pool: &Pool<Self>, text: String) -> sqlx::Result<()> {
                sqlx::raw_sql(AssertSqlSafe(text)).execute(pool).await?;
                Ok(())
            }

            async fn write(tx: &mut Tx<'_, Self>, statement: &'static str, values: &[Value<'_>]) -> sqlx::Result<u64> {
                let query = values.iter().fold(sqlx::query(sql::<Self>(statement)), |query, value| match *value {
                    Value::Number(number) => query.bind(number),
                    Value::Text(text) => query.bind(text),
                });
                Ok(query.execute(tx).await?.rows_affected())
            }

            async fn find(pool: &Pool<Self>, query: &'static str, values: &[Value<'_>]) -> sqlx::Result<Vec<String>> {
                let query = values.iter().fold(sqlx::query_scalar(sql::<Self>(query)), |query, value| match *value {
                    Value::Number(number) => query.bind(number),
                    Value::Text(text) => query.bind(text),
                });
                query.fetch_all(pool).await
            }
        }
    };
}

bank!(Postgres);
bank!(MySql);
bank!(Sqlite);

/// The statement with the placeholders of the dialect: PostgreSQL counts them.
fn sql<DB: SqlDialect>(statement: &'static str) -> AssertSqlSafe<String> {
    if DB::DIALECT != Dialect::Postgres {
        return AssertSqlSafe(statement.to_owned());
    }
    let parts = statement.split('?').enumerate();
    AssertSqlSafe(parts.map(|(at, part)| if at == 0 { part.to_owned() } else { format!("${at}{part}") }).collect())
}

/// Fewer than the workers: a call that waits for its turn must not need a connection.
const CONNECTIONS: u32 = 8;

/// Makes a new file in a new folder, and keeps both for the reader.
pub(crate) async fn sqlite() -> Result<(SqlitePool, PathBuf), Box<dyn std::error::Error>> {
    let file = tempfile::Builder::new().prefix("idem-reward-").tempdir()?.keep().join("reward.db");
    let options = SqliteConnectOptions::new().filename(&file).create_if_missing(true);
    let options = options.journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Normal);
    Ok((SqlitePoolOptions::new().max_connections(CONNECTIONS).connect_with(options).await?, file))
}

/// A database that this run has made on a server, and drops at its end.
pub(crate) struct Fresh<DB: Bank> {
    pub(crate) pool: Pool<DB>,
    pub(crate) name: String,
    server: Pool<DB>,
}

impl<DB: Bank> Fresh<DB> {
    /// Drops the database.
    pub(crate) async fn drop(self) -> sqlx::Result<()> {
        self.pool.close().await;
        DB::script(&self.server, format!("DROP DATABASE {}", self.name)).await
    }
}

/// Makes a fresh database on a PostgreSQL server.
pub(crate) async fn postgres(server: PgConnectOptions) -> sqlx::Result<Fresh<Postgres>> {
    let (name, maker) = (fresh_name(), PgPool::connect_with(server.clone()).await?);
    Postgres::script(&maker, format!("CREATE DATABASE {name}")).await?;
    let pool = PgPoolOptions::new().max_connections(CONNECTIONS).connect_with(server.database(&name)).await?;
    Ok(Fresh { pool, name, server: maker })
}

/// Makes a fresh database on a MySQL or MariaDB server.
pub(crate) async fn mysql(server: MySqlConnectOptions) -> sqlx::Result<Fresh<MySql>> {
    let (name, maker) = (fresh_name(), MySqlPool::connect_with(server.clone()).await?);
    MySql::script(&maker, format!("CREATE DATABASE {name} CHARACTER SET utf8mb4")).await?;
    let pool = MySqlPoolOptions::new().max_connections(CONNECTIONS).connect_with(server.database(&name)).await?;
    Ok(Fresh { pool, name, server: maker })
}

fn fresh_name() -> String {
    format!("idem_reward_{}", Uuid::new_v4().simple())
}

/// Creates the tables, opens an account for each user, and writes down for the checker what is wanted.
pub(crate) async fn open<DB: Bank>(pool: &Pool<DB>, wishes: &[Wish]) -> Result<Idem<DB>, Box<dyn std::error::Error>> {
    let idem = Idem::builder(pool.clone()).build().await?;
    idem.migrate().await?;
    DB::script(pool, TABLES.to_owned()).await?;
    let mut tx = idem.begin().await?;
    let mut last = None;
    for wish in wishes {
        // The wishes come in the order of their users.
        if last.replace(wish.user_id) != Some(wish.user_id) {
            let insert = "INSERT INTO accounts (user_id, name) VALUES (?, ?)";
            let name = format!("user {}", wish.user_id);
            DB::write(&mut tx, insert, &[Value::Number(wish.user_id), Value::Text(&name)]).await?;
        }
        let insert = "INSERT INTO wanted (name, kind, activity_id, user_id) VALUES (?, ?, ?, ?)";
        let (name, kind) = (wish.name(), wish.kind.name());
        let [activity, user] = [wish.activity_id, wish.user_id].map(Value::Number);
        DB::write(&mut tx, insert, &[Value::Text(&name), Value::Text(kind), activity, user]).await?;
    }
    tx.commit().await?;
    Ok(idem)
}
