//! An expansion holds the texts of an event's statements, and the runtime knows their parameters: both have to agree.

use std::collections::BTreeMap;

use quote::quote;
use syn::{Expr, Item};

use super::super::{Bind, EventSql, PerDialect, Statement, event};
use super::orders;

const RUNTIME: &str = include_str!("../../../../idem-runtime/src/machine/statement.rs");

/// The lists of parameters in the runtime's source, by their names.
fn lists() -> BTreeMap<String, Vec<String>> {
    let constants = syn::parse_file(RUNTIME).expect("it compiles").items.into_iter().filter_map(|item| match item {
        Item::Const(constant) => Some((constant.ident.to_string(), list(&constant.expr)?)),
        _ => None,
    });
    constants.collect()
}

fn list(constant: &Expr) -> Option<Vec<String>> {
    let Expr::Reference(reference) = constant else { return None };
    let Expr::Array(array) = &*reference.expr else { return None };
    Some(array.elems.iter().map(|bind| quote!(#bind).to_string()).collect())
}

fn check(statement: &Statement, name: &str) {
    let ours: Vec<_> = statement.binds.iter().map(|bind: &Bind| format!("{bind:?}")).collect();
    assert_eq!(lists().get(name), Some(&ours), "the parameters of {}", statement.sql);
}

fn check_all(all: &PerDialect<Statement>, [postgres, mysql, sqlite]: [&str; 3]) {
    check(&all.postgres, postgres);
    check(&all.mysql, mysql);
    check(&all.sqlite, sqlite);
}

fn check_entries(all: &PerDialect<Option<Statement>>, name: Option<&str>) {
    assert!(all.postgres.is_none());
    for entry in [&all.mysql, &all.sqlite] {
        assert_eq!(entry.is_some(), name.is_some());
        entry.iter().zip(name).for_each(|(entry, name)| check(entry, name));
    }
}

fn statements_of(history: &proc_macro2::TokenStream) -> Vec<EventSql> {
    let model = orders(history);
    model.events.iter().map(|it| event(&model, it)).collect()
}

#[test]
fn without_a_history() {
    for sql in statements_of(&quote!()) {
        check_all(&sql.fire, ["MOVE"; 3]);
        check_all(&sql.fire_at, ["MOVE_AT"; 3]);
        check_all(&sql.explain, ["READ"; 3]);
        check_entries(&sql.enter, None);
        check_entries(&sql.enter_at, None);
    }
}

#[test]
fn with_a_history() {
    for (history, explain) in
        [(quote!(history), "EXPLAIN_MYSQL"), (quote!(history(cause = once)), "EXPLAIN_MYSQL_ONCE")]
    {
        for sql in statements_of(&history) {
            check_all(&sql.fire, ["MOVE_AND_ENTER", "MOVE", "MOVE"]);
            check_all(&sql.fire_at, ["MOVE_AND_ENTER_AT", "MOVE_AT", "MOVE_AT"]);
            check_all(&sql.explain, ["EXPLAIN", explain, "EXPLAIN"]);
            check_entries(&sql.enter, Some("ENTER"));
            check_entries(&sql.enter_at, Some("ENTER_AT"));
        }
    }
}
