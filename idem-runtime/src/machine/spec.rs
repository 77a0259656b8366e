//! What an expansion says, in one constant a type: to the compiler each constant is a function of its own.

use super::statement::{EventSql, MachineSql};
use super::value::Repr;
use super::{StateMachine, Transition};

/// All that [`StateMachine`] says of an enum in constants; each has its own name there.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "each constant has its words where it has its name")]
pub struct MachineSpec<M: StateMachine> {
    pub name: &'static str,
    pub table: &'static str,
    pub states: &'static [M],
    pub names: &'static [&'static str],
    pub stored: &'static [&'static str],
    pub labels: &'static [&'static str],
    pub repr: Repr,
    pub aliases: &'static [(&'static str, M)],
    pub transitions: &'static [Transition<M>],
    pub mermaid: &'static str,
    pub dot: &'static str,
    pub sql: MachineSql,
    pub events: &'static [(&'static str, &'static EventSql)],
    pub columns: Columns,
}

/// Columns that are written, each with the Rust type of its field.
pub type Assigned = &'static [(&'static str, Option<&'static str>)];

/// The columns that the statements of a machine name, each with the Rust type that is bound to it.
#[derive(Debug, Clone, Copy)]
pub struct Columns {
    /// The identifier's.
    pub id: &'static [(&'static str, &'static str)],
    /// The status.
    pub status: &'static str,
    /// The version, if rows have one.
    pub version: Option<&'static str>,
    /// The table of the history, if there is one.
    pub history: Option<&'static str>,
    /// The history's columns that are there when they are declared: `actor` and `metadata`.
    pub notes: &'static [&'static str],
    /// What each event writes beside those, in the order of the events; without a type where it is no field.
    pub set: &'static [Assigned],
    /// What a creation writes beside the status and the version.
    pub new: Assigned,
}

/// All that [`EventOf`](super::EventOf) says of an event in constants; each has its own name there.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "each constant has its words where it has its name")]
pub struct EventSpec<M: StateMachine> {
    /// Its place in [`MachineSpec::events`], where its name and its statements are: a constant of the machine that named
    /// those of its events would be one that rustc evaluates to check it.
    pub index: usize,
    pub sources: &'static [M],
    pub repeats: bool,
}
