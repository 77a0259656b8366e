//! Every statement that idem generates, prepared by the engine that it is for.

use idem_runtime::machine::Statement;
use idem_runtime::prelude::*;
use idem_runtime::schema;
use sqlx::{AssertSqlSafe, Column, Executor, SqlSafeStr as _, Statement as _};

use crate::creation::Cart;
use crate::machines::{Coupon, Lamp, Parcel, Review, Word};
use crate::notes::Ticket;
use crate::shop::OrderStatus;
use crate::support::{Engine, Suite, TestDb, TestResult, ensure, on_every_engine};
use crate::values::{Invoice, Lift, Seal, Sign};
use crate::{creation, machines, notes, shop, values};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(suite, [every_statement_of_a_machine_prepares, every_statement_of_the_records_prepares]);
}

/// The columns of a row that answers.
const ROW: &[&str] = &["status", "version"];
/// What a history adds to them.
const CAUSED: &[&str] = &["caused", "caused_fingerprint", "caused_here"];
/// What the reading of a whole history adds to those.
const PAST: &[&str] = &["latest_target", "latest_cause", "passed", "passed_cause"];

async fn every_statement_of_a_machine_prepares<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    machines::create_tables(&db).await?;
    values::create_tables(&db).await?;
    creation::create_tables(&db).await?;
    notes::create_tables(&db).await?;
    let idem = db.idem(1).await?;
    let mut tx = idem.begin().await?;
    prepare_machine::<OrderStatus, DB>(&mut tx).await?;
    prepare_machine::<Coupon, DB>(&mut tx).await?;
    prepare_machine::<Review, DB>(&mut tx).await?;
    prepare_machine::<Lamp, DB>(&mut tx).await?;
    prepare_machine::<Word, DB>(&mut tx).await?;
    prepare_machine::<Parcel, DB>(&mut tx).await?;
    prepare_machine::<Lift, DB>(&mut tx).await?;
    prepare_machine::<Invoice, DB>(&mut tx).await?;
    prepare_machine::<Sign, DB>(&mut tx).await?;
    prepare_machine::<Seal, DB>(&mut tx).await?;
    prepare_machine::<Cart, DB>(&mut tx).await?;
    prepare_machine::<Ticket, DB>(&mut tx).await?;
    Ok(())
}

async fn prepare_machine<M: StateMachine, DB: Engine>(tx: &mut Tx<'_, DB>) -> TestResult {
    ensure!(!M::EVENTS.is_empty(), "{} has no event", M::NAME);
    let dialect = DB::DIALECT;
    prepare(tx, M::SQL.load.of(dialect), &[ROW]).await?;
    let lock: &[&[&str]] = if dialect == Dialect::Postgres { &[ROW, &["lock_timeout"]] } else { &[ROW] };
    prepare(tx, M::SQL.lock.of(dialect), lock).await?;
    prepare(tx, M::SQL.lock_now.of(dialect), &[ROW]).await?;
    let history = M::SQL.history.is_some();
    let bulk = &M::SQL.bulk;
    let caused: &[&[&str]] = &[&["nth"], CAUSED];
    let all: [(_, &[&[&str]]); 3] = [(&bulk.read, &[&["nth"], ROW]), (&bulk.caused, caused), (&bulk.enter, &[])];
    for (statement, columns) in all {
        if let Some(statement) = statement.of(dialect) {
            prepare(tx, statement, columns).await?;
        }
    }
    for (_, sql) in M::EVENTS {
        let fire: &[&[&str]] = match dialect {
            Dialect::Postgres if history => &[&["applied"], ROW, CAUSED],
            Dialect::Postgres => &[&["applied"], ROW],
            Dialect::Sqlite => &[&["applied"]],
            Dialect::MySql => &[],
        };
        prepare(tx, sql.fire.of(dialect), fire).await?;
        prepare(tx, sql.fire_at.of(dialect), fire).await?;
        let fire_all: &[&[&str]] = match dialect {
            Dialect::Postgres if history => &[&["nth", "applied"], ROW, CAUSED],
            Dialect::Postgres => &[&["nth", "applied"], ROW],
            Dialect::Sqlite | Dialect::MySql => &[],
        };
        prepare(tx, sql.fire_all.of(dialect), fire_all).await?;
        for enter in [sql.enter.of(dialect), sql.enter_at.of(dialect)] {
            ensure!(enter.is_some() == (history && dialect != Dialect::Postgres), "{}: {enter:?}", M::NAME);
            if let Some(enter) = enter {
                prepare(tx, enter, &[]).await?;
            }
        }
        let explain: &[&[&str]] = if history { &[ROW, CAUSED, PAST] } else { &[ROW] };
        prepare(tx, sql.explain.of(dialect), explain).await?;
        if let Some(blocked) = &sql.blocked {
            prepare(tx, blocked.of(dialect), &[&["rule"]]).await?;
        }
    }
    prepare_creation::<M, DB>(tx).await?;
    prepare_repair::<M, DB>(tx).await?;
    prepare_text(tx, M::SQL.guard.of(dialect).find, &["guard"]).await
}

async fn prepare_creation<M: StateMachine, DB: Engine>(tx: &mut Tx<'_, DB>) -> TestResult {
    let (dialect, Some(sql)) = (DB::DIALECT, &M::SQL.create) else { return Ok(()) };
    let ids: Vec<_> = (0..M::SPEC.columns.id.len()).map(|at| format!("id_{at}")).collect();
    let ids: Vec<_> = ids.iter().map(String::as_str).collect();
    let made: &[&str] = if M::SQL.history.is_some() { &["made", "made_fingerprint"] } else { &[] };
    prepare(tx, sql.insert.of(dialect), &[]).await?;
    if let Some(enter) = sql.enter.of(dialect) {
        prepare(tx, enter, &[]).await?;
    }
    if let Some(caused) = &sql.caused {
        prepare(tx, caused.of(dialect), &[&ids, ROW, made]).await?;
    }
    for met in sql.met {
        prepare(tx, met.of(dialect), &[&ids, ROW, &["same"], made]).await?;
    }
    Ok(())
}

async fn prepare_repair<M: StateMachine, DB: Engine>(tx: &mut Tx<'_, DB>) -> TestResult {
    let Some(sql) = &M::SQL.repair else { return Ok(()) };
    let sql = sql.of(DB::DIALECT);
    if let Some(lock) = &sql.lock {
        prepare(tx, lock, &[&["one"]]).await?;
    }
    prepare(tx, &sql.read, &[ROW, CAUSED]).await?;
    prepare(tx, &sql.enter, &[]).await?;
    prepare(tx, &sql.write, &[]).await
}

/// Prepares a statement whose answer must have these columns.
async fn prepare<DB: Engine>(tx: &mut Tx<'_, DB>, statement: &Statement, columns: &[&[&str]]) -> TestResult {
    prepare_text(tx, statement.sql, &columns.concat()).await
}

async fn prepare_text<DB: Engine>(tx: &mut Tx<'_, DB>, sql: &'static str, columns: &[&str]) -> TestResult {
    let prepared = (&mut *tx).prepare(AssertSqlSafe(sql).into_sql_str()).await;
    let prepared = prepared.map_err(|error| format!("{error}\n{sql}"))?;
    let found: Vec<_> = prepared.columns().iter().map(Column::name).collect();
    ensure!(found == columns, "{found:?}\n{sql}");
    Ok(())
}

async fn every_statement_of_the_records_prepares<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    let mut tx = idem.begin().await?;
    for (name, sql) in schema::statements(DB::DIALECT) {
        let prepared = (&mut *tx).prepare(AssertSqlSafe(sql).into_sql_str()).await;
        prepared.map_err(|error| format!("{name}: {error}\n{sql}"))?;
    }
    Ok(())
}
