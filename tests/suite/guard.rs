//! The guard: triggers that refuse what no declared transition leads to.

pub(crate) mod releases;
mod repair;
mod ways;

use idem_runtime::machine::{Guard, GuardRefusal, Refused, guard_refusal};
use idem_runtime::prelude::*;
use idem_runtime::schema;
use sqlx::{AssertSqlSafe, Executor as _, SqlSafeStr as _};

use crate::answers::answer;
use crate::machines::{Lamp, Word, quoted};
use crate::shop::order_status::{Cancel, Finish, Pay, Refund, Ship};
use crate::shop::{OrderStatus, history, new_order, status};
use crate::support::{BoxError, Engine, Suite, TestDb, TestResult, ensure, on_every_engine};
use crate::values::{Invoice, Lift, Seal, Sign};
use crate::{machines, shop, values};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            s27_raw_update_along_no_transition,
            the_guard_refuses_what_allows_refuses,
            null_is_no_state,
            every_event_passes_the_guard,
            which_guard_is_installed,
            other_errors_are_no_refusal,
        ]
    );
    releases::add(suite);
    repair::add(suite);
    ways::add(suite);
}

/// Installs the guard of a machine.
async fn install<M: StateMachine, DB: Engine>(db: &TestDb<DB>) -> TestResult {
    db.execute(schema::guard::<M>(DB::DIALECT)).await.map(drop)
}

/// Runs a statement in a transaction that is not kept.
async fn attempt<DB: Engine>(idem: &Idem<DB>, sql: String) -> Result<Result<u64, sqlx::Error>, BoxError> {
    let mut tx = idem.begin().await?;
    let done = (&mut *tx).execute(AssertSqlSafe(sql).into_sql_str()).await;
    tx.rollback().await?;
    Ok(done.map(|done| DB::affected(&done)))
}

/// Fails unless the statement was refused by the guard of the machine.
fn refused<M: StateMachine, DB: Engine>(done: &Result<u64, sqlx::Error>, what: Refused) -> TestResult {
    let name = M::SQL.guard.of(DB::DIALECT).name;
    let error = done.as_ref().err().ok_or_else(|| format!("{name} let it pass"))?;
    let refusal = guard_refusal(error).ok_or_else(|| format!("not a refusal of the guard: {error:?}"))?;
    ensure!(refusal == GuardRefusal { guard: name.to_owned(), refused: what }, "{refusal:?}");
    Ok(())
}

/// An update that somebody typed, and one of a service that does not use idem.
async fn s27_raw_update_along_no_transition<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    install::<OrderStatus, DB>(&db).await?;
    new_order(&db, 1).await?;
    let update = |status| format!("UPDATE orders SET status = '{status}', version = version + 1 WHERE order_id = 1");
    for target in ["shipped", "done", "refunded", "PAID", "paid ", "lost", ""] {
        let done = attempt(&idem, update(target)).await?;
        refused::<OrderStatus, DB>(&done, Refused::Transition).map_err(|error| format!("{target:?}: {error}"))?;
    }
    let insert = "INSERT INTO orders (order_id, status) VALUES (2, 'paid')";
    refused::<OrderStatus, DB>(&attempt(&idem, insert.to_owned()).await?, Refused::Insert)?;
    // Of many rows none moves, and the transaction of the others goes on where the engine lets it.
    new_order(&db, 3).await?;
    db.execute(update("paid").replace("1 WHERE order_id = 1", "1 WHERE order_id = 3")).await?;
    let all = "UPDATE orders SET status = 'shipped'".to_owned();
    refused::<OrderStatus, DB>(&attempt(&idem, all).await?, Refused::Transition)?;
    ensure!(db.execute("UPDATE orders SET status = 'shipped'").await.is_err(), "one of them is pending");
    let found = (status(&db, 1).await?, status(&db, 3).await?);
    ensure!(found == ("pending 0".into(), "paid 1".into()), "{found:?}");

    // What is declared, and what leaves the status alone, passes.
    ensure!(attempt(&idem, update("paid")).await?? == 1, "declared");
    ensure!(attempt(&idem, update("pending")).await?? == 1, "no change");
    ensure!(attempt(&idem, "UPDATE orders SET carrier = 'sf'".to_owned()).await?? == 2, "another column");
    Ok(())
}

/// A machine's table, as a statement writes it.
struct Table {
    name: String,
    status: &'static str,
    /// The columns that a row needs beside its status.
    columns: &'static str,
    /// The table's only row of each number.
    values: fn(usize) -> String,
    is: fn(usize) -> String,
}

/// For every two stored values, aliases and values that no state has included.
async fn the_guard_refuses_what_allows_refuses<DB: Engine>(db: TestDb<DB>) -> TestResult {
    machines::create_tables(&db).await?;
    values::create_tables(&db).await?;
    if DB::DIALECT != Dialect::Sqlite {
        for check in ["lifts DROP CONSTRAINT lifts_floor_check", "signs DROP CONSTRAINT signs_status_check"] {
            db.execute(format!("ALTER TABLE {check}")).await?;
        }
    }
    let idem = db.idem(2).await?;
    let simple = |name: &str, columns, is| Table {
        name: name.to_owned(),
        status: if name == "lifts" { "floor" } else { "status" },
        columns,
        values: |row| row.to_string(),
        is,
    };
    let lamps = simple("lamps", "lamp_id", |row| format!("lamp_id = {row}"));
    every_pair::<Lamp, DB>(&db, &idem, &lamps, &["dawn", "DARK", ""], Lamp::allows).await?;
    let lifts = simple("lifts", "lift_id", |row| format!("lift_id = {row}"));
    every_pair::<Lift, DB>(&db, &idem, &lifts, &["7", "-2"], Lift::allows).await?;
    let signs = simple("signs", "sign_id", |row| format!("sign_id = {row}"));
    every_pair::<Sign, DB>(&db, &idem, &signs, &["gone", "Open"], Sign::allows).await?;
    let invoices = simple("invoices", "invoice_id", |row| format!("invoice_id = {row}"));
    // What is no value of an enum type is nothing that can be stored.
    let unknown: &[&str] = if DB::DIALECT == Dialect::Sqlite { &["lost"] } else { &[] };
    every_pair::<Invoice, DB>(&db, &idem, &invoices, unknown, Invoice::allows).await?;
    let words = Table {
        name: quoted(DB::DIALECT, "'order'"),
        status: if DB::DIALECT == Dialect::MySql { "`select`" } else { "\"select\"" },
        columns: if DB::DIALECT == Dialect::MySql {
            "`group`, `where`, `from`"
        } else {
            "\"group\", \"where\", \"from\""
        },
        values: |row| format!("{row}, 'here', 0"),
        is: |row| quoted(DB::DIALECT, &format!("'group' = {row}")),
    };
    every_pair::<Word, DB>(&db, &idem, &words, &["select"], Word::allows).await
}

async fn every_pair<M: StateMachine, DB: Engine>(
    db: &TestDb<DB>,
    idem: &Idem<DB>,
    table: &Table,
    unknown: &[&str],
    allows: fn(M, M) -> bool,
) -> TestResult {
    let written = M::STATES.iter().map(|state| -> &str { state.stored() });
    let aliases = M::ALIASES.iter().map(|(alias, _)| *alias);
    let all: Vec<&str> = written.chain(aliases).chain(unknown.iter().copied()).collect();
    let Table { name, status, columns, values, is } = table;
    let insert =
        |row, value| format!("INSERT INTO {name} ({columns}, {status}) VALUES ({}, {})", values(row), literal(value));
    for (row, value) in all.iter().enumerate() {
        db.execute(insert(row, value)).await?;
    }
    install::<M, DB>(db).await?;
    let mut passed = 0;
    for (row, from) in all.iter().enumerate() {
        for to in &all {
            let done = attempt(idem, format!("UPDATE {name} SET {status} = {} WHERE {}", literal(to), is(row))).await?;
            let leads = match (M::from_stored(from), M::from_stored(to)) {
                (Some(source), Some(target)) => source.index() == target.index() || allows(source, target),
                _ => from == to,
            };
            let checked = if leads {
                done.map(drop).map_err(BoxError::from)
            } else {
                refused::<M, DB>(&done, Refused::Transition)
            };
            checked.map_err(|error| format!("{}: {from:?} to {to:?}: {error}", M::NAME))?;
            passed += usize::from(leads);
        }
    }
    ensure!(passed > all.len() && passed < all.len() * all.len(), "{}: {passed} of {} squared", M::NAME, all.len());
    for value in &all {
        let done = attempt(idem, insert(all.len(), value)).await?;
        let is_initial = M::from_stored(value).is_some_and(|state| state.index() == M::INITIAL.index());
        let checked =
            if is_initial { done.map(drop).map_err(BoxError::from) } else { refused::<M, DB>(&done, Refused::Insert) };
        checked.map_err(|error| format!("{}: INSERT of {value:?}: {error}", M::NAME))?;
    }
    Ok(())
}

/// A value of a status column.
fn literal(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

async fn null_is_no_state<DB: Engine>(db: TestDb<DB>) -> TestResult {
    db.execute("CREATE TABLE seals (seal_id BIGINT PRIMARY KEY, status VARCHAR(20), pressed_by VARCHAR(20))").await?;
    db.execute("INSERT INTO seals (seal_id, status) VALUES (1, 'soft'), (2, NULL)").await?;
    install::<Seal, DB>(&db).await?;
    let idem = db.idem(2).await?;
    let update = |seal, status| format!("UPDATE seals SET status = {status} WHERE seal_id = {seal}");
    refused::<Seal, DB>(&attempt(&idem, update(1, "NULL")).await?, Refused::Transition)?;
    refused::<Seal, DB>(&attempt(&idem, update(2, "'soft'")).await?, Refused::Transition)?;
    let insert = "INSERT INTO seals (seal_id) VALUES (3)".to_owned();
    refused::<Seal, DB>(&attempt(&idem, insert).await?, Refused::Insert)?;
    ensure!(attempt(&idem, "UPDATE seals SET pressed_by = 'me'".to_owned()).await?? == 2, "no status is touched");
    ensure!(attempt(&idem, update(2, "NULL")).await?? == 1, "it stays what it was");
    Ok(())
}

async fn every_event_passes_the_guard<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    machines::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    install::<OrderStatus, DB>(&db).await?;
    install::<Word, DB>(&db).await?;
    for order_id in 1..=4 {
        new_order(&db, order_id).await?;
    }
    let order = OrderStatus::row;
    let pay = || Pay { trade_no: "T1".to_owned() };
    let ship = || Ship { carrier: "sf".to_owned() };
    for order_id in 1..=3 {
        answer!(order(order_id).fire(pay()).cause("T1").run(&idem).await, Ok(Outcome::Applied(row)) if row.version() == 1);
        answer!(order(order_id).fire(pay()).cause("T1").run(idem.pool()).await, Ok(Outcome::Replayed(_)));
    }
    for order_id in 1..=2 {
        answer!(order(order_id).fire(ship()).run(&idem).await, Ok(Outcome::Applied(row)) if row.version() == 2);
    }
    answer!(order(1).fire(Finish).run(&idem).await, Ok(Outcome::Applied(row)) if row.version() == 3);
    let mut tx = idem.begin().await?;
    answer!(order(2).fire(Refund).cause("R").run(&mut *tx).await, Ok(Outcome::Applied(row)) if row.version() == 3);
    answer!(order(3).fire(Refund).cause("R").run(&mut *tx).await, Ok(Outcome::Applied(row)) if row.version() == 2);
    answer!(order(4).fire(Cancel).run(&mut *tx).await, Ok(Outcome::Applied(row)) if row.version() == 1);
    tx.commit().await?;
    let found = [status(&db, 1).await?, status(&db, 2).await?, status(&db, 3).await?, status(&db, 4).await?];
    ensure!(found == ["done 3", "refunded 3", "refunded 2", "cancelled 1"], "{found:?}");
    let found = history(&db, 2).await?;
    ensure!(found == "1 pending paid pay T1\n2 paid shipped ship NULL\n3 shipped refunded refund R", "{found}");

    let insert = "INSERT INTO 'order' ('group', 'where', 'select', 'from') VALUES (1, ";
    db.execute(quoted(DB::DIALECT, insert) + "'here', 'type', 0)").await?;
    let word = || Word::row(1, "here".to_owned());
    let step = machines::word::Move { r#in: "x".to_owned() };
    answer!(word().fire(step).run(&idem).await, Ok(Outcome::Applied(_)));
    answer!(word().fire(machines::word::Use { key: 1 }).run(&idem).await, Ok(Outcome::Applied(row)) if row.version() == 2);
    Ok(())
}

async fn which_guard_is_installed<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    ensure!(idem.guard::<OrderStatus>().await? == Guard::Missing, "none yet");
    install::<OrderStatus, DB>(&db).await?;
    ensure!(idem.guard::<OrderStatus>().await? == Guard::Installed, "this one");
    install::<OrderStatus, DB>(&db).await?;
    ensure!(idem.guard::<OrderStatus>().await? == Guard::Installed, "twice is once");
    let name = OrderStatus::SQL.guard.of(DB::DIALECT).name;
    db.execute(schema::guard::<OrderStatus>(DB::DIALECT).replace(name, "orders_status_guard_00000000")).await?;
    ensure!(idem.guard::<OrderStatus>().await? == Guard::Outdated, "one of other transitions");
    install::<OrderStatus, DB>(&db).await?;
    ensure!(idem.guard::<OrderStatus>().await? == Guard::Installed, "replaced");
    let of_table = if DB::DIALECT == Dialect::Postgres { " ON orders" } else { "" };
    db.execute(format!("DROP TRIGGER orders_status_guard_insert{of_table}")).await?;
    ensure!(idem.guard::<OrderStatus>().await? == Guard::Missing, "a half is none");
    install::<OrderStatus, DB>(&db).await?;
    db.execute(schema::guard_removal::<OrderStatus>(DB::DIALECT)).await?;
    db.execute(schema::guard_removal::<OrderStatus>(DB::DIALECT)).await?;
    ensure!(idem.guard::<OrderStatus>().await? == Guard::Missing, "removed");
    db.execute("INSERT INTO orders (order_id, status) VALUES (1, 'done')").await.map(drop)
}

/// Not even those of a trigger of the user's own that fails as the guard does.
async fn other_errors_are_no_refusal<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    new_order(&db, 1).await?;
    db.execute(match DB::DIALECT {
        Dialect::Postgres => {
            "CREATE FUNCTION own() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'ID001', MESSAGE = 'guard: undeclared transition'; END $$;
             CREATE TRIGGER own AFTER UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION own()"
        }
        Dialect::MySql => {
            "CREATE TRIGGER own AFTER UPDATE ON orders FOR EACH ROW \
             SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 45001, MESSAGE_TEXT = 'guard: undeclared transition'"
        }
        Dialect::Sqlite => {
            "CREATE TRIGGER own AFTER UPDATE ON orders BEGIN SELECT RAISE(ABORT, 'guard: undeclared transition'); END"
        }
    })
    .await?;
    let statements = ["UPDATE orders SET carrier = 'sf'", "INSERT INTO orders (order_id) VALUES (1)", "no statement"];
    for sql in statements {
        let error = attempt(&idem, sql.to_owned()).await?.expect_err("refused, but not by the guard");
        ensure!(guard_refusal(&error).is_none(), "{error:?}");
    }
    answer!(OrderStatus::row(1).fire(Cancel).run(&idem).await, Err(TransitionError::Database(_)));
    Ok(())
}
