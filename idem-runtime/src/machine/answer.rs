//! What a call answers, decided in one place from one reading.

use std::fmt;

use super::row::{Row, status_and_version};
use super::value::from_stored;
use super::{EventOf, State, StateMachine};
use crate::dialect::SqlDialect;
use crate::error::{Passed, TransitionError};

/// What an event did to a row. A duplicate is a result, not an error.
#[must_use = "it may say that this call moved nothing: match on it, or call `.expect_applied()?`"]
pub enum Outcome<M: StateMachine, T> {
    /// This call moved it.
    Applied(Row<M, T>),
    /// This very cause moved it earlier; the row may be further on by now.
    Replayed(Row<M>),
    /// No cause was given and the row is in the target. It says what the row is, not that it was this call.
    Already(Row<M>),
}

impl<M: StateMachine, T: State<M>> Outcome<M, T> {
    /// The row that this call moved, its state known by type.
    ///
    /// # Errors
    ///
    /// [`TransitionError::NotApplied`] when an earlier call moved it.
    pub fn expect_applied(self) -> Result<Row<M, T>, TransitionError> {
        match self {
            Self::Applied(row) => Ok(row),
            Self::Replayed(_) | Self::Already(_) => {
                Err(TransitionError::NotApplied { machine: M::NAME, target: T::STATE.name() })
            }
        }
    }
}

impl<M: StateMachine, T> Outcome<M, T> {
    /// The row, whoever moved it.
    pub fn into_row(self) -> Row<M> {
        match self {
            Self::Applied(row) => row.any_state(),
            Self::Replayed(row) | Self::Already(row) => row,
        }
    }

    /// Whether this call moved the row.
    #[must_use]
    pub const fn is_applied(&self) -> bool {
        matches!(self, Self::Applied(_))
    }
}

// Not derived: that would ask the marker of a state for the same trait.
impl<M: StateMachine, T> Clone for Outcome<M, T> {
    fn clone(&self) -> Self {
        match self {
            Self::Applied(row) => Self::Applied(row.clone()),
            Self::Replayed(row) => Self::Replayed(row.clone()),
            Self::Already(row) => Self::Already(row.clone()),
        }
    }
}

impl<M: StateMachine, T> fmt::Debug for Outcome<M, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Applied(row) => f.debug_tuple("Applied").field(row).finish(),
            Self::Replayed(row) => f.debug_tuple("Replayed").field(row).finish(),
            Self::Already(row) => f.debug_tuple("Already").field(row).finish(),
        }
    }
}

/// The row and its history at one moment.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// The raw status and the version.
    row: Option<(String, i64)>,
    /// The entry that holds the event with the cause.
    caused: Option<Caused>,
    /// What the history says of the row, where it was asked.
    past: Option<Past>,
}

#[derive(Debug)]
struct Caused {
    fingerprint: Option<String>,
    /// Whether it is an entry of this row; not so only where a cause moves one row.
    here: bool,
}

#[derive(Debug, Default)]
struct Past {
    latest_target: Option<String>,
    latest_cause: Option<String>,
    passed: Option<Passed>,
}

/// What was asked.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) expected: Option<i64>,
    pub(super) has_cause: bool,
    pub(super) fingerprint: Option<String>,
    pub(super) has_history: bool,
}

/// What a reading means for a call that did not move the row.
#[derive(Debug)]
pub(super) enum Decision<M> {
    Replayed(M, i64),
    Already(M, i64),
    Refused(TransitionError),
    /// The history has to be read first.
    Unread,
    /// The row accepts the event now: it changed between the statement and the reading.
    Raced,
}

impl Reading {
    /// From the columns `status`, `version`, and with a history `caused`, `caused_fingerprint`, `caused_here`.
    pub(super) fn of_fire<DB: SqlDialect>(row: &DB::Row, history: bool) -> Result<Self, sqlx::Error> {
        let caused = if history { Caused::of::<DB>(row)? } else { None };
        Ok(Self { row: status_and_version::<DB>(row)?, caused, past: None })
    }

    /// From the same columns and the past ones; no row at all when there is none in the table.
    pub(super) fn of_explain<DB: SqlDialect>(row: Option<&DB::Row>, history: bool) -> Result<Self, sqlx::Error> {
        let Some(row) = row else {
            return Ok(Self::missing());
        };
        let past = if history { Past::of::<DB>(row)? } else { Past::default() };
        Ok(Self { past: Some(past), ..Self::of_fire::<DB>(row, history)? })
    }

    /// Of a row that is not there.
    pub(super) fn missing() -> Self {
        Self { past: Some(Past::default()), ..Self::default() }
    }

    /// Adds the entry that holds the cause.
    pub(super) fn note_cause<DB: SqlDialect>(&mut self, row: &DB::Row) -> Result<(), sqlx::Error> {
        self.caused = Caused::of::<DB>(row)?;
        Ok(())
    }

    /// The version of a row that accepts the event now, and that the cause has not moved before.
    pub(super) fn accepts<M: StateMachine, E: EventOf<M>>(&self) -> Option<i64> {
        let (raw, version) = self.row.as_ref().filter(|_| self.caused.is_none())?;
        M::from_stored(raw).is_some_and(|state| is_source::<M, E>(&state)).then_some(*version)
    }

    /// The answers of a call in their order. Whatever comes first holds, the same on every database.
    pub(super) fn decide<M: StateMachine, E: EventOf<M>>(self, asked: &Question) -> Decision<M> {
        let same = |caused: &Caused| caused.here && caused.fingerprint == asked.fingerprint;
        if self.caused.as_ref().is_some_and(|caused| !same(caused)) {
            return Decision::Refused(TransitionError::Mismatch { machine: M::NAME, event: E::NAME });
        }
        // A replay's answer is a row in a state: it cannot be given without one.
        let Some((raw, version)) = self.row else {
            return Decision::Refused(TransitionError::NotFound { machine: M::NAME });
        };
        let state = match from_stored::<M>(raw) {
            Ok(state) => state,
            Err(unknown) => return Decision::Refused(unknown.into()),
        };
        match (self.caused, asked.expected) {
            (Some(_), _) => Decision::Replayed(state, version),
            (None, Some(expected)) if is_source::<M, E>(&state) && expected != version => {
                Decision::Refused(TransitionError::Stale { machine: M::NAME, expected, found: version })
            }
            _ if is_source::<M, E>(&state) => Decision::Raced,
            _ if is_target::<M, E>(&state) && !asked.has_cause => Decision::Already(state, version),
            _ => match self.past {
                Some(past) => Decision::Refused(past.refuse::<M, E>(&state)),
                None if asked.has_history => Decision::Unread,
                None => Decision::Refused(Past::default().refuse::<M, E>(&state)),
            },
        }
    }
}

fn is_source<M: StateMachine, E: EventOf<M>>(state: &M) -> bool {
    E::SOURCES.iter().any(|source| source.index() == state.index())
}

fn is_target<M: StateMachine, E: EventOf<M>>(state: &M) -> bool {
    state.index() == E::Target::STATE.index()
}

impl Caused {
    fn of<DB: SqlDialect>(row: &DB::Row) -> Result<Option<Self>, sqlx::Error> {
        if DB::integer(row, "caused")?.is_none() {
            return Ok(None);
        }
        let fingerprint = DB::text(row, "caused_fingerprint")?;
        Ok(Some(Self { fingerprint, here: DB::integer(row, "caused_here")? == Some(1) }))
    }
}

impl Past {
    fn of<DB: SqlDialect>(row: &DB::Row) -> Result<Self, sqlx::Error> {
        let passed_cause = DB::text(row, "passed_cause")?;
        Ok(Self {
            latest_target: DB::text(row, "latest_target")?,
            latest_cause: DB::text(row, "latest_cause")?,
            passed: DB::integer(row, "passed")?.map(|version| Passed { version, cause: passed_cause }),
        })
    }

    /// Why a row that is in none of the sources stays where it is.
    fn refuse<M: StateMachine, E: EventOf<M>>(self, state: &M) -> TransitionError {
        let (machine, event) = (M::NAME, E::NAME);
        if !is_target::<M, E>(state) {
            return TransitionError::Illegal { machine, event, current: state.name(), passed: self.passed };
        }
        // An entry that leads elsewhere did not put the row here: somebody did by hand, later.
        let put_here =
            self.latest_target.and_then(|raw| M::from_stored(&raw)).is_some_and(|it| it.index() == state.index());
        TransitionError::OtherCause { machine, event, recorded: self.latest_cause.filter(|_| put_here) }
    }
}
