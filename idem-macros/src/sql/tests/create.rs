//! How rows begin and what bounds them, as text.

use expect_test::expect_file;
use quote::quote;

use super::super::{CreateSql, PerDialect, Statement};
use super::show;
use crate::machine::model::Model;

/// A cart as shops have it: one open cart of a buyer, made anew with each request.
fn carts() -> Model {
    crate::machine::model_of(quote! {
        #[machine(table = "carts", id(cart_id: i64), history, rename_all = "snake_case")]
        #[create(cart_id: i64, buyer: i64, amount: i64, rate: Option<f64>, opened_at = now, via = "web", fresh_id)]
        #[unique_while(one_open: buyer in Open | Paying)]
        #[unique_while(one_paying: buyer in Paying)]
        #[transition(begin: Open => Paying)]
        #[transition(close: Open => Closed)]
        #[transition(reopen: Closed => Open)]
        enum Cart {
            #[state(initial)]
            Open,
            #[state(terminal, alias = "in_payment")]
            Paying,
            Closed,
        }
    })
}

/// Names that have to be quoted, a schema, numbers for states, and a cause that moves one row.
fn awkward() -> Model {
    crate::machine::model_of(quote! {
        #[machine(table = "Shop.order", id(tenant: i64, r#type: Uuid), status = "State", version = "rev", repr = int,
                  history(cause = once))]
        #[create(key: Option<String>, r#type: Uuid, tenant: i64)]
        #[unique_while(by: tenant in Here)]
        #[transition(come: There => Here)]
        #[transition(leave: Here => There)]
        enum Order {
            #[state(initial, value = 1)]
            Here,
            #[state(value = 2)]
            There,
        }
    })
}

/// Without history and version.
fn plain() -> Model {
    crate::machine::model_of(quote! {
        #[machine(table = "tickets", id(code: String), version = none)]
        #[create(code: String)]
        #[transition(close: Open => Closed)]
        enum Ticket {
            #[state(initial)]
            Open,
            #[state(terminal)]
            Closed,
        }
    })
}

#[test]
fn postgres() {
    expect_file!["create/postgres.sql"].assert_eq(&all(|it| &it.postgres, |it| &it.postgres, |it| &it.postgres));
}

#[test]
fn mysql() {
    expect_file!["create/mysql.sql"].assert_eq(&all(|it| &it.mysql, |it| &it.mysql, |it| &it.mysql));
}

#[test]
fn sqlite() {
    expect_file!["create/sqlite.sql"].assert_eq(&all(|it| &it.sqlite, |it| &it.sqlite, |it| &it.sqlite));
}

type Of<T> = fn(&PerDialect<T>) -> &T;

fn all(text: Of<String>, statement: Of<Statement>, entry: Of<Option<Statement>>) -> String {
    let of = |model: Model| machine(&model, text, statement, entry);
    [carts(), awkward(), plain()].map(of).concat()
}

/// Everything that a creation and a rule add to a machine.
fn machine(model: &Model, text: Of<String>, statement: Of<Statement>, entry: Of<Option<Statement>>) -> String {
    let rules = super::super::unique_while(model).map(|rules| format!("{}\n\n", text(&rules.ddl)));
    let history = super::super::history(model).map(|it| format!("{}\n\n", text(&it)));
    let CreateSql { enter, insert, caused, met } = super::super::create(model).expect("the machine creates rows");
    let statements = entry(&enter).iter().chain([statement(&insert)]).map(show).collect::<String>();
    let reads = caused.iter().chain(&met).map(|it| show(statement(it))).collect::<String>();
    let blocked = model.events.iter().filter_map(|event| super::super::event(model, event).blocked);
    let blocked = blocked.map(|it| show(statement(&it))).collect::<String>();
    [history.unwrap_or_default(), rules.unwrap_or_default(), statements, reads, blocked].concat()
}
