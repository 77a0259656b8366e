//! The golden files of examples/payment: a changed statement, diagram or callback is a red test until its file is
//! renewed by `cargo xtask golden` and reviewed.

// The example's own enums, so that the golden files are those of the code that people read.
#[path = "../examples/payment/machines.rs"]
mod machines;

#[path = "support/example.rs"]
mod example;

use expect_test::{ExpectFile, expect_file};
use idem_runtime::machine::EventSql;
use idem_runtime::prelude::*;
use idem_runtime::schema;

use machines::{OrderStatus, PaymentStatus};

#[test]
fn postgres_sql() {
    check_sql(Dialect::Postgres, &expect_file!["../examples/payment/sql/postgres.sql"]);
}

#[test]
fn mysql_sql() {
    check_sql(Dialect::MySql, &expect_file!["../examples/payment/sql/mysql.sql"]);
}

#[test]
fn sqlite_sql() {
    check_sql(Dialect::Sqlite, &expect_file!["../examples/payment/sql/sqlite.sql"]);
}

#[test]
fn diagrams() {
    expect_file!["../examples/payment/diagram/payment.mmd"].assert_eq(&text_file(PaymentStatus::MERMAID));
    expect_file!["../examples/payment/diagram/order.mmd"].assert_eq(&text_file(OrderStatus::MERMAID));
}

/// The generator's seed is fixed: it makes the committed files again.
#[test]
fn generated_files() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let made = example::payment().arg("--generate").arg(folder.path()).status().expect("the example starts");
    assert!(made.success());
    let read = |name| std::fs::read_to_string(folder.path().join(name)).expect("a generated file");
    expect_file!["../examples/payment/callbacks.jsonl"].assert_eq(&read("callbacks.jsonl"));
    expect_file!["../examples/payment/orders.jsonl"].assert_eq(&read("orders.jsonl"));
    expect_file!["../examples/payment/expected.jsonl"].assert_eq(&read("expected.jsonl"));
}

fn check_sql(dialect: Dialect, golden: &ExpectFile) {
    let machines = [machine::<PaymentStatus>(dialect), machine::<OrderStatus>(dialect)].concat();
    golden.assert_eq(&format!("{machines}{}", records(dialect)));
}

/// The transition table, the history's table, and every statement of a machine.
fn machine<M: StateMachine>(dialect: Dialect) -> String {
    let edges = M::TRANSITIONS.iter();
    let edges = edges.map(|edge| format!("-- {}: {} => {}\n", edge.event, edge.source.name(), edge.target.name()));
    let tables = [
        ("status type", schema::status_type::<M>(dialect)),
        ("widen", schema::widen::<M>(dialect)),
        ("history", schema::history::<M>(dialect)),
    ];
    let tables = tables.into_iter().filter_map(|(name, ddl)| Some(statement(&format!("{}: {name}", M::NAME), ddl?)));
    let unknown = statement(&format!("{}: unknown values", M::NAME), schema::unknown_values::<M>(dialect));
    let load = statement(&format!("{}: load", M::NAME), M::SQL.load.of(dialect).sql);
    let events = M::EVENTS.iter().map(|(name, sql)| event(&format!("{}: {name}", M::NAME), sql, dialect));
    let columns = part(&format!("{}: columns of the table", M::NAME), schema::columns::<M>(dialect));
    let statements = [columns].into_iter().chain(tables).chain([unknown, load]).chain(events);
    format!("{}{}\n{}", title(M::NAME), edges.collect::<String>(), statements.collect::<String>())
}

/// The statements of an event, in the order in which a call runs them.
fn event(name: &str, sql: &EventSql, dialect: Dialect) -> String {
    let enter = [("enter", sql.enter.of(dialect)), ("enter_at", sql.enter_at.of(dialect))];
    let enter = enter.into_iter().filter_map(|(step, entry)| Some((step, entry.as_ref()?.sql)));
    let others = [("fire", &sql.fire), ("fire_at", &sql.fire_at), ("explain", &sql.explain)];
    let others = others.into_iter().map(|(step, per_dialect)| (step, per_dialect.of(dialect).sql));
    enter.chain(others).map(|(step, text)| statement(&format!("{name}, {step}"), text)).collect()
}

/// The table and the statements of idem's own.
fn records(dialect: Dialect) -> String {
    let ddl = format!("{}{}\n", title("idem's records"), text_file(schema::ddl(dialect)));
    schema::statements(dialect).iter().fold(ddl, |text, (name, sql)| text + &statement(&format!("record: {name}"), sql))
}

fn title(name: &str) -> String {
    format!("-- {name} {}\n\n", "-".repeat(96 - name.len()))
}

fn statement(name: &str, sql: &str) -> String {
    format!("-- {name}\n{};\n\n", sql.trim_end().trim_end_matches(';'))
}

/// A part of a statement, which by itself is none.
fn part(name: &str, sql: &str) -> String {
    let lines = sql.lines().map(|line| format!("--   {}\n", line.trim_start()));
    format!("-- {name}\n{}\n", lines.collect::<String>())
}

fn text_file(text: &str) -> String {
    format!("{}\n", text.trim_end())
}
