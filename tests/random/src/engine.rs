//! The engines, each with a database of its own for the machines of one test.

use std::error::Error;
use std::str::FromStr as _;

use idem_runtime::{Dialect, SqlDialect};
use sqlx::mysql::MySqlConnectOptions;
use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::SqlitePoolOptions;
use sqlx::{
    AssertSqlSafe, Column as _, ConnectOptions as _, Connection as _, Executor, MySql, Postgres, SqlSafeStr as _,
    Sqlite, SqlitePool, Statement as _,
};

use crate::Case;
use crate::generate::SCHEMA;

pub(crate) type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// Makes the tables of each machine, and has the engine prepare every statement.
///
/// # Errors
///
/// What the engine did not take, machine by machine; a server that is not there.
pub fn every_statement_prepares(dialect: Dialect, cases: &[Case]) -> Result {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let faults = runtime.block_on(async {
        match dialect {
            Dialect::Postgres => on_postgres(cases).await,
            Dialect::MySql => on_mysql(cases).await,
            Dialect::Sqlite => on_sqlite(cases).await,
        }
    })?;
    if faults.is_empty() { Ok(()) } else { Err(report(&faults).into()) }
}

fn report(faults: &[String]) -> String {
    let shown: Vec<_> = faults.iter().take(SHOWN).map(String::as_str).collect();
    format!("{} machines are not taken\n\n{}", faults.len(), shown.join("\n\n"))
}

/// How many machines a report shows.
const SHOWN: usize = 8;

async fn on_sqlite(cases: &[Case]) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    for case in cases {
        let mut connection = sqlite_pool().await?.acquire().await?;
        faults.extend(fault_of::<Sqlite>(&mut connection, case).await);
    }
    Ok(faults)
}

/// A fresh database that one connection holds.
pub(crate) async fn sqlite_pool() -> Result<SqlitePool> {
    let pool = SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await?;
    run(&pool, &format!("ATTACH ':memory:' AS \"{SCHEMA}\"")).await?;
    Ok(pool)
}

async fn on_postgres(cases: &[Case]) -> Result<Vec<String>> {
    let server = PgConnectOptions::from_str(&server_url("IDEM_TEST_POSTGRES_URL")?)?;
    let mut own = server.connect().await?;
    let name = database();
    run(&mut own, &format!("CREATE DATABASE {name}")).await?;
    let options = server.database(&name);
    run(&mut options.connect().await?, &format!("CREATE SCHEMA \"{SCHEMA}\"")).await?;
    let mut faults = Vec::new();
    for case in cases {
        // A statement that a connection remembers is answered without the server.
        let mut connection = options.connect().await?;
        run(&mut connection, "BEGIN").await?;
        faults.extend(fault_of::<Postgres>(&mut connection, case).await);
        connection.close().await?;
    }
    run(&mut own, &format!("DROP DATABASE {name} WITH (FORCE)")).await?;
    Ok(faults)
}

async fn on_mysql(cases: &[Case]) -> Result<Vec<String>> {
    let server = MySqlConnectOptions::from_str(&server_url("IDEM_TEST_MYSQL_URL")?)?;
    let mut own = server.connect().await?;
    let name = database();
    // What other dialects call a schema is a database here, and one that an earlier run has left may be there.
    let schema = format!("DROP DATABASE IF EXISTS `{SCHEMA}`; CREATE DATABASE `{SCHEMA}`");
    run(&mut own, &format!("CREATE DATABASE {name}; {schema}")).await?;
    let (options, mut faults) = (server.database(&name), Vec::new());
    for case in cases {
        let mut connection = options.connect().await?;
        faults.extend(fault_of::<MySql>(&mut connection, case).await);
        for table in case.tables(Dialect::MySql) {
            // It is missing where it could not be made, which is a fault already.
            let _ = run(&mut connection, &drop_table(&table)).await;
        }
        connection.close().await?;
    }
    run(&mut own, &format!("DROP DATABASE {name}; DROP DATABASE `{SCHEMA}`")).await?;
    Ok(faults)
}

fn database() -> String {
    format!("idem_test_{}", uuid::Uuid::new_v4().simple())
}

fn server_url(variable: &str) -> Result<String> {
    std::env::var(variable).map_err(|_| format!("{variable} is not set").into())
}

/// Why the engine does not take the machine.
async fn fault_of<DB: SqlDialect>(connection: &mut DB::Connection, case: &Case) -> Option<String>
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
{
    let fault = prepare_statements::<DB>(connection, case).await.err()?;
    Some(format!("{}, machine {}: {fault}\n{}", DB::NAME, case.number, case.source))
}

async fn prepare_statements<DB: SqlDialect>(connection: &mut DB::Connection, case: &Case) -> Result
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
{
    for statement in case.migration(DB::DIALECT) {
        run(&mut *connection, &statement).await.map_err(|error| format!("{error}\n{statement}"))?;
    }
    for (statement, columns) in case.statements(DB::DIALECT) {
        let prepared = prepare::<DB>(connection, statement, &columns).await;
        prepared.map_err(|error| format!("{error}\n{statement}"))?;
    }
    Ok(())
}

/// `DROP TABLE` for the table that a statement creates.
fn drop_table(create: &str) -> String {
    let name = create.trim_start_matches("CREATE TABLE ").trim_start_matches("IF NOT EXISTS ");
    let end = name.find(" (").unwrap_or(name.len());
    format!("DROP TABLE {}", &name[..end])
}

pub(crate) async fn run<'c>(on: impl Executor<'c>, sql: &str) -> Result {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(on).await?;
    Ok(())
}

/// Prepares a statement whose answer must have these columns.
async fn prepare<DB: SqlDialect>(connection: &mut DB::Connection, statement: &'static str, columns: &[&str]) -> Result
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
{
    let prepared = connection.prepare(AssertSqlSafe(statement).into_sql_str()).await?;
    let found: Vec<_> = prepared.columns().iter().map(|column| column.name().to_owned()).collect();
    if found == columns { Ok(()) } else { Err(format!("{found:?} instead of {columns:?}").into()) }
}
