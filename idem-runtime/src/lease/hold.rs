use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::sql::SQL;
use crate::dialect::SqlDialect;
use crate::record::{Query, bind, bind_texts};

/// A lease as its owner knows it.
#[derive(Debug)]
pub(crate) struct Hold {
    pub(crate) name: String,
    pub(crate) owner: String,
    pub(crate) ttl: Duration,
    /// Up to then the database lets nobody else have it, as long as we count no faster than it does.
    trusted_until: Mutex<Instant>,
}

impl Hold {
    /// One that is asked for now.
    pub(crate) fn new(name: String, owner: String, ttl: Duration) -> Self {
        Self { name, owner, ttl, trusted_until: Mutex::new(Instant::now() + ttl) }
    }

    pub(crate) fn trusted_for(&self) -> Duration {
        let until = *self.trusted_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.saturating_duration_since(Instant::now())
    }

    /// It was renewed by a statement that was sent then, or is another owner's by now.
    pub(crate) fn renewed(&self, sent_at: Instant, is_ours: bool) {
        let until = if is_ours { sent_at + self.ttl } else { sent_at };
        *self.trusted_until.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }

    pub(crate) fn seen_query<DB: SqlDialect>(&self) -> Result<Query<DB>, sqlx::Error> {
        let mut arguments = DB::Arguments::default();
        bind_texts::<DB>(&mut arguments, &[&self.owner, &self.name])?;
        Ok((SQL.of(DB::DIALECT).seen, Some(arguments)))
    }

    pub(crate) fn take_query<DB: SqlDialect>(&self) -> Result<Query<DB>, sqlx::Error> {
        Ok((SQL.of(DB::DIALECT).take, Some(self.taking::<DB>()?)))
    }

    pub(crate) fn insert_query<DB: SqlDialect>(&self) -> Result<Query<DB>, sqlx::Error> {
        Ok((SQL.of(DB::DIALECT).insert, Some(self.taking::<DB>()?)))
    }

    fn taking<DB: SqlDialect>(&self) -> Result<DB::Arguments, sqlx::Error> {
        let mut arguments = DB::Arguments::default();
        bind_texts::<DB>(&mut arguments, &[&self.owner])?;
        bind::<DB, _>(&mut arguments, &self.milliseconds())?;
        bind_texts::<DB>(&mut arguments, &[&self.name])?;
        Ok(arguments)
    }

    pub(crate) fn renew_query<DB: SqlDialect>(&self) -> Result<Query<DB>, sqlx::Error> {
        let mut arguments = DB::Arguments::default();
        bind::<DB, _>(&mut arguments, &self.milliseconds())?;
        bind_texts::<DB>(&mut arguments, &[&self.name, &self.owner])?;
        Ok((SQL.of(DB::DIALECT).renew, Some(arguments)))
    }

    pub(crate) fn release_query<DB: SqlDialect>(&self, nobody: &str) -> Result<Query<DB>, sqlx::Error> {
        let mut arguments = DB::Arguments::default();
        bind_texts::<DB>(&mut arguments, &[nobody, &self.name, &self.owner])?;
        Ok((SQL.of(DB::DIALECT).release, Some(arguments)))
    }

    fn milliseconds(&self) -> i64 {
        i64::try_from(self.ttl.as_millis()).unwrap_or(i64::MAX)
    }
}
