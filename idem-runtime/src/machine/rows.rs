use std::fmt;
use std::ops::Deref;
use std::time::Duration;

use super::fire::Unpinned;
use super::fire::bulk::{FireAll, InBulk};
use super::lock::LockRows;
use super::{EventOf, Outcome, StateMachine};
use crate::error::TransitionError;

/// A row's identifier and the answer for it.
pub type ForRow<M, T> = (<M as StateMachine>::Id, Result<T, TransitionError>);

/// An answer for each row, in the order of the rows' identifiers: a slice that can be taken apart.
#[must_use = "some of the rows may have been refused: look at each answer"]
pub struct ByRow<M: StateMachine, T> {
    answers: Vec<ForRow<M, T>>,
}

/// What an event did to each of many rows.
pub type Outcomes<M, E> = ByRow<M, Outcome<M, <E as EventOf<M>>::Target>>;

/// Rows by their identifiers, each once and in order, so that two calls about the same rows meet at the first one and never
/// wait for each other; nothing is loaded.
#[must_use]
#[derive(Debug, Clone)]
pub struct Rows<M: StateMachine> {
    ids: Vec<M::Id>,
}

impl<M: StateMachine<Id: Ord>> Rows<M> {
    pub(super) fn new(ids: impl IntoIterator<Item = M::Id>) -> Self {
        let mut ids: Vec<_> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        Self { ids }
    }

    /// Keeps the rows from every other writer until the transaction ends, after a wait of at most `wait` for all of them
    /// together; zero does not wait.
    pub fn lock_rows(self, wait: Duration) -> LockRows<M> {
        LockRows::new(self.ids, wait)
    }

    /// Fires an event at all the rows, whatever their states.
    pub fn fire<E: EventOf<M>>(self, event: E) -> <E::Fire as InBulk<M, E>>::All {
        FireAll::<M, E, Unpinned>::new(self.ids, event).into()
    }
}

impl<M: StateMachine, T> Deref for ByRow<M, T> {
    type Target = [ForRow<M, T>];

    fn deref(&self) -> &Self::Target {
        &self.answers
    }
}

impl<M: StateMachine, T> IntoIterator for ByRow<M, T> {
    type Item = ForRow<M, T>;
    type IntoIter = std::vec::IntoIter<ForRow<M, T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.answers.into_iter()
    }
}

impl<M: StateMachine, T> FromIterator<ForRow<M, T>> for ByRow<M, T> {
    fn from_iter<I: IntoIterator<Item = ForRow<M, T>>>(answers: I) -> Self {
        Self { answers: answers.into_iter().collect() }
    }
}

// Not derived: that would ask the enum for the same trait.
impl<M: StateMachine, T: fmt::Debug> fmt::Debug for ByRow<M, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.answers.fmt(f)
    }
}
