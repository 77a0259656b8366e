//! All private servers together.

use anyhow::Result;

use crate::server::Server;
use crate::{mariadb, postgres, step};

/// The running servers and where they are; dropping it stops them.
pub(crate) struct Servers {
    _running: [Server; 2],
    environment: [(&'static str, String); 2],
}

impl Servers {
    /// Starts them, one after the other.
    pub(crate) fn start() -> Result<Self> {
        let (postgres, postgres_url) = step::timed("start PostgreSQL", postgres::start)?;
        let (mariadb, mariadb_url) = step::timed("start MariaDB", mariadb::start)?;
        let environment = [("IDEM_TEST_POSTGRES_URL", postgres_url), ("IDEM_TEST_MYSQL_URL", mariadb_url)];
        Ok(Self { _running: [postgres, mariadb], environment })
    }

    /// The variables that tell the tests where the servers are.
    pub(crate) fn environment(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.environment.iter().map(|(name, url)| (*name, url.as_str()))
    }
}
