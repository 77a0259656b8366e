//! The options of `#[machine(..)]` and `#[state(..)]`.

use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;

use super::graph::Graph;
use super::names::{self, Names};
use super::{State, maybe, one};

/// Options of a machine as they are written, and what others depend on.
pub(super) struct Options {
    pub(super) written: Vec<String>,
    pub(super) table: String,
    pub(super) history: bool,
    pub(super) module: Option<&'static str>,
    repr: Repr,
    /// Whether a state's name is written or shown anywhere.
    labels: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Repr {
    Text,
    Int,
    Native,
}

enum Version {
    Usual,
    Column(String),
    None,
}

pub(super) fn machine(random: &mut ChaCha8Rng, names: &mut Names, graph: &Graph) -> Options {
    let mut written = Vec::new();
    let status = maybe(random, 0.4).then(|| names.column_text(random));
    let version = Version::random(random, names, graph);
    let history = !matches!(version, Version::None) && maybe(random, 0.6);
    let entries = maybe(random, 0.4).then(|| names::history(random));
    let table = names::table(random, history && entries.is_none());
    let repr = one(random, &[Repr::Text, Repr::Text, Repr::Int, Repr::Native]);
    let display = maybe(random, 0.3);
    let labels = repr != Repr::Int || display;
    let module = maybe(random, 0.2).then(|| one(random, names::MODULES));
    names.take_usual(status.is_none(), matches!(version, Version::Usual));

    written.push(text("table", &table));
    written.extend(status.map(|name| text("status", &name)));
    written.extend(version.option());
    written.extend(history.then(|| history_option(random, entries.as_deref())));
    written.extend(repr_option(random, repr));
    written.extend(
        (repr != Repr::Int && maybe(random, 0.2)).then(|| format!("length = {}", 64 + random.random_range(0..192))),
    );
    written.extend((labels && maybe(random, 0.4)).then(|| text("rename_all", one(random, names::RULES))));
    written.extend(maybe(random, 0.3).then(|| "sqlx".to_owned()));
    written.extend(display.then(|| "display".to_owned()));
    written.extend(module.map(|module| format!("module = {module}")));
    Options { written, table, history, module, repr, labels }
}

impl Version {
    fn random(random: &mut ChaCha8Rng, names: &mut Names, graph: &Graph) -> Self {
        if !graph.has_cycle() && maybe(random, 0.3) {
            Self::None
        } else if maybe(random, 0.4) {
            Self::Column(names.column_text(random))
        } else {
            Self::Usual
        }
    }

    fn option(&self) -> Option<String> {
        match self {
            Self::Usual => None,
            Self::Column(name) => Some(text("version", name)),
            Self::None => Some("version = none".to_owned()),
        }
    }
}

fn history_option(random: &mut ChaCha8Rng, name: Option<&str>) -> String {
    let flags = [("cause = once", 0.3), ("actor", 0.2), ("metadata", 0.2)];
    let flags: Vec<_> = flags.into_iter().filter(|(_, share)| maybe(random, *share)).map(|(flag, _)| flag).collect();
    match (name, flags.as_slice()) {
        (None, []) => "history".to_owned(),
        (Some(name), []) => text("history", name),
        (None, flags) => format!("history({})", flags.join(", ")),
        (Some(name), flags) => format!("history({}, {})", text("name", name), flags.join(", ")),
    }
}

fn repr_option(random: &mut ChaCha8Rng, repr: Repr) -> Option<String> {
    match repr {
        Repr::Text => maybe(random, 0.2).then(|| "repr = text".to_owned()),
        Repr::Int => Some("repr = int".to_owned()),
        Repr::Native if maybe(random, 0.5) => Some("repr = native".to_owned()),
        Repr::Native => Some(format!("repr = native({:?})", names::native(random))),
    }
}

fn text(option: &str, value: &str) -> String {
    format!("{option} = {value:?}")
}

pub(super) fn states(random: &mut ChaCha8Rng, names: &mut Names, graph: &Graph, options: &Options) -> Vec<State> {
    let state = |state| {
        let mut written = Vec::new();
        written.extend((state == graph.initial).then(|| "initial".to_owned()));
        written.extend(graph.is_terminal(state).then(|| "terminal".to_owned()));
        written.extend(
            (options.labels && maybe(random, 0.3)).then(|| text("rename", names.stored(random, options.is_native()))),
        );
        written.extend(options.is_int().then(|| format!("value = {}", names.number(random))));
        let aliases = if maybe(random, 0.2) { random.random_range(1..=2) } else { 0 };
        written.extend((0..aliases).map(|_| alias(random, names, options)));
        State { name: names.state(random), options: written }
    };
    (0..graph.states).map(state).collect()
}

fn alias(random: &mut ChaCha8Rng, names: &mut Names, options: &Options) -> String {
    if options.is_int() {
        return format!("alias = {}", names.number(random));
    }
    text("alias", names.stored(random, options.is_native()))
}

impl Options {
    fn is_int(&self) -> bool {
        self.repr == Repr::Int
    }

    fn is_native(&self) -> bool {
        self.repr == Repr::Native
    }
}
