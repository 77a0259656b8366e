//! Errors that are answers: recorded, replayed as the same variant, and never those of idem itself.

use futures_util::future::BoxFuture;
use idem_runtime::Dialect;
use idem_runtime::prelude::*;
use serde::{Deserialize, Serialize};
use sqlx::MySql;

use crate::acts::{create_tables, effect, left, records, result, run, write};
use crate::answers::answer;
use crate::settle::PayError;
use crate::support::{
    Called, Engine, NoAnswer, Scenario, Suite, TestDb, TestResult, ensure, on_engines, on_every_engine,
};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            i46_a_final_error_is_replayed_as_the_same_variant,
            an_error_that_is_not_final_releases,
            a_result_of_a_function_that_records_errors_replays,
            an_error_of_idem_is_never_recorded,
            an_error_of_idem_two_bodies_down_is_never_recorded,
            a_dead_transaction_records_nothing,
            a_failed_statement_is_undone_with_the_rest,
            an_inner_call_is_undone_with_the_rest,
            a_dropped_inner_call_is_undone_with_the_rest,
            a_recorded_error_inside_of_a_transaction_ends_with_it,
            an_error_that_cannot_be_stored_releases,
            an_error_that_is_recorded_no_more_never_runs_again,
        ]
    );
    on_engines!(suite, [MySql], "DDL commits on MySQL only", [a_final_error_after_hidden_ddl_is_in_doubt]);
}

/// Why a try failed.
#[derive(Debug, Serialize, Deserialize, thiserror::Error)]
pub(crate) enum Failure {
    #[error("over the limit of {limit} for {user:?}")]
    OverLimit { limit: i64, user: Option<String> },
    #[error("sold out")]
    SoldOut,
    #[error("come again")]
    Busy,
    /// An error of idem's in clothes that can be stored, and that the function calls final.
    #[error("{0}")]
    Told(String),
    #[error(transparent)]
    #[serde(skip)]
    Idem(#[from] Error),
    /// Final, and not to be stored.
    #[error(transparent)]
    #[serde(skip)]
    Sql(#[from] sqlx::Error),
}

impl Failure {
    fn is_final(&self) -> bool {
        !matches!(self, Self::Busy | Self::Idem(_))
    }
}

pub(crate) type Answer = Result<Once<i64>, Failure>;

/// Runs the body that the test passes, after an effect; records final errors.
#[idempotent(scope = "test.try", key = key, payload = payload, record_err = Failure::is_final)]
async fn attempt<DB: Engine>(
    tx: &mut Tx<'_, DB>,
    key: &str,
    payload: i64,
    body: impl for<'x, 't> FnOnce(&'x mut Tx<'t, DB>) -> BoxFuture<'x, Answer> + Send,
) -> Answer {
    effect(&mut *tx, key).await?;
    body(tx).await
}

/// Tries, and fails with the error.
pub(crate) async fn fail<DB: Engine>(begin: impl Begin<DB>, key: &str, error: Failure) -> Answer {
    attempt(begin, key, 1, |_| Box::pin(async move { Err(error) })).await
}

/// Tries, and must not run.
async fn again<DB: Engine>(begin: impl Begin<DB>, key: &str) -> Answer {
    fail(begin, key, Failure::Told("the body ran again".to_owned())).await
}

/// Tries, and gives a result.
pub(crate) async fn succeed<DB: Engine>(begin: impl Begin<DB>, key: &str) -> Answer {
    attempt(begin, key, 1, |_| Box::pin(async { Ok(7.into()) })).await
}

fn over_limit() -> Failure {
    Failure::OverLimit { limit: 3, user: Some("a \"quoted\" name".to_owned()) }
}

async fn i46_a_final_error_is_replayed_as_the_same_variant<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let processes = [db.idem(2).await?, db.idem(2).await?];
    create_tables(&db).await?;
    answer!(fail(&processes[0], "fields", over_limit()).await, Err(Failure::OverLimit { limit: 3, .. }));
    answer!(fail(&processes[0], "none", Failure::SoldOut).await, Err(Failure::SoldOut));
    for idem in &processes {
        answer!(again(idem, "fields").await,
            Err(Failure::OverLimit { limit: 3, user: Some(user) }) if user == "a \"quoted\" name");
        answer!(again(idem, "none").await, Err(Failure::SoldOut));
        // I37: the payload comes first.
        let other = attempt(idem, "none", 2, |_| Box::pin(async { Ok(7.into()) }));
        answer!(other.await, Err(Failure::Idem(Error::Mismatch)));
        let mut tx = idem.begin().await?;
        answer!(again(&mut *tx, "none").await, Err(Failure::SoldOut));
        tx.commit().await?;
    }
    left(&db, ["", "fields:3,none:3"]).await
}

async fn an_error_that_is_not_final_releases<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    answer!(fail(&idem, "k", Failure::Busy).await, Err(Failure::Busy));
    left(&db, ["", ""]).await?;
    result!(succeed(&idem, "k").await, 7, is_replay: false);
    left(&db, ["k", "k:2"]).await
}

async fn a_result_of_a_function_that_records_errors_replays<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    result!(succeed(&idem, "k").await, 7, is_replay: false);
    result!(again(&idem, "k").await, 7, is_replay: true);
    left(&db, ["k", "k:2"]).await
}

fn told(error: &PayError) -> Failure {
    Failure::Told(error.to_string())
}

/// In the body's own transaction, and through an engine.
async fn an_error_of_idem_is_never_recorded<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (idem, other) = (db.idem(1).await?, db.idem(1).await?);
    create_tables(&db).await?;
    result!(write(&idem, "done", 1).await, 1, is_replay: false);
    let inside =
        attempt(&idem, "k", 1, |tx| Box::pin(async move { write(tx, "done", 2).await.map_err(|error| told(&error)) }));
    answer!(inside.await, Err(Failure::Told(error)) if error.contains("another payload"));
    left(&db, ["done", "done:2"]).await?;
    let beside = attempt(&idem, "k", 1, |_| {
        Box::pin(async move {
            // An empty key is refused before the second writer is.
            write(&other, "", 1).await.map_err(|error| told(&error))
        })
    });
    answer!(beside.await, Err(Failure::Told(_)));
    left(&db, ["done", "done:2"]).await?;
    result!(succeed(&idem, "k").await, 7, is_replay: false);
    Ok(())
}

async fn an_error_of_idem_two_bodies_down_is_never_recorded<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    result!(write(&idem, "done", 1).await, 1, is_replay: false);
    let outer = attempt(&idem, "outer", 1, |tx| {
        Box::pin(async move {
            let inner = attempt(tx, "inner", 1, |tx| {
                Box::pin(async move { write(tx, "done", 2).await.map_err(|error| told(&error)) })
            });
            inner.await
        })
    });
    answer!(outer.await, Err(Failure::Told(_)));
    left(&db, ["done", "done:2"]).await
}

async fn a_dead_transaction_records_nothing<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    let deadly = match DB::DIALECT {
        Dialect::Postgres => "SELECT pg_terminate_backend(pg_backend_pid())",
        Dialect::MySql => "INSERT INTO counter (id) VALUES (3)",
        Dialect::Sqlite => "INSERT OR ROLLBACK INTO counter (id, value) VALUES (1, 7)",
    };
    let call = attempt(&idem, "k", 1, |tx| {
        Box::pin(async move {
            match run(tx, deadly).await {
                Ok(()) => Ok(1.into()),
                Err(_) => Err(Failure::SoldOut),
            }
        })
    });
    answer!(call.await, Err(Failure::Idem(Error::Retry(_) | Error::Database(_))));
    left(&db, ["", ""]).await?;
    result!(succeed(&idem, "k").await, 7, is_replay: false);
    left(&db, ["k", "k:2"]).await
}

/// On PostgreSQL, where a failed statement fails the transaction, the rollback to the claim mends it.
async fn a_failed_statement_is_undone_with_the_rest<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    let call = attempt(&idem, "k", 1, |tx| {
        Box::pin(async move {
            let taken = run(&mut *tx, "INSERT INTO counter (id, value) VALUES (1, 7)").await;
            taken.map(|()| 1.into()).map_err(|_| over_limit())
        })
    });
    answer!(call.await, Err(Failure::OverLimit { .. }));
    answer!(again(&idem, "k").await, Err(Failure::OverLimit { .. }));
    left(&db, ["", "k:3"]).await
}

async fn an_inner_call_is_undone_with_the_rest<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    let call = attempt(&idem, "outer", 1, |tx| {
        Box::pin(async move {
            let _ = write(&mut *tx, "inner", 1).await.map_err(|error| told(&error))?;
            answered(again(&mut *tx, "failed").await)?;
            Err(Failure::SoldOut)
        })
    });
    answer!(call.await, Err(Failure::SoldOut));
    answer!(again(&idem, "outer").await, Err(Failure::SoldOut));
    left(&db, ["", "outer:3"]).await?;
    result!(write(&idem, "inner", 1).await, 1, is_replay: false);
    left(&db, ["inner", "inner:2,outer:3"]).await
}

/// That an inner call ended with the error that it was to end with.
fn answered(answer: Answer) -> Result<(), Failure> {
    match answer {
        Err(Failure::Told(_)) => Ok(()),
        Err(other) => Err(other),
        Ok(_) => Err(Failure::Busy),
    }
}

/// Its savepoint is still to be rolled back to when the body ends.
async fn a_dropped_inner_call_is_undone_with_the_rest<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    let call = attempt(&idem, "outer", 1, |tx| {
        Box::pin(async move {
            let never = attempt(&mut *tx, "inner", 1, |_| {
                Box::pin(async {
                    tokio::task::yield_now().await;
                    std::future::pending().await
                })
            });
            let bound = std::time::Duration::from_millis(300);
            match tokio::time::timeout(bound, never).await {
                Ok(_) => Err(Failure::Busy),
                Err(_) => Err(Failure::SoldOut),
            }
        })
    });
    answer!(call.await, Err(Failure::SoldOut));
    left(&db, ["", "outer:3"]).await
}

async fn a_recorded_error_inside_of_a_transaction_ends_with_it<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    for (commits, expected) in [(false, ["", ""]), (true, ["after,before", "k:3"])] {
        let mut tx = idem.begin().await?;
        effect(&mut tx, "before").await?;
        answer!(fail(&mut *tx, "k", Failure::SoldOut).await, Err(Failure::SoldOut));
        answer!(again(&mut *tx, "k").await, Err(Failure::SoldOut));
        effect(&mut tx, "after").await?;
        if commits {
            tx.commit().await?;
        } else {
            tx.rollback().await?;
        }
        left(&db, expected).await?;
    }
    answer!(again(&idem, "k").await, Err(Failure::SoldOut));
    Ok(())
}

async fn an_error_that_cannot_be_stored_releases<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    let error = Failure::Sql(sqlx::Error::RowNotFound);
    answer!(fail(&idem, "k", error).await, Err(Failure::Idem(Error::Unencodable { what: "the error", .. })));
    left(&db, ["", ""]).await?;
    result!(succeed(&idem, "k").await, 7, is_replay: false);
    Ok(())
}

/// The same function in a later release, without the option.
#[idempotent(scope = "test.try", key = key, payload = payload)]
async fn attempt_later<DB: Engine>(tx: &mut Tx<'_, DB>, key: &str, payload: i64) -> Answer {
    effect(tx, key).await?;
    Ok(7.into())
}

async fn an_error_that_is_recorded_no_more_never_runs_again<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    answer!(fail(&idem, "k", Failure::SoldOut).await, Err(Failure::SoldOut));
    answer!(attempt_later(&idem, "k", 1).await, Err(Failure::Idem(ref error @ Error::Undecodable(_))) if error.is_done());
    db.execute("UPDATE idem_record SET result = '\"Renamed\"'").await?;
    answer!(again(&idem, "k").await, Err(Failure::Idem(Error::Undecodable(_))));
    left(&db, ["", "k:3"]).await
}

async fn a_final_error_after_hidden_ddl_is_in_doubt<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    db.execute("CREATE PROCEDURE hide() BEGIN CREATE TABLE hidden (id INT); END").await?;
    let call = attempt(&idem, "k", 1, |tx| {
        Box::pin(async move {
            run(tx, "CALL hide()").await?;
            Err(Failure::SoldOut)
        })
    });
    answer!(call.await, Err(Failure::Idem(Error::Indeterminate)));
    answer!(again(&idem, "k").await, Err(Failure::Idem(Error::Indeterminate)));
    ensure!(records(&db).await? == "k:4", "it stays in doubt: {}", records(&db).await?);
    Ok(())
}

/// A function that fails for good after it has written.
pub(crate) struct FinalError;

impl Scenario for FinalError {
    const NAME: &'static str = "final_error";

    async fn create_tables<DB: Engine>(db: &TestDb<DB>) -> TestResult {
        create_tables(db).await
    }

    async fn prepare<DB: Engine>(_: &TestDb<DB>, _: i64) -> TestResult {
        Ok(())
    }

    async fn call<DB: Engine>(idem: &Idem<DB>, round: i64) -> Result<(), NoAnswer> {
        let key = format!("round {round}");
        match fail(idem, &key, Failure::OverLimit { limit: round, user: None }).await {
            Err(Failure::OverLimit { limit, .. }) if limit == round => Ok(()),
            Err(Failure::Idem(error)) => Err(error.into()),
            other => Err(NoAnswer::Never(format!("{other:?}").into())),
        }
    }

    async fn check<DB: Engine>(db: &TestDb<DB>, round: i64, called: Called) -> TestResult {
        let all = records(db).await?;
        let record = format!("round {round}:");
        let found: Vec<_> = all.split(',').filter(|found| found.starts_with(&record)).collect();
        let recorded = found == [format!("{record}3")];
        ensure!(recorded || (called == Called::Cut && found.is_empty()), "{found:?}");
        left(db, ["", &all]).await
    }
}
