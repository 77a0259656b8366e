//! Redis as idem asks it: any connection of the `redis` crate, and keys that tell nobody anything.

use std::time::Duration;

use futures_core::future::BoxFuture;
use redis::aio::ConnectionLike;
use redis::{Cmd, RedisError, Value};

use crate::hexadecimal::{hexadecimal, sha256};

/// Longer than anything is kept, and not too long for Redis.
const CENTURY: Duration = Duration::from_hours(100 * 365 * 24);

/// Any connection of the `redis` crate.
pub(crate) trait Remote: Send + Sync {
    fn ask(&self, command: Cmd) -> BoxFuture<'static, Result<Value, RedisError>>;
}

impl<C: ConnectionLike + Clone + Send + Sync + 'static> Remote for C {
    fn ask(&self, command: Cmd) -> BoxFuture<'static, Result<Value, RedisError>> {
        let mut connection = self.clone();
        Box::pin(async move { command.query_async(&mut connection).await })
    }
}

/// What it is made of in clear is nobody's business there, and the hash tag keeps what belongs to it on one node of a cluster.
pub(crate) fn hashed_key(prefix: &str, parts: &[&str]) -> String {
    format!("{prefix}:{{{}}}", hexadecimal(&sha256(parts)))
}

pub(crate) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.min(CENTURY).as_millis()).unwrap_or(u64::MAX)
}

/// For how long a key is kept: Redis takes no time of zero.
pub(crate) fn expiry(time: Duration) -> u64 {
    milliseconds(time).max(1)
}
