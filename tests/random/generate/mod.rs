//! Random machines that keep every rule: their text, and what has to be known to make their tables.
//!
//! A new option of an attribute is a line in [`options::machine`] or in [`options::states`].

mod graph;
mod names;
mod options;

use std::fmt::Write as _;

use rand::seq::{IndexedRandom as _, SliceRandom as _};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use self::names::Names;

/// The schema of the tables that are named with one.
pub(crate) const SCHEMA: &str = "Idem random";

/// A machine, and its text.
pub(crate) struct Machine {
    pub(crate) name: &'static str,
    /// The module that the derive makes.
    pub(crate) module: &'static str,
    pub(crate) table: String,
    /// The columns that name a row.
    pub(crate) id: Vec<Column>,
    /// The columns that events write.
    pub(crate) columns: Vec<Column>,
    pub(crate) events: Vec<Event>,
    /// The enum with its attributes, without `#[derive(..)]`.
    pub(crate) source: String,
}

/// A column, named as an identifier of Rust.
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) ty: &'static str,
}

struct State {
    name: &'static str,
    /// What its attribute says.
    options: Vec<String>,
}

/// An event, whose sources and target are positions in the list of states.
pub(crate) struct Event {
    pub(crate) name: &'static str,
    /// The type that the derive makes.
    pub(crate) type_name: &'static str,
    sources: Vec<usize>,
    target: usize,
    pub(crate) sets: Vec<Set>,
}

pub(crate) struct Set {
    pub(crate) column: &'static str,
    pub(crate) value: Value,
}

pub(crate) enum Value {
    /// As it is written behind `=`.
    Literal(&'static str),
    /// A field of the event.
    Field(&'static str),
}

/// The machine of this number. `seed` chooses among all sets of machines.
pub(crate) fn machine(seed: u64, number: u64) -> Machine {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(number);
    Machine::random(&mut random)
}

impl Machine {
    fn random(random: &mut ChaCha8Rng) -> Self {
        let names = &mut Names::default();
        let (name, usual_module) = one(random, names::MACHINES);
        let graph = graph::random(random);
        let options = options::machine(random, names, &graph);
        let id = id_columns(random, names, &options);
        let columns = columns(random, names);
        let states = options::states(random, names, &graph, &options);
        let events = graph.edges.into_iter().map(|edge| Event::random(random, names, &columns, edge)).collect();
        let (module, table) = (options.module.unwrap_or(usual_module), options.table.clone());
        let mut machine = Self { name, module, table, id, columns, events, source: String::new() };
        machine.source = machine.write(random, options.written, &states);
        machine
    }

    fn write(&self, random: &mut ChaCha8Rng, options: Vec<String>, states: &[State]) -> String {
        let mut attributes = self.machine_attributes(random, options);
        attributes.extend(self.events.iter().map(|event| event.attribute(states)));
        attributes.extend(documentation(random).map(str::to_owned));
        attributes.shuffle(random);
        let visibility = one(random, VISIBILITIES);
        let mut text = format!("{}\n{visibility}enum {} {{\n", attributes.join("\n"), self.name);
        for state in states {
            text.extend(documentation(random).map(|documentation| format!("{documentation}\n")));
            let _ = writeln!(text, "{},", state.write(random));
        }
        text + "}\n"
    }

    /// One attribute, or the options in two.
    fn machine_attributes(&self, random: &mut ChaCha8Rng, mut options: Vec<String>) -> Vec<String> {
        let id: Vec<_> = self.id.iter().map(|column| format!("{}: {}", column.name, column.ty)).collect();
        options.push(format!("id({})", id.join(", ")));
        options.shuffle(random);
        let rest = if maybe(random, 0.2) { options.split_off(options.len() / 2) } else { Vec::new() };
        let groups = [options, rest].into_iter().filter(|options| !options.is_empty());
        groups.map(|options| format!("#[machine({})]", options.join(", "))).collect()
    }
}

const VISIBILITIES: &[&str] = &["", "pub ", "pub(crate) ", "pub(super) ", "pub(self) ", "pub(in super) "];

fn documentation(random: &mut ChaCha8Rng) -> Option<&'static str> {
    let texts = [
        "/// What it is.",
        "/// With `code`, \"quotes\" and ```fences",
        "/** Of the other kind. */",
        "#[doc = \"Said \\\\ by {hand}.\"]",
        "#[doc(hidden)]",
    ];
    maybe(random, 0.3).then(|| one(random, &texts))
}

/// One to three columns that name a row.
fn id_columns(random: &mut ChaCha8Rng, names: &mut Names, options: &options::Options) -> Vec<Column> {
    let types = ["i64", "i32", "i16", "String", "Uuid", "::std::primitive::i64", "uuid::Uuid"];
    let count = random.random_range(1..=3);
    let columns = (0..count).map(|_| Column { name: names.id(random, options.history), ty: one(random, &types) });
    columns.collect()
}

/// Up to five columns that events write; no field carries a `now` here.
fn columns(random: &mut ChaCha8Rng, names: &mut Names) -> Vec<Column> {
    let types = [
        "now",
        "i64",
        "i32",
        "i16",
        "bool",
        "f64",
        "String",
        "Vec<u8>",
        "Uuid",
        "::std::string::String",
        "super::Label",
    ];
    let count = random.random_range(0..=5);
    (0..count).map(|_| Column { name: names.column(random), ty: one(random, &types) }).collect()
}

impl State {
    fn write(&self, random: &mut ChaCha8Rng) -> String {
        let mut options = self.options.clone();
        options.shuffle(random);
        let attribute = if options.is_empty() { String::new() } else { format!("#[state({})] ", options.join(", ")) };
        format!("{attribute}{}", self.name)
    }
}

impl Event {
    fn random(random: &mut ChaCha8Rng, names: &mut Names, columns: &[Column], edge: graph::Edge) -> Self {
        let (name, type_name) = names.event(random);
        let written: Vec<_> = columns.iter().filter(|_| maybe(random, 0.4)).collect();
        let sets = written.into_iter().map(|column| Set::random(random, column)).collect();
        Self { name, type_name, sources: edge.sources, target: edge.target, sets }
    }

    fn attribute(&self, states: &[State]) -> String {
        let sources: Vec<_> = self.sources.iter().map(|source| states[*source].name).collect();
        let sets: Vec<_> = self.sets.iter().map(Set::write).collect();
        let sets = if sets.is_empty() { String::new() } else { format!(", set({})", sets.join(", ")) };
        let (name, target) = (self.name, states[self.target].name);
        format!("#[transition({name}: {} => {target}{sets})]", sources.join(" | "))
    }
}

impl Set {
    fn random(random: &mut ChaCha8Rng, column: &Column) -> Self {
        let value = if column.ty == "now" || maybe(random, 0.4) {
            Value::Literal(one(random, names::literals(column.ty)))
        } else if maybe(random, 0.3) {
            Value::Field(names::optional(column.ty))
        } else {
            Value::Field(column.ty)
        };
        Self { column: column.name, value }
    }

    fn write(&self) -> String {
        match self.value {
            Value::Literal(literal) => format!("{} = {literal}", self.column),
            Value::Field(ty) => format!("{}: {ty}", self.column),
        }
    }
}

/// One of them.
pub(crate) fn one<T: Copy>(random: &mut ChaCha8Rng, all: &[T]) -> T {
    *all.choose(random).expect("there is one")
}

/// True this often.
pub(crate) fn maybe(random: &mut ChaCha8Rng, share: f64) -> bool {
    random.random_bool(share)
}
