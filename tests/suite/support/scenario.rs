//! A scenario: one operation and its invariants, which the harnesses interrupt, kill and race on every engine.

use std::future::Future;
use std::time::{Duration, Instant};

use idem_runtime::{Error, Idem, TransitionError};

use super::cut::{Ended, drop_at_every_await};
use super::race::{ROUNDS, release_together};
use super::{BoxError, Engine, TestDb, TestResult, ensure};

/// What has been done in a round when its invariants are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Called {
    /// One call was made and cut short: the effect is whole or it is not there.
    Cut,
    /// At least one call has answered: the effect is there once.
    Answered,
}

/// Why a call has no answer.
#[derive(Debug)]
pub(crate) enum NoAnswer {
    /// The same call may have one later.
    Later(BoxError),
    /// It never will.
    Never(BoxError),
}

impl NoAnswer {
    pub(crate) fn into_error(self) -> BoxError {
        match self {
            Self::Later(error) | Self::Never(error) => error,
        }
    }
}

impl From<Error> for NoAnswer {
    fn from(error: Error) -> Self {
        if error.is_retryable() { Self::Later(error.into()) } else { Self::Never(error.into()) }
    }
}

impl From<TransitionError> for NoAnswer {
    fn from(error: TransitionError) -> Self {
        if error.is_retryable() { Self::Later(error.into()) } else { Self::Never(error.into()) }
    }
}

impl From<sqlx::Error> for NoAnswer {
    fn from(error: sqlx::Error) -> Self {
        Self::Never(error.into())
    }
}

/// One operation that may be called any number of times with one effect. A round is a fresh instance of it, such as an
/// order's number.
pub(crate) trait Scenario: Send + Sync + 'static {
    /// Its name in the names of tests.
    const NAME: &'static str;

    /// Makes the tables, once.
    fn create_tables<DB: Engine>(db: &TestDb<DB>) -> impl Future<Output = TestResult> + Send;
    /// Makes the rows of a round.
    fn prepare<DB: Engine>(db: &TestDb<DB>, round: i64) -> impl Future<Output = TestResult> + Send;
    /// The operation; the same call for everybody in a round.
    fn call<DB: Engine>(idem: &Idem<DB>, round: i64) -> impl Future<Output = Result<(), NoAnswer>> + Send;
    /// Fails when the committed rows of a round are not as they must be.
    fn check<DB: Engine>(db: &TestDb<DB>, round: i64, called: Called) -> impl Future<Output = TestResult> + Send;
}

/// Calls again for as long as idem says that calling again is the thing to do.
///
/// # Errors
///
/// The first error of another kind, and the last one when patience ends.
pub(crate) async fn call_until_answered<S: Scenario, DB: Engine>(idem: &Idem<DB>, round: i64) -> TestResult {
    const MOST_CALLS: usize = 20;
    for _ in 1..MOST_CALLS {
        match S::call(idem, round).await {
            Err(NoAnswer::Later(_)) => tokio::time::sleep(Duration::from_millis(50)).await,
            answer => return answer.map_err(NoAnswer::into_error),
        }
    }
    S::call(idem, round).await.map_err(NoAnswer::into_error)
}

/// After a call that was cut short: nothing is left in halves, and the next call brings about the one effect.
///
/// # Errors
///
/// What is broken.
pub(crate) async fn check_and_call_again<S: Scenario, DB: Engine>(
    db: &TestDb<DB>,
    idem: &Idem<DB>,
    round: i64,
) -> TestResult {
    check_once_settled::<S, DB>(db, round).await.map_err(|error| format!("after the cut: {error}"))?;
    call_until_answered::<S, DB>(idem, round).await.map_err(|error| format!("the next call: {error}"))?;
    S::check(db, round, Called::Answered).await.map_err(|error| format!("after the next call: {error}").into())
}

/// A statement whose answer nobody waits for any more may still run, and commit between two reads of one check. What
/// it leaves must be whole soon; what is in halves for good stays so.
async fn check_once_settled<S: Scenario, DB: Engine>(db: &TestDb<DB>, round: i64) -> TestResult {
    const BOUND: Duration = Duration::from_secs(3);
    let cut_at = Instant::now();
    loop {
        match S::check(db, round, Called::Cut).await {
            Err(_) if cut_at.elapsed() < BOUND => tokio::time::sleep(Duration::from_millis(20)).await,
            checked => return checked,
        }
    }
}

/// Drops the call at every await.
///
/// # Errors
///
/// What is broken, and after how many polls.
pub(crate) async fn dropped_at_every_await<S: Scenario, DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    S::create_tables(&db).await?;
    let prepare = async |polls| S::prepare(&db, round_of(polls)).await;
    let call = |polls| S::call(&idem, round_of(polls));
    let check = async |polls, ended: Ended<Result<(), NoAnswer>>| {
        if let Ended::Completed(answer) = ended {
            answer.map_err(NoAnswer::into_error)?;
            S::check(&db, round_of(polls), Called::Answered).await?;
        }
        check_and_call_again::<S, DB>(&db, &idem, round_of(polls)).await
    };
    let last_drop = drop_at_every_await(prepare, call, check).await?;
    ensure!(last_drop > 0, "the call never waits, so that nothing was cut");
    Ok(())
}

fn round_of(polls: usize) -> i64 {
    i64::try_from(polls).unwrap_or(i64::MAX)
}

/// Calls from many tasks of two processes at once.
///
/// # Errors
///
/// What is broken, and in which round.
pub(crate) async fn released_together<S: Scenario, DB: Engine>(db: TestDb<DB>) -> TestResult {
    let processes = [db.idem(8).await?, db.idem(8).await?];
    S::create_tables(&db).await?;
    for round in 0..ROUNDS {
        S::prepare(&db, round).await?;
        let answers = release_together(|task| {
            let idem = processes[task % processes.len()].clone();
            async move { call_until_answered::<S, DB>(&idem, round).await }
        });
        answers.await?.into_iter().collect::<TestResult>()?;
        S::check(&db, round, Called::Answered).await.map_err(|error| format!("in round {round}: {error}"))?;
    }
    Ok(())
}
