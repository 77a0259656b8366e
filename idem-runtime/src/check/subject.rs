use crate::dialect::Dialect;
use crate::machine::{Bind, Columns, Repr, StateMachine, Statement};

/// What of a machine is compared with a schema, without its type.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) name: &'static str,
    pub(super) table: &'static str,
    pub(super) columns: &'static Columns,
    pub(super) repr: Repr,
    pub(super) once: bool,
    /// What the status column has to hold: the value that is written for each state.
    pub(super) values: Vec<&'static str>,
    pub(super) events: Vec<&'static str>,
    pub(super) statements: Vec<Prepared>,
    pub(super) unknown_values: &'static str,
}

/// A statement that is to be prepared.
#[derive(Debug)]
pub(super) struct Prepared {
    /// The event by its place, if it is one's.
    event: Option<usize>,
    name: &'static str,
    pub(super) sql: &'static str,
    binds: &'static [Bind],
}

impl Subject {
    pub(super) fn of<M: StateMachine>(dialect: Dialect) -> Self {
        let load = Prepared::new(None, "load", M::SQL.load.of(dialect));
        let events = M::EVENTS.iter().enumerate().flat_map(|(event, (_, sql))| {
            let entries = [("enter", sql.enter.of(dialect)), ("enter_at", sql.enter_at.of(dialect))];
            let entries = entries.into_iter().filter_map(|(name, sql)| Some((name, sql.as_ref()?)));
            let fires = [("fire", sql.fire.of(dialect)), ("fire_at", sql.fire_at.of(dialect))];
            let all = entries.chain(fires).chain([("explain", sql.explain.of(dialect))]);
            all.map(move |(name, sql)| Prepared::new(Some(event), name, sql))
        });
        Self {
            name: M::NAME,
            table: M::TABLE,
            columns: &M::SPEC.columns,
            repr: M::REPR,
            once: M::SQL.once,
            values: M::STATES.iter().map(M::stored).collect(),
            events: M::EVENTS.iter().map(|(name, _)| *name).collect(),
            statements: [load].into_iter().chain(events).collect(),
            unknown_values: M::SQL.unknown_values.of(dialect),
        }
    }

    /// The columns of every event, with what they are for.
    pub(super) fn set(&self) -> impl Iterator<Item = (String, &'static str, Option<&'static str>)> {
        self.events.iter().zip(self.columns.set).flat_map(move |(event, set)| {
            set.iter().map(move |(column, rust)| {
                let what = if rust.is_some() { "field" } else { "set" };
                (format!("{}, event {event}, {what} {column}", self.name), *column, *rust)
            })
        })
    }

    /// The fields of every event and their Rust types.
    pub(super) fn fields(&self) -> impl Iterator<Item = (String, &'static str)> {
        self.set().filter_map(|(item, _, rust)| Some((item, rust?)))
    }

    pub(super) fn status_item(&self) -> String {
        format!("{}, status column `{}`", self.name, self.columns.status)
    }

    /// The Rust types of a statement's parameters, in their order.
    pub(super) fn parameters(&self, statement: &Prepared) -> impl Iterator<Item = &'static str> {
        let fields = statement.event.map_or(&[][..], |event| self.columns.set[event]);
        statement.binds.iter().flat_map(move |bind| -> Vec<&'static str> {
            match bind {
                Bind::Fields => fields.iter().filter_map(|(_, rust)| *rust).collect(),
                Bind::Id => self.columns.id.iter().map(|(_, rust)| *rust).collect(),
                Bind::Version => vec!["i64"],
                Bind::Cause | Bind::Fingerprint => vec!["String"],
            }
        })
    }
}

impl Prepared {
    fn new(event: Option<usize>, name: &'static str, Statement { sql, binds }: &'static Statement) -> Self {
        Self { event, name, sql, binds }
    }

    /// Where its fault comes from: the field whose column the server names, or the statement.
    pub(super) fn item(&self, subject: &Subject, fault: &str) -> String {
        let Some(event) = self.event else { return format!("{}, statement {}", subject.name, self.name) };
        let (name, of) = (subject.name, subject.events[event]);
        let fields = subject.columns.set[event].iter().filter(|(_, rust)| rust.is_some());
        let named = |column: &str| fault.contains(&format!("\"{column}\"")) || fault.contains(&format!("'{column}'"));
        match fields.map(|(column, _)| column).find(|column| named(column)) {
            Some(column) => format!("{name}, event {of}, field {column}"),
            None => format!("{name}, event {of}, statement {}", self.name),
        }
    }
}
