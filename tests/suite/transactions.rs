//! What a transaction may and may not say: nothing is done that the database threw away, and nothing is left of what
//! failed.

use std::sync::{Arc, Mutex, PoisonError};

use idem_runtime::prelude::*;
use sqlx::{MySql, Postgres, Sqlite};

use crate::acts::{Gate, act, create_tables, effect, left, result, run, until_waiting, write, write_at};
use crate::answers::answer;
use crate::settle::PayError;
use crate::support::{BoxError, Engine, Suite, TestDb, TestResult, ensure, on_engines, on_every_engine};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            i59_a_duplicate_leaves_the_transaction_usable,
            c6_a_swallowed_duplicate_is_never_half_done,
            an_error_in_a_savepoint_of_the_body_is_undone,
            a_commit_as_text_is_refused,
            a_hidden_commit_is_in_doubt,
            a_hidden_rollback_is_in_doubt,
            i66_an_outer_rollback_undoes_the_inner_call,
            an_inner_error_undoes_the_inner_call_only,
            a_dropped_inner_call_is_undone,
        ]
    );
    on_engines!(
        suite,
        [Postgres, MySql],
        "SQLite has one writer at a time",
        [a_swallowed_deadlock_is_a_retry, a_swallowed_lock_timeout_is_a_retry, an_inner_duplicate_waits_only_so_long]
    );
    on_engines!(
        suite,
        [MySql],
        "DDL commits on MySQL alone",
        [ddl_is_refused, hidden_ddl_is_in_doubt, an_error_after_hidden_ddl_is_in_doubt]
    );
    on_engines!(
        suite,
        [Sqlite],
        "a statement that rolls the transaction back by itself is SQLite's",
        [a_swallowed_or_rollback_leaves_nothing, a_swallowed_raise_rollback_leaves_nothing]
    );
    on_engines!(
        suite,
        [Postgres],
        "the claim of the other engines sets nothing in the session",
        [a_claim_leaves_the_lock_timeout_alone]
    );
}

async fn i59_a_duplicate_leaves_the_transaction_usable<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    result!(write(&idem, "k", 1).await, 1, is_replay: false);
    let mut tx = idem.begin().await?;
    effect(&mut tx, "before").await?;
    result!(write(&mut *tx, "k", 1).await, 1, is_replay: true);
    effect(&mut tx, "replayed").await?;
    answer!(write(&mut *tx, "k", 2).await, Err(PayError::Idem(Error::Mismatch)));
    effect(&mut tx, "mismatched").await?;
    answer!(write(&mut *tx, "", 2).await, Err(PayError::Idem(Error::InvalidKey { .. })));
    result!(write(&mut *tx, "l", 3).await, 3, is_replay: false);
    tx.commit().await?;
    left(&db, ["before,k,l,mismatched,replayed", "k:2,l:2"]).await
}

/// The statement that every engine refuses.
const DUPLICATE: &str = "INSERT INTO counter (id, value) VALUES (1, 7)";

/// Acts with a statement in the middle whose error the body swallows, as it does with every later one.
async fn swallow<DB: Engine>(idem: &Idem<DB>, key: &str, statement: &str) -> Result<Once<i64>, PayError> {
    let (name, statement) = (key.to_owned(), statement.to_owned());
    act(idem, key, 1, |tx| {
        Box::pin(async move {
            effect(tx, &name).await?;
            let _ = run(tx, statement).await;
            let _ = effect(tx, &name).await;
            Ok(1)
        })
    })
    .await
}

/// PostgreSQL has thrown everything away, and its COMMIT succeeds in doing nothing; the others have undone the statement.
async fn c6_a_swallowed_duplicate_is_never_half_done<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    let answer = swallow(&idem, "k", DUPLICATE).await;
    if DB::DIALECT == Dialect::Postgres {
        answer!(answer, Err(PayError::Idem(Error::Database(_))));
        left(&db, ["", ""]).await?;
        // The same in a transaction of the caller's.
        let mut tx = idem.begin().await?;
        effect(&mut tx, "k").await?;
        answer!(run(&mut tx, DUPLICATE).await, Err(_));
        answer!(tx.commit().await, Err(Error::Database(_)));
        left(&db, ["", ""]).await?;
        // And for an inner call that swallows: its own work is undone, the outer one decides about the rest.
        let mut tx = idem.begin().await?;
        effect(&mut tx, "outer").await?;
        answer!(swallow_inside(&mut tx).await, Err(PayError::Idem(_)));
        tx.commit().await?;
        left(&db, ["outer", ""]).await?;
        result!(write(&idem, "k", 1).await, 1, is_replay: false);
        return left(&db, ["k,outer", "k:2"]).await;
    }
    result!(answer, 1, is_replay: false);
    result!(write(&idem, "k", 1).await, 1, is_replay: true);
    left(&db, ["k,k", "k:2"]).await
}

async fn swallow_inside<DB: Engine>(tx: &mut Tx<'_, DB>) -> Result<Once<i64>, PayError> {
    act(tx, "inner", 1, |tx| {
        Box::pin(async move {
            effect(tx, "inner").await?;
            let _ = run(tx, DUPLICATE).await;
            Ok(1)
        })
    })
    .await
}

async fn an_error_in_a_savepoint_of_the_body_is_undone<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    let answer = act(&idem, "k", 1, |tx| {
        Box::pin(async move {
            effect(tx, "kept").await?;
            run(tx, "SAVEPOINT mine").await?;
            effect(tx, "undone").await?;
            let duplicate = run(tx, DUPLICATE).await.is_err();
            run(tx, "ROLLBACK TO SAVEPOINT mine").await?;
            effect(tx, "kept too").await?;
            Ok(duplicate)
        })
    });
    result!(answer.await, true, is_replay: false);
    left(&db, ["kept,kept too", "k:2"]).await
}

/// The refusal is an error of the statement alone: it never reached the server.
async fn a_commit_as_text_is_refused<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    for text in ["COMMIT", "commit;", " /* so */ Commit", "-- so\nROLLBACK", "END", "BEGIN"] {
        let answer = act::<DB, ()>(&idem, "k", 1, |tx| {
            Box::pin(async move {
                effect(tx, "k").await?;
                Ok(run(tx, text).await?)
            })
        });
        answer!(answer.await, Err(PayError::Sql(_)));
        left(&db, ["", ""]).await?;
    }
    result!(swallow(&idem, "k", "COMMIT").await, 1, is_replay: false);
    left(&db, ["k,k", "k:2"]).await
}

/// A COMMIT that the text of the statement does not show at its begin.
async fn a_hidden_commit_is_in_doubt<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    let answer = swallow(&idem, "k", "UPDATE counter SET value = 1 WHERE id = 1; COMMIT").await;
    answer!(answer, Err(PayError::Idem(Error::Indeterminate)));
    stays_in_doubt(&db, &idem).await
}

/// A ROLLBACK that the text does not show takes the claim away; what the body writes after it commits by itself.
async fn a_hidden_rollback_is_in_doubt<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    let answer = swallow(&idem, "k", "UPDATE counter SET value = 1 WHERE id = 1; ROLLBACK").await;
    answer!(answer, Err(PayError::Idem(Error::Indeterminate)));
    stays_in_doubt(&db, &idem).await?;
    left(&db, ["k", "k:4"]).await
}

/// The first call's effects were committed before their time: nobody runs again, and nobody hears "done".
async fn stays_in_doubt<DB: Engine>(db: &TestDb<DB>, idem: &Idem<DB>) -> TestResult {
    for idem in [idem, &db.idem(1).await?] {
        answer!(write(idem, "k", 1).await, Err(PayError::Idem(Error::Indeterminate)));
        answer!(write(idem, "k", 2).await, Err(PayError::Idem(Error::Mismatch)));
    }
    let records = crate::acts::records(db).await?;
    ensure!(records == "k:4" || records == "k:1", "never done: {records}");
    Ok(())
}

async fn ddl_is_refused<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    for ddl in ["CREATE TABLE hidden (id INT)", "TRUNCATE counter", "/* so */ ALTER TABLE counter ADD more INT"] {
        let answer = act::<DB, ()>(&idem, "k", 1, |tx| {
            Box::pin(async move {
                effect(tx, "k").await?;
                Ok(run(tx, ddl).await?)
            })
        });
        answer!(answer.await, Err(PayError::Sql(_)));
        left(&db, ["", ""]).await?;
    }
    result!(swallow(&idem, "k", "CREATE TABLE hidden (id INT)").await, 1, is_replay: false);
    ensure!(db.rows("SHOW TABLES LIKE 'hidden'").await?.is_empty(), "the table was never made");
    left(&db, ["k,k", "k:2"]).await
}

async fn create_hidden_ddl<DB: Engine>(db: &TestDb<DB>) -> TestResult {
    create_tables(db).await?;
    db.execute("CREATE PROCEDURE hide() BEGIN CREATE TABLE hidden (id INT); END").await.map(drop)
}

async fn hidden_ddl_is_in_doubt<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_hidden_ddl(&db).await?;
    answer!(swallow(&idem, "k", "CALL hide()").await, Err(PayError::Idem(Error::Indeterminate)));
    ensure!(db.rows("SHOW TABLES LIKE 'hidden'").await?.len() == 1, "the procedure has committed");
    stays_in_doubt(&db, &idem).await
}

async fn an_error_after_hidden_ddl_is_in_doubt<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_hidden_ddl(&db).await?;
    let answer = act::<DB, i64>(&idem, "k", 1, |tx| {
        Box::pin(async move {
            effect(tx, "k").await?;
            run(tx, "CALL hide()").await?;
            Err(PayError::Refused)
        })
    });
    answer!(answer.await, Err(_));
    left(&db, ["k", &crate::acts::records(&db).await?]).await?;
    stays_in_doubt(&db, &idem).await
}

async fn a_swallowed_or_rollback_leaves_nothing<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    leaves_nothing(&db, &idem, "INSERT OR ROLLBACK INTO counter (id, value) VALUES (1, 7)").await
}

async fn a_swallowed_raise_rollback_leaves_nothing<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    db.execute("CREATE TRIGGER no BEFORE DELETE ON counter BEGIN SELECT RAISE(ROLLBACK, 'no'); END").await?;
    leaves_nothing(&db, &idem, "DELETE FROM counter WHERE id = 1").await
}

/// The statement rolls the transaction back, the body swallows the error, and the next call runs.
async fn leaves_nothing<DB: Engine>(db: &TestDb<DB>, idem: &Idem<DB>, statement: &str) -> TestResult {
    answer!(swallow(idem, "k", statement).await, Err(PayError::Idem(_)));
    left(db, ["", ""]).await?;
    let mut tx = idem.begin().await?;
    effect(&mut tx, "k").await?;
    answer!(run(&mut tx, statement).await, Err(_));
    answer!(tx.commit().await, Err(_));
    left(db, ["", ""]).await?;
    result!(write(idem, "k", 1).await, 1, is_replay: false);
    left(db, ["k", "k:2"]).await
}

const FIRST: &str = "UPDATE counter SET value = value + 1 WHERE id = 1";
const SECOND: &str = "UPDATE counter SET value = value + 1 WHERE id = 2";

/// A transaction that the engine prefers to the body's when it ends a deadlock.
async fn rival<DB: Engine>(idem: &Idem<DB>) -> Result<Box<Tx<'static, DB>>, BoxError> {
    let mut tx = idem.begin().await?;
    match DB::DIALECT {
        // Whoever looks first gives up: the rival never looks.
        Dialect::Postgres => run(&mut tx, "SET LOCAL deadlock_timeout = '1min'").await?,
        // Whoever has written least gives up.
        _ => {
            for _ in 0..50 {
                effect(&mut tx, "rival").await?;
            }
        }
    }
    Ok(tx)
}

/// What a body's statement said that the body swallowed.
type Said = Arc<Mutex<Option<sqlx::Error>>>;

/// Acts: changes the first counter, stops at the gate, then runs `statements` and swallows every error of them and of
/// one more effect.
async fn swallow_at<DB: Engine>(
    idem: &Idem<DB>,
    gate: Gate,
    statements: &'static [&'static str],
    said: Said,
) -> Result<Once<i64>, PayError> {
    act(idem, "k", 1, |tx| {
        Box::pin(async move {
            effect(tx, "k").await?;
            run(tx, FIRST).await?;
            gate.pass().await;
            for statement in statements {
                if let Err(error) = run(tx, *statement).await {
                    *said.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
            }
            let _ = effect(tx, "k").await;
            Ok(1)
        })
    })
    .await
}

fn code(said: &Said) -> Option<String> {
    let said = said.lock().unwrap_or_else(PoisonError::into_inner);
    Some(said.as_ref()?.as_database_error()?.message().to_lowercase())
}

async fn a_swallowed_deadlock_is_a_retry<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    let (gate, said) = (Gate::closed(), Said::default());
    let (body, at, out) = (idem.clone(), gate.clone(), Arc::clone(&said));
    let call = tokio::spawn(async move { swallow_at(&body, at, &[SECOND], out).await });
    gate.arrival().await?;
    let mut rival = rival(&idem).await?;
    run(&mut rival, SECOND).await?;
    let rival = tokio::spawn(async move {
        run(&mut rival, FIRST).await?;
        rival.rollback().await?;
        Ok::<_, BoxError>(())
    });
    until_waiting(&db, 1).await?;
    gate.open();
    answer!(call.await?, Err(PayError::Idem(Error::Retry(_))));
    rival.await??;
    let said = code(&said);
    ensure!(said.as_ref().is_some_and(|said| said.contains("deadlock")), "the body met a deadlock: {said:?}");
    left(&db, ["", ""]).await?;
    ensure!(db.integer("SELECT COUNT(*) FROM counter WHERE value <> 0").await? == 0, "nothing is left of the body");
    result!(write(&idem, "k", 1).await, 1, is_replay: false);
    left(&db, ["k", "k:2"]).await
}

async fn a_swallowed_lock_timeout_is_a_retry<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    let statements: &[_] = match DB::DIALECT {
        Dialect::Postgres => &["SET LOCAL lock_timeout = '100ms'", SECOND],
        _ => &["SET innodb_lock_wait_timeout = 1", SECOND],
    };
    let mut rival = idem.begin().await?;
    run(&mut rival, SECOND).await?;
    let (gate, said) = (Gate::closed(), Said::default());
    gate.open();
    answer!(swallow_at(&idem, gate, statements, Arc::clone(&said)).await, Err(PayError::Idem(Error::Retry(_))));
    let said = code(&said);
    let expected = if DB::DIALECT == Dialect::Postgres { "lock timeout" } else { "lock wait timeout" };
    ensure!(said.as_ref().is_some_and(|said| said.contains(expected)), "the body met a lock: {said:?}");
    rival.rollback().await?;
    left(&db, ["", ""]).await?;
    ensure!(db.integer("SELECT COUNT(*) FROM counter WHERE value <> 0").await? == 0, "nothing is left of the body");
    result!(write(&idem, "k", 1).await, 1, is_replay: false);
    left(&db, ["k", "k:2"]).await
}

async fn i66_an_outer_rollback_undoes_the_inner_call<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    let outer = async |fails: bool| {
        act(&idem, "outer", 1, |tx| {
            Box::pin(async move {
                effect(tx, "outer").await?;
                let inner = write(&mut *tx, "inner", 2).await?;
                if fails { Err(PayError::Refused) } else { Ok((*inner, inner.is_replay())) }
            })
        })
        .await
    };
    answer!(outer(true).await, Err(PayError::Refused));
    left(&db, ["", ""]).await?;
    result!(outer(false).await, (2, false), is_replay: false);
    result!(write(&idem, "inner", 2).await, 2, is_replay: true);
    left(&db, ["inner,outer", "inner:2,outer:2"]).await
}

/// Three levels: the innermost one fails, the middle one catches it, the outermost commits.
async fn an_inner_error_undoes_the_inner_call_only<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    let answer = act(&idem, "outer", 1, |tx| {
        Box::pin(async move {
            effect(tx, "outer").await?;
            let middle = act(&mut *tx, "middle", 1, |tx| {
                Box::pin(async move {
                    effect(tx, "middle").await?;
                    let caught = fail_inside(tx).await.is_err();
                    effect(tx, "middle too").await?;
                    Ok(caught)
                })
            });
            let caught = *middle.await?;
            effect(tx, "outer too").await?;
            Ok(caught)
        })
    });
    result!(answer.await, true, is_replay: false);
    left(&db, ["middle,middle too,outer,outer too", "middle:2,outer:2"]).await?;
    result!(write(&idem, "inner", 1).await, 1, is_replay: false);
    Ok(())
}

/// Writes and fails: with an error of its own, and with one of the database.
async fn fail_inside<DB: Engine>(tx: &mut Tx<'_, DB>) -> Result<(), PayError> {
    let own = act::<DB, i64>(&mut *tx, "inner", 1, |tx| {
        Box::pin(async move {
            effect(tx, "inner").await?;
            Err(PayError::Refused)
        })
    });
    answer_is_refused(own.await)?;
    let database = act::<DB, ()>(&mut *tx, "inner", 1, |tx| {
        Box::pin(async move {
            effect(tx, "inner").await?;
            Ok(run(tx, DUPLICATE).await?)
        })
    });
    database.await.map(drop)
}

fn answer_is_refused(answer: Result<Once<i64>, PayError>) -> Result<(), PayError> {
    match answer {
        Err(PayError::Refused) => Ok(()),
        Err(error) => Err(error),
        Ok(_) => unreachable!("the body gives no result"),
    }
}

async fn a_dropped_inner_call_is_undone<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    let mut tx = idem.begin().await?;
    effect(&mut tx, "outer").await?;
    let gate = Gate::closed();
    tokio::select! {
        biased;
        answer = write_at(&mut *tx, "inner", gate.clone()) => return Err(format!("{answer:?}").into()),
        arrival = gate.arrival() => arrival?,
    }
    effect(&mut tx, "outer too").await?;
    tx.commit().await?;
    left(&db, ["outer,outer too", ""]).await?;
    result!(write(&idem, "inner", 1).await, 1, is_replay: false);
    Ok(())
}

/// MySQL may have rolled back the whole transaction for a lock that was not granted, so that nothing of it is kept.
async fn an_inner_duplicate_waits_only_so_long<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let processes = [db.idem(1).await?, db.idem(1).await?];
    create_tables(&db).await?;
    let gate = Gate::closed();
    let (idem, at) = (processes[0].clone(), gate.clone());
    let winner = tokio::spawn(async move { write_at(&idem, "k", at).await });
    gate.arrival().await?;
    let mut tx = processes[1].begin().await?;
    effect(&mut tx, "outer").await?;
    answer!(write(&mut *tx, "k", 1).await, Err(PayError::Idem(Error::InProgress { .. })));
    let more = effect(&mut tx, "outer too").await;
    match (more, tx.commit().await) {
        (Ok(()), Ok(())) => left(&db, ["outer,outer too", ""]).await?,
        (Err(_), Err(Error::Retry(_))) if DB::DIALECT == Dialect::MySql => left(&db, ["", ""]).await?,
        other => return Err(format!("{other:?}").into()),
    }
    gate.open();
    result!(winner.await?, 1, is_replay: false);
    Ok(())
}

/// The same database of PostgreSQL, with sessions that begin with a setting of their own.
fn with_option<DB: Engine>(db: &TestDb<DB>, name: &str, value: &str) -> Result<TestDb<DB>, BoxError> {
    let mark = if db.url().contains('?') { '&' } else { '?' };
    let value = value.replace(' ', "%20");
    TestDb::attach(format!("{}{mark}options[{name}]={value}", db.url()))
}

async fn a_claim_leaves_the_lock_timeout_alone<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    for timeout in ["0", "7s", "1min"] {
        let idem = with_option(&db, "lock_timeout", timeout)?.idem(1).await?;
        let key = format!("k{timeout}");
        for is_replay in [false, true] {
            let answer = act(&idem, &key, 1, |tx| {
                Box::pin(async move {
                    let before = lock_timeout(tx).await?;
                    let _ = write(&mut *tx, &format!("inner {before}"), 1).await?;
                    let _ = write(&mut *tx, &format!("inner {before}"), 1).await?;
                    Ok((before, lock_timeout(tx).await?))
                })
            });
            result!(answer.await, (timeout.to_owned(), timeout.to_owned()), is_replay: is_replay);
            answer!(write(&idem, &key, 2).await, Err(PayError::Idem(Error::Mismatch)));
            let found = DB::rows(idem.pool(), "SHOW lock_timeout".into()).await?;
            ensure!(found == [[timeout]], "after a claim: {found:?}");
        }
        let mut tx = idem.begin().await?;
        run(&mut tx, "SET LOCAL lock_timeout = '3s'").await?;
        result!(write(&mut *tx, &format!("inner {timeout}"), 1).await, 1, is_replay: true);
        ensure!(lock_timeout(&mut tx).await? == "3s", "the caller's own");
        tx.rollback().await?;
    }
    Ok(())
}

async fn lock_timeout<DB: Engine>(tx: &mut Tx<'_, DB>) -> Result<String, sqlx::Error> {
    let rows = crate::support::sql::<DB>("SHOW lock_timeout").rows(tx).await?;
    Ok(rows.concat().concat())
}
