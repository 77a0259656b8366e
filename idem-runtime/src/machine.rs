//! State machines: what `#[derive(StateMachine)]` implements, and the calls that move a row.

mod answer;
mod create;
mod fire;
mod graph;
mod guard;
mod hidden;
mod lock;
mod names;
mod note;
mod repair;
mod row;
mod rows;
mod spec;
mod statement;
mod value;

use std::fmt::Debug;

pub use answer::Outcome;
pub use create::{Create, Created, CreatesOn, NewRow, Values};
pub use fire::bulk::FireAll;
#[doc(hidden)]
pub use fire::bulk::InBulk;
pub use fire::{AppliesOnce, Fire, Pinned, Unpinned};
pub use graph::Graph;
pub use guard::{Guard, GuardRefusal, GuardSql, Refused, guard_refusal};
pub use lock::{LockRow, LockRows};
pub(crate) use names::index_name;
pub use repair::{Repair, RepairSql};
#[doc(hidden)]
pub use row::in_known_state;
pub use row::{AnyState, Handle, Row};
pub use rows::{ByRow, ForRow, Outcomes, Rows};
#[doc(hidden)]
pub use spec::{Assigned, Columns, EventSpec, MachineSpec};
pub use statement::{Bind, BulkSql, CreateSql, EventSql, MachineSql, Statement, UniqueWhileSql};
pub use value::{Repr, UnknownState};
#[doc(hidden)]
pub use value::{decode_status, encode_status, from_label, reads_status, status_type};

use sqlx::Database;

use crate::dialect::BoxDynError;
use crate::fingerprint::Fingerprint;

/// One edge of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition<M> {
    /// The event's name as in `#[transition(pay: ..)]`.
    pub event: &'static str,
    /// The state that the row leaves.
    pub source: M,
    /// The state that the row enters.
    pub target: M,
}

/// A domain enum whose values are the states of a row. Derive it: `#[derive(StateMachine)]`. It needs no other derive.
pub trait StateMachine: Sized + Send + Sync + 'static {
    /// The type of the row's identifier; a tuple when it has several columns.
    type Id: Clone + Debug + Send + Sync + 'static;
    /// The enum that holds a row by its state, in the module of the states' types: what
    /// [`Row::by_state`](Row::by_state) gives.
    type ByState;

    /// All that the derive says in constants; the others are its parts.
    #[doc(hidden)]
    const SPEC: &'static MachineSpec<Self>;
    /// The enum's name.
    const NAME: &'static str = Self::SPEC.name;
    /// The table whose rows the machine moves.
    const TABLE: &'static str = Self::SPEC.table;
    /// All states, in the order in which the enum declares them.
    const STATES: &'static [Self] = Self::SPEC.states;
    /// The state of a new row.
    const INITIAL: Self;
    /// What the status column is to the database.
    const REPR: Repr = Self::SPEC.repr;
    /// The values that stand for a state beside the one that is written, as text.
    const ALIASES: &'static [(&'static str, Self)] = Self::SPEC.aliases;
    /// The transition table, an entry an edge.
    const TRANSITIONS: &'static [Transition<Self>] = Self::SPEC.transitions;
    /// The transition table as a Mermaid state diagram.
    const MERMAID: &'static str = Self::SPEC.mermaid;
    /// The transition table as a Graphviz digraph.
    const DOT: &'static str = Self::SPEC.dot;
    /// The statements that belong to no event.
    const SQL: &'static MachineSql = &Self::SPEC.sql;
    /// Every event and its statements, in the order in which the enum declares them.
    const EVENTS: &'static [(&'static str, &'static EventSql)] = Self::SPEC.events;

    /// The name of the variant.
    fn name(&self) -> &'static str {
        Self::SPEC.names[self.index()]
    }
    /// The value that the status column holds, as text.
    fn stored(&self) -> &'static str {
        Self::SPEC.stored[self.index()]
    }
    /// The state's name by `rename` and `rename_all`: unless the status column holds integers, its stored value.
    fn label(&self) -> &'static str {
        Self::SPEC.labels[self.index()]
    }
    /// Names rows by their identifiers; nothing is loaded.
    fn rows(ids: impl IntoIterator<Item = Self::Id>) -> Rows<Self>
    where
        Self::Id: Ord,
    {
        Rows::new(ids)
    }

    /// The state that a value of the status column stands for.
    #[must_use]
    fn from_stored(raw: &str) -> Option<Self> {
        let written = Self::STATES.iter().find(|state| state.stored() == raw);
        let alias = || Self::ALIASES.iter().find(|(alias, _)| *alias == raw).map(|(_, state)| state);
        written.or_else(alias).map(Self::copied)
    }

    /// The state once more, for an enum that is not `Copy`.
    #[doc(hidden)]
    #[must_use]
    fn copied(&self) -> Self;
    /// The state's place in the enum: two states are equal when theirs are.
    #[doc(hidden)]
    fn index(&self) -> usize;

    /// The row, its state as a type.
    #[doc(hidden)]
    fn by_state(row: Row<Self>) -> Self::ByState;
}

/// The identifier of the machine's rows can be bound on `DB`.
pub trait MachineOn<DB: Database>: StateMachine {
    /// Adds the identifier's columns, in order.
    ///
    /// # Errors
    ///
    /// When sqlx cannot encode a value.
    fn bind_id(id: &Self::Id, arguments: &mut DB::Arguments) -> Result<(), BoxDynError>;
}

/// The machine writes a history, so that a cause can be recorded.
#[diagnostic::on_unimplemented(
    message = "`{Self}` keeps no history, so a cause cannot be recorded",
    label = "causes are kept in the history",
    note = "write `history` in `#[machine(..)]`"
)]
pub trait HasHistory: StateMachine {}

/// An entry of the machine's history names who asked for it.
#[diagnostic::on_unimplemented(
    message = "the history of `{Self}` has no column for an actor",
    label = "needs `actor`",
    note = "write `history(actor)` in `#[machine(..)]`, and add the column to the table"
)]
pub trait HasActor: HasHistory {}

/// An entry of the machine's history keeps a value of the caller's.
#[diagnostic::on_unimplemented(
    message = "the history of `{Self}` has no column for metadata",
    label = "needs `metadata`",
    note = "write `history(metadata)` in `#[machine(..)]`, and add the column to the table"
)]
pub trait HasMetadata: HasHistory {}

/// The machine's rows have a version: every one that is not declared with `version = none`.
#[diagnostic::on_unimplemented(
    message = "the rows of `{Self}` have no version",
    label = "needs a version",
    note = "name the column that counts the row's changes in `#[machine(version = \"..\")]`, in place of `version = none`"
)]
pub trait HasVersion: StateMachine {}

/// `Self` is the marker type of a state of `M`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a state of `{M}`",
    label = "not a state of `{M}`",
    note = "the states of a machine are the types of the module that `#[derive(StateMachine)]` generates"
)]
pub trait State<M>: Send + Sync + 'static {
    /// The state as a value.
    const STATE: M;
}

/// `M` accepts the event `Self` in state `S`.
#[diagnostic::on_unimplemented(
    message = "event `{Self}` is not accepted by `{M}` in state `{S}`",
    label = "`{S}` does not accept this event",
    note = "declare it on `{M}`: `#[transition(event: {S} => Target)]`"
)]
pub trait Event<S, M: StateMachine>: EventOf<M> {}

/// `Self` is an event of `M`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an event of `{M}`",
    label = "not an event of `{M}`",
    note = "declare it on `{M}`: `#[transition(event: Source => Target)]`"
)]
pub trait EventOf<M: StateMachine>: Sized + Send + Sync + 'static {
    /// The state that the row enters.
    type Target: State<M>;
    /// [`Fire<M, Self>`](Fire), or [`Fire<M, Self, Unpinned>`](Unpinned) for an event that could move one row twice. A
    /// projection, so that a wrong event is one error: no method is looked up on it.
    type Fire: From<Fire<M, Self, Unpinned>> + InBulk<M, Self>;
    /// [`Fire<M, Self>`](Fire), from a row whose version is known.
    type FireAt: From<Fire<M, Self>>;

    /// All that the machine declares of it; the other constants are its parts.
    #[doc(hidden)]
    const SPEC: &'static EventSpec<M>;
    /// The event's name as in `#[transition(pay: ..)]`.
    const NAME: &'static str = M::EVENTS[Self::SPEC.index].0;
    /// The states that accept it.
    const SOURCES: &'static [M] = Self::SPEC.sources;
    /// Whether its target can lead back to one of its sources, so that it can move one row twice.
    const REPEATS: bool = Self::SPEC.repeats;
    /// Its statements.
    const SQL: &'static EventSql = M::EVENTS[Self::SPEC.index].1;

    /// The hash of the fields, kept in the history beside the cause; none without fields or without a history.
    #[doc(hidden)]
    fn fingerprint(&self) -> Option<Fingerprint> {
        None
    }
}

/// The event's fields can be bound on `DB`.
pub trait Fields<DB: Database> {
    /// Adds the fields, in order; nothing when the event has none.
    ///
    /// # Errors
    ///
    /// When sqlx cannot encode a value.
    fn bind(&self, arguments: &mut DB::Arguments) -> Result<(), BoxDynError> {
        let _ = arguments;
        Ok(())
    }
}
