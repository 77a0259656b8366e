//! The golden files of the examples: a changed statement, diagram or callback is a red test until its file is
//! renewed by `cargo xtask golden` and reviewed.

// The examples' own enums, so that the golden files are those of the code that people read.
#[path = "../examples/payment/machines.rs"]
mod payment;

#[path = "../examples/order/machine.rs"]
mod order;

#[path = "../examples/stock/machine.rs"]
mod stock;

#[path = "../examples/reward/tables.rs"]
mod reward;

#[path = "../examples/transfer/machine.rs"]
mod transfer;

#[path = "../examples/checkout/machine.rs"]
mod checkout;

#[path = "support/example.rs"]
mod example;

use expect_test::expect_file;
use idem_runtime::machine::{CreateSql, EventSql, RepairSql};
use idem_runtime::prelude::*;
use idem_runtime::schema;

use payment::PaymentStatus;

#[test]
fn postgres_sql() {
    let dialect = Dialect::Postgres;
    expect_file!["../examples/payment/sql/postgres.sql"].assert_eq(&payment_sql(dialect));
    expect_file!["../examples/order/sql/postgres.sql"].assert_eq(&order_sql(dialect));
    expect_file!["../examples/stock/sql/postgres.sql"].assert_eq(&stock_sql(dialect));
    expect_file!["../examples/reward/sql/postgres.sql"].assert_eq(&reward_sql(dialect));
    expect_file!["../examples/transfer/sql/postgres.sql"].assert_eq(&transfer_sql(dialect));
    expect_file!["../examples/checkout/sql/postgres.sql"].assert_eq(&checkout_sql(dialect));
}

#[test]
fn mysql_sql() {
    let dialect = Dialect::MySql;
    expect_file!["../examples/payment/sql/mysql.sql"].assert_eq(&payment_sql(dialect));
    expect_file!["../examples/order/sql/mysql.sql"].assert_eq(&order_sql(dialect));
    expect_file!["../examples/stock/sql/mysql.sql"].assert_eq(&stock_sql(dialect));
    expect_file!["../examples/reward/sql/mysql.sql"].assert_eq(&reward_sql(dialect));
    expect_file!["../examples/transfer/sql/mysql.sql"].assert_eq(&transfer_sql(dialect));
    expect_file!["../examples/checkout/sql/mysql.sql"].assert_eq(&checkout_sql(dialect));
}

#[test]
fn sqlite_sql() {
    let dialect = Dialect::Sqlite;
    expect_file!["../examples/payment/sql/sqlite.sql"].assert_eq(&payment_sql(dialect));
    expect_file!["../examples/order/sql/sqlite.sql"].assert_eq(&order_sql(dialect));
    expect_file!["../examples/stock/sql/sqlite.sql"].assert_eq(&stock_sql(dialect));
    expect_file!["../examples/reward/sql/sqlite.sql"].assert_eq(&reward_sql(dialect));
    expect_file!["../examples/transfer/sql/sqlite.sql"].assert_eq(&transfer_sql(dialect));
    expect_file!["../examples/checkout/sql/sqlite.sql"].assert_eq(&checkout_sql(dialect));
}

#[test]
fn diagrams() {
    expect_file!["../examples/payment/diagram/payment.mmd"].assert_eq(&text_file(PaymentStatus::MERMAID));
    expect_file!["../examples/payment/diagram/order.mmd"].assert_eq(&text_file(payment::OrderStatus::MERMAID));
    expect_file!["../examples/order/diagram/order.mmd"].assert_eq(&text_file(order::OrderStatus::MERMAID));
    expect_file!["../examples/transfer/diagram/transfer.mmd"].assert_eq(&text_file(transfer::TransferStatus::MERMAID));
    expect_file!["../examples/checkout/diagram/order.mmd"].assert_eq(&text_file(checkout::OrderStatus::MERMAID));
    expect_file!["../examples/stock/diagram/reservation.mmd"].assert_eq(&text_file(stock::Reservation::MERMAID));
}

/// The generator's seed is fixed: it makes the committed files again.
#[test]
fn generated_files() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let made = example::command("payment").arg("--generate").arg(folder.path()).status().expect("the example starts");
    assert!(made.success());
    let read = |name| std::fs::read_to_string(folder.path().join(name)).expect("a generated file");
    expect_file!["../examples/payment/callbacks.jsonl"].assert_eq(&read("callbacks.jsonl"));
    expect_file!["../examples/payment/orders.jsonl"].assert_eq(&read("orders.jsonl"));
    expect_file!["../examples/payment/expected.jsonl"].assert_eq(&read("expected.jsonl"));
}

fn payment_sql(dialect: Dialect) -> String {
    let machines = [machine::<PaymentStatus>(dialect), machine::<payment::OrderStatus>(dialect)].concat();
    format!("{machines}{}", records(dialect))
}

/// Without idem's own records, which are the same as those of the payment.
fn order_sql(dialect: Dialect) -> String {
    with_tables::<order::OrderStatus>(&order::tables(dialect), dialect)
}

fn stock_sql(dialect: Dialect) -> String {
    with_tables::<stock::Reservation>(&stock::tables(dialect), dialect)
}

/// Without a machine: the records are all that there is.
fn reward_sql(dialect: Dialect) -> String {
    text_file(&format!("{}{}\n{}", title("tables"), reward::TABLES, records(dialect)))
}

fn transfer_sql(dialect: Dialect) -> String {
    let machine = with_tables::<transfer::TransferStatus>(&transfer::tables(dialect), dialect);
    text_file(&format!("{machine}\n{}", all_records(dialect)))
}

/// With the statements of the token. Those of the claim are the payment's.
fn checkout_sql(dialect: Dialect) -> String {
    let machine = with_tables::<checkout::OrderStatus>(&checkout::tables(dialect), dialect);
    let token = schema::statements(dialect).filter(|(name, _)| name.starts_with("token"));
    let token: String = token.map(|(name, sql)| statement(name, sql)).collect();
    text_file(&format!("{machine}\n{}{token}", title("the token")))
}

/// The tables of an example, and what the machine adds to them.
fn with_tables<M: StateMachine>(tables: &str, dialect: Dialect) -> String {
    text_file(&format!("{}{}\n{}", title("tables"), text_file(tables), machine::<M>(dialect)))
}

/// The transition table, the texts of the schema in the order in which they run, and every statement of a machine.
fn machine<M: StateMachine>(dialect: Dialect) -> String {
    let edges = M::TRANSITIONS.iter();
    let edges = edges.map(|edge| format!("-- {}: {} => {}\n", edge.event, edge.source.name(), edge.target.name()));
    let named = |name: &str| format!("{}: {name}", M::NAME);
    let text = |name: &str, sql: Option<&str>| sql.map(|sql| statement(&named(name), sql)).unwrap_or_default();
    let texts = [
        text("status type", schema::status_type::<M>(dialect)),
        part(&named("columns of the table"), schema::columns::<M>(dialect)),
        text("widen", schema::widen::<M>(dialect)),
        text("history", schema::history::<M>(dialect)),
        text("unique while", schema::unique_while::<M>(dialect)),
        text("unknown values", Some(schema::unknown_values::<M>(dialect))),
        text("guard", Some(schema::guard::<M>(dialect))),
        text("remove the guard", Some(schema::guard_removal::<M>(dialect))),
        adoption::<M>(dialect),
        schema::rewrite_aliases::<M>(dialect, 1000).iter().map(|sql| text("rewrite an alias", Some(sql))).collect(),
        text("which guard", Some(M::SQL.guard.of(dialect).find)),
        M::SQL.repair.as_ref().map(|repair| self::repair(&named("repair"), repair.of(dialect))).unwrap_or_default(),
        text("load", Some(M::SQL.load.of(dialect).sql)),
        text("lock", Some(M::SQL.lock.of(dialect).sql)),
        text("lock_now", Some(M::SQL.lock_now.of(dialect).sql)),
        text("many rows, read", M::SQL.bulk.read.of(dialect).map(|it| it.sql)),
        text("many rows, caused", M::SQL.bulk.caused.of(dialect).map(|it| it.sql)),
        text("many rows, enter", M::SQL.bulk.enter.of(dialect).map(|it| it.sql)),
    ];
    let create = M::SQL.create.iter().map(|sql| create(&named("create"), sql, dialect));
    let events = create.chain(M::EVENTS.iter().map(|(name, sql)| event(&named(name), sql, dialect)));
    format!("{}{}\n{}{}", title(M::NAME), edges.collect::<String>(), texts.concat(), events.collect::<String>())
}

/// The steps for a table that has rows, without those that a new table has too.
fn adoption<M: StateMachine>(dialect: Dialect) -> String {
    let installed = schema::install::<M>(dialect);
    let own = schema::adopt::<M>(dialect).into_iter().filter(|step| !installed.contains(step));
    own.map(|step| format!("-- {}: adopt\n{step}\n", M::NAME)).collect::<Vec<_>>().concat()
}

/// The statements of a creation, in the order in which a call runs them.
fn create(name: &str, sql: &CreateSql, dialect: Dialect) -> String {
    let enter = sql.enter.of(dialect).iter().map(|it| ("enter", it));
    let reads = sql.caused.iter().map(|it| ("caused", it)).chain(sql.met.iter().map(|it| ("met", it)));
    let reads = reads.map(|(step, it)| (step, it.of(dialect)));
    let all = enter.chain([("insert", sql.insert.of(dialect))]).chain(reads);
    all.map(|(step, it)| statement(&format!("{name}, {step}"), it.sql)).collect()
}

/// The statements of a repair, in the order in which a call runs them.
fn repair(name: &str, sql: &RepairSql) -> String {
    let lock = sql.lock.as_ref().map(|lock| ("lock", lock.sql));
    let others = [("read", sql.read.sql), ("open", sql.open), ("enter", sql.enter.sql)];
    let last = [("write", sql.write.sql), ("close", sql.close)];
    let all = lock.into_iter().chain(others).chain(last);
    all.map(|(step, text)| statement(&format!("{name}, {step}"), text)).collect()
}

/// The statements of an event, in the order in which a call runs them.
fn event(name: &str, sql: &EventSql, dialect: Dialect) -> String {
    let enter = [("enter", sql.enter.of(dialect)), ("enter_at", sql.enter_at.of(dialect))];
    let enter = enter.into_iter().filter_map(|(step, entry)| Some((step, entry.as_ref()?.sql)));
    let others =
        [("fire", &sql.fire), ("fire_at", &sql.fire_at), ("explain", &sql.explain), ("fire_all", &sql.fire_all)];
    let blocked = sql.blocked.iter().map(|it| ("blocked", it));
    let others = others.into_iter().chain(blocked).map(|(step, per_dialect)| (step, per_dialect.of(dialect).sql));
    enter.chain(others).map(|(step, text)| statement(&format!("{name}, {step}"), text)).collect()
}

/// The tables of idem's own, and the statements of functions that run in a transaction.
fn records(dialect: Dialect) -> String {
    tables_and_statements(dialect, schema::transaction_statements(dialect))
}

/// The tables of idem's own, and all statements on them.
fn all_records(dialect: Dialect) -> String {
    tables_and_statements(dialect, schema::statements(dialect))
}

fn tables_and_statements(
    dialect: Dialect,
    statements: impl IntoIterator<Item = (&'static str, &'static str)>,
) -> String {
    let ddl = format!("{}{}\n", title("idem's records"), text_file(schema::ddl(dialect)));
    statements.into_iter().fold(ddl, |text, (name, sql)| text + &statement(&format!("record: {name}"), sql))
}

fn title(name: &str) -> String {
    format!("-- {name} {}\n\n", "-".repeat(96 - name.len()))
}

fn statement(name: &str, sql: &str) -> String {
    format!("-- {name}\n{};\n\n", sql.trim_end().trim_end_matches(';'))
}

/// A part of a statement, which by itself is none.
fn part(name: &str, sql: &str) -> String {
    let lines = sql.lines().map(|line| format!("-- {line}\n"));
    format!("-- {name}\n--   {}\n", lines.collect::<String>().trim_start_matches("-- "))
}

fn text_file(text: &str) -> String {
    format!("{}\n", text.trim_end())
}
