//! What becomes of answers over time: looked up, past their lifetime, of another type, of an older shape.

use std::time::Duration;

use idem_runtime::RecordedError;
use idem_runtime::prelude::*;
use serde::{Deserialize, Serialize};

use crate::acts::{Gate, create_tables, effect, left, result, write, write_at};
use crate::answers::answer;
use crate::failures::{Failure, fail};
use crate::settle::PayError;
use crate::support::{Engine, Suite, TestDb, TestResult, ensure, on_every_engine};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            a_lookup_tells_every_state,
            c7_a_result_past_its_time_is_gone_and_never_runs_again,
            i84_lifetimes_begin_with_the_end_of_the_call,
            a_result_of_one_value_is_never_gone,
            i17_two_functions_of_one_scope_clash,
            i52_an_older_shape_is_upgraded_or_undecodable,
            an_answer_of_a_later_release_is_refused,
            reading_first_costs_one_statement,
        ]
    );
}

const DAY: Duration = Duration::from_hours(24);

async fn a_lookup_tells_every_state<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    answer!(idem.lookup::<i64>("test.act", "k").await, Ok(Lookup::Absent));

    let gate = Gate::closed();
    let (here, at) = (idem.clone(), gate.clone());
    let call = tokio::spawn(async move { write_at(&here, "k", at).await });
    gate.arrival().await?;
    answer!(idem.lookup::<i64>("test.act", "k").await, Ok(Lookup::InProgress));
    // What another process runs and has not committed cannot be seen.
    answer!(db.idem(1).await?.lookup::<i64>("test.act", "k").await, Ok(Lookup::Absent));
    gate.open();
    result!(call.await?, 1, is_replay: false);
    answer!(idem.lookup::<i64>("test.act", "k").await, Ok(Lookup::Completed(1)));
    answer!(idem.lookup::<Once<i64>>("test.act", "k").await, Ok(Lookup::Completed(once)) if once.is_replay());
    answer!(idem.lookup::<String>("test.act", "k").await, Err(Error::ScopeClash { .. }));
    answer!(idem.lookup::<i64>("test.other", "k").await, Ok(Lookup::Absent));
    answer!(idem.lookup::<i64>("test.act", "").await, Err(Error::InvalidKey { .. }));

    answer!(fail(&idem, "failed", Failure::SoldOut).await, Err(Failure::SoldOut));
    let failed = idem.lookup::<i64>("test.try", "failed").await?;
    let Lookup::Failed(error) = failed else { return Err(format!("{failed:?}").into()) };
    answer!(error.decode::<Failure>(), Ok(Failure::SoldOut));
    answer!(RecordedError::decode::<String>(&error), Err(Error::ScopeClash { .. }));
    ensure!(error.json() == "\"SoldOut\"", "{}", error.json());

    let doubt = "UPDATE idem_record SET status = 4, result = NULL, completed_at = NULL WHERE scope = 'test.act'";
    ensure!(db.execute(doubt).await? == 1, "one record");
    answer!(idem.lookup::<i64>("test.act", "k").await, Ok(Lookup::InDoubt));
    answer!(write(&idem, "k", 1).await, Err(PayError::Idem(Error::Indeterminate)));
    left(&db, ["k", "failed:3,k:4"]).await
}

/// Moves the ends of all lifetimes into the past.
async fn let_time_pass<DB: Engine>(db: &TestDb<DB>) -> TestResult {
    db.execute("UPDATE idem_record SET result_until = created_at WHERE result_until IS NOT NULL").await?;
    db.execute("UPDATE idem_record SET key_until = created_at WHERE key_until IS NOT NULL").await?;
    Ok(())
}

async fn c7_a_result_past_its_time_is_gone_and_never_runs_again<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    let grant = |payload: i64| {
        let call = idem.once("test.gone", "k").payload(&payload).retain_result(DAY).retain_key(2 * DAY);
        call.run(async |mut tx| {
            effect(&mut tx, "granted").await?;
            Ok::<_, PayError>(7)
        })
    };
    answer!(grant(1).await, Ok(7));
    answer!(grant(1).await, Ok(7));
    let_time_pass(&db).await?;
    for _ in 0..2 {
        answer!(grant(1).await, Err(PayError::Idem(error @ Error::Gone))
            if error.is_done() && !error.is_retryable() && error.reply() == Reply::Ack);
        // The payload is compared as long as the row is there.
        answer!(grant(2).await, Err(PayError::Idem(Error::Mismatch)));
        answer!(idem.lookup::<i32>("test.gone", "k").await, Ok(Lookup::Gone));
        // A cleanup takes the text; the row goes on to answer.
        db.execute("UPDATE idem_record SET result = NULL").await?;
    }
    let mut tx = idem.begin().await?;
    let nested = tx.once("test.gone", "k").payload(&1).run(async |_| Err::<i32, _>(PayError::Refused)).await;
    answer!(nested, Err(PayError::Idem(Error::Gone)));
    tx.rollback().await?;
    left(&db, ["granted", "k:2"]).await
}

/// By the database's clock, and not from when the call began.
async fn i84_lifetimes_begin_with_the_end_of_the_call<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    let call = idem.once("test.retain", "k").retain_result(DAY).retain_key(3 * DAY);
    answer!(call.run(async |_| Ok::<_, PayError>(1)).await, Ok(1));
    result!(write(&idem, "for ever", 1).await, 1, is_replay: false);
    let seconds = match DB::DIALECT {
        Dialect::Postgres => "EXTRACT(EPOCH FROM {} - completed_at)::BIGINT",
        Dialect::MySql => "TIMESTAMPDIFF(SECOND, completed_at, {})",
        Dialect::Sqlite => "CAST(ROUND((julianday({}) - julianday(completed_at)) * 86400) AS INTEGER)",
    };
    let (result, key) = (seconds.replace("{}", "result_until"), seconds.replace("{}", "key_until"));
    let lifetimes = db.rows(format!("SELECT {result}, {key} FROM idem_record ORDER BY scope DESC")).await?;
    ensure!(lifetimes == [["86400", "259200"], ["NULL", "NULL"]], "{lifetimes:?}");
    Ok(())
}

async fn a_result_of_one_value_is_never_gone<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    for _ in 0..2 {
        let unit = idem.once("test.unit", "k").retain_result(DAY).retain_key(DAY);
        answer!(unit.run(async |mut tx| Ok::<_, PayError>(effect(&mut tx, "e").await?)).await, Ok(()));
        let_time_pass(&db).await?;
    }
    // `None` is one of two answers.
    let none = || idem.once("test.unit", "none").retain_result(DAY);
    answer!(none().run(async |_| Ok::<_, PayError>(None::<i64>)).await, Ok(None));
    let_time_pass(&db).await?;
    answer!(none().run(async |_| Ok::<_, PayError>(None::<i64>)).await, Err(PayError::Idem(Error::Gone)));
    left(&db, ["e", "k:2,none:2"]).await
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Charge {
    id: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Refund {
    id: i64,
}

/// The fields of both are the same: nothing but the type tells them apart.
async fn i17_two_functions_of_one_scope_clash<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    let charge = idem.once("test.clash", "k").run(async |mut tx| {
        effect(&mut tx, "charge").await?;
        Ok::<_, PayError>(Charge { id: 1 })
    });
    answer!(charge.await, Ok(Charge { id: 1 }));
    let refund = || idem.once("test.clash", "k");
    let body = async |_| Ok::<_, PayError>(Refund { id: 2 });
    answer!(refund().run(body).await, Err(PayError::Idem(error @ Error::ScopeClash { .. }))
        if error.to_string().contains("holds a `Charge`, not a `Refund`") && !error.is_done());
    // One that was renamed on purpose says so.
    let renamed = refund().upgrade(|charge: Charge| Refund { id: charge.id }).run(body);
    answer!(renamed.await, Ok(Refund { id: 1 }));
    left(&db, ["charge", "k:2"]).await
}

mod first_release {
    use serde::{Deserialize, Serialize};

    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub(super) struct Receipt {
        pub(super) number: i64,
    }
}

mod second_release {
    use serde::{Deserialize, Serialize};

    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub(super) struct Receipt {
        pub(super) number: String,
        pub(super) paid: Option<i64>,
    }
}

async fn i52_an_older_shape_is_upgraded_or_undecodable<DB: Engine>(db: TestDb<DB>) -> TestResult {
    use first_release::Receipt as First;
    use second_release::Receipt as Second;
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    let first = idem.once("test.shape", "k").run(async |mut tx| {
        effect(&mut tx, "first").await?;
        Ok::<_, PayError>(First { number: 5 })
    });
    answer!(first.await, Ok(First { number: 5 }));

    let second = || idem.once("test.shape", "k");
    let body = async |_| Err::<Second, _>(PayError::Refused);
    answer!(second().run(body).await, Err(PayError::Idem(error @ Error::Undecodable(_))) if error.is_done());
    let upgrade = |first: First| Second { number: first.number.to_string(), paid: None };
    let number = "5".to_owned();
    answer!(second().upgrade(upgrade).run(body).await, Ok(receipt) if receipt == Second { number, paid: None });
    // An upgraded result is a replay like any other.
    let number = idem.once("test.shape", "k").upgrade(|first: First| Once::from(first.number));
    let once = number.run(async |_| Err::<_, PayError>(PayError::Refused));
    result!(once.await, 5, is_replay: true);
    // What is neither the one nor the other stays what it was.
    answer!(second().upgrade(|_: bool| unreachable!()).run(body).await, Err(PayError::Idem(Error::Undecodable(_))));
    // A record of before there were kinds is read by its shape alone.
    db.execute("UPDATE idem_record SET result_type = NULL").await?;
    answer!(
        idem.once("test.shape", "k").run(async |_| Err::<First, _>(PayError::Refused)).await,
        Ok(First { number: 5 })
    );
    left(&db, ["first", "k:2"]).await
}

async fn an_answer_of_a_later_release_is_refused<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    result!(write(&idem, "k", 1).await, 1, is_replay: false);
    db.execute("UPDATE idem_record SET result_type = 'v9:i64'").await?;
    answer!(write(&idem, "k", 1).await, Err(PayError::Idem(Error::Configuration(_))));
    answer!(write(&idem, "k", 2).await, Err(PayError::Idem(Error::Mismatch)));
    db.execute("UPDATE idem_record SET result_type = 'v1:i64'").await?;
    result!(write(&idem, "k", 1).await, 1, is_replay: true);
    Ok(())
}

/// It answers as every call does, whatever it finds first.
async fn reading_first_costs_one_statement<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem_without_gate(1).await?;
    create_tables(&db).await?;
    let call = |payload: i64| {
        let call = idem.once("test.read", "k").payload(&payload).retain_result(DAY).read_first();
        call.run(async |mut tx| {
            effect(&mut tx, "e").await?;
            Ok::<_, PayError>(Once::from(7))
        })
    };
    result!(call(1).await, 7, is_replay: false);
    let (answer, counts) = crate::support::count_statements(&db, idem.pool(), call(1)).await?;
    result!(answer, 7, is_replay: true);
    ensure!(counts.total() == 1 && counts.rows_written == 0, "{counts}");
    answer!(call(2).await, Err(PayError::Idem(Error::Mismatch)));
    let_time_pass(&db).await?;
    answer!(call(1).await, Err(PayError::Idem(Error::Gone)));
    left(&db, ["e", "k:2"]).await
}
