use std::time::{Duration, Instant};

use futures_core::future::BoxFuture;
use sqlx::{AssertSqlSafe, SqlSafeStr as _};

use super::fire::line::Query;
use super::row::{Row, read};
use super::rows::{ByRow, ForRow};
use super::statement::Bind;
use super::{MachineOn, StateMachine};
use crate::dialect::{Class, Dialect, SqlDialect};
use crate::error::{Error, TransitionError};
use crate::tx::{Root, Tx};

/// A lock on its way to a row. Nothing happens until [`run`](Self::run) is awaited.
#[must_use = "nothing is locked until `.run(..)` is awaited"]
#[derive(Debug)]
pub struct LockRow<M: StateMachine> {
    id: M::Id,
    wait: Duration,
}

impl<M: StateMachine> LockRow<M> {
    pub(super) const fn new(id: M::Id, wait: Duration) -> Self {
        Self { id, wait }
    }

    /// Locks the row until the transaction ends, and reads its state and version by that very statement: nobody changes
    /// them any more. A lock needs a transaction, so that it takes no pool.
    ///
    /// On MySQL and MariaDB the wait is in whole seconds, rounded up. On SQLite the transaction has the only write lock
    /// already, and there is nothing to wait for.
    ///
    /// # Errors
    ///
    /// [`TransitionError::Locked`] when the wait is over: the transaction goes on as if it had not asked.
    /// [`TransitionError::NotFound`], [`TransitionError::UnknownState`], and what the database answers, such as
    /// [`TransitionError::Retry`] after a deadlock.
    pub fn run<'c, DB>(self, tx: &'c mut Tx<'_, DB>) -> BoxFuture<'c, Result<Row<M>, TransitionError>>
    where
        DB: SqlDialect,
        M: MachineOn<DB>,
    {
        Box::pin(async move {
            let mut found = lock_rows::<M, DB>(vec![self.id], self.wait, tx).await?;
            found.pop().map_or(Err(TransitionError::NotFound { machine: M::NAME }), |(_, row)| row)
        })
    }
}

/// Locks on their way to rows. Nothing happens until [`run`](Self::run) is awaited.
#[must_use = "nothing is locked until `.run(..)` is awaited"]
#[derive(Debug)]
pub struct LockRows<M: StateMachine> {
    ids: Vec<M::Id>,
    wait: Duration,
}

impl<M: StateMachine> LockRows<M> {
    pub(super) const fn new(ids: Vec<M::Id>, wait: Duration) -> Self {
        Self { ids, wait }
    }

    /// Locks the rows, one after the other in the order of their identifiers, and answers for each of them as
    /// [`LockRow::run`] does. A row that is missing or in an unknown state is an answer like the others.
    ///
    /// # Errors
    ///
    /// [`TransitionError::Locked`] when the wait is over: none of the rows counts as locked, and the transaction goes on.
    /// Otherwise what the database answers.
    pub fn run<'c, DB>(self, tx: &'c mut Tx<'_, DB>) -> BoxFuture<'c, Result<ByRow<M, Row<M>>, TransitionError>>
    where
        DB: SqlDialect,
        M: MachineOn<DB>,
    {
        Box::pin(async move { Ok(lock_rows::<M, DB>(self.ids, self.wait, tx).await?.into_iter().collect()) })
    }
}

/// Locks the rows one after the other. A savepoint around them lets the transaction go on when a lock is not granted.
async fn lock_rows<M: MachineOn<DB>, DB: SqlDialect>(
    ids: Vec<M::Id>,
    wait: Duration,
    tx: &mut Tx<'_, DB>,
) -> Result<Vec<ForRow<M, Row<M>>>, TransitionError> {
    let mut own = tx.nest().await?;
    let mut bound = Bound { began_at: Instant::now(), wait, session: None };
    let locked = lock_each::<M, DB>(ids, &mut bound, own.root()).await;
    bound.give_back(own.root()).await;
    match locked {
        Ok(rows) => own.commit().await.map(|()| rows).map_err(TransitionError::from),
        Err(error) if DB::classify(&error) == Class::LockTimeout => {
            let goes_on = own.rollback().await.is_ok();
            Err(if goes_on { TransitionError::Locked { machine: M::NAME } } else { TransitionError::Retry(error) })
        }
        Err(error) => Err(Error::statement::<DB>(error).into()),
    }
}

async fn lock_each<M: MachineOn<DB>, DB: SqlDialect>(
    ids: Vec<M::Id>,
    bound: &mut Bound,
    root: &mut Root<DB>,
) -> Result<Vec<ForRow<M, Row<M>>>, sqlx::Error> {
    let mut rows = Vec::with_capacity(ids.len());
    for id in ids {
        let wait = bound.rest();
        bound.set(wait, root).await?;
        let answer = root.ask_for_lock(query::<M, DB>(&id, wait)?).await?;
        let row = read::<M, DB>(id.clone(), answer.row.as_ref());
        rows.push((id, row));
    }
    Ok(rows)
}

fn query<M: MachineOn<DB>, DB: SqlDialect>(id: &M::Id, wait: Duration) -> Result<Query<DB>, sqlx::Error> {
    let statement = if wait.is_zero() { &M::SQL.lock_now } else { &M::SQL.lock }.of(DB::DIALECT);
    statement.query::<DB>(|bind, arguments| match bind {
        Bind::Id => M::bind_id(id, arguments),
        Bind::Wait => DB::bind(arguments, &milliseconds(wait).to_string()),
        _ => Ok(()),
    })
}

/// PostgreSQL counts milliseconds, in 31 bits, and zero of them means for ever.
fn milliseconds(wait: Duration) -> i32 {
    i32::try_from(wait.as_millis()).unwrap_or(i32::MAX).max(1)
}

/// How long the locks of one call may be waited for.
struct Bound {
    began_at: Instant,
    wait: Duration,
    /// The seconds that MySQL's session was told to wait.
    session: Option<u64>,
}

impl Bound {
    fn rest(&self) -> Duration {
        self.wait.saturating_sub(self.began_at.elapsed())
    }

    /// Tells MySQL's session, which keeps its own bound in a variable. A future that is dropped leaves no other bound
    /// behind: it waits for an answer then, and its connection is closed.
    async fn set<DB: SqlDialect>(&mut self, wait: Duration, root: &mut Root<DB>) -> Result<(), sqlx::Error> {
        let seconds = whole_seconds(wait);
        if DB::DIALECT != Dialect::MySql || wait.is_zero() || self.session == Some(seconds) {
            return Ok(());
        }
        let keep = if self.session.is_none() { "@idem_wait = @@SESSION.innodb_lock_wait_timeout, " } else { "" };
        let set = format!("SET {keep}SESSION innodb_lock_wait_timeout = {seconds}");
        root.ask(AssertSqlSafe(set).into_sql_str()).await?;
        self.session = Some(seconds);
        Ok(())
    }

    /// Gives the session its own bound again; one that cannot take it is not used any more.
    async fn give_back<DB: SqlDialect>(&self, root: &mut Root<DB>) {
        if self.session.is_some() && root.ask_on("SET SESSION innodb_lock_wait_timeout = @idem_wait").await.is_err() {
            root.distrust();
        }
    }
}

/// MySQL counts seconds, and takes no more than these.
fn whole_seconds(wait: Duration) -> u64 {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    seconds.clamp(1, 1_073_741_824)
}
