use std::sync::Arc;
use std::time::Duration;

use redis::aio::ConnectionLike;
use redis::{Cmd, ErrorKind, RedisError, ServerErrorKind, Value};

use super::script::Script;
use crate::backoff;
use crate::remote::{Remote, hashed_key};
use crate::token::TokenError;

/// How Redis is asked for a token. Whatever it does not answer is an error, and no token.
#[derive(Clone)]
pub(super) struct Store {
    remote: Arc<dyn Remote>,
    pub(super) prefix: String,
    pub(super) timeout: Duration,
}

impl Store {
    pub(super) fn new(connection: impl ConnectionLike + Clone + Send + Sync + 'static) -> Self {
        Self { remote: Arc::new(connection), prefix: "idem".to_owned(), timeout: Duration::from_secs(1) }
    }

    /// A gate with the same prefix has other keys.
    pub(super) fn key(&self, parts: &[&str]) -> String {
        hashed_key(&format!("{}:token", self.prefix), parts)
    }

    /// Asks once: what was lost may have been done.
    pub(super) async fn ask(&self, command: Cmd) -> Result<Value, TokenError> {
        self.in_time(self.remote.ask(command)).await
    }

    /// Runs a script that does the same when it is run again, and is, if it was lost with its connection.
    pub(super) async fn run(&self, script: &Script, key: &str, arguments: &[&str]) -> Result<String, TokenError> {
        let answer = self.in_time(async {
            let mut pauses = backoff::pauses();
            loop {
                match (self.evaluate(script, key, arguments).await, pauses.next()) {
                    (Err(error), Some(pause)) if error.is_io_error() => tokio::time::sleep(pause).await,
                    (answer, _) => return answer,
                }
            }
        });
        let answer = answer.await?;
        redis::from_redis_value(answer).map_err(|error| TokenError::Store(error.into()))
    }

    /// By its hash. A server that does not know it, new or flushed, is sent all of it: on a cluster only the one that is asked.
    async fn evaluate(&self, script: &Script, key: &str, arguments: &[&str]) -> Result<Value, RedisError> {
        let answer = self.remote.ask(command("EVALSHA", script.hash(), key, arguments)).await;
        match answer {
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                self.remote.ask(command("EVAL", script.text, key, arguments)).await
            }
            answer => answer,
        }
    }

    async fn in_time<T>(&self, work: impl Future<Output = Result<T, RedisError>>) -> Result<T, TokenError> {
        let answer = tokio::time::timeout(self.timeout, work).await;
        answer
            .unwrap_or_else(|_| Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into()))
            .map_err(TokenError::Store)
    }
}

fn command(name: &str, script: &str, key: &str, arguments: &[&str]) -> Cmd {
    let mut command = redis::cmd(name);
    command.arg(script).arg(1).arg(key).arg(arguments);
    command
}

pub(super) fn not_understood(answer: &str) -> TokenError {
    let kind = ErrorKind::UnexpectedReturnType;
    TokenError::Store((kind, "an answer that no script of idem gives", answer.to_owned()).into())
}
