//! Drop at every await: a future is polled a number of times and dropped, for every number until it completes.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

use super::{BoxError, TestResult};

/// How a future ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended<T> {
    /// It was dropped where it waited.
    Dropped,
    /// It had an answer.
    Completed(T),
}

/// A future that has not completed after that many pending polls never will.
const MOST_POLLS: usize = 1_000;

/// How often it begins again where nothing was cut.
const MOST_PASSES: usize = 5;

/// How many runs in a row must complete before all awaits count as seen: some may complete early by luck, when the
/// database answers before it is asked for the answer.
pub(crate) const COMPLETED_RUNS: usize = 10;

/// Prepares, calls, lets the call be pending `n` times, drops it and checks the invariants: for `n` from 0 until the
/// call completes, each time with the number of the run. Gives the largest number of pending polls after which it was
/// dropped.
///
/// # Errors
///
/// The first broken invariant, with its `n`, and a call that never completes.
pub(crate) async fn drop_at_every_await<F, T>(
    mut prepare: impl AsyncFnMut(usize) -> TestResult,
    mut call: impl FnMut(usize) -> F,
    mut check: impl AsyncFnMut(usize, Ended<T>) -> TestResult,
) -> Result<usize, BoxError>
where
    F: Future<Output = T>,
{
    let mut run = 0;
    // A call of one await may have its answer at once in the only run that would drop it there.
    for _ in 0..MOST_PASSES {
        let (mut completed, mut last_drop) = (0, 0);
        for polls in 0..MOST_POLLS {
            let during = |error: BoxError| format!("cut after {polls} pending polls: {error}");
            prepare(run).await?;
            let ended = cut(call(run), polls).await.map_err(during)?;
            if matches!(ended, Ended::Completed(_)) {
                completed += 1;
            } else {
                (completed, last_drop) = (0, polls);
            }
            check(run, ended).await.map_err(during)?;
            run += 1;
            if completed == COMPLETED_RUNS {
                break;
            }
        }
        if completed < COMPLETED_RUNS {
            return Err(format!("the call did not complete within {MOST_POLLS} pending polls").into());
        }
        if last_drop > 0 {
            return Ok(last_drop);
        }
    }
    Ok(0)
}

/// Polls a future, each time only after it was woken, until it completes or has been pending `polls` times.
async fn cut<F: Future>(future: F, polls: usize) -> Result<Ended<F::Output>, BoxError> {
    let mut future = Box::pin(future);
    let mut pending = 0;
    let driven = poll_fn(|context| {
        if pending < polls {
            leave_one_operation(context);
            match future.as_mut().poll(context) {
                Poll::Ready(value) => return Poll::Ready(Ended::Completed(value)),
                Poll::Pending => pending += 1,
            }
        }
        if pending == polls { Poll::Ready(Ended::Dropped) } else { Poll::Pending }
    });
    let ended = tokio::time::timeout(Duration::from_mins(1), driven).await;
    ended.map_err(|_| "the future waits and nothing wakes it".into())
}

/// Takes all but one unit of tokio's budget for this poll: a second operation on a socket then waits, even when the
/// database has answered before it is asked for the answer.
pub(crate) fn leave_one_operation(context: &mut Context<'_>) {
    const BUDGET: usize = 128;
    for _ in 1..BUDGET {
        // Whatever it says: the budget is smaller afterwards, or used up.
        let _ = pin!(tokio::task::consume_budget()).poll(context);
    }
}
