//! Rows that random events are fired at: they move along declared transitions, and stay where they are otherwise.

use futures_util::future::{BoxFuture, FutureExt as _};
use idem_runtime::machine::{Outcome, Row, StateMachine};
use idem_runtime::{Dialect, TransitionError};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use sqlx::SqlitePool;

use crate::Case;
use crate::engine::{Result, run, sqlite_pool};

/// Whether an event was applied.
pub type Fired<'p> = BoxFuture<'p, std::result::Result<bool, TransitionError>>;
/// The name of a row's state.
pub type Loaded<'p> = BoxFuture<'p, std::result::Result<&'static str, TransitionError>>;

/// How the only row of a machine is made, read and moved.
#[derive(Debug, Clone, Copy)]
pub struct Walk {
    /// Makes it.
    pub insert: &'static str,
    /// Every edge: event, source and target.
    pub edges: fn() -> Vec<[&'static str; 3]>,
    /// The name of the initial state.
    pub initial: fn() -> &'static str,
    /// Reads its state.
    pub load: fn(&SqlitePool) -> Loaded<'_>,
    /// Fires the event of this name.
    pub fire: for<'p> fn(&'p SqlitePool, &str) -> Fired<'p>,
}

/// The answer of a call, whatever its types.
#[must_use]
pub fn fired<M: StateMachine, T: Send + 'static>(
    run: BoxFuture<'_, std::result::Result<Outcome<M, T>, TransitionError>>,
) -> Fired<'_> {
    run.map(|outcome| Ok(matches!(outcome?, Outcome::Applied(_)))).boxed()
}

/// The state of a row, whatever its type.
#[must_use]
pub fn loaded<M: StateMachine>(load: BoxFuture<'_, std::result::Result<Row<M>, TransitionError>>) -> Loaded<'_> {
    load.map(|row| Ok(row?.state().name())).boxed()
}

/// Every edge of the transition table, after a look at whether `allows` says the same.
///
/// # Panics
///
/// When it does not.
pub fn edges<M: StateMachine>(allows: fn(M, M) -> bool) -> Vec<[&'static str; 3]> {
    for source in M::STATES {
        for target in M::STATES {
            let (from, to) = (source.name(), target.name());
            let declared = M::TRANSITIONS.iter().any(|edge| edge.source.name() == from && edge.target.name() == to);
            assert_eq!(allows(source.copied(), target.copied()), declared, "{from} to {to}");
        }
    }
    M::TRANSITIONS.iter().map(|edge| [edge.event, edge.source.name(), edge.target.name()]).collect()
}

/// Fires random events at a row of each machine.
///
/// # Errors
///
/// When a row moves where no transition leads, or stays where one does.
pub fn walk_all(cases: &[Case]) -> Result {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    for (case, walk) in cases.iter().filter_map(|case| Some((case, case.walk?))) {
        let walked = runtime.block_on(walk.over(case));
        walked.map_err(|error| format!("machine {}: {error}\n{}", case.number, case.source))?;
    }
    Ok(())
}

impl Walk {
    async fn over(self, case: &Case) -> Result {
        let pool = sqlite_pool().await?;
        for table in case.tables(Dialect::Sqlite) {
            run(&pool, &table).await?;
        }
        run(&pool, self.insert).await?;
        let (mut random, edges) = (ChaCha8Rng::seed_from_u64(case.number), (self.edges)());
        let mut state = (self.initial)();
        for _ in 0..if case.events.is_empty() { 0 } else { STEPS } {
            let event = random.random_range(0..case.events.len());
            state = self.step(&pool, &edges, state, case.events[event].0).await?;
        }
        Ok(())
    }

    /// Fires one event at a row in `state`; gives the state that the row has to be in after it.
    async fn step(
        self,
        pool: &SqlitePool,
        edges: &[[&'static str; 3]],
        state: &'static str,
        event: &'static str,
    ) -> Result<&'static str> {
        let target = edges.iter().find(|[name, source, _]| *name == event && *source == state).map(|edge| edge[2]);
        let applied = match (self.fire)(pool, event).await {
            Err(TransitionError::Illegal { .. }) => false,
            answer => answer.map_err(|error| format!("{event} in {state}: {error}"))?,
        };
        let (expected, found) = (target.unwrap_or(state), (self.load)(pool).await?);
        if applied == target.is_some() && found == expected {
            return Ok(found);
        }
        Err(format!("{event} in {state}: applied {applied}, and the row is in {found} instead of {expected}").into())
    }
}

/// How many events are fired at a row.
const STEPS: usize = 40;
