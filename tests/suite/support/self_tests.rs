//! Tests of the harnesses themselves: each of them must be able to fail.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use idem_runtime::Idem;
use tokio::task::yield_now;

use super::cut::COMPLETED_RUNS;
use super::kill::Errand;
use super::scenario::{Called, NoAnswer};
use super::{
    BoxError, Ended, Engine, Killable, Scenario, Suite, TASKS, TestDb, TestResult, count_statements,
    drop_at_every_await, ensure, kill_at_every_step, on_every_engine, release_together, sql,
};

/// Adds them.
pub(crate) fn add(suite: &mut Suite) {
    suite.add_plain("harness::every_await_is_cut_once", every_await_is_cut_once);
    suite.add_plain("harness::a_leak_between_two_awaits_is_caught", a_leak_between_two_awaits_is_caught);
    suite.add_plain("harness::a_future_without_end_is_caught", a_future_without_end_is_caught);
    suite.add_plain("harness::all_tasks_are_released_together", all_tasks_are_released_together);
    on_every_engine!(
        suite,
        [
            harness_catches_a_check_before_an_insert,
            harness_catches_a_kill_between_two_commits,
            harness_catches_a_step_that_is_never_reached,
            harness_counts_statements_and_rows,
            harness_binds_in_order,
        ]
    );
}

async fn every_await_is_cut_once() -> TestResult {
    let seen = RefCell::new(Vec::new());
    let call = |_| async {
        for _ in 0..3 {
            yield_now().await;
        }
    };
    let check = async |polls, ended| {
        seen.borrow_mut().push((polls, ended == Ended::Completed(())));
        Ok(())
    };
    ensure!(drop_at_every_await(nothing, call, check).await? == 3, "the last drop is after three pending polls");
    let expected: Vec<_> = (0..4 + COMPLETED_RUNS).map(|polls| (polls, polls >= 4)).collect();
    ensure!(*seen.borrow() == expected, "{seen:?}");
    Ok(())
}

async fn a_leak_between_two_awaits_is_caught() -> TestResult {
    let held = Cell::new(0);
    let call = |_| async {
        yield_now().await;
        held.set(held.get() + 1);
        yield_now().await;
        held.set(held.get() - 1);
    };
    let check = async |_, _| {
        ensure!(held.get() == 0, "leaked");
        Ok(())
    };
    expect_error(drop_at_every_await(nothing, call, check).await, "cut after 2 pending polls: leaked")
}

async fn a_future_without_end_is_caught() -> TestResult {
    let call = |_| async {
        loop {
            yield_now().await;
        }
    };
    let check = async |_, _: Ended<()>| Ok(());
    expect_error(drop_at_every_await(nothing, call, check).await, "the call did not complete within 1000 pending polls")
}

async fn all_tasks_are_released_together() -> TestResult {
    let begun = Arc::new(AtomicUsize::new(0));
    let answers = release_together(|_| {
        let begun = Arc::clone(&begun);
        async move {
            begun.fetch_add(1, Ordering::SeqCst);
            // Ends only if all others have begun as well.
            while begun.load(Ordering::SeqCst) < TASKS {
                yield_now().await;
            }
        }
    });
    ensure!(answers.await?.len() == TASKS, "every task answers");
    Ok(())
}

async fn harness_catches_a_check_before_an_insert<DB: Engine>(db: TestDb<DB>) -> TestResult {
    db.execute("CREATE TABLE effect (round BIGINT NOT NULL)").await?;
    let pool = db.pool(8)?;
    let answers = release_together(|_| {
        let pool = pool.clone();
        async move {
            if DB::rows(&pool, "SELECT round FROM effect WHERE round = 1".into()).await?.is_empty() {
                DB::execute(&pool, "INSERT INTO effect (round) VALUES (1)".into()).await?;
            }
            Ok(())
        }
    });
    answers.await?.into_iter().collect::<TestResult>()?;
    ensure!(db.integer("SELECT COUNT(*) FROM effect").await? > 1, "nothing raced");
    Ok(())
}

/// An effect that is committed before the transaction that was to hold it.
struct TwoCommits;

impl Scenario for TwoCommits {
    const NAME: &'static str = "two_commits";

    async fn create_tables<DB: Engine>(db: &TestDb<DB>) -> TestResult {
        db.execute("CREATE TABLE effect (round BIGINT NOT NULL)").await.map(drop)
    }

    async fn prepare<DB: Engine>(_: &TestDb<DB>, _: i64) -> TestResult {
        Ok(())
    }

    async fn call<DB: Engine>(idem: &Idem<DB>, round: i64) -> Result<(), NoAnswer> {
        DB::execute(idem.pool(), format!("INSERT INTO effect (round) VALUES ({round})")).await?;
        idem.begin().await?.commit().await?;
        Ok(())
    }

    async fn check<DB: Engine>(db: &TestDb<DB>, round: i64, called: Called) -> TestResult {
        let effects = db.integer(format!("SELECT COUNT(*) FROM effect WHERE round = {round}")).await?;
        ensure!(effects <= 1 && (effects == 1 || called == Called::Cut), "{effects} effects");
        Ok(())
    }
}

async fn harness_catches_a_kill_between_two_commits<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let scenarios = vec![Killable::of::<TwoCommits>()];
    let outcome = kill_at_every_step(db, "harness_catches_a_kill_between_two_commits", scenarios).await;
    if Errand::of_this_process().is_some() {
        return outcome;
    }
    expect_error(outcome, "two_commits killed at begun: after the next call: 2 effects")
}

async fn harness_catches_a_step_that_is_never_reached<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let outcome = kill_at_every_step(db, "harness_catches_a_step_that_is_never_reached", Vec::new()).await;
    expect_error(outcome, "reached by no scenario: [Begun, ")
}

async fn harness_counts_statements_and_rows<DB: Engine>(db: TestDb<DB>) -> TestResult {
    db.execute("CREATE TABLE effect (round BIGINT NOT NULL)").await?;
    let pool = db.pool(1)?;
    DB::execute(&pool, "INSERT INTO effect (round) VALUES (0)".into()).await?;
    let operation = async {
        DB::execute(&pool, "INSERT INTO effect (round) VALUES (1), (2)".into()).await?;
        DB::execute(&pool, "UPDATE effect SET round = 3 WHERE round = 1".into()).await?;
        DB::execute(&pool, "DELETE FROM effect WHERE round = 9".into()).await?;
        DB::rows(&pool, "SELECT round FROM effect".into()).await
    };
    let (rows, counts) = count_statements(&db, &pool, operation).await?;
    ensure!(rows?.len() == 3, "the operation ran");
    for kind in ["INSERT", "UPDATE", "DELETE", "SELECT"] {
        ensure!(counts.statements.get(kind) == Some(&1), "one {kind}: {counts}");
    }
    ensure!(counts.rows_written == 3, "two rows were inserted and one updated: {counts}");
    Ok(())
}

async fn harness_binds_in_order<DB: Engine>(db: TestDb<DB>) -> TestResult {
    db.execute("CREATE TABLE pair (first_number BIGINT NOT NULL, second_text VARCHAR(8))").await?;
    let mut tx = db.idem(1).await?.begin().await?;
    let insert = sql::<DB>("INSERT INTO pair (first_number, second_text) VALUES (?, ?)");
    ensure!(insert.bind(1_i64).bind("one".to_owned()).execute(&mut *tx).await? == 1, "one row");
    let select =
        sql::<DB>("SELECT first_number, second_text, NULL FROM pair WHERE second_text = ? AND first_number = ?");
    let rows = select.bind("one".to_owned()).bind(1_i64).rows(&mut *tx).await?;
    ensure!(rows == [["1", "one", "NULL"]], "{rows:?}");
    Ok(())
}

/// Prepares nothing.
async fn nothing(_: usize) -> TestResult {
    Ok(())
}

fn expect_error<T>(outcome: Result<T, BoxError>, expected: &str) -> TestResult {
    match outcome {
        Ok(_) => Err("the harness found nothing".into()),
        Err(error) => {
            ensure!(error.to_string().starts_with(expected), "expected `{expected}`, found `{error}`");
            Ok(())
        }
    }
}
