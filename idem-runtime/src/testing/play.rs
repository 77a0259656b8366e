//! One schedule as it is played: the scripts, each at its place, and whose turn it was.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::future::LocalBoxFuture;
use tokio::time::{Instant, timeout};

use super::caller::{At, Place};
use super::schedules::Schedules;
use super::waits;
use crate::dialect::{BoxDynError, SqlDialect};
use crate::engine::Idem;
use crate::error::Error;

/// How long a step may run before the database is asked whether it waits for somebody.
const BRIEF: Duration = Duration::from_millis(1);

pub(super) struct Play<'p, DB: SqlDialect, T> {
    idem: &'p Idem<DB>,
    actors: Vec<Actor<'p, T>>,
    turns: Vec<Turn>,
    patience: Duration,
}

/// One caller's script.
pub(super) struct Actor<'p, T> {
    pub(super) name: &'p str,
    pub(super) place: Arc<Place>,
    /// The number of its session, by which the database tells whether it waits.
    pub(super) session: i64,
    pub(super) script: LocalBoxFuture<'p, T>,
    pub(super) answer: Option<T>,
}

/// A step that was begun.
struct Turn {
    actor: usize,
    step: &'static str,
    /// Whether it had to wait for another caller.
    waited: bool,
}

impl<'p, DB: SqlDialect, T> Play<'p, DB, T> {
    pub(super) const fn new(idem: &'p Idem<DB>, actors: Vec<Actor<'p, T>>, patience: Duration) -> Self {
        Self { idem, actors, turns: Vec::new(), patience }
    }

    /// Plays it to its end; gives what each script was answered.
    pub(super) async fn run(&mut self, schedules: &mut Schedules) -> Result<Vec<T>, BoxDynError> {
        for actor in 0..self.actors.len() {
            self.go_on(actor).await?;
        }
        loop {
            let ready: Vec<_> = (0..self.actors.len()).filter(|actor| self.actors[*actor].step().is_some()).collect();
            if ready.is_empty() {
                return Ok(self.actors.iter_mut().filter_map(|actor| actor.answer.take()).collect());
            }
            let actor = schedules.choose(&ready);
            let step = self.actors[actor].step().unwrap_or_default();
            self.turns.push(Turn { actor, step, waited: false });
            self.go_on(actor).await?;
        }
    }

    /// The steps in the order in which they were begun.
    pub(super) fn schedule(&self) -> String {
        let turns = self.turns.iter().map(|turn| {
            let waited = if turn.waited { "(waits)" } else { "" };
            format!("{}.{}{waited}", self.actors[turn.actor].name, turn.step)
        });
        turns.collect::<Vec<_>>().join(" ")
    }

    /// Lets one script go on until it has come to its next step or waits for another one.
    async fn go_on(&mut self, actor: usize) -> Result<(), BoxDynError> {
        self.actors[actor].place.set(At::UnderWay);
        self.settle().await?;
        for index in (0..self.actors.len()).filter(|actor| self.actors[*actor].is_under_way()) {
            if let Some(turn) = self.turns.iter_mut().rev().find(|turn| turn.actor == index) {
                turn.waited = true;
            }
        }
        Ok(())
    }

    /// Lets those that are under way run for as long as nobody else could go on, or one of them does not wait.
    async fn settle(&mut self) -> Result<(), BoxDynError> {
        let end = Instant::now() + self.patience;
        loop {
            let quiet = timeout(BRIEF, poll_fn(|context| self.poll_until_quiet(context))).await;
            if quiet.is_ok() {
                return Ok(());
            }
            let under_way = self.under_way().count();
            let waiting = self.ask_who_waits().await?;
            // Whoever came to a step in the meantime may have let go of what the others waited for.
            if self.under_way().count() == under_way && self.is_quiet(&waiting) {
                return Ok(());
            }
            if Instant::now() > end {
                return Err(self.not_at_a_step().into());
            }
        }
    }

    fn under_way(&self) -> impl Iterator<Item = &Actor<'p, T>> {
        self.actors.iter().filter(|actor| actor.is_under_way())
    }

    /// Whether all that are under way wait, and for somebody who can go on.
    fn is_quiet(&self, waiting: &[i64]) -> bool {
        let waits = |actor: &Actor<'_, T>| actor.place.is_in_queue() || waiting.contains(&actor.session);
        let mut under_way = self.under_way().peekable();
        let others = self.actors.iter().any(|actor| matches!(actor.place.get(), At::Outset | At::Step(_)));
        under_way.peek().is_none() || (others && under_way.all(waits))
    }

    fn poll_until_quiet(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.poll(context);
        if self.is_quiet(&[]) { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Polls those that are under way, again when one of them came to a step: another one may have waited for that.
    fn poll(&mut self, context: &mut Context<'_>) {
        loop {
            let mut arrived = false;
            for actor in self.actors.iter_mut().filter(|actor| actor.is_under_way()) {
                arrived |= actor.poll(context);
            }
            if !arrived {
                return;
            }
        }
    }

    /// The scripts run on meanwhile. The question is asked to its end, so that its connection stays in step.
    async fn ask_who_waits(&mut self) -> Result<Vec<i64>, Error> {
        let sessions: Vec<_> = self.under_way().map(|actor| actor.session).collect();
        let mut waiting = pin!(waits::waiting(self.idem, &sessions));
        poll_fn(|context| {
            self.poll(context);
            waiting.as_mut().poll(context)
        })
        .await
    }

    fn not_at_a_step(&self) -> String {
        let names: Vec<_> = self.under_way().map(|actor| actor.name).collect();
        format!("not at the next step after {:?}, and nobody can let it go on: {}", self.patience, names.join(", "))
    }
}

impl<DB: SqlDialect, T> Drop for Play<'_, DB, T> {
    /// A check that panics cannot name the schedule.
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("in the schedule `{}`", self.schedule());
        }
    }
}

impl<T> Actor<'_, T> {
    fn is_under_way(&self) -> bool {
        self.place.get() == At::UnderWay
    }

    /// The step that it stands before.
    fn step(&self) -> Option<&'static str> {
        match self.place.get() {
            At::Step(name) => Some(name),
            _ => None,
        }
    }

    /// Says whether it came to its next step or its end.
    fn poll(&mut self, context: &mut Context<'_>) -> bool {
        if let Poll::Ready(answer) = self.script.as_mut().poll(context) {
            self.answer = Some(answer);
            self.place.set(At::End);
        }
        !self.is_under_way()
    }
}
