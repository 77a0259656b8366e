//! Names and values that are hard to bear for Rust, for SQL or for both.

use std::collections::BTreeSet;

use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;

use super::{SCHEMA, maybe, one};

/// Enums, each with the module that the derive makes.
pub(super) const MACHINES: &[(&str, &str)] = &[
    ("OrderStatus", "order_status"),
    ("Customs", "customs"),
    ("Type", "r#type"),
    ("Match", "r#match"),
    ("Super", "super_"),
    ("Crate", "crate_"),
    ("HTTPState", "h_t_t_p_state"),
    ("State2Go", "state2_go"),
    ("Größe", "größe"),
    ("Ürün", "ürün"),
    ("Заказ", "заказ"),
    ("Core", "core"),
    ("Sqlx", "sqlx"),
    ("Snake_Case", "snake__case"),
];

/// Modules that are named.
pub(super) const MODULES: &[&str] = &["states", "r#mod", "States", "модуль", "std_"];

/// The rules of `rename_all`.
pub(super) const RULES: &[&str] = &[
    "lowercase",
    "UPPERCASE",
    "PascalCase",
    "camelCase",
    "snake_case",
    "SCREAMING_SNAKE_CASE",
    "kebab-case",
    "SCREAMING-KEBAB-CASE",
];

/// Variants. Without case and underscores all of them differ, so that no rule makes two of them equal.
const STATES: &[&str] = &[
    "Pending",
    "Paid",
    "WaitBuyerPay",
    "r#type",
    "r#Start",
    "r#match",
    "None",
    "Some",
    "Ok",
    "Err",
    "Uuid",
    "Debug",
    "Clone",
    "Label",
    "Self_",
    "select",
    "Übergeben",
    "待支付",
    "已支付",
    "оплачен",
    "Box",
    "Result",
    "ALL_DONE",
    "State",
    "Event",
    "X",
    "r#where",
    "Handle",
    "Row",
    "_Hidden",
    "Into",
    "Sync",
    "Fire2",
    "Unit",
];

/// Events, each with the type that the derive makes.
const EVENTS: &[(&str, &str)] = &[
    ("pay", "Pay"),
    ("r#move", "Move"),
    ("r#use", "Use"),
    ("r#as", "As"),
    ("pay_again", "PayAgain"),
    ("payLater", "PayLater"),
    ("self_", "Self_"),
    ("支付", "支付"),
    ("отмена", "Отмена"),
    ("übergib", "Übergib"),
    ("_hide", "_Hide"),
    ("now", "Now"),
    ("set", "Set"),
    ("Refund", "Refund"),
    ("r#fn", "Fn"),
    ("send", "Send"),
    ("drop", "Drop"),
    ("copy", "Copy"),
    ("eq", "Eq"),
    ("default", "Default"),
    ("x", "X"),
    ("ship_2_go", "Ship2Go"),
    ("union", "Union"),
    ("insert", "Insert"),
    ("r#gen", "Gen"),
    ("clone", "Clone"),
    ("from", "From"),
    ("label", "Label"),
    ("machine", "Machine"),
];

/// Columns as identifiers of Rust. All of them differ without case, as some engines compare.
const COLUMNS: &[&str] = &[
    "order_id",
    "tenant",
    "r#type",
    "r#where",
    "r#in",
    "group",
    "order",
    "Key",
    "KIND",
    "by",
    "to",
    "now",
    "null",
    "set",
    "at",
    "event",
    "source",
    "target",
    "cause",
    "fingerprint",
    "status",
    "version",
    "seen",
    "moved",
    "locked",
    "entered",
    "caused",
    "one",
    "applied",
    "here",
    "passed",
    "latest",
    "größe",
    "数量",
    "имя",
    "x",
    "r#as",
    "r#match",
    "row",
    "rows",
    "values",
    "excluded",
    "user",
    "desc",
    "limit",
    "offset",
    "primary",
    "r#fn",
    "__part_0",
    "__id",
    "__arguments",
    "value",
    "id",
    "text",
    "date",
    "name",
    "current_date",
    "r#true_",
    "index",
    "table_",
    "check",
    "state",
    "rev",
    "caused_here",
    "caused_fingerprint",
    "latest_target",
    "r#self_",
    "left",
    "using",
    "r#for",
    "a1",
    "all",
    "any",
];

/// Columns and tables as text only, which need not be identifiers of Rust.
const TEXTS: &[&str] = &[
    "the status",
    "a\"b",
    "a`b",
    "it's",
    "what?",
    "$1",
    "?1",
    ":name",
    "@v",
    "%s {}",
    "a;b",
    "a--b",
    "/* a */",
    "[a]",
    "1",
    "1st",
    "select",
    "SELECT",
    "Status",
    "Order",
    "注文",
    "ß",
    "-",
    "'",
    "\"",
    "`",
    "a/b",
    "#",
    "self",
    "fn",
];

/// Tables. The generated statements use some of these names themselves.
const TABLES: &[&str] = &[
    "orders", "Orders", "order", "table", "seen", "one", "latest", "passed", "here", "status", "version", "history",
    "user", "groups", "数据", "größen", "x",
];

/// As long as a name can be.
const LONG: &[&str] = &["sixty_three_bytes_are_what_postgresql_keeps_of_any_name_no_more"];

/// What PostgreSQL would take for parts of a statement, so that they have to be named with their schema. (`locked` cannot
/// be a table's name even then.)
const OWN: &[&str] = &["caused", "moved", "entered"];

/// Stored values. Without case and trailing spaces all of them differ.
const STORED: &[&str] = &[
    "",
    "it's",
    "''",
    "\"",
    "`",
    "退款",
    "🎉",
    "a;b",
    "-- a",
    "/* a */",
    "$1",
    "?",
    "?1",
    ":a",
    "%",
    "{}",
    "```",
    "*/",
    " leading",
    "NULL",
    "0",
    "1",
    "true",
    "é",
    "e\u{301}",
    "ΐ",
    "İ",
    "#",
    "a\u{a0}b",
    "'; DROP TABLE orders; --",
    "sixty-four-characters-are-as-many-as-the-column-of-this-test-has",
    "\u{202e}",
    "|",
    "\u{feff}",
];

/// What no column of the identifier is called beside a history: the history's own columns.
const HISTORY: &[&str] = &["version", "source", "target", "event", "cause", "fingerprint", "at", "actor", "metadata"];

/// What is taken in one machine, without regard to case.
#[derive(Default)]
pub(super) struct Names {
    columns: BTreeSet<String>,
    types: BTreeSet<String>,
    stored: BTreeSet<String>,
    numbers: BTreeSet<i64>,
}

impl Names {
    /// The columns of every machine, where they have their usual names.
    pub(super) fn take_usual(&mut self, status: bool, version: bool) {
        self.columns.extend(status.then(|| "status".to_owned()));
        self.columns.extend(version.then(|| "version".to_owned()));
    }

    /// The name of a column that is given as text.
    pub(super) fn column_text(&mut self, random: &mut ChaCha8Rng) -> String {
        // Where one of the two has its usual name, the other must not have it.
        let usual = |name: &&str| ["status", "version"].contains(&folded(name).as_str());
        let names: Vec<_> = COLUMNS.iter().chain(TEXTS).copied().filter(|name| !usual(name)).collect();
        unused(random, &names, &mut self.columns).trim_start_matches("r#").to_owned()
    }

    /// The name of a column that events write.
    pub(super) fn column(&mut self, random: &mut ChaCha8Rng) -> &'static str {
        unused(random, COLUMNS, &mut self.columns)
    }

    /// The name of a column of the identifier, which a history holds beside its own.
    pub(super) fn id(&mut self, random: &mut ChaCha8Rng, history: bool) -> &'static str {
        let own = |name: &&str| history && HISTORY.contains(&folded(name).as_str());
        let names: Vec<_> = COLUMNS.iter().copied().filter(|name| !own(name)).collect();
        unused(random, &names, &mut self.columns)
    }

    pub(super) fn state(&mut self, random: &mut ChaCha8Rng) -> &'static str {
        unused(random, STATES, &mut self.types)
    }

    /// An event and its type.
    pub(super) fn event(&mut self, random: &mut ChaCha8Rng) -> (&'static str, &'static str) {
        let names: Vec<_> = EVENTS.iter().map(|(_, name)| *name).collect();
        let name = unused(random, &names, &mut self.types);
        *EVENTS.iter().find(|(_, it)| *it == name).expect("it was chosen among them")
    }

    /// A value of a status column; what is long is no label of an enum type.
    pub(super) fn stored(&mut self, random: &mut ChaCha8Rng, label: bool) -> &'static str {
        let values: Vec<_> = STORED.iter().copied().filter(|value| !label || value.len() <= 63).collect();
        unused(random, &values, &mut self.stored)
    }

    /// A value of a status column of integers.
    pub(super) fn number(&mut self, random: &mut ChaCha8Rng) -> i64 {
        let limit = one(random, &[20, 20, 40_000, 3_000_000_000, i64::MAX]);
        loop {
            let number = random.random_range(-limit..=limit);
            if self.numbers.insert(number) {
                return number;
            }
        }
    }
}

/// A table, with or without a schema. A history may add to its name.
pub(super) fn table(random: &mut ChaCha8Rng, history: bool) -> String {
    let schema = maybe(random, 0.2);
    let own = OWN.iter().filter(|_| schema);
    let long = LONG.iter().filter(|_| !history);
    let names: Vec<_> = TABLES.iter().chain(TEXTS).chain(own).chain(long).copied().collect();
    with_schema(schema, one(random, &names))
}

/// A table of another name, for a history.
pub(super) fn history(random: &mut ChaCha8Rng) -> String {
    with_schema(maybe(random, 0.2), one(random, &["entries", "Entries", "an \"entry\"", "a `move`", "история"]))
}

fn with_schema(schema: bool, table: &str) -> String {
    if schema { format!("{SCHEMA}.{table}") } else { table.to_owned() }
}

/// An enum type, with or without a schema.
pub(super) fn native(random: &mut ChaCha8Rng) -> String {
    with_schema(maybe(random, 0.2), one(random, &["kind", "Kind", "a \"kind\"", "enum", "тип", "it's"]))
}

/// What a column of this type can be set to.
pub(super) fn literals(ty: &str) -> &'static [&'static str] {
    match ty {
        "now" => &["now", "now", "null"],
        "i64" => &["0", "-1", "9_000_000_000i64", "-9223372036854775808", "0xff", "null"],
        "i32" | "i16" => &["0", "-1", "1_000", "0b11", "7i16", "null"],
        "bool" => &["true", "false", "null"],
        "f64" => &["1.5", "-2.5e-3", "1.", "1e10", "3", "0.1f64", "null"],
        "Vec<u8>" | "Uuid" => &["null"],
        _ => &["\"it's\"", "\"\"", "\"?\"", "\"$1\"", "r#\"a\"b\"#", "\"`\"", "\"{}\"", "\"待\"", "\"-- a\"", "null"],
    }
}

/// The same type, or nothing.
pub(super) fn optional(ty: &str) -> &'static str {
    match ty {
        "i64" => "Option<i64>",
        "i32" => "::core::option::Option<i32>",
        "i16" => "Option<i16>",
        "bool" => "std::option::Option<bool>",
        "f64" => "Option<f64>",
        "Vec<u8>" => "Option<Vec<u8>>",
        "Uuid" => "Option<Uuid>",
        "super::Label" => "Option<super::Label>",
        _ => "Option<String>",
    }
}

/// A name that no other equals, not even to somebody who sees neither case nor underscores.
fn unused(random: &mut ChaCha8Rng, names: &[&'static str], taken: &mut BTreeSet<String>) -> &'static str {
    let left: Vec<_> = names.iter().copied().filter(|name| !taken.contains(&folded(name))).collect();
    let name = one(random, &left);
    taken.insert(folded(name));
    name
}

fn folded(name: &str) -> String {
    name.trim_start_matches("r#").replace('_', "").to_lowercase()
}
