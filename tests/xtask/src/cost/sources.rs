//! The crates that are measured.

/// A crate, and what it is compared with.
pub(super) struct Crate {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// The crate with the same enums and without the derive.
    pub(super) base: &'static str,
    /// The crate whose cost over the same base is the unit.
    pub(super) against: Option<&'static str>,
    /// How many enums it has: a small one alone would be lost in the noise.
    pub(super) machines: u32,
    pub(super) source: String,
}

const COPIES: u32 = 50;
const STATES: usize = 100;
const EDGES: usize = 1000;

/// All of them, in the order of the table.
pub(super) fn all() -> Vec<Crate> {
    let large = |name, title, source| Crate { name, title, base: "large", against: None, machines: 1, source };
    let usual = |name, title, enum_: &str| {
        let against = (name == "usual-idem").then_some("usual-serde");
        Crate { name, title, base: "usual", against, machines: COPIES, source: copies(enum_) }
    };
    vec![
        large("large", "100 states, no derive", large_enum("", "")),
        large("large-100", "1,000 edges: 100 events of 10 sources", large_machine(100, "", "")),
        large("large-125", "1,000 edges: 125 events of 8 sources", large_machine(125, "", "")),
        large("large-history", "the first with a history and fields", large_machine(100, ", history", FIELD)),
        large("large-1000", "1,000 edges: 1,000 events of one source", large_machine(1000, "", "")),
        usual("usual", "a usual enum, no derive", USUAL),
        usual("usual-serde", "Serialize and Deserialize", &format!("{SERDE}{USUAL}")),
        usual("usual-idem", "StateMachine", &with_machine()),
    ]
}

const FIELD: &str = ", set(reason: String)";

/// An event leads from the `EDGES / events` states before its target.
fn large_machine(events: usize, options: &str, set: &str) -> String {
    let transitions: Vec<_> = (0..events)
        .map(|event| {
            let target = event % STATES;
            let first = STATES + target - event / STATES;
            let sources = (1..=EDGES / events).map(|back| format!("State{}", (first - back) % STATES));
            let sources = sources.collect::<Vec<_>>().join(" | ");
            format!("#[transition(event_{event}: {sources} => State{target}{set})]\n")
        })
        .collect();
    let machine = format!("#[derive(StateMachine)]\n#[machine(table = \"orders\", id(order_id: i64){options})]\n");
    let head = "#![recursion_limit = \"2048\"]\nuse idem_runtime::prelude::*;\n";
    format!("{head}{}", large_enum(&format!("{machine}{}", transitions.concat()), "#[state(initial)] "))
}

fn large_enum(attributes: &str, first: &str) -> String {
    let states: Vec<_> = (0..STATES).map(|state| format!("    State{state},\n")).collect();
    let states = states.concat();
    format!("#[derive(Debug, Clone, Copy, PartialEq, Eq)]\n{attributes}pub enum Large {{\n    {first}{states}}}\n")
}

/// The enum in modules of its own, as many times as there are copies.
fn copies(source: &str) -> String {
    let copies: Vec<_> = (0..COPIES).map(|copy| format!("pub mod copy_{copy} {{\n{source}}}\n")).collect();
    copies.concat()
}

const SERDE: &str = "#[derive(serde::Serialize, serde::Deserialize)]\n";

const USUAL: &str = "\
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderStatus {
    Pending,
    Paid,
    Shipped,
    Done,
    Cancelled,
    Refunded,
}
";

const MACHINE: &str = r#"
use idem_runtime::prelude::*;
#[derive(StateMachine)]
#[machine(table = "orders", id(order_id: i64), history, rename_all = "snake_case")]
#[transition(pay: Pending => Paid, set(paid_at = now, trade_no: String))]
#[transition(ship: Paid => Shipped, set(shipped_at = now, carrier: String))]
#[transition(deliver: Shipped => Done)]
#[transition(cancel: Pending => Cancelled)]
#[transition(refund: Paid => Refunded)]
#[transition(take_back: Shipped => Refunded)]
"#;

/// `USUAL` with its attributes.
fn with_machine() -> String {
    let marked = ["Done", "Cancelled", "Refunded"].iter().fold(USUAL.to_owned(), |text, state| {
        text.replace(&format!("    {state},"), &format!("    #[state(terminal)]\n    {state},"))
    });
    format!("{MACHINE}{}", marked.replace("    Pending,", "    #[state(initial)]\n    Pending,"))
}
