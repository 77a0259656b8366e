use std::ops::{Deref, DerefMut};
use std::task::Poll;

use futures_util::stream::poll_fn;
use futures_util::{StreamExt as _, TryStreamExt as _};
use sqlx::pool::PoolConnection;
use sqlx::{Either, Execute, Pool};

use super::Answer;
use crate::dialect::{Dialect, Many, SqlDialect};
use crate::error::Error;

/// A pool's connection that knows whether a statement on it was cut off, its future dropped before an answer came.
///
/// sqlx-mysql loses count of the answers when that happens while a statement is prepared: the next one would wait for
/// ever, or get another's answer. Such a connection does not go back to its pool.
pub(crate) struct Lent<DB: SqlDialect> {
    /// `None` only after [`take`](Self::take).
    connection: Option<PoolConnection<DB>>,
    cut: bool,
    distrusted: bool,
    /// A statement that was prepared on it fits the schema no more.
    outdated: bool,
}

impl<DB: SqlDialect> Lent<DB> {
    pub(super) const fn new(connection: PoolConnection<DB>) -> Self {
        Self { connection: Some(connection), cut: false, distrusted: false, outdated: false }
    }

    /// Waits for one of the pool's.
    pub(crate) async fn acquire(pool: &Pool<DB>) -> Result<Self, Error> {
        pool.acquire().await.map(Self::new).map_err(Error::Database)
    }

    /// Whether answers on it may belong to another statement.
    pub(crate) const fn is_out_of_step(&self) -> bool {
        self.cut && !DB::SURVIVES_CUT
    }

    /// Runs a statement to its end, so that nothing of it is left in the connection.
    pub(crate) async fn ask<'q>(&mut self, query: impl Execute<'q, DB> + 'q) -> Result<Answer<DB>, sqlx::Error> {
        collect::<DB>(self.fetch_many(query)).await
    }

    /// Runs a query to its end; gives its rows.
    pub(crate) async fn rows<'q>(&mut self, query: impl Execute<'q, DB> + 'q) -> Result<Vec<DB::Row>, sqlx::Error> {
        self.fetch_many(query).try_filter_map(|step| async move { Ok(step.right()) }).try_collect().await
    }

    /// Has every statement prepared anew.
    pub(crate) async fn forget_statements(&mut self) -> Result<(), sqlx::Error> {
        self.watch(async |connection| DB::forget_statements(connection).await).await
    }

    /// After a statement that fits the schema no more: prepares every one anew. Says whether there was a need to.
    pub(crate) async fn renew(&mut self) -> bool {
        let renewed =
            self.outdated && self.watch(async |connection| DB::forget_statements(connection).await.is_ok()).await;
        self.outdated &= !renewed;
        renewed
    }

    pub(super) fn fetch_many<'e, 'q: 'e>(&'e mut self, query: impl Execute<'q, DB> + 'q) -> Many<'e, DB> {
        let Self { connection, cut, outdated, .. } = self;
        let connection = connection.as_mut().expect(NOT_TAKEN);
        let mut answers = DB::fetch_many(&mut **connection, query);
        poll_fn(move |context| {
            let step = answers.poll_next_unpin(context);
            // Dropped while it waits, it may leave half of a packet behind; between two steps it leaves whole ones.
            *cut = step.is_pending();
            *outdated |= matches!(&step, Poll::Ready(Some(Err(error))) if DB::is_outdated(error));
            step
        })
        .boxed()
    }

    pub(super) async fn fetch_optional<'q>(
        &mut self,
        query: impl Execute<'q, DB> + 'q,
    ) -> Result<Option<DB::Row>, sqlx::Error> {
        self.cut = true;
        let row = DB::fetch_optional(&mut *self, query).await;
        self.cut = false;
        self.outdated |= row.as_ref().is_err_and(DB::is_outdated);
        row
    }

    pub(crate) async fn watch<T>(&mut self, work: impl AsyncFnOnce(&mut DB::Connection) -> T) -> T {
        self.cut = true;
        let done = work(&mut *self).await;
        self.cut = false;
        done
    }

    /// Keeps the connection from going back to its pool, unless it may be the database itself, as on SQLite, where a
    /// rollback fails only if there is nothing to roll back.
    pub(crate) fn distrust(&mut self) {
        self.distrusted = DB::DIALECT != Dialect::Sqlite;
    }

    /// Gives the connection to somebody who looks after it.
    pub(super) fn take(&mut self) -> Option<PoolConnection<DB>> {
        let mut connection = self.connection.take()?;
        if self.distrusted || self.outdated || self.is_out_of_step() {
            connection.close_on_drop();
            return None;
        }
        Some(connection)
    }
}

/// Runs a statement to its end on a connection of somebody else's. When the statement fits the schema no more, every one
/// is prepared anew, so that the next try of the caller's finds the schema as it is.
pub(crate) async fn ask<'q, DB: SqlDialect>(
    connection: &mut DB::Connection,
    query: impl Execute<'q, DB> + 'q,
) -> Result<Answer<DB>, sqlx::Error> {
    let answer = collect::<DB>(DB::fetch_many(connection, query)).await;
    if answer.as_ref().is_err_and(DB::is_outdated) {
        let _ = DB::forget_statements(connection).await;
    }
    answer
}

async fn collect<DB: SqlDialect>(answers: Many<'_, DB>) -> Result<Answer<DB>, sqlx::Error> {
    let answer = Answer::<DB> { row: None, done: DB::QueryResult::default() };
    answers
        .try_fold(answer, |mut answer, step| async move {
            match step {
                Either::Left(done) => answer.done.extend([done]),
                Either::Right(row) => answer.row = Some(row),
            }
            Ok(answer)
        })
        .await
}

const NOT_TAKEN: &str = "a connection is taken by the last one that holds it";

impl<DB: SqlDialect> Deref for Lent<DB> {
    type Target = DB::Connection;

    fn deref(&self) -> &DB::Connection {
        self.connection.as_ref().expect(NOT_TAKEN)
    }
}

impl<DB: SqlDialect> DerefMut for Lent<DB> {
    fn deref_mut(&mut self) -> &mut DB::Connection {
        self.connection.as_mut().expect(NOT_TAKEN)
    }
}

impl<DB: SqlDialect> Drop for Lent<DB> {
    fn drop(&mut self) {
        drop(self.take());
    }
}
