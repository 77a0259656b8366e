//! Release together: tasks that wait for one another and then do the same thing at once.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::BoxError;

/// How many tasks race.
pub(crate) const TASKS: usize = 32;

/// How many times they race.
pub(crate) const ROUNDS: i64 = 60;

/// Runs one round: `task` is called once for each of the [`TASKS`], which all begin at once. Gives their answers, in no
/// order.
///
/// # Errors
///
/// When a task panics.
pub(crate) async fn release_together<F>(task: impl FnMut(usize) -> F) -> Result<Vec<F::Output>, BoxError>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    release_many(TASKS, task).await
}

/// Like [`release_together`], with another number of tasks.
pub(crate) async fn release_many<F>(number: usize, mut task: impl FnMut(usize) -> F) -> Result<Vec<F::Output>, BoxError>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let barrier = Arc::new(Barrier::new(number));
    let mut tasks = JoinSet::new();
    for (barrier, future) in (0..number).map(|index| (Arc::clone(&barrier), task(index))) {
        tasks.spawn(async move {
            barrier.wait().await;
            future.await
        });
    }
    let mut answers = Vec::with_capacity(number);
    while let Some(answer) = tasks.join_next().await {
        answers.push(answer?);
    }
    Ok(answers)
}
