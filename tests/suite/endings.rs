//! Calls that end in the middle of something: what was cut off or has failed leaves no transaction behind, undoes
//! nothing but itself, and is told as what it was.

use idem_runtime::prelude::*;
use sqlx::{MySql, Postgres};

use crate::acts::{Gate, create_tables, result, until_waiting, write, write_at};
use crate::support::{Engine, Suite, TestDb, TestResult, ensure, on_engines};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_engines!(
        suite,
        [Postgres, MySql],
        "SQLite has one writer at a time",
        [a_statement_that_fails_after_it_was_cut_leaves_no_transaction]
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
