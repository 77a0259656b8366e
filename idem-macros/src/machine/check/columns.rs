//! Rules about the table, its columns and the names that SQL has to take.

use std::collections::BTreeMap;

use quote::ToTokens;
use syn::{Data, Ident, LitStr};

use super::super::ast::{Machine, Options, ReprKind, Value, Version};
use super::super::model::{self, unraw, without_schema};
use crate::ctxt::Ctxt;
use crate::sql::LONGEST_NAME;

/// What the history's table has of its own.
const HISTORY: &[&str] = &["version", "source", "target", "event", "cause", "fingerprint", "at", "create_cause"];
/// The longest name of an event.
const LONGEST_EVENT: usize = 64;

pub(super) fn check(cx: &Ctxt, machine: &Machine<'_>) {
    if check_missing_machine(cx, machine) {
        check_missing_table(cx, machine);
        check_missing_id(cx, machine);
    }
    check_identifiers(cx, machine);
    check_names_differ(cx, machine);
    check_columns_differ(cx, machine);
    check_history_columns(cx, machine);
    check_history_version(cx, machine);
    check_set_columns(cx, machine);
    check_set_literals(cx, machine);
}

/// Without the attribute nothing is known of the table. Answers whether the options can be looked at: an attribute that
/// stands elsewhere or has no list was reported.
fn check_missing_machine(cx: &Ctxt, machine: &Machine<'_>) -> bool {
    let above_enum: Vec<_> = machine.original.attrs.iter().filter(|it| it.path().is_ident("machine")).collect();
    if above_enum.is_empty() && !is_above_variant(machine) {
        let (name, help) = (&machine.original.ident, "write `#[machine(table = \"orders\", id(order_id: i64))]`");
        cx.error(name, format_args!("missing `#[machine(..)]` of state machine `{name}`\nhelp: {help}"));
    }
    !above_enum.is_empty() && above_enum.iter().all(|attribute| attribute.meta.require_list().is_ok())
}

fn is_above_variant(machine: &Machine<'_>) -> bool {
    let Data::Enum(data) = &machine.original.data else { return false };
    let mut attributes = data.variants.iter().flat_map(|variant| &variant.attrs);
    attributes.any(|attribute| attribute.path().is_ident("machine"))
}

/// Without it there is no row to move.
fn check_missing_table(cx: &Ctxt, machine: &Machine<'_>) {
    if !machine.options.meant.contains("table") {
        let name = &machine.original.ident;
        let help = "name the table of the rows: `#[machine(table = \"orders\")]`";
        cx.error(name, format_args!("missing `table` of state machine `{name}`\nhelp: {help}"));
    }
}

/// Without it no row can be told from another.
fn check_missing_id(cx: &Ctxt, machine: &Machine<'_>) {
    if !machine.options.meant.contains("id") {
        let name = &machine.original.ident;
        let help = "name the primary key of the table: `#[machine(id(order_id: i64))]`";
        cx.error(name, format_args!("missing `id` of state machine `{name}`\nhelp: {help}"));
    }
}

/// What no dialect can quote, or what PostgreSQL would cut off in silence.
fn check_identifiers(cx: &Ctxt, machine: &Machine<'_>) {
    let options = &machine.options;
    let history = options.history.as_ref().and_then(|history| history.name.as_ref());
    for table in options.table.iter().chain(history) {
        let fault = table.value().split('.').find_map(identifier_fault);
        report_identifier(cx, table, fault.or_else(|| own_name(&table.value())));
    }
    for column in options.status.iter().chain(options.version_column()) {
        report_identifier(cx, column, identifier_fault(&column.value()));
    }
    if let Some(name) = native_type(options) {
        report_identifier(cx, name, name.value().split('.').find_map(identifier_fault));
    }
    let ids = options.id.iter().map(|column| &column.name);
    let sets = machine.transitions.iter().flat_map(|it| &it.sets).map(|set| &set.column);
    let new = machine.create.iter().flat_map(|create| &create.columns).map(|set| &set.column);
    for column in ids.chain(sets).chain(new) {
        report_identifier(cx, column, identifier_fault(&unraw(column)));
    }
    for event in machine.transitions.iter().map(|transition| &transition.event) {
        report_identifier(cx, event, event_fault(&unraw(event)));
    }
    check_default_history(cx, machine);
}

/// The enum type's name, where it is written.
fn native_type(options: &Options) -> Option<&LitStr> {
    match &options.repr.as_ref()?.kind {
        ReprKind::Native(name) => name.as_ref(),
        ReprKind::Text | ReprKind::Int => None,
    }
}

/// The name that the history has when none is written.
fn check_default_history(cx: &Ctxt, machine: &Machine<'_>) {
    let options = &machine.options;
    let unnamed = options.history.as_ref().is_some_and(|history| history.name.is_none());
    let Some(table) = options.table.as_ref().filter(|_| unnamed) else { return };
    let history = model::history_name(&table.value(), options.status.as_ref());
    if without_schema(&table.value()).len() <= LONGEST_NAME && without_schema(&history).len() > LONGEST_NAME {
        let help = "name it yourself: `history = \"..\"`";
        cx.error(table, format_args!("the history's name is longer than {LONGEST_NAME} bytes\nhelp: {help}"));
    }
}

/// Both would be one table, and on PostgreSQL a table is also a type of its name.
fn check_names_differ(cx: &Ctxt, machine: &Machine<'_>) {
    let options = &machine.options;
    let Some(table) = options.table.as_ref().map(LitStr::value) else { return };
    let history = options.history.as_ref().and_then(|history| history.name.as_ref());
    if let Some(history) = history.filter(|history| folded(&history.value()) == folded(&table)) {
        let help = "name another table, or leave the name out";
        cx.error(history, format_args!("the rows and their history are both in `{table}`\nhelp: {help}"));
    }
    let Some(repr) = &options.repr else { return };
    let tables = [Some(table), history.map(LitStr::value)];
    if let model::Repr::Native(name) = model::repr(machine)
        && let Some(table) = tables.into_iter().flatten().find(|table| folded(table) == folded(&name))
    {
        let help = format!("name the type otherwise: `repr = native(\"{table}_status\")`");
        let message = format_args!("the type of the status and a table are both named `{table}`\nhelp: {help}");
        cx.error(native_type(options).map_or(repr.word.to_token_stream(), ToTokens::to_token_stream), message);
    }
}

/// MySQL and SQLite take names that differ by case only for one.
pub(super) fn folded(name: &str) -> String {
    name.to_ascii_lowercase()
}

pub(super) fn identifier_fault(name: &str) -> Option<String> {
    if name.is_empty() {
        Some("is empty\nhelp: write the name that the database knows".to_owned())
    } else if name.contains('\0') {
        Some("holds a NUL character\nhelp: remove it: no database takes it".to_owned())
    } else if name.len() > LONGEST_NAME {
        Some(format!("is longer than {LONGEST_NAME} bytes\nhelp: shorten it: PostgreSQL cuts off what is longer"))
    } else {
        None
    }
}

/// The history's column on MySQL, whose keys are short of bytes.
fn event_fault(name: &str) -> Option<String> {
    let too_long = name.chars().count() > LONGEST_EVENT;
    too_long.then(|| {
        format!("is longer than {LONGEST_EVENT} characters\nhelp: shorten it: the history's column takes no more")
    })
}

/// PostgreSQL would take these for the parts of the generated statement, and one of them even with its schema.
fn own_name(table: &str) -> Option<String> {
    let help = match table {
        _ if without_schema(table) == "locked" => "rename the table, or name a view of it".to_owned(),
        "caused" | "moved" | "entered" => format!("write it with its schema: `public.{table}`"),
        _ => return None,
    };
    Some(format!("is one that the generated SQL uses itself\nhelp: {help}"))
}

pub(super) fn report_identifier(cx: &Ctxt, token: impl ToTokens, fault: Option<String>) {
    if let Some(fault) = fault {
        cx.error(token, format_args!("this name {fault}"));
    }
}

/// Status, version and identifier are different columns.
fn check_columns_differ(cx: &Ctxt, machine: &Machine<'_>) {
    let own = Own::of(machine);
    if own.version.as_ref().is_some_and(|version| folded(version) == folded(&own.status)) {
        let token = machine.options.version_column().or(machine.options.status.as_ref());
        let status = &own.status;
        cx.error(token, format_args!("`{status}` cannot hold both the status and the version\nhelp: name two columns"));
    }
    let mut named = own.roles();
    for column in machine.options.id.iter().map(|column| &column.name) {
        if let Some(role) = named.insert(folded(&unraw(column)), "is already part of the identifier") {
            cx.error(column, format_args!("column `{column}` {role}\nhelp: name another column"));
        }
    }
}

/// The history holds the identifier's columns beside its own.
fn check_history_columns(cx: &Ctxt, machine: &Machine<'_>) {
    let Some(history) = &machine.options.history else { return };
    let own = Own::of(machine).version.map(|version| folded(&version));
    let ids = machine.options.id.iter().map(|column| &column.name);
    let name = |column: &Ident| folded(&unraw(column));
    let declared = [&history.actor, &history.metadata].into_iter().flatten().map(ToString::to_string);
    let taken: Vec<_> = HISTORY.iter().map(ToString::to_string).chain(declared).collect();
    for column in ids.filter(|it| taken.contains(&name(it)) && Some(name(it)) != own) {
        let help = "rename it in the table: the history holds both";
        cx.error(column, format_args!("the history has a column `{column}` of its own\nhelp: {help}"));
    }
}

/// The history's entries are numbered by the version that the row got.
fn check_history_version(cx: &Ctxt, machine: &Machine<'_>) {
    if let (Some(Version::None(_)), Some(history)) = (&machine.options.version, &machine.options.history) {
        let help = "name a column that counts the row's changes: `version = \"version\"`, or remove `history`";
        cx.error(&history.word, format_args!("a history needs the row's version\nhelp: {help}"));
    }
}

/// The transition itself writes status and version and never the identifier, and one statement writes a column once.
fn check_set_columns(cx: &Ctxt, machine: &Machine<'_>) {
    for transition in &machine.transitions {
        let mut named = Own::of(machine).roles();
        named.extend(
            machine.options.id.iter().map(|column| (folded(&unraw(&column.name)), "is already part of the identifier")),
        );
        for set in &transition.sets {
            if let Some(role) = named.insert(folded(&unraw(&set.column)), "is already written by this transition") {
                report_set_column(cx, &set.column, role);
            }
        }
    }
}

fn report_set_column(cx: &Ctxt, column: &Ident, role: &str) {
    cx.error(column, format_args!("column `{column}` {role}\nhelp: remove it from `set(..)`"));
}

/// As for stored values: the text stands in the statement.
fn check_set_literals(cx: &Ctxt, machine: &Machine<'_>) {
    let sets = machine.transitions.iter().flat_map(|transition| &transition.sets);
    for set in sets.chain(machine.create.iter().flat_map(|create| &create.columns)) {
        if let Value::Text(text) = &set.value
            && let Some(fault) = literal_fault(&text.value())
        {
            cx.error(text, format_args!("a text in SQL {fault}"));
        }
    }
}

/// What a text in a statement must not hold, because the dialects read it differently or not at all.
pub(super) fn literal_fault(text: &str) -> Option<&'static str> {
    if text.contains('\\') {
        Some("cannot hold a backslash\nhelp: remove it: MySQL and PostgreSQL read it differently")
    } else if text.contains(char::is_control) {
        Some("cannot hold a control character\nhelp: remove it: nobody would see it in the statement")
    } else {
        None
    }
}

/// The columns that every transition writes.
pub(super) struct Own {
    status: String,
    version: Option<String>,
}

impl Own {
    pub(super) fn of(machine: &Machine<'_>) -> Self {
        let options = &machine.options;
        let status = options.status.as_ref().map_or("status".to_owned(), LitStr::value);
        Self { status, version: model::version(options) }
    }

    /// What each of them is for.
    pub(super) fn roles(self) -> BTreeMap<String, &'static str> {
        let version = self.version.map(|version| (folded(&version), "already holds the version"));
        [(folded(&self.status), "already holds the status")].into_iter().chain(version).collect()
    }
}
