//! The three engines, each with a fresh database for every test.

use std::future::Future;
use std::path::PathBuf;
use std::str::FromStr as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use idem_runtime::__steps::Step;
use idem_runtime::gate::Gate;
use idem_runtime::{Idem, SqlDialect};
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::pool::PoolOptions;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{
    AssertSqlSafe, Column as _, ConnectOptions as _, Connection, Database, Decode, Encode, Executor as _, MySql, Pool,
    Postgres, Row as _, Sqlite, Type,
};

use super::BoxError;
use super::count::Counted;
use super::gate;

/// Implements the calls whose bounds hold for each of sqlx's databases, but cannot be written once for all of them.
macro_rules! engine_calls {
    () => {
        async fn execute(pool: &Pool<Self>, sql: String) -> Result<u64, sqlx::Error> {
            Ok(sqlx::raw_sql(AssertSqlSafe(sql)).execute(pool).await?.rows_affected())
        }

        async fn rows(pool: &Pool<Self>, sql: String) -> Result<Vec<Vec<String>>, sqlx::Error> {
            // Not prepared: each text is another one, and a driver that forgets an old one for it is slow.
            let rows = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_all(pool).await?;
            Ok(rows.iter().map(Self::cells).collect())
        }

        async fn read_back<T: Stored<Self>>(pool: &Pool<Self>, sql: String, value: T) -> Result<Vec<T>, sqlx::Error> {
            sqlx::query_scalar(AssertSqlSafe(sql)).bind(value).fetch_all(pool).await
        }

        fn cells(row: &Self::Row) -> Vec<String> {
            row.columns().iter().map(|column| cell!(row, column.ordinal(), i64 i32 i16 bool String)).collect()
        }

        fn affected(done: &Self::QueryResult) -> u64 {
            done.rows_affected()
        }

        fn set_up<'c>(
            connection: &'c mut Self::Connection,
            sql: &'static str,
        ) -> BoxFuture<'c, Result<(), sqlx::Error>> {
            Box::pin(async move { connection.execute(sqlx::raw_sql(sql)).await.map(drop) })
        }
    };
}

/// A value as text: the first of the types that the column can be read as.
macro_rules! cell {
    ($row:expr, $index:expr, $($Type:ty)+) => {{
        let shown = None::<String>;
        $(let shown = shown.or_else(|| {
            let value = $row.try_get::<Option<$Type>, _>($index).ok()?;
            Some(value.map_or_else(|| "NULL".to_owned(), |value| value.to_string()))
        });)+
        shown.unwrap_or_else(|| {
            let bytes = $row.try_get_unchecked::<Vec<u8>, _>($index).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        })
    }};
}

/// How a connection to a database is described.
pub(crate) type Options<DB> = <<DB as Database>::Connection as Connection>::Options;

/// A type whose values can be stored and read.
pub(crate) trait Stored<DB: Database>:
    for<'q> Encode<'q, DB> + for<'r> Decode<'r, DB> + Type<DB> + Send + Unpin + 'static
{
}
impl<DB: Database, T> Stored<DB> for T where
    T: for<'q> Encode<'q, DB> + for<'r> Decode<'r, DB> + Type<DB> + Send + Unpin + 'static
{
}

/// An engine that the suite runs on.
pub(crate) trait Engine: SqlDialect + Counted {
    /// The variable that says where its server is; an embedded engine needs none.
    const URL_VARIABLE: Option<&'static str>;
    /// The steps of the runtime that do not exist on it.
    const NO_STEPS: &'static [Step];

    /// Makes an empty database; gives its URL.
    fn create(name: String) -> impl Future<Output = Result<String, BoxError>> + Send;
    /// Removes the database again.
    fn remove(url: &str) -> impl Future<Output = Result<(), BoxError>> + Send;
    /// How to connect to it.
    fn options(url: &str) -> Result<Options<Self>, sqlx::Error>;
    /// Runs a statement; gives the number of rows that it affected.
    fn execute(pool: &Pool<Self>, sql: String) -> impl Future<Output = Result<u64, sqlx::Error>> + Send;
    /// Runs a query; gives its rows as text.
    fn rows(pool: &Pool<Self>, sql: String) -> impl Future<Output = Result<Vec<Vec<String>>, sqlx::Error>> + Send;
    /// Runs a query whose only parameter is of the type of its only column; gives what it finds.
    fn read_back<T: Stored<Self>>(
        pool: &Pool<Self>,
        sql: String,
        value: T,
    ) -> impl Future<Output = Result<Vec<T>, sqlx::Error>> + Send;
    /// A row as text, `NULL` for no value.
    fn cells(row: &Self::Row) -> Vec<String>;
    /// The number of rows that a statement affected.
    fn affected(done: &Self::QueryResult) -> u64;
    /// Runs a statement that changes the session.
    fn set_up<'c>(connection: &'c mut Self::Connection, sql: &'static str) -> BoxFuture<'c, Result<(), sqlx::Error>>;
}

/// A database of one test's own. Clones are the same database.
pub(crate) struct TestDb<DB: Engine> {
    shared: Arc<Shared<DB>>,
}

struct Shared<DB: Engine> {
    url: String,
    /// One connection for the test's own statements, so that they never compete for a pool under test.
    own: Pool<DB>,
    /// Every pool that was given out, to be closed before the database is removed.
    pools: Mutex<Vec<Pool<DB>>>,
    gates: Mutex<Vec<Gate>>,
}

impl<DB: Engine> TestDb<DB> {
    /// Makes a fresh database.
    pub(crate) async fn create() -> Result<Self, BoxError> {
        let name = format!("idem_test_{}", uuid::Uuid::new_v4().simple());
        Self::attach(DB::create(name).await?)
    }

    /// Opens a database that another process made.
    pub(crate) fn attach(url: String) -> Result<Self, BoxError> {
        let own = pool_options(1).connect_lazy_with(DB::options(&url)?);
        let pools = Mutex::new(vec![own.clone()]);
        Ok(Self { shared: Arc::new(Shared { url, own, pools, gates: Mutex::default() }) })
    }

    /// Closes its pools and removes it.
    pub(crate) async fn remove(&self) -> Result<(), BoxError> {
        self.shared
            .gates
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .drain(..)
            .for_each(|it| gate::note(it.counts()));
        let pools = std::mem::take(&mut *self.shared.pools.lock().unwrap_or_else(PoisonError::into_inner));
        for pool in pools {
            // A test that failed may have left a connection somewhere: removing the database does not wait for it.
            let _ = tokio::time::timeout(Duration::from_secs(2), pool.close()).await;
        }
        DB::remove(&self.shared.url).await
    }

    /// Its URL, for a process that attaches to it.
    pub(crate) fn url(&self) -> &str {
        &self.shared.url
    }

    /// A new pool, like that of one more process.
    pub(crate) fn pool(&self, max_connections: u32) -> Result<Pool<DB>, BoxError> {
        self.open(pool_options(max_connections))
    }

    fn open(&self, options: PoolOptions<DB>) -> Result<Pool<DB>, BoxError> {
        let pool = options.connect_lazy_with(DB::options(self.url())?);
        self.shared.pools.lock().unwrap_or_else(PoisonError::into_inner).push(pool.clone());
        Ok(pool)
    }

    /// A new engine of idem on a new pool, like that of one more process, with the tables of idem in place.
    pub(crate) async fn idem(&self, max_connections: u32) -> Result<Idem<DB>, BoxError> {
        self.idem_on(self.pool(max_connections)?).await
    }

    /// Likewise, and in the suite's second run without its gate: for what a hint changes, such as the number of statements.
    pub(crate) async fn idem_without_gate(&self, max_connections: u32) -> Result<Idem<DB>, BoxError> {
        let idem = Idem::builder(self.pool(max_connections)?).build().await?;
        idem.migrate().await?;
        Ok(idem)
    }

    /// Likewise, with sessions that a statement has changed before their first use.
    pub(crate) async fn idem_after(&self, sql: &'static str, max_connections: u32) -> Result<Idem<DB>, BoxError> {
        let options = pool_options(max_connections).after_connect(move |connection, _| DB::set_up(connection, sql));
        self.idem_on(self.open(options)?).await
    }

    async fn idem_on(&self, pool: Pool<DB>) -> Result<Idem<DB>, BoxError> {
        let mut idem = Idem::builder(pool);
        if let Some(gate) = gate::before(self.url())? {
            self.shared.gates.lock().unwrap_or_else(PoisonError::into_inner).push(gate.clone());
            idem = idem.gate(gate);
        }
        let idem = idem.build().await?;
        idem.migrate().await?;
        Ok(idem)
    }

    /// The connection of the test's own statements.
    pub(crate) fn own(&self) -> &Pool<DB> {
        &self.shared.own
    }

    /// Runs a statement that commits by itself; gives the number of rows that it affected.
    pub(crate) async fn execute(&self, sql: impl Into<String> + Send) -> Result<u64, BoxError> {
        Ok(DB::execute(self.own(), sql.into()).await?)
    }

    /// The committed rows that a query finds, as text, `NULL` for no value.
    pub(crate) async fn rows(&self, sql: impl Into<String> + Send) -> Result<Vec<Vec<String>>, BoxError> {
        Ok(DB::rows(self.own(), sql.into()).await?)
    }

    /// The only column of the only row that a query finds, as text.
    pub(crate) async fn text(&self, sql: impl Into<String> + Send) -> Result<String, BoxError> {
        let sql = sql.into();
        match &mut self.rows(sql.clone()).await?[..] {
            [row] if row.len() == 1 => Ok(std::mem::take(&mut row[0])),
            rows => Err(format!("expected one value, found {rows:?}: {sql}").into()),
        }
    }

    /// The only column of the only row that a query finds, a number.
    pub(crate) async fn integer(&self, sql: impl Into<String> + Send) -> Result<i64, BoxError> {
        Ok(self.text(sql).await?.parse()?)
    }
}

impl<DB: Engine> Clone for TestDb<DB> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

fn pool_options<DB: Engine>(max_connections: u32) -> PoolOptions<DB> {
    PoolOptions::new().max_connections(max_connections).acquire_timeout(Duration::from_secs(20))
}

/// Where a server is, as the environment says.
fn server_url(variable: &str) -> Result<String, BoxError> {
    std::env::var(variable).map_err(|_| format!("{variable} is not set").into())
}

impl Engine for Sqlite {
    const URL_VARIABLE: Option<&'static str> = None;
    const NO_STEPS: &'static [Step] = &[];

    async fn create(name: String) -> Result<String, BoxError> {
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder)?;
        Ok(format!("sqlite:{}", folder.join("test.db").display()))
    }

    async fn remove(url: &str) -> Result<(), BoxError> {
        let file = PathBuf::from(url.trim_start_matches("sqlite:"));
        let folder = file.parent().ok_or("a database file is in a folder")?;
        Ok(std::fs::remove_dir_all(folder)?)
    }

    fn options(url: &str) -> Result<Options<Self>, sqlx::Error> {
        let options = SqliteConnectOptions::from_str(url)?.create_if_missing(true);
        // The tests kill processes, never the machine: what was committed survives without a flush to the disk.
        Ok(options.journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Off))
    }

    engine_calls!();
}

impl Engine for Postgres {
    const URL_VARIABLE: Option<&'static str> = Some("IDEM_TEST_POSTGRES_URL");
    // One statement moves the row and writes the history's entry.
    const NO_STEPS: &'static [Step] = &[Step::Entered];

    async fn create(name: String) -> Result<String, BoxError> {
        let server = PgConnectOptions::from_str(&server_url("IDEM_TEST_POSTGRES_URL")?)?;
        let create = AssertSqlSafe(format!("CREATE DATABASE {name}"));
        let mut connection = PgConnection::connect_with(&server).await?;
        sqlx::raw_sql(create).execute(&mut connection).await?;
        Ok(server.database(&name).to_url_lossy().into())
    }

    async fn remove(url: &str) -> Result<(), BoxError> {
        let database = PgConnectOptions::from_str(url)?;
        let name = database.get_database().unwrap_or_default();
        let drop = AssertSqlSafe(format!("DROP DATABASE {name} WITH (FORCE)"));
        let mut connection = PgConnection::connect(&server_url("IDEM_TEST_POSTGRES_URL")?).await?;
        sqlx::raw_sql(drop).execute(&mut connection).await?;
        Ok(())
    }

    fn options(url: &str) -> Result<Options<Self>, sqlx::Error> {
        PgConnectOptions::from_str(url)
    }

    engine_calls!();
}

impl Engine for MySql {
    const URL_VARIABLE: Option<&'static str> = Some("IDEM_TEST_MYSQL_URL");
    const NO_STEPS: &'static [Step] = &[];

    async fn create(name: String) -> Result<String, BoxError> {
        let server = MySqlConnectOptions::from_str(&server_url("IDEM_TEST_MYSQL_URL")?)?;
        let create = AssertSqlSafe(format!("CREATE DATABASE {name}"));
        let mut connection = MySqlConnection::connect_with(&server).await?;
        sqlx::raw_sql(create).execute(&mut connection).await?;
        Ok(server.database(&name).to_url_lossy().into())
    }

    async fn remove(url: &str) -> Result<(), BoxError> {
        let database = MySqlConnectOptions::from_str(url)?;
        let name = database.get_database().unwrap_or_default();
        // A connection that a failed test has left open may hold a lock on a table.
        let drop = AssertSqlSafe(format!("SET lock_wait_timeout = 5; DROP DATABASE {name}"));
        let mut connection = MySqlConnection::connect(&server_url("IDEM_TEST_MYSQL_URL")?).await?;
        sqlx::raw_sql(drop).execute(&mut connection).await?;
        Ok(())
    }

    fn options(url: &str) -> Result<Options<Self>, sqlx::Error> {
        MySqlConnectOptions::from_str(url)
    }

    engine_calls!();
}
