//! The tests' Redis.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig};
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::{Client, Cmd, ErrorKind, Pipeline, RedisFuture, Value};

use super::{BoxError, TestResult};

/// A connection to the tests' Redis, which can be made to fail.
#[derive(Clone)]
pub(crate) struct Faulty {
    connection: ConnectionManager,
    fault: Arc<Mutex<Option<Fault>>>,
    asked: Arc<AtomicUsize>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    /// An error that the server sends.
    Says(&'static str),
    Silence,
    /// An answer of a kind that nobody expects.
    Nonsense,
    /// The server does it, and its answer never comes.
    AnswerLost,
    /// The server does it, and the connection breaks before its answer. Once.
    Dropped,
}

impl Faulty {
    pub(crate) fn new() -> Result<Self, BoxError> {
        let url = std::env::var("IDEM_TEST_REDIS_URL").map_err(|_| "IDEM_TEST_REDIS_URL is not set")?;
        let connection = ConnectionManager::new_lazy_with_config(Client::open(url)?, ConnectionManagerConfig::new())?;
        Ok(Self { connection, fault: Arc::default(), asked: Arc::default() })
    }

    pub(crate) fn fail(&self, fault: Option<Fault>) {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = fault;
    }

    fn fault(&self) -> Option<Fault> {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn command(&self, command: Cmd) -> Result<Value, BoxError> {
        Ok(command.query_async(&mut self.connection.clone()).await?)
    }

    /// How often it was asked.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// All keys of a test.
    pub(crate) async fn keys(&self, prefix: &str) -> Result<Vec<String>, BoxError> {
        let mut keys = redis::cmd("KEYS");
        let keys = self.command(keys.arg(format!("{prefix}:*")).clone()).await?;
        Ok(redis::from_redis_value(keys)?)
    }

    /// The values of all keys of a test.
    pub(crate) async fn marks(&self, prefix: &str) -> Result<Vec<String>, BoxError> {
        let mut marks: Vec<String> = Vec::new();
        for key in self.keys(prefix).await? {
            let mut get = redis::cmd("GET");
            // One that was taken away meanwhile is none.
            marks.extend(redis::from_redis_value::<Option<String>>(self.command(get.arg(key).clone()).await?)?);
        }
        marks.sort();
        Ok(marks)
    }

    pub(crate) async fn flush(&self, prefix: &str) -> TestResult {
        for key in self.keys(prefix).await? {
            let mut del = redis::cmd("DEL");
            self.command(del.arg(key).clone()).await?;
        }
        Ok(())
    }
}

impl ConnectionLike for Faulty {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let fault = self.fault();
        let work: BoxFuture<'a, _> = Box::pin(async move {
            match fault {
                None => self.connection.req_packed_command(cmd).await,
                Some(Fault::Says(code)) => Err((ErrorKind::Client, code).into()),
                Some(Fault::Silence) => std::future::pending().await,
                Some(Fault::Nonsense) => Ok(Value::Array(vec![Value::Int(7)])),
                Some(Fault::AnswerLost) => {
                    let _ = self.connection.req_packed_command(cmd).await;
                    std::future::pending().await
                }
                Some(Fault::Dropped) => {
                    self.fail(None);
                    let _ = self.connection.req_packed_command(cmd).await;
                    Err(std::io::Error::from(std::io::ErrorKind::BrokenPipe).into())
                }
            }
        });
        work
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        self.connection.req_packed_commands(pipeline, offset, count)
    }

    fn get_db(&self) -> i64 {
        self.connection.get_db()
    }
}

/// What stands before all keys of a test.
pub(crate) fn redis_prefix() -> String {
    format!("test-{}", uuid::Uuid::new_v4().simple())
}

/// A connection to the tests' cluster.
pub(crate) async fn redis_cluster() -> Result<ClusterConnection, BoxError> {
    let urls = std::env::var("IDEM_TEST_REDIS_CLUSTER").map_err(|_| "IDEM_TEST_REDIS_CLUSTER is not set")?;
    let client = ClusterClient::new(urls.split(',').collect::<Vec<_>>())?;
    Ok(client.get_async_connection().await?)
}
