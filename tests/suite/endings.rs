//! Calls that end in the middle of something: what was cut off or has failed leaves no transaction behind, undoes
//! nothing but itself, and is told as what it was.

use std::time::Duration;

use idem_runtime::prelude::*;
use sqlx::{MySql, Postgres};
use tokio::time::timeout;

use crate::acts::{Gate, create_tables, effect, result, until_waiting, write, write_at};
use crate::support::{Engine, Suite, TestDb, TestResult, ensure, on_engines, sql};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_engines!(
        suite,
        [Postgres, MySql],
        "SQLite has one writer at a time",
        [a_statement_that_fails_after_it_was_cut_leaves_no_transaction]
    );
    on_engines!(
        suite,
        [MySql],
        "the others have no such statement, no such packets and no such counter",
        [rows_that_were_cut_off_are_nobody_elses_answer]
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
