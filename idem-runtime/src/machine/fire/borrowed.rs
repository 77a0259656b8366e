//! A connection of the caller's, which idem neither opened nor may keep.

use sqlx::{AssertSqlSafe, SqlSafeStr as _};
use sqlx_core::transaction::TransactionManager as _;

use super::line::{Plan, Query};
use crate::dialect::{Dialect, SqlDialect};
use crate::error::Error;
use crate::tx::{Answer, ask};

/// The caller's connection. Dropped inside of an effect, it leaves the rollback of that effect to the connection, which
/// sends it before whatever comes next.
pub(in crate::machine) struct Borrowed<'c, DB: SqlDialect> {
    connection: &'c mut DB::Connection,
    /// An effect in several statements has begun: sqlx has a savepoint, or a transaction of ours, open for it.
    in_effect: bool,
    /// Where one statement's error ends the transaction: a savepoint stands before it.
    savepoint: bool,
    /// The savepoint has to be rolled back to before the next statement.
    undo: bool,
}

/// Set by a statement of its own. With sqlx's nesting on PostgreSQL, a future that is dropped while the savepoint is in
/// flight rolls the outer transaction back, and the outer commit says yes.
const SAVEPOINT: &str = "SAVEPOINT idem_fire";
const UNDO: &str = "ROLLBACK TO SAVEPOINT idem_fire";
const RELEASE: &str = "RELEASE SAVEPOINT idem_fire";
const UNDO_AND_RELEASE: &str = "ROLLBACK TO SAVEPOINT idem_fire; RELEASE SAVEPOINT idem_fire";

/// There a transaction of our own cannot be opened: dropped while `BEGIN` is in flight, it would stay open.
const NEEDS_A_TRANSACTION: &str = "on a plain MySQL connection a transition with a history would be two statements: \
     give it a transaction (`connection.begin()`), the pool or `&idem`";

impl<'c, DB: SqlDialect> Borrowed<'c, DB> {
    pub(super) async fn open(connection: &'c mut DB::Connection, plan: Plan) -> Result<Self, Error> {
        let in_transaction = DB::TransactionManager::get_transaction_depth(connection) > 0;
        let Plan { one_statement, savepoint } = plan;
        if DB::DIALECT == Dialect::MySql && !one_statement && !in_transaction {
            return Err(Error::Configuration(NEEDS_A_TRANSACTION));
        }
        // An effect in several statements has one of sqlx's.
        let savepoint = savepoint && one_statement && in_transaction;
        let mut borrowed = Self { connection, in_effect: false, savepoint, undo: false };
        if savepoint {
            borrowed.simple(SAVEPOINT).await.map_err(Error::statement::<DB>)?;
        }
        Ok(borrowed)
    }

    pub(super) async fn ask(&mut self, query: Query<DB>) -> Result<Answer<DB>, sqlx::Error> {
        if self.undo {
            self.simple(UNDO).await?;
            self.undo = false;
        }
        ask::<DB>(self.connection, query).await
    }

    /// Whether sqlx has opened a transaction on it.
    pub(super) fn is_in_transaction(&self) -> bool {
        DB::TransactionManager::get_transaction_depth(self.connection) > 0
    }

    async fn simple(&mut self, sql: &'static str) -> Result<(), sqlx::Error> {
        ask::<DB>(self.connection, sqlx::raw_sql(sql)).await.map(drop)
    }

    /// Opens what the effect is undone by: a savepoint inside of a transaction, a transaction outside of one.
    pub(super) async fn begin_effect(&mut self) -> Result<(), Error> {
        let begin = (!self.is_in_transaction()).then(|| AssertSqlSafe(DB::BEGIN).into_sql_str());
        match DB::TransactionManager::begin(self.connection, begin).await {
            Ok(()) => self.in_effect = true,
            // An earlier error has ended the transaction, and nobody has told sqlx.
            Err(error @ sqlx::Error::BeginFailed) => return Err(Error::Retry(error)),
            Err(error) => return Err(Error::statement::<DB>(error)),
        }
        Ok(())
    }

    /// Keeps the effect.
    pub(super) async fn end_effect(&mut self) -> Result<(), Error> {
        let commits = DB::TransactionManager::get_transaction_depth(self.connection) == 1;
        let ended = DB::TransactionManager::commit(self.connection).await;
        self.in_effect = ended.is_err();
        ended.map_err(|error| if commits { Error::commit::<DB>(error) } else { Error::statement::<DB>(error) })
    }

    /// Undoes the effect, whatever is left of its transaction.
    pub(super) async fn undo_effect(&mut self) {
        self.queue_rollback();
        // When the server has rolled the transaction back itself, the queued rollback fails, and the next statement would
        // be told so: that is this one.
        let _ = self.simple("SELECT 1").await;
    }

    fn queue_rollback(&mut self) {
        if std::mem::take(&mut self.in_effect) {
            DB::TransactionManager::start_rollback(self.connection);
        }
    }

    /// After an entry met another one.
    pub(super) fn undo(&mut self) {
        self.undo = self.savepoint;
    }

    /// What an error of a statement that moves the row means: outside of a transaction it commits by itself.
    pub(super) fn error(&self, error: sqlx::Error) -> Error {
        if self.is_in_transaction() { Error::statement::<DB>(error) } else { Error::commit::<DB>(error) }
    }

    /// After a failed statement the savepoint is what keeps the caller's transaction alive.
    pub(super) async fn close(mut self, keep: bool) -> Result<(), Error> {
        if self.savepoint {
            let end = if keep { RELEASE } else { UNDO_AND_RELEASE };
            self.simple(end).await.map_err(Error::statement::<DB>)?;
        }
        Ok(())
    }
}

impl<DB: SqlDialect> Drop for Borrowed<'_, DB> {
    fn drop(&mut self) {
        self.queue_rollback();
    }
}
