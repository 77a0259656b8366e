//! Calls that end in the middle of something: what was cut off or has failed leaves no transaction behind, undoes
//! nothing but itself, and is told as what it was.

use std::sync::Arc;
use std::time::Duration;

use idem_runtime::prelude::*;
use sqlx::{Executor as _, MySql, Postgres, SqlSafeStr as _};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::acts::{Gate, act, create_tables, effect, left, result, run, until_waiting, write, write_at};
use crate::answers::answer;
use crate::machines::Lamp;
use crate::machines::lamp::Light;
use crate::settle::PayError;
use crate::shop::order_status::Pay;
use crate::shop::{OrderStatus, history, new_order, status};
use crate::support::{
    Ended, Engine, Suite, TestDb, TestResult, drop_at_every_await, ensure, on_engines, on_every_engine, sql,
};
use crate::{machines, shop};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [a_cut_inner_call_undoes_nothing_of_the_outer_one, a_move_that_fails_is_told_as_what_it_is]
    );
    on_engines!(
        suite,
        [Postgres, MySql],
        "SQLite has one writer at a time",
        [a_statement_that_fails_after_it_was_cut_leaves_no_transaction]
    );
    on_engines!(suite, [Postgres], "the others go on after an error", [a_prepared_statement_mends_nothing]);
    on_engines!(
        suite,
        [MySql],
        "the others have no such statement, no such packets and no such counter",
        [
            ddl_on_a_table_that_is_called_temporary_is_refused,
            rows_that_were_cut_off_are_nobody_elses_answer,
            a_body_that_fails_after_a_cut_is_answered,
            a_trigger_with_a_counter_of_its_own_changes_no_version
        ]
    );
}

/// The claim of a duplicate that nobody waits for any more fails two seconds later, when its connection is about to be
/// given back.
async fn a_statement_that_fails_after_it_was_cut_leaves_no_transaction<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let processes = [db.idem(1).await?, db.idem(1).await?];
    create_tables(&db).await?;
    let gate = Gate::closed();
    let (idem, at) = (processes[0].clone(), gate.clone());
    let winner = tokio::spawn(async move { write_at(&idem, "k", at).await });
    gate.arrival().await?;
    let idem = processes[1].clone();
    let duplicate = tokio::spawn(async move { write(&idem, "k", 1).await });
    until_waiting(&db, 1).await?;
    duplicate.abort();
    ensure!(duplicate.await.is_err_and(|error| error.is_cancelled()), "the duplicate was cut");
    // Whoever waits for the only connection gets it after that.
    DB::execute(processes[1].pool(), "INSERT INTO counter (id, value) VALUES (100, 0)".into()).await?;
    ensure!(db.integer("SELECT COUNT(*) FROM counter WHERE id = 100").await? == 1, "a plain INSERT is committed");
    gate.open();
    result!(winner.await?, 1, is_replay: false);
    result!(write(&processes[1], "k", 1).await, 1, is_replay: true);
    Ok(())
}

/// The first inner call is a replay, whose savepoint is rolled back to; the second one is cut.
async fn a_cut_inner_call_undoes_nothing_of_the_outer_one<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    result!(write(&idem, "first", 1).await, 1, is_replay: false);
    let outer = Arc::new(Mutex::new(None));
    let prepare = async |polls| {
        let mut tx = idem.begin().await?;
        result!(write(&mut *tx, "first", 1).await, 1, is_replay: true);
        effect(&mut tx, &format!("outer{polls}")).await?;
        *outer.lock().await = Some(tx);
        Ok(())
    };
    let call = |polls| {
        let outer = Arc::clone(&outer);
        async move {
            let mut outer = outer.lock().await;
            let tx = outer.as_deref_mut().expect("it was begun before");
            write(tx, &format!("inner{polls}"), 1).await.map(|once| once.is_replay())
        }
    };
    let check = async |polls, ended| {
        let tx = outer.lock().await.take().ok_or("it was begun before")?;
        let committed = tx.commit().await;
        let effects =
            async |name| db.integer(format!("SELECT COUNT(*) FROM effect WHERE name = '{name}{polls}'")).await;
        let kept = (effects("outer").await?, effects("inner").await?);
        match (ended, &committed) {
            (Ended::Completed(Ok(false)), Ok(())) if kept == (1, 1) => Ok(()),
            (Ended::Dropped, Ok(())) if kept.0 == 1 => Ok(()),
            (Ended::Dropped, Err(Error::Retry(_))) if kept == (0, 0) => Ok(()),
            (ended, _) => Err(format!("{ended:?}, {committed:?}, kept {kept:?}").into()),
        }
    };
    drop_at_every_await(prepare, call, check).await?;
    Ok(())
}

fn pay(trade_no: &str) -> Pay {
    Pay { trade_no: trade_no.to_owned() }
}

/// The row's own index refuses the move after its entry was written. Running that again would refuse it again.
async fn a_move_that_fails_is_told_as_what_it_is<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    shop::create_tables(&db).await?;
    db.execute("CREATE UNIQUE INDEX one_trade ON orders (trade_no)").await?;
    new_order(&db, 1).await?;
    new_order(&db, 2).await?;
    let _ = OrderStatus::row(1).fire(pay("T1")).cause("T1").run(&idem).await?.expect_applied()?;

    let told = act::<DB, i64>(&idem, "k", 1, |tx| {
        Box::pin(async move {
            effect(tx, "k").await?;
            Ok(OrderStatus::row(2).fire(pay("T1")).cause("T1").run(tx).await?.into_row().version())
        })
    });
    answer!(told.await, Err(PayError::Transition(TransitionError::Database(_))));
    let of_its_own = act::<DB, i64>(&idem, "k", 1, |tx| {
        Box::pin(async move {
            let moved = OrderStatus::row(2).fire(pay("T1")).cause("T1").run(tx).await;
            moved.map(|moved| moved.into_row().version()).map_err(|_| PayError::Refused)
        })
    });
    answer!(of_its_own.await, Err(PayError::Refused));
    let swallowed = act(&idem, "k", 1, |tx| {
        Box::pin(async move {
            effect(tx, "k").await?;
            Ok(OrderStatus::row(2).fire(pay("T1")).cause("T1").run(tx).await.is_ok())
        })
    });
    answer!(swallowed.await, Err(PayError::Idem(Error::Database(_))));
    left(&db, ["", ""]).await?;
    let rows = (status(&db, 2).await?, history(&db, 2).await?);
    ensure!(rows == ("pending 0".to_owned(), String::new()), "{rows:?}");
    Ok(())
}

/// Once the transaction has failed, only the server can say that it goes on.
async fn a_prepared_statement_mends_nothing<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    let mut tx = idem.begin().await?;
    effect(&mut tx, "k").await?;
    tx.prepare("SELECT 1".into_sql_str()).await?;
    answer!(run(&mut tx, "INSERT INTO counter (id, value) VALUES (1, 7)").await, Err(_));
    let _ = tx.prepare("SELECT 1".into_sql_str()).await;
    answer!(tx.commit().await, Err(Error::Database(_)));
    left(&db, ["", ""]).await
}

async fn ddl_on_a_table_that_is_called_temporary_is_refused<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    db.execute("CREATE TABLE temporary_stock (id INT)").await?;
    for ddl in ["TRUNCATE temporary_stock", "DROP TABLE temporary_stock"] {
        let mut tx = idem.begin().await?;
        effect(&mut tx, "k").await?;
        answer!(run(&mut tx, ddl).await, Err(_));
        tx.rollback().await?;
        left(&db, ["", ""]).await?;
    }
    let mut tx = idem.begin().await?;
    effect(&mut tx, "k").await?;
    run(&mut tx, "SET STATEMENT sort_buffer_size = 2048 FOR TRUNCATE temporary_stock").await?;
    answer!(tx.commit().await, Err(Error::Database(_)));
    Ok(())
}

/// Rows that are longer than what is read at once: a cut comes in the middle of one.
async fn rows_that_were_cut_off_are_nobody_elses_answer<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    let mut cut = 0;
    for number in 0..60 {
        let mut tx = idem.begin().await?;
        effect(&mut tx, "k").await?;
        let rows = sql::<DB>("SELECT REPEAT('7', 500000) FROM counter AS a, counter AS b, counter AS c, counter AS d");
        cut += usize::from(timeout(Duration::from_micros(number * 100), rows.rows(&mut *tx)).await.is_err());
        let seven = timeout(Duration::from_secs(10), sql::<DB>("SELECT 7").rows(&mut *tx)).await?;
        ensure!(
            seven.as_ref().map_or(true, |rows| *rows == [["7"]]),
            "another statement's answer: {:.200}",
            format!("{seven:?}")
        );
        timeout(Duration::from_secs(10), tx.rollback()).await??;
    }
    ensure!(cut > 10, "only {cut} statements were cut");
    Ok(())
}

/// The body gives up waiting for its rows, and then fails.
async fn a_body_that_fails_after_a_cut_is_answered<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    for number in 0..40 {
        let call = act::<DB, i64>(&idem, "k", 1, |tx| {
            Box::pin(async move {
                effect(tx, "k").await?;
                let rows = sql::<DB>("SELECT REPEAT('7', 500000) FROM counter AS a, counter AS b, counter AS c");
                let _ = timeout(Duration::from_micros(number * 100), rows.rows(tx)).await;
                Err(PayError::Refused)
            })
        });
        let answer = timeout(Duration::from_secs(10), call).await.map_err(|_| "the call waits for ever")?;
        answer!(answer, Err(PayError::Refused | PayError::Idem(Error::Retry(_))));
    }
    left(&db, ["", ""]).await
}

async fn a_trigger_with_a_counter_of_its_own_changes_no_version<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    shop::create_tables(&db).await?;
    machines::create_tables(&db).await?;
    db.execute("CREATE TABLE audit (id BIGINT AUTO_INCREMENT PRIMARY KEY, note TEXT) AUTO_INCREMENT = 700").await?;
    for (name, when, table) in
        [("a", "BEFORE", "orders"), ("b", "AFTER", "orders"), ("c", "BEFORE", "lamps"), ("d", "AFTER", "lamps")]
    {
        db.execute(format!(
            "CREATE TRIGGER {name} {when} UPDATE ON {table} FOR EACH ROW INSERT INTO audit (note) VALUES ('x')"
        ))
        .await?;
    }
    new_order(&db, 1).await?;
    db.execute("INSERT INTO lamps (lamp_id) VALUES (1)").await?;
    let version = OrderStatus::row(1).fire(pay("T1")).cause("T1").run(&idem).await?.into_row().version();
    ensure!(version == 1, "{version}");
    let version = Lamp::row(1).fire(Light).expect_version(0).run(&idem).await?.into_row().version();
    ensure!(version == 1, "{version}");
    Ok(())
}
