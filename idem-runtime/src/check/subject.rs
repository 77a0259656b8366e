use crate::dialect::Dialect;
use crate::machine::{Assigned, Bind, Columns, MachineSql, Repr, StateMachine, Statement};

/// What of a machine is compared with a schema, without its type.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) name: &'static str,
    pub(super) table: &'static str,
    pub(super) columns: &'static Columns,
    pub(super) repr: Repr,
    pub(super) once: bool,
    pub(super) creates: bool,
    /// The names of the rules `#[unique_while(..)]`.
    pub(super) rules: &'static [&'static str],
    /// What the status column has to hold: the value that is written for each state.
    pub(super) values: Vec<&'static str>,
    events: Vec<&'static str>,
    pub(super) statements: Vec<Prepared>,
    pub(super) unknown_values: &'static str,
}

/// A statement that is to be prepared.
#[derive(Debug)]
pub(super) struct Prepared {
    /// What it belongs to: `event pay`, `create`, or the machine.
    of: Option<String>,
    /// The columns that it writes.
    writes: Assigned,
    name: &'static str,
    pub(super) sql: &'static str,
    binds: &'static [Bind],
}

impl Subject {
    pub(super) fn of<M: StateMachine>(dialect: Dialect) -> Self {
        let columns = &M::SPEC.columns;
        let events = M::EVENTS.iter().zip(columns.set).flat_map(|((event, sql), set)| {
            let entries = [("enter", sql.enter.of(dialect).as_ref()), ("enter_at", sql.enter_at.of(dialect).as_ref())];
            let fires = [("fire", &sql.fire), ("fire_at", &sql.fire_at), ("fire_all", &sql.fire_all)];
            let fires = fires.map(|(name, fire)| (name, Some(fire.of(dialect))));
            let blocked = sql.blocked.as_ref().map(|blocked| blocked.of(dialect));
            let reads = [("explain", Some(sql.explain.of(dialect))), ("blocked", blocked)];
            let all = entries.into_iter().chain(fires).chain(reads);
            let all = all.filter_map(|(name, statement)| Some((name, statement?)));
            all.map(move |named| Prepared::new(Some(format!("event {event}")), set, named))
        });
        Self {
            name: M::NAME,
            table: M::TABLE,
            columns,
            repr: M::REPR,
            once: M::SQL.once,
            creates: M::SQL.create.is_some(),
            rules: M::SQL.unique_while.as_ref().map_or(&[], |rules| rules.names),
            values: M::STATES.iter().map(M::stored).collect(),
            events: M::EVENTS.iter().map(|(name, _)| *name).collect(),
            statements: rows::<M>(dialect).chain(events).chain(creation::<M>(dialect)).collect(),
            unknown_values: M::SQL.unknown_values.of(dialect),
        }
    }

    /// The columns that are written, with what they are for and the types of their fields.
    pub(super) fn set(&self) -> impl Iterator<Item = (String, &'static str, Option<&'static str>)> {
        let events = self.events.iter().map(|event| format!("event {event}")).zip(self.columns.set.iter().copied());
        events.chain([("create".to_owned(), self.columns.new)]).flat_map(move |(of, set)| {
            set.iter().map(move |(column, rust)| {
                let what = if rust.is_some() { "field" } else { "set" };
                (format!("{}, {of}, {what} {column}", self.name), *column, *rust)
            })
        })
    }

    /// The fields and their Rust types.
    pub(super) fn fields(&self) -> impl Iterator<Item = (String, &'static str)> {
        self.set().filter_map(|(item, _, rust)| Some((item, rust?)))
    }

    pub(super) fn status_item(&self) -> String {
        format!("{}, status column `{}`", self.name, self.columns.status)
    }

    /// The Rust types of a statement's parameters, in their order.
    pub(super) fn parameters(&self, statement: &Prepared) -> impl Iterator<Item = &'static str> {
        let fields: Vec<_> = statement.writes.iter().filter_map(|(_, rust)| *rust).collect();
        statement.binds.iter().flat_map(move |bind| match bind {
            Bind::Fields => fields.clone(),
            Bind::Value(at) => vec![fields[*at]],
            Bind::Id => self.columns.id.iter().map(|(_, rust)| *rust).collect(),
            Bind::Note => vec!["String"; self.columns.notes.len()],
            Bind::Version => vec!["i64"],
            Bind::Cause | Bind::Fingerprint | Bind::Wait | Bind::Ids | Bind::EventName | Bind::Target => vec!["String"],
        })
    }
}

/// The statements that read, lock and enter rows, whatever the event.
fn rows<M: StateMachine>(dialect: Dialect) -> impl Iterator<Item = Prepared> {
    let MachineSql { load, lock, lock_now, bulk, .. } = &M::SQL;
    let one = [("load", load), ("lock", lock), ("lock_now", lock_now)];
    let one = one.map(|(name, statement)| (name, statement.of(dialect)));
    let many = [("bulk read", &bulk.read), ("bulk caused", &bulk.caused), ("bulk enter", &bulk.enter)];
    let many = many.into_iter().filter_map(move |(name, all)| Some((name, all.of(dialect).as_ref()?)));
    one.into_iter().chain(many).map(|named| Prepared::new(None, &[], named))
}

/// The statements that make a row, if there are any.
fn creation<M: StateMachine>(dialect: Dialect) -> impl Iterator<Item = Prepared> {
    let all = M::SQL.create.as_ref().into_iter().flat_map(move |sql| {
        let caused = sql.caused.as_ref().map(|caused| ("caused", caused.of(dialect)));
        let enter = sql.enter.of(dialect).as_ref().map(|enter| ("enter", enter));
        let met = sql.met.iter().map(move |met| ("met", met.of(dialect)));
        [("insert", sql.insert.of(dialect))].into_iter().chain(enter).chain(caused).chain(met)
    });
    all.map(|named| Prepared::new(Some("create".to_owned()), M::SPEC.columns.new, named))
}

impl Prepared {
    fn new(of: Option<String>, writes: Assigned, (name, sql): (&'static str, &'static Statement)) -> Self {
        Self { of, writes, name, sql: sql.sql, binds: sql.binds }
    }

    /// Where its fault comes from: the field whose column the server names, or the statement.
    pub(super) fn item(&self, subject: &Subject, fault: &str) -> String {
        let named = |column: &str| fault.contains(&format!("\"{column}\"")) || fault.contains(&format!("'{column}'"));
        let field = self.writes.iter().find(|(column, rust)| rust.is_some() && named(column));
        let what = field.map_or_else(|| format!("statement {}", self.name), |(column, _)| format!("field {column}"));
        let parts = [Some(subject.name), self.of.as_deref(), Some(&what)];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}
