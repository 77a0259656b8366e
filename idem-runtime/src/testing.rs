//! Every schedule of a few callers, on your own database and your own machine.
//!
//! A race that happens once in a thousand runs is one order of steps among a few dozen. [`interleave!`](crate::interleave)
//! plays all of them: each caller has a connection of its own and a script, cut into steps; one step is begun at a time,
//! in every order, each order on a fresh row; and after each your check sees the row and what every caller was told.
//!
//! A step that has to wait for another caller's lock is no fault: the database is asked who waits, the others go on, and
//! the step ends when it can. In the schedule it is marked, `pay.fire(waits)`. Nothing sleeps and hopes.
//!
//! ```no_run
//! # #[cfg(feature = "sqlite")]
//! # mod example {
//! # use idem_runtime::prelude::*;
//! use idem_runtime::{interleave, testing};
//! # #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
//! # #[machine(table = "orders", id(order_id: i64), history, rename_all = "snake_case")]
//! # #[transition(pay: Pending => Paid)]
//! # #[transition(cancel: Pending => Cancelled)]
//! # pub enum OrderStatus { #[state(initial)] Pending, #[state(terminal)] Paid, #[state(terminal)] Cancelled }
//! # use order_status::{Cancel, Pay};
//! # async fn new_order() -> Result<i64, sqlx::Error> { Ok(1) }
//!
//! # async fn test(idem: Idem<sqlx::Sqlite>) -> Result<(), testing::Failure> {
//! let schedules = interleave!(&idem, new_order, |caller, order_id| {
//!     pay {
//!         load   { let order = OrderStatus::row(order_id).load(caller.idem()).await?; }
//!         begin  { let mut tx = caller.begin().await?; }
//!         fire   { let paid = order.in_state()?.fire(Pay).run(&mut *tx).await?; }
//!         commit { tx.commit().await?; }
//!         => paid.is_applied()
//!     }
//!     cancel {
//!         fire { let cancelled = OrderStatus::row(order_id).fire(Cancel).run(caller.idem()).await?; }
//!         => cancelled.is_applied()
//!     }
//! }, async |order_id, answers: Vec<_>| {
//!     let applied = answers.iter().filter(|answer| matches!(answer, Ok(true))).count();
//!     if applied == 1 { Ok(()) } else { Err(format!("order {order_id}: {answers:?}")) }
//! })?;
//! assert!(schedules.len() > 1);
//! # Ok(())
//! # }
//! # }
//! ```
//!
//! A check that fails names the schedule, and [`Interleaving::only`] plays that one alone. Behind the macro is
//! [`Interleaving`]: ordinary code, for scripts that are made in a loop, such as one for every pair of
//! [`rivals`].
//!
//! - The number of schedules grows fast: two callers of three steps have 20, three of them 1,680.
//! - What stands before a script's first step runs before the schedule begins, in the order of the scripts.
//! - Scripts use what their caller has: its engine, or a transaction of it. A caller has one connection.
//! - MySQL tells who waits to accounts with the privilege `PROCESS`.
//! - SQLite does not tell it. There writers wait in the engine's queue, which is seen: begin transactions by the caller,
//!   or give its engine to a machine with a history. Who writes past the queue is answered with
//!   [`Retry`](crate::TransitionError::Retry) while another one writes. `:memory:` is of no use: each connection would have
//!   a database of its own.

mod caller;
mod play;
mod schedules;
mod waits;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_core::future::LocalBoxFuture;

pub use caller::Caller;
use caller::Place;
pub(crate) use caller::in_queue;
use play::{Actor, Play};
use schedules::Schedules;

use crate::dialect::{BoxDynError, SqlDialect};
use crate::engine::Idem;
use crate::machine::StateMachine;

/// Scripts, and the rows that they meet on. [`interleave!`](crate::interleave) writes it.
///
/// `R` is what a fresh row is known by; `T` is what a script was answered, the same for all of them.
#[must_use = "nothing is played until `run` is awaited"]
pub struct Interleaving<'i, DB: SqlDialect, R, T> {
    idem: &'i Idem<DB>,
    fresh: Box<dyn Fresh<R> + 'i>,
    scripts: Vec<Part<'i, DB, R, T>>,
    only: Option<String>,
    patience: Duration,
}

/// A caller's name and what it does.
type Part<'i, DB, R, T> = (String, Box<dyn Script<DB, R, T> + 'i>);

/// A schedule after which the check failed, or that could not be played.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", place(schedule))]
pub struct Failure {
    schedule: String,
    reason: BoxDynError,
}

/// An async closure that makes rows, as an object.
trait Fresh<R> {
    fn row(&self) -> LocalBoxFuture<'_, Result<R, BoxDynError>>;
}

impl<R, E: Into<BoxDynError>, F: AsyncFn() -> Result<R, E>> Fresh<R> for F {
    fn row(&self) -> LocalBoxFuture<'_, Result<R, BoxDynError>> {
        Box::pin(async move { self().await.map_err(Into::into) })
    }
}

/// An async closure that plays a caller, as an object.
trait Script<DB: SqlDialect, R, T> {
    fn play<'s>(&'s self, caller: Caller<DB>, row: R) -> LocalBoxFuture<'s, T>
    where
        R: 's;
}

impl<DB: SqlDialect, R, T, F: AsyncFn(Caller<DB>, R) -> T> Script<DB, R, T> for F {
    fn play<'s>(&'s self, caller: Caller<DB>, row: R) -> LocalBoxFuture<'s, T>
    where
        R: 's,
    {
        Box::pin(async move { self(caller, row).await })
    }
}

impl<'i, DB: SqlDialect, R: Clone, T> Interleaving<'i, DB, R, T> {
    /// Begins with the engine on whose database it happens, and with what makes a fresh row and gives its identifier.
    pub fn new<E: Into<BoxDynError>>(idem: &'i Idem<DB>, fresh: impl AsyncFn() -> Result<R, E> + 'i) -> Self {
        let patience = Duration::from_secs(20);
        Self { idem, fresh: Box::new(fresh), scripts: Vec::new(), only: None, patience }
    }

    /// Adds a caller: its name, and what it does between its [steps](Caller::step).
    ///
    /// # Panics
    ///
    /// When the name cannot be told from others in a schedule: it is empty, is there already, or has a dot or a space.
    pub fn script(mut self, name: &str, script: impl AsyncFn(Caller<DB>, R) -> T + 'i) -> Self {
        let is_plain = !name.is_empty() && !name.contains(|c: char| c == '.' || c.is_whitespace());
        let is_new = self.scripts.iter().all(|(other, _)| other != name);
        assert!(is_plain && is_new, "`{name}` does not name a caller: it has to be new, without a dot or a space");
        self.scripts.push((name.to_owned(), Box::new(script)));
        self
    }

    /// Plays one schedule alone, as a failure named it: `pay.load cancel.fire pay.fire(waits) ..`. Who goes on counts, not
    /// what the step is called; where it cannot be so, and after its end, the first caller that can goes on.
    pub fn only(mut self, schedule: &str) -> Self {
        self.only = Some(schedule.to_owned());
        self
    }

    /// How long a step may run that waits for no other caller: 20 seconds unless it is said here.
    pub const fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Plays every schedule and checks each: the check gets the row, and what each script was answered, in the order in
    /// which the scripts were added. Gives the schedules.
    ///
    /// A check may also panic; the schedule is then written to standard error.
    ///
    /// # Errors
    ///
    /// The first schedule that fails: its check, its fresh row, a step that does not end, or a database that is out of
    /// reach.
    pub async fn run<E: Into<BoxDynError>>(
        self,
        check: impl AsyncFn(R, Vec<T>) -> Result<(), E>,
    ) -> Result<Vec<String>, Failure> {
        let mut callers = Vec::new();
        for _ in &self.scripts {
            callers.push(self.idem.sibling().await.map_err(|error| Failure::new("", error))?);
        }
        let played = self.every_schedule(&callers, check).await;
        for caller in callers {
            caller.pool().close().await;
        }
        played
    }

    async fn every_schedule<E: Into<BoxDynError>>(
        &self,
        callers: &[Idem<DB>],
        check: impl AsyncFn(R, Vec<T>) -> Result<(), E>,
    ) -> Result<Vec<String>, Failure> {
        let mut schedules = self.schedules()?;
        let mut played = Vec::new();
        loop {
            let row = self.fresh.row().await.map_err(|error| Failure::new("", error))?;
            let actors = self.actors(callers, &row).await.map_err(|error| Failure::new("", error))?;
            let mut play = Play::new(self.idem, actors, self.patience);
            let checked = match play.run(&mut schedules).await {
                Ok(answers) => check(row, answers).await.map_err(Into::into),
                Err(error) => Err(error),
            };
            checked.map_err(|error| Failure::new(&play.schedule(), error))?;
            played.push(play.schedule());
            if !schedules.advance() {
                return Ok(played);
            }
        }
    }

    fn schedules(&self) -> Result<Schedules, Failure> {
        let Some(only) = &self.only else { return Ok(Schedules::default()) };
        let path = only.split_whitespace().map(|turn| {
            let name = turn.split('.').next().unwrap_or_default();
            let caller = self.scripts.iter().position(|(script, _)| script == name);
            caller.ok_or_else(|| Failure::new(only, format!("there is no caller `{name}`")))
        });
        Ok(Schedules::only(path.collect::<Result<Vec<_>, _>>()?))
    }

    async fn actors<'p>(&'p self, callers: &[Idem<DB>], row: &R) -> Result<Vec<Actor<'p, T>>, BoxDynError>
    where
        R: 'p,
    {
        let mut actors = Vec::new();
        for ((name, script), idem) in self.scripts.iter().zip(callers) {
            let (session, place) = (waits::session(idem).await?, Arc::new(Place::default()));
            let caller = Caller::new(idem.clone(), Arc::clone(&place));
            let script = to_its_end(idem.clone(), script.play(caller, row.clone()));
            let script = Box::pin(tokio::task::unconstrained(Arc::clone(&place).scope(script)));
            actors.push(Actor { name, place, session, script, answer: None });
        }
        Ok(actors)
    }
}

/// A script is at its end when its connection is back in the pool: what it did not commit is undone by then.
async fn to_its_end<DB: SqlDialect, T>(idem: Idem<DB>, script: LocalBoxFuture<'_, T>) -> T {
    let answer = script.await;
    drop(idem.pool().acquire().await);
    answer
}

impl<DB: SqlDialect, R, T> fmt::Debug for Interleaving<'_, DB, R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.scripts.iter().map(|(name, _)| name).collect();
        f.debug_struct("Interleaving").field("scripts", &names).field("only", &self.only).finish_non_exhaustive()
    }
}

fn place(schedule: &str) -> String {
    if schedule.is_empty() { "before the first step".to_owned() } else { format!("in the schedule `{schedule}`") }
}

impl Failure {
    fn new(schedule: &str, reason: impl Into<BoxDynError>) -> Self {
        Self { schedule: schedule.to_owned(), reason: reason.into() }
    }

    /// The schedule, as [`Interleaving::only`] takes it; empty when none had begun.
    #[must_use]
    pub fn schedule(&self) -> &str {
        &self.schedule
    }
}

/// Every two events that one state accepts, by the machine's own table; an event beside itself included. An event that is
/// added later comes by itself.
pub fn rivals<M: StateMachine>() -> impl Iterator<Item = (M, [&'static str; 2])> {
    M::TRANSITIONS.iter().enumerate().flat_map(|(index, one)| {
        let others = M::TRANSITIONS[index..].iter().filter(|other| other.source.index() == one.source.index());
        others.map(|other| (one.source.copied(), [one.event, other.event]))
    })
}

/// Plays every order of the steps of two or more callers: see [`testing`](crate::testing).
///
/// It takes the engine, what makes a fresh row, the callers, and the check. A caller is a list of named steps, and after `=>`
/// what it was answered; what one step binds is there in the next ones. In a script `?` takes what converts to a
/// [`TransitionError`](crate::TransitionError): an answer is a `Result<_, TransitionError>`.
#[macro_export]
macro_rules! interleave {
    (
        $idem:expr, $fresh:expr,
        |$caller:ident, $row:ident| {
            $($name:ident { $($step:ident { $($do:tt)* })+ => $answer:expr })+
        },
        $check:expr $(,)?
    ) => {
        $crate::testing::Interleaving::new($idem, $fresh)
            $(.script(
                ::core::stringify!($name),
                async |$caller, $row| -> ::core::result::Result<_, $crate::TransitionError> {
                    $(
                        $caller.step(::core::stringify!($step)).await;
                        $($do)*
                    )+
                    ::core::result::Result::Ok($answer)
                },
            ))+
            .run($check)
            .await
    };
}
