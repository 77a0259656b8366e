//! All private servers together.

use anyhow::Result;

use crate::redis::{Cluster, Storm};
use crate::server::Server;
use crate::{mariadb, postgres, redis, step};

/// The running servers and where they are; dropping it stops them.
pub(crate) struct Servers {
    _running: ([Server; 3], Cluster, Storm),
    environment: [(&'static str, String); 5],
}

impl Servers {
    /// Starts them, one after the other.
    pub(crate) fn start() -> Result<Self> {
        // The nodes come to know each other while the others start.
        let mut cluster = step::timed("start Redis Cluster", Cluster::start)?;
        let (postgres, postgres_url) = step::timed("start PostgreSQL", postgres::start)?;
        let (mariadb, mariadb_url) = step::timed("start MariaDB", mariadb::start)?;
        let (redis, redis_url) = step::timed("start Redis", redis::start)?;
        let storm = step::timed("start Redis in a storm", Storm::start)?;
        step::timed("wait for Redis Cluster", || cluster.wait_until_complete())?;
        let environment = [
            ("IDEM_TEST_POSTGRES_URL", postgres_url),
            ("IDEM_TEST_MYSQL_URL", mariadb_url),
            ("IDEM_TEST_REDIS_URL", redis_url),
            ("IDEM_TEST_REDIS_CLUSTER", cluster.urls()),
            ("IDEM_TEST_STORMY_REDIS_URL", storm.url().to_owned()),
        ];
        Ok(Self { _running: ([postgres, mariadb, redis], cluster, storm), environment })
    }

    /// The variables that tell the tests where the servers are.
    pub(crate) fn environment(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.environment.iter().map(|(name, url)| (*name, url.as_str()))
    }
}
