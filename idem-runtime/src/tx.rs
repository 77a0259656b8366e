//! A transaction that sees every error: it never says that it committed what the database threw away.

mod executor;
mod lent;
mod refused;
mod screen;

use std::fmt;

use sqlx::{AssertSqlSafe, SqlSafeStr as _, SqlStr};
use tokio::sync::OwnedMutexGuard;

use crate::dialect::{Leaves, SqlDialect};
use crate::error::Error;
use crate::finish::FinishOnDrop;
use crate::record::Query;
use crate::steps::{Step, reached};

pub(crate) use executor::Answer;
pub(crate) use lent::{Lent, ask};
pub(crate) use refused::Refused;

/// One transaction, or, inside another idempotent body, one savepoint of it.
///
/// It is an sqlx executor: `sqlx::query(..).execute(&mut *tx)`. Write `&mut *tx` wherever a call takes it, and `tx`
/// alone at its last use only. It is not a connection, so that it sees every error: after one that ends the transaction
/// on the server it refuses every further statement, and neither [`commit`](Self::commit) nor the end of an idempotent
/// function says yes. Dropping it rolls back.
pub struct Tx<'t, DB: SqlDialect> {
    /// `None` only while `commit` and `rollback` end it.
    place: Option<Place<'t, DB>>,
    level: usize,
}

enum Place<'t, DB: SqlDialect> {
    Outermost(Box<Root<DB>>),
    Nested(&'t mut Root<DB>),
}

/// What the outermost transaction knows; nested ones borrow it.
pub(crate) struct Root<DB: SqlDialect> {
    lent: Lent<DB>,
    /// Whether a transaction may be open on the connection.
    open: bool,
    health: Health,
    /// A nested transaction ended without a commit: the next statement first rolls back to its savepoint.
    undo: Option<usize>,
    /// An effect in several statements has begun and is not whole.
    half_done: bool,
    /// The connection was handed out, or a statement ran of which we cannot tell whether it commits.
    unseen: bool,
    /// The most bytes of a result that its engine stores.
    pub(crate) result_limit: usize,
    /// Where there is one writer at a time, its turn. Declared last: given up after the rollback was queued.
    _turn: Option<OwnedMutexGuard<()>>,
}

/// What is known about the transaction on the server.
#[derive(Debug, Clone)]
enum Health {
    Open,
    /// Every statement is refused until a savepoint is rolled back to.
    Failed(Refused),
    /// An error may have ended it.
    Doubt,
    Over(Refused),
}

impl<DB: SqlDialect> Root<DB> {
    /// Opens a transaction that no dropped future leaves behind in the pool.
    pub(crate) async fn begin(lent: Lent<DB>, turn: Option<OwnedMutexGuard<()>>) -> Result<Box<Self>, sqlx::Error> {
        let health = Health::Open;
        let (undo, half_done, unseen, result_limit) = (None, false, false, usize::MAX);
        let mut root = Box::new(Self { lent, open: true, health, undo, half_done, unseen, result_limit, _turn: turn });
        // sqlx's BEGIN is not cancel-safe: dropped in flight, it leaves the next borrower of the connection inside of a
        // transaction.
        let begin = FinishOnDrop::new(async move {
            root.lent.ask(sqlx::raw_sql(DB::BEGIN)).await?;
            Ok::<_, sqlx::Error>(root)
        });
        let root = begin.await?;
        reached(Step::Begun);
        Ok(root)
    }

    /// COMMIT. When it fails, the transaction is rolled back with the connection's return.
    async fn commit(&mut self) -> Result<(), sqlx::Error> {
        self.lent.ask("COMMIT").await?;
        self.open = false;
        Ok(())
    }

    async fn rollback(&mut self) -> Result<(), sqlx::Error> {
        if self.lent.is_out_of_step() {
            // No answer would be that to the rollback, and none may come: the connection is closed instead.
            return Ok(());
        }
        if matches!(self.health, Health::Doubt) {
            // Whatever it finds: afterwards there is a transaction to roll back.
            let _ = self.examine().await;
        }
        self.lent.ask("ROLLBACK").await?;
        self.open = false;
        Ok(())
    }

    /// What has to happen before the next statement: the rollback that a dropped future left to us, and refusing.
    pub(crate) async fn settle(&mut self) -> Result<(), sqlx::Error> {
        if let Health::Over(why) = &self.health {
            return Err(why.clone().into());
        }
        if self.half_done {
            return Err(Refused::cut("an effect in it was cut off").into());
        }
        if self.lent.is_out_of_step() {
            return Err(Refused::cut("a statement in it was cut off").into());
        }
        if let Some(level) = self.undo {
            self.simple(AssertSqlSafe(format!("ROLLBACK TO SAVEPOINT idem_{level}")).into_sql_str()).await?;
            self.undo = None;
        }
        if matches!(self.health, Health::Doubt) {
            self.examine().await?;
        }
        Ok(())
    }

    /// Asks the server whether the transaction outlived an error.
    async fn examine(&mut self) -> Result<(), sqlx::Error> {
        if DB::still_open(&mut self.lent).await {
            self.health = Health::Open;
            return Ok(());
        }
        let over = Refused::new("an error rolled it back");
        self.health = Health::Over(over.clone());
        Err(over.into())
    }

    /// Runs a statement without parameters and without an answer.
    async fn simple(&mut self, sql: SqlStr) -> Result<(), sqlx::Error> {
        let done = self.lent.ask(sql).await;
        self.health.note::<DB, _>(&done);
        done.map(drop)
    }

    /// Fails unless the transaction that was begun is still there, whole and alive.
    async fn verify(&mut self) -> Result<(), sqlx::Error> {
        self.settle().await?;
        if let Health::Failed(why) = &self.health {
            return Err(why.clone().into());
        }
        if self.unseen && !DB::still_open(&mut self.lent).await {
            return Err(Refused::new("a statement in it committed it or rolled it back").into());
        }
        self.unseen = false;
        Ok(())
    }

    /// Opens a savepoint inside the transaction of a level. A plain statement: with sqlx's own nesting, a future that
    /// is dropped while the savepoint is in flight rolls the outer transaction back, and the outer commit says yes.
    pub(crate) async fn nest(&mut self, level: usize) -> Result<Tx<'_, DB>, Error> {
        let level = level + 1;
        self.settle().await.map_err(Error::statement::<DB>)?;
        let savepoint = AssertSqlSafe(format!("SAVEPOINT idem_{level}")).into_sql_str();
        self.simple(savepoint).await.map_err(Error::statement::<DB>)?;
        Ok(Tx { place: Some(Place::Nested(self)), level })
    }

    async fn release(&mut self, level: usize) -> Result<(), sqlx::Error> {
        self.settle().await?;
        // Cut off, it may have released the savepoint: a rollback to it would find an older one of the same name, and
        // undo what the outer transaction did since then.
        self.half_done = true;
        let released = self.simple(AssertSqlSafe(format!("RELEASE SAVEPOINT idem_{level}")).into_sql_str()).await;
        self.half_done = false;
        released
    }

    /// Says whether an effect in several statements is under way. A future that is dropped between them leaves the mark,
    /// and with it nothing is committed.
    pub(crate) fn half_done(&mut self, half_done: bool) {
        self.half_done = half_done;
    }

    /// Ends the transaction for good: what it holds is not to be kept.
    pub(crate) fn spoil(&mut self, why: Refused) {
        self.health = Health::Over(why);
        self.half_done = false;
    }
}

impl Health {
    /// Learns from the end of a statement.
    fn note<DB: SqlDialect, T>(&mut self, outcome: &Result<T, sqlx::Error>) {
        match outcome {
            Ok(_) if matches!(self, Self::Failed(_)) => *self = Self::Open,
            Ok(_) => {}
            Err(error) => self.learn(DB::leaves(error), Refused::because::<DB>(error)),
        }
    }

    /// Learns from an answer that the driver may have given without the server.
    fn note_error<DB: SqlDialect, T>(&mut self, outcome: &Result<T, sqlx::Error>) {
        if outcome.is_err() {
            self.note::<DB, T>(outcome);
        }
    }

    fn learn(&mut self, leaves: Leaves, why: Refused) {
        match (leaves, &self) {
            // The first error is the one that explains the others.
            (Leaves::Transaction, _) | (_, Self::Over(_)) | (Leaves::Savepoint, Self::Failed(_)) => {}
            (Leaves::Savepoint, _) => *self = Self::Failed(why),
            (Leaves::Doubt, _) => *self = Self::Doubt,
            (Leaves::Nothing, _) => *self = Self::Over(why),
        }
    }
}

impl<DB: SqlDialect> Tx<'_, DB> {
    pub(crate) fn outermost(root: Box<Root<DB>>) -> Self {
        Self { place: Some(Place::Outermost(root)), level: 0 }
    }

    pub(crate) fn root(&mut self) -> &mut Root<DB> {
        match self.place.as_mut().expect("only `commit` and `rollback` take the place, and they take `self`") {
            Place::Outermost(root) => root,
            Place::Nested(root) => root,
        }
    }

    pub(crate) fn level(&self) -> usize {
        self.level
    }

    /// Opens a savepoint in it.
    pub(crate) async fn nest(&mut self) -> Result<Tx<'_, DB>, Error> {
        let level = self.level;
        self.root().nest(level).await
    }

    /// Keeps everything, or fails: an error that a body swallowed, a deadlock's rollback and a statement that committed
    /// on its own are all found here.
    ///
    /// # Errors
    ///
    /// [`Error::Retry`], [`Error::UnknownCommit`] when the answer to COMMIT was lost, [`Error::Database`].
    pub async fn commit(mut self) -> Result<(), Error> {
        self.seal().await.map_err(Error::statement::<DB>)?;
        self.end().await
    }

    /// The check before the end. For a nested transaction it is the end: the savepoint is gone if the transaction is.
    pub(crate) async fn seal(&mut self) -> Result<(), sqlx::Error> {
        match self.level {
            0 => self.root().verify().await,
            level => self.root().release(level).await,
        }
    }

    /// Keeps what was sealed.
    pub(crate) async fn end(mut self) -> Result<(), Error> {
        match self.place.take() {
            Some(Place::Outermost(mut root)) => root.commit().await.map_err(Error::commit::<DB>),
            _ => Ok(()),
        }
    }

    /// Keeps everything if the statement, which is the last one, finds its row: what it holds is ours then until the commit.
    pub(crate) async fn commit_fenced(self, fence: Query<DB>) -> Result<(), Error> {
        self.fence(fence).await?.commit().await
    }

    /// Runs the last statement of a transaction that is kept only if it finds its row.
    pub(crate) async fn fence(mut self, fence: Query<DB>) -> Result<Self, Error> {
        let found = self.root().ask(fence).await.map_err(Error::statement::<DB>)?;
        if found.rows_affected() == 1 {
            return Ok(self);
        }
        let _ = self.rollback().await;
        Err(Error::StaleOwner)
    }

    /// Undoes everything.
    ///
    /// # Errors
    ///
    /// When the database cannot be reached; nothing is kept then either.
    pub async fn rollback(mut self) -> Result<(), Error> {
        match self.place.take() {
            Some(Place::Outermost(mut root)) => root.rollback().await.map_err(Error::Database),
            Some(Place::Nested(root)) => {
                root.undo = Some(self.level);
                root.settle().await.map_err(Error::statement::<DB>)
            }
            None => Ok(()),
        }
    }

    /// Undoes everything so far; the savepoint stays. Done before the next statement.
    pub(crate) fn undo(&mut self) {
        let level = self.level;
        self.root().undo = Some(level);
    }

    /// Remembers what the transaction holds now, the claim: an error that is recorded undoes the rest.
    ///
    /// The name is another one than that of a nested transaction: MySQL forgets the older of two savepoints of one name.
    pub(crate) async fn mark_claim(&mut self) -> Result<(), sqlx::Error> {
        let savepoint = format!("SAVEPOINT idem_claim_{}", self.level);
        self.root().simple(AssertSqlSafe(savepoint).into_sql_str()).await
    }

    /// Undoes everything but the claim. It mends a transaction that an error has failed, and none that is over.
    pub(crate) async fn undo_to_claim(&mut self) -> Result<(), sqlx::Error> {
        let rollback = format!("ROLLBACK TO SAVEPOINT idem_claim_{}", self.level);
        let root = self.root();
        // A nested transaction that was to be rolled back goes with the rest.
        root.undo = None;
        root.settle().await?;
        root.simple(AssertSqlSafe(rollback).into_sql_str()).await
    }

    /// The connection itself, for helpers that take nothing else. What runs on it is not seen: the commit asks the
    /// server whether the transaction is still there, and sqlx's own `begin` must not be called on it.
    pub fn connection(&mut self) -> &mut DB::Connection {
        let root = self.root();
        root.unseen = true;
        &mut root.lent
    }

    /// The connection when the transaction may have been committed before its time, by something that was not seen.
    pub(crate) fn unseen_end(&mut self) -> Option<&mut Lent<DB>> {
        let root = self.root();
        root.unseen.then_some(&mut root.lent)
    }

    /// Whether the database gave the transaction up for a reason that may pass, such as a deadlock.
    pub(crate) fn was_given_up(&mut self) -> bool {
        let root = self.root();
        let cut = root.half_done || root.lent.is_out_of_step();
        cut || matches!(&root.health, Health::Over(why) | Health::Failed(why) if why.retry)
    }
}

impl<DB: SqlDialect> Drop for Root<DB> {
    /// A task of its own rolls back what was not ended, and gives the connection back to the pool only then.
    fn drop(&mut self) {
        let Some(connection) = self.lent.take().filter(|_| self.open) else { return };
        let mut lent = Lent::new(connection);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let in_doubt = matches!(self.health, Health::Doubt);
            runtime.spawn(async move {
                // Where an error ended the transaction this opens one, so that there is one to roll back.
                let _ = !in_doubt || DB::still_open(&mut lent).await;
                // The error can be that of a statement that was cut off: then nothing was rolled back.
                if lent.ask("ROLLBACK").await.is_err() {
                    lent.distrust();
                }
            });
        }
    }
}

impl<DB: SqlDialect> Drop for Tx<'_, DB> {
    fn drop(&mut self) {
        if let Some(Place::Nested(root)) = &mut self.place {
            root.undo = Some(self.level);
        }
    }
}

impl<DB: SqlDialect> fmt::Debug for Tx<'_, DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tx").field("level", &self.level).finish_non_exhaustive()
    }
}
