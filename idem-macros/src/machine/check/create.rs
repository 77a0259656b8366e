//! Rules about `#[create(..)]` and `#[unique_while(..)]`.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Ident, Type};

use super::super::ast::{Create, Machine, UniqueWhile, Value};
use super::super::model::{self, type_ident, type_text, unraw};
use super::columns::{Own, folded, identifier_fault, report_identifier};
use super::events::nearest_state;
use crate::ctxt::Ctxt;
use crate::suggest;

pub(super) fn check(cx: &Ctxt, machine: &Machine<'_>) {
    if let Some(create) = &machine.create {
        check_create_columns(cx, machine, create);
        check_create_id(cx, machine, create);
        check_new_type(cx, machine);
        check_create_event(cx, machine);
    }
    check_unique_while_names(cx, machine);
    for rule in &machine.unique_while {
        check_unique_while_columns(cx, machine, rule);
        check_unique_while_null(cx, machine, rule);
        check_unique_while_set(cx, machine, rule);
        check_unique_while_states(cx, machine, rule);
    }
}

/// The INSERT itself writes status and version, and a column once.
fn check_create_columns(cx: &Ctxt, machine: &Machine<'_>, create: &Create) {
    let mut named = Own::of(machine).roles();
    for set in &create.columns {
        if let Some(role) = named.insert(folded(&unraw(&set.column)), "is already written by `create`") {
            cx.error(&set.column, format_args!("column `{}` {role}\nhelp: remove it from `create`", set.column));
        }
    }
}

/// The call gives the row back by its identifier, which only the caller can know.
fn check_create_id(cx: &Ctxt, machine: &Machine<'_>, create: &Create) {
    for column in &machine.options.id {
        let name = &column.name;
        let written = create.columns.iter().find(|set| set.column == *name);
        let help = format!("write `{name}: {}`", type_text(&column.ty));
        match written.map(|set| &set.value) {
            Some(Value::Field(_)) => {}
            None if create.broken => {}
            None => {
                cx.error(&create.word, format_args!("`create` misses `{name}` of the identifier\nhelp: {help} in it"));
            }
            Some(_) => {
                let column = written.map(|set| &set.column);
                cx.error(column, format_args!("`{name}` of the identifier comes with the call\nhelp: {help}"));
            }
        }
    }
}

/// What a new row begins with is a type beside those of the states and events.
fn check_new_type(cx: &Ctxt, machine: &Machine<'_>) {
    let (new, help) = (model::NEW, "rename it: `create` makes a type of that name");
    for state in machine.states.iter().map(|state| state.ident).filter(|it| unraw(it) == new) {
        cx.error(state, format_args!("state `{state}` and `create` both make a type `{new}`\nhelp: {help}"));
    }
    for event in machine.transitions.iter().map(|it| &it.event).filter(|it| unraw(&type_ident(it)) == new) {
        cx.error(event, format_args!("event `{event}` and `create` both make a type `{new}`\nhelp: {help}"));
    }
}

/// The history knows the beginning of a row by that name.
fn check_create_event(cx: &Ctxt, machine: &Machine<'_>) {
    for event in machine.transitions.iter().map(|it| &it.event).filter(|it| unraw(it) == model::CREATE) {
        let help = "rename it: `create` stands for the beginning of a row";
        cx.error(event, format_args!("event `{event}` has the name of a creation\nhelp: {help}"));
    }
}

/// An error names the rule, and on MySQL a column of that name marks the rows.
fn check_unique_while_names(cx: &Ctxt, machine: &Machine<'_>) {
    let mut taken = column_names(machine);
    for name in machine.unique_while.iter().map(|rule| &rule.name) {
        report_identifier(cx, name, identifier_fault(&unraw(name)));
        if let Some(role) = taken.insert(folded(&unraw(name)), "is the name of another rule") {
            cx.error(name, format_args!("`{name}` {role}\nhelp: name the rule differently"));
        }
    }
}

/// Every column that the machine names.
fn column_names(machine: &Machine<'_>) -> BTreeMap<String, &'static str> {
    let ids = machine.options.id.iter().map(|column| &column.name);
    let sets = machine.transitions.iter().flat_map(|it| &it.sets);
    let sets = sets.chain(machine.create.iter().flat_map(|it| &it.columns)).map(|set| &set.column);
    let columns = ids.chain(sets).map(|column| (folded(&unraw(column)), "is a column of the row"));
    let own = Own::of(machine).roles();
    own.into_keys().map(|name| (name, "is a column of the row")).chain(columns).collect()
}

/// A key column that no creation writes has a value that idem never saw.
fn check_unique_while_columns(cx: &Ctxt, machine: &Machine<'_>, rule: &UniqueWhile) {
    let known = key_columns(machine);
    let mut named = BTreeSet::new();
    for column in &rule.columns {
        if !known.contains(&unraw(column)) && !machine.create.as_ref().is_some_and(|create| create.broken) {
            let help = nearest_column(&unraw(column), &known);
            cx.error(column, format_args!("unknown column `{column}` in `{}`\nhelp: {help}", rule.name));
        } else if !named.insert(unraw(column)) {
            cx.error(column, format_args!("duplicate column `{column}` in `{}`\nhelp: keep one of them", rule.name));
        }
    }
}

/// The columns whose values come with a creation, or name the row.
fn key_columns(machine: &Machine<'_>) -> Vec<String> {
    let ids = machine.options.id.iter().map(|column| &column.name);
    let new = machine.create.iter().flat_map(|create| &create.columns);
    let new = new.filter(|set| matches!(set.value, Value::Field(_) | Value::Null)).map(|set| &set.column);
    let mut seen = BTreeSet::new();
    ids.chain(new).map(unraw).filter(|name| seen.insert(name.clone())).collect()
}

fn nearest_column(name: &str, known: &[String]) -> String {
    let all = "the columns that `create` and the identifier name are";
    suggest::nearest(name, known.iter().map(String::as_str), "a column", all)
}

/// Where a key column is NULL, a unique index takes any number of rows.
fn check_unique_while_null(cx: &Ctxt, machine: &Machine<'_>, rule: &UniqueWhile) {
    let ids = machine.options.id.iter().filter(|it| is_option(&it.ty)).map(|it| &it.name);
    let new = machine.create.iter().flat_map(|create| &create.columns);
    let new = new.filter(|set| match &set.value {
        Value::Field(ty) => is_option(ty),
        Value::Null => true,
        _ => false,
    });
    let nullable: BTreeSet<_> = ids.chain(new.map(|set| &set.column)).map(unraw).collect();
    for column in rule.columns.iter().filter(|column| nullable.contains(&unraw(column))) {
        let message = format!("column `{column}` of `{}` can be NULL, and NULL is equal to nothing", rule.name);
        cx.error(column, format_args!("{message}\nhelp: remove the `Option`, or the column from the rule"));
    }
}

fn is_option(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    path.path.segments.last().is_some_and(|segment| segment.ident == "Option")
}

/// What keeps a row out is looked up by the values that it has.
fn check_unique_while_set(cx: &Ctxt, machine: &Machine<'_>, rule: &UniqueWhile) {
    for set in machine.transitions.iter().flat_map(|transition| &transition.sets) {
        let column = &set.column;
        if rule.columns.iter().any(|key| unraw(key) == unraw(column)) {
            let help = "remove it from `set(..)`: a row keeps its key";
            cx.error(column, format_args!("column `{column}` is part of the key of `{}`\nhelp: {help}", rule.name));
        }
    }
}

/// A state that does not exist bounds nothing.
fn check_unique_while_states(cx: &Ctxt, machine: &Machine<'_>, rule: &UniqueWhile) {
    let names = machine.state_names();
    let mut seen: BTreeSet<&Ident> = BTreeSet::new();
    for state in &rule.states {
        if !names.iter().any(|known| state == known) {
            let help = nearest_state(machine, &state.to_string(), &names);
            cx.error(state, format_args!("unknown state `{state}` in `{}`\nhelp: {help}", rule.name));
        } else if !seen.insert(state) {
            cx.error(state, format_args!("duplicate state `{state}` in `{}`\nhelp: keep one of them", rule.name));
        }
    }
}
