//! The machine as it is: every name is resolved, and nothing in it can be wrong. (After an error it holds what could be
//! resolved, and only the fallback sees it.)

mod create;

use std::cell::OnceCell;
use std::collections::BTreeSet;

use proc_macro2::Ident;
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::{Attribute, LitStr, Path, Type, Visibility};

pub(crate) use self::create::{CREATE, Create, NEW, UniqueWhile};
use super::{ast, case};
use crate::sql::{self, PerDialect};
use crate::suggest;

pub(crate) struct Model {
    pub(crate) ident: Ident,
    pub(crate) visibility: Visibility,
    /// The path to the runtime, unless it is `::idem_runtime`.
    pub(crate) krate: Option<Path>,
    pub(crate) module: Ident,
    pub(crate) table: String,
    pub(crate) id: Vec<Column>,
    pub(crate) status: String,
    /// `None`: a row is told from its former visits by nothing.
    pub(crate) version: Option<String>,
    pub(crate) repr: Repr,
    /// How many characters the status column takes.
    pub(crate) length: usize,
    pub(crate) sqlx: bool,
    pub(crate) display: bool,
    pub(crate) history: Option<History>,
    /// As the enum declares them.
    pub(crate) states: Vec<State>,
    pub(crate) initial: StateId,
    /// As the attributes declare them.
    pub(crate) events: Vec<Event>,
    pub(crate) create: Option<Create>,
    pub(crate) unique_while: Vec<UniqueWhile>,
    /// For each state the states that a row in it can ever be in, itself included.
    reach: Vec<BTreeSet<StateId>>,
    /// The names that every statement has, each looked up among the keywords once.
    pub(crate) names: OnceCell<PerDialect<sql::Names>>,
}

/// A position in [`Model::states`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StateId(pub(crate) usize);

/// A column and the Rust type of its values.
pub(crate) struct Column {
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
}

pub(crate) struct History {
    pub(crate) table: String,
    /// A cause moves one row only, not one a row.
    pub(crate) once: bool,
    /// What an entry says beside that.
    pub(crate) notes: Vec<Note>,
}

/// A column of the history that is there when it is declared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Note {
    Actor,
    Metadata,
}

impl Note {
    pub(crate) const fn column(self) -> &'static str {
        match self {
            Self::Actor => "actor",
            Self::Metadata => "metadata",
        }
    }
}

pub(crate) struct State {
    pub(crate) ident: Ident,
    /// What its variant says to readers of the code: `#[doc]` and `#[deprecated]`.
    pub(crate) notes: Vec<Attribute>,
    /// Its name as `rename` and `rename_all` have it.
    pub(crate) label: String,
    /// What the status column holds.
    pub(crate) stored: Stored,
    /// What it also may hold.
    pub(crate) aliases: Vec<Stored>,
    pub(crate) terminal: bool,
}

/// A value of the status column.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Stored {
    Text(String),
    Int(i64),
}

/// What the status column is to the database.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Repr {
    Text,
    Int,
    /// An enum type of PostgreSQL, by its name, and an ENUM of MySQL.
    Native(String),
}

pub(crate) struct Event {
    /// As in `#[transition(..)]`.
    pub(crate) ident: Ident,
    /// Its type's name.
    pub(crate) type_ident: Ident,
    pub(crate) sources: Vec<Source>,
    pub(crate) target: StateId,
    pub(crate) assignments: Vec<Assignment>,
    /// The target can lead back to one of the sources, so that a late duplicate could apply again.
    pub(crate) repeats: bool,
}

/// A source and the token that names it.
pub(crate) struct Source {
    pub(crate) state: StateId,
    pub(crate) written: Ident,
}

pub(crate) struct Assignment {
    pub(crate) column: Ident,
    pub(crate) value: Value,
}

pub(crate) enum Value {
    Now,
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    Field(Box<Type>),
}

impl Column {
    pub(crate) fn name(&self) -> String {
        unraw(&self.ident)
    }

    /// The last segment of the type's path: `Uuid` of `uuid::Uuid`.
    pub(crate) fn type_name(&self) -> Option<String> {
        match &self.ty {
            Type::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
            _ => None,
        }
    }
}

impl State {
    pub(crate) fn name(&self) -> String {
        unraw(&self.ident)
    }

    /// Every value that stands for it, the one that is written first.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Stored> {
        [&self.stored].into_iter().chain(&self.aliases)
    }

    pub(crate) fn is_deprecated(&self) -> bool {
        self.notes.iter().any(|note| note.path().is_ident("deprecated"))
    }
}

impl Stored {
    /// The value as text, which is how statements read it.
    pub(crate) fn raw(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Int(number) => number.to_string(),
        }
    }
}

impl Assignment {
    pub(crate) fn name(&self) -> String {
        unraw(&self.column)
    }

    /// The type of the event's field, where one is written.
    pub(crate) fn field(&self) -> Option<&Type> {
        match &self.value {
            Value::Field(ty) => Some(ty),
            _ => None,
        }
    }
}

impl Event {
    pub(crate) fn name(&self) -> String {
        unraw(&self.ident)
    }

    /// The columns whose values come with the event.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&Ident, &Type)> {
        self.assignments.iter().filter_map(|it| Some((&it.column, it.field()?)))
    }
}

impl Model {
    pub(crate) fn name(&self) -> String {
        unraw(&self.ident)
    }

    pub(crate) fn state(&self, id: StateId) -> &State {
        &self.states[id.0]
    }

    pub(crate) fn state_ids(&self) -> impl Iterator<Item = StateId> + use<> {
        (0..self.states.len()).map(StateId)
    }

    /// Every edge, event by event.
    pub(crate) fn edges(&self) -> impl Iterator<Item = (&Event, &Source)> {
        self.events.iter().flat_map(|event| event.sources.iter().map(move |source| (event, source)))
    }

    /// The states that a row in `state` can ever be in, `state` itself included.
    pub(crate) fn reach(&self, state: StateId) -> &BTreeSet<StateId> {
        &self.reach[state.0]
    }

    /// What could be resolved, each name once. A misspelt state counts as the one that was meant.
    pub(super) fn from_ast(machine: &ast::Machine<'_>) -> Self {
        let options = &machine.options;
        let text = |it: &Option<syn::LitStr>, default: &str| it.as_ref().map_or(default.to_owned(), syn::LitStr::value);
        let table = text(&options.table, "");
        let states = states(machine);
        let names = Names(states.iter().map(|state| state.ident.to_string()).collect());
        let initial = machine.states.iter().find(|state| state.marks.initial.is_some());
        let initial = initial.and_then(|it| states.iter().position(|state| state.ident == *it.ident)).unwrap_or(0);
        let mut events = events(machine, &names, StateId(initial));
        let reach = reach(states.len(), &events);
        for event in &mut events {
            event.repeats = event.sources.iter().any(|source| reach[event.target.0].contains(&source.state));
        }
        Self {
            ident: machine.original.ident.clone(),
            visibility: machine.original.vis.clone(),
            krate: options.krate.clone(),
            module: options.module.clone().unwrap_or_else(|| module(&machine.original.ident)),
            id: id_columns(&options.id),
            status: text(&options.status, "status"),
            version: version(options),
            repr: repr(machine),
            length: length(options),
            sqlx: options.sqlx,
            display: options.display,
            history: options.history.as_ref().map(|it| History {
                table: text(&it.name, &history_name(&table, options.status.as_ref())),
                once: it.once,
                notes: notes(it),
            }),
            initial: StateId(initial),
            create: create::create(machine, &states),
            unique_while: create::unique_while(machine, &names),
            reach,
            names: OnceCell::new(),
            events,
            table,
            states,
        }
    }
}

fn notes(history: &ast::History) -> Vec<Note> {
    let actor = history.actor.as_ref().map(|_| Note::Actor);
    actor.into_iter().chain(history.metadata.as_ref().map(|_| Note::Metadata)).collect()
}

/// Two machines on one table have two status columns, and must not take each other's entries for their own.
pub(super) fn history_name(table: &str, status: Option<&LitStr>) -> String {
    match status.map(LitStr::value).filter(|status| status != "status") {
        Some(status) => format!("{table}_{status}_history"),
        None => format!("{table}_history"),
    }
}

fn module(machine: &Ident) -> Ident {
    case::ident(&case::snake(&unraw(machine)), machine.span())
}

/// The enum beside the types of the states and events that holds a row by its state.
pub(crate) const BY_STATE: &str = "ByState";

/// The name of the event's type.
pub(super) fn type_ident(event: &Ident) -> Ident {
    case::ident(&case::pascal(&unraw(event)), event.span())
}

/// A type as it was written, without spaces.
pub(super) fn type_text(ty: &Type) -> String {
    ty.to_token_stream().to_string().replace(' ', "")
}

/// A table's own name, without its schema.
pub(crate) fn without_schema(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or_default()
}

/// The name without `r#`.
pub(crate) fn unraw(ident: &Ident) -> String {
    ident.unraw().to_string()
}

/// How many characters the status column takes when nothing says it.
const LENGTH: usize = 64;

/// How many characters the status column takes.
pub(super) fn length(options: &ast::Options) -> usize {
    options.length.as_ref().and_then(|length| length.base10_parse().ok()).unwrap_or(LENGTH)
}

/// The version's column, unless there is none.
pub(super) fn version(options: &ast::Options) -> Option<String> {
    match &options.version {
        Some(ast::Version::Column(name)) => Some(name.value()),
        Some(ast::Version::None(_)) => None,
        None => Some("version".to_owned()),
    }
}

/// What the status column is to the database.
pub(super) fn repr(machine: &ast::Machine<'_>) -> Repr {
    match machine.options.repr.as_ref().map(|repr| &repr.kind) {
        None | Some(ast::ReprKind::Text) => Repr::Text,
        Some(ast::ReprKind::Int) => Repr::Int,
        Some(ast::ReprKind::Native(Some(name))) => Repr::Native(name.value()),
        Some(ast::ReprKind::Native(None)) => Repr::Native(case::snake(&unraw(&machine.original.ident))),
    }
}

/// The state's name as `rename` and `rename_all` have it.
fn label(machine: &ast::Machine<'_>, state: &ast::State<'_>) -> String {
    match (&state.marks.rename, &machine.options.rename_all) {
        (Some(name), _) => name.value(),
        (None, Some((_, rule))) => rule.apply(&unraw(state.ident)),
        (None, None) => unraw(state.ident),
    }
}

/// The value that the status column holds for the state: without `repr = int` its label.
pub(super) fn stored(machine: &ast::Machine<'_>, state: &ast::State<'_>) -> Stored {
    match state.written_value().filter(|_| machine.options.is_int()) {
        Some(value) => value.resolve(),
        None => Stored::Text(label(machine, state)),
    }
}

fn states(machine: &ast::Machine<'_>) -> Vec<State> {
    let units = machine.states.iter().filter(|state| matches!(state.fields, syn::Fields::Unit));
    units
        .map(|state| State {
            ident: state.ident.clone(),
            notes: state.notes.iter().copied().cloned().collect(),
            label: label(machine, state),
            stored: stored(machine, state),
            aliases: state.marks.aliases.iter().map(ast::Stored::resolve).collect(),
            terminal: state.marks.terminal,
        })
        .collect()
}

fn id_columns(columns: &[ast::IdColumn]) -> Vec<Column> {
    let mut named = BTreeSet::new();
    let once = columns.iter().filter(|column| named.insert(unraw(&column.name)));
    once.map(|column| Column { ident: column.name.clone(), ty: column.ty.clone() }).collect()
}

/// The names of the states, as written.
struct Names(Vec<String>);

impl Names {
    /// The state of that name, or the one that was meant.
    fn find(&self, name: &Ident) -> Option<StateId> {
        let written = name.to_string();
        let exact = self.position(&written);
        exact.or_else(|| self.position(suggest::similar(&written, self.0.iter().map(String::as_str))?))
    }

    fn position(&self, name: &str) -> Option<StateId> {
        self.0.iter().position(|it| it == name).map(StateId)
    }
}

fn events(machine: &ast::Machine<'_>, names: &Names, initial: StateId) -> Vec<Event> {
    let states = machine.states.iter().map(|state| unraw(state.ident));
    let new = machine.create.as_ref().map(|_| NEW.to_owned());
    let mut types: BTreeSet<String> = states.chain([BY_STATE.to_owned()]).chain(new).collect();
    let mut events = Vec::new();
    for transition in &machine.transitions {
        let type_ident = type_ident(&transition.event);
        if types.insert(unraw(&type_ident)) {
            events.push(Event {
                ident: transition.event.clone(),
                type_ident,
                sources: sources(&transition.sources, names),
                target: transition.target.as_ref().and_then(|it| names.find(it)).unwrap_or(initial),
                assignments: assignments(&transition.sets),
                repeats: false,
            });
        }
    }
    events
}

fn sources(written: &[Ident], names: &Names) -> Vec<Source> {
    let mut seen = BTreeSet::new();
    let found = written.iter().filter_map(|name| Some((names.find(name)?, name)));
    let once = found.filter(|(state, _)| seen.insert(*state));
    once.map(|(state, name)| Source { state, written: name.clone() }).collect()
}

fn reach(states: usize, events: &[Event]) -> Vec<BTreeSet<StateId>> {
    let mut targets = vec![BTreeSet::new(); states];
    for event in events {
        for source in &event.sources {
            targets[source.state.0].insert(event.target);
        }
    }
    (0..states).map(|state| reach_of(StateId(state), &targets)).collect()
}

fn reach_of(state: StateId, targets: &[BTreeSet<StateId>]) -> BTreeSet<StateId> {
    let mut reached = BTreeSet::from([state]);
    let mut queue = vec![state];
    while let Some(from) = queue.pop() {
        queue.extend(targets[from.0].iter().filter(|target| reached.insert(**target)));
    }
    reached
}

fn assignments(sets: &[ast::Assignment]) -> Vec<Assignment> {
    let mut named = BTreeSet::new();
    let once = sets.iter().filter(|set| named.insert(unraw(&set.column)));
    once.map(|set| Assignment { column: set.column.clone(), value: value(&set.value) }).collect()
}

fn value(written: &ast::Value) -> Value {
    match written {
        ast::Value::Now => Value::Now,
        ast::Value::Null => Value::Null,
        ast::Value::Bool(flag) => Value::Bool(*flag),
        ast::Value::Number(number) => Value::Number(number.clone()),
        ast::Value::Text(text) => Value::Text(text.value()),
        ast::Value::Field(ty) => Value::Field(ty.clone()),
    }
}
