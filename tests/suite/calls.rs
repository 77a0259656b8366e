//! Calls as users of other libraries made them, and what went wrong there: ways out of a body, claims that fail, records
//! that go away, and what a session sees.

use std::time::Duration;

use idem_runtime::prelude::*;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize, Serializer};
use sqlx::{MySql, Postgres};

use crate::acts::{act, create_tables, effect, insist, left, result, run, until_waiting, write};
use crate::answers::answer;
use crate::settle::PayError;
use crate::support::{Engine, Suite, TestDb, TestResult, count_statements, ensure, on_engines, on_every_engine};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            i12_i76_every_way_out_of_a_body,
            i23_i51_a_claim_that_fails_leaves_nothing,
            i24_a_long_key_is_refused_before_any_statement,
            i27_i29_one_key_of_two_tenants_and_of_two_functions,
            i36_a_mismatch_changes_no_later_answer,
            i41_a_result_that_fails_to_serialize_undoes_the_effect,
            i82_a_body_that_blocks,
        ]
    );
    on_engines!(
        suite,
        [Postgres, MySql],
        "SQLite has one writer at a time",
        [i44_i62_a_record_that_is_removed_meanwhile, i56_a_record_that_the_snapshot_does_not_show]
    );
    on_engines!(suite, [MySql], "the others have no modes", [i23_a_mode_that_cuts_long_values_off]);
}

/// How a body ends.
#[derive(Debug, Clone, Copy, Serialize)]
enum Exit {
    Value,
    Return,
    ReturnError,
    QuestionMark,
    Panic,
    Never,
}

/// Everything that a function body can do to end, written as in a function.
#[idempotent(scope = "test.leave", key = key)]
async fn leave<DB: Engine>(tx: &mut Tx<'_, DB>, key: &str, exit: Exit) -> Result<Once<i64>, PayError> {
    effect(&mut *tx, key).await?;
    match exit {
        Exit::Value => {}
        Exit::Return => return Ok(1.into()),
        Exit::ReturnError => return Err(PayError::Refused),
        Exit::QuestionMark => Err(PayError::Refused)?,
        // Not `panic!`, whose message would be printed among the results of the tests.
        Exit::Panic => std::panic::resume_unwind(Box::new("the body panics")),
        Exit::Never => std::future::pending().await,
    }
    Ok(1.into())
}

/// A value is kept, everything else frees the key.
async fn i12_i76_every_way_out_of_a_body<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    result!(leave(&idem, "value", Exit::Value).await, 1, is_replay: false);
    result!(leave(&idem, "value", Exit::Value).await, 1, is_replay: true);
    result!(leave(&idem, "return", Exit::Return).await, 1, is_replay: false);
    result!(leave(&idem, "return", Exit::Value).await, 1, is_replay: true);
    left(&db, ["return,value", "return:2,value:2"]).await?;

    answer!(leave(&idem, "error", Exit::ReturnError).await, Err(PayError::Refused));
    answer!(leave(&idem, "mark", Exit::QuestionMark).await, Err(PayError::Refused));
    let (called, dropped) = (idem.clone(), idem.clone());
    let panics = tokio::spawn(async move { leave(&called, "panic", Exit::Panic).await });
    answer!(panics.await, Err(error) if error.is_panic());
    let never = tokio::time::timeout(Duration::from_millis(200), leave(&dropped, "drop", Exit::Never));
    answer!(never.await, Err(_));
    for key in ["error", "mark", "panic", "drop"] {
        result!(leave(&idem, key, Exit::Value).await, 1, is_replay: false);
    }
    left(&db, ["drop,error,mark,panic,return,value", "drop:2,error:2,mark:2,panic:2,return:2,value:2"]).await
}

/// Refuses every new record; gives the statement that ends it.
async fn refuse_records<DB: Engine>(db: &TestDb<DB>) -> Result<&'static str, crate::support::BoxError> {
    let (refuse, accept) = match DB::DIALECT {
        Dialect::Postgres | Dialect::MySql => (
            "ALTER TABLE idem_record ADD CONSTRAINT refused CHECK (owner = 'nobody')",
            "ALTER TABLE idem_record DROP CONSTRAINT refused",
        ),
        Dialect::Sqlite => (
            "CREATE TRIGGER refused BEFORE INSERT ON idem_record BEGIN SELECT RAISE(ABORT, 'refused'); END",
            "DROP TRIGGER refused",
        ),
    };
    db.execute(refuse).await?;
    Ok(accept)
}

/// An error of the claim is no duplicate: the body does not run, nobody is told a result, and the next call begins anew.
async fn i23_i51_a_claim_that_fails_leaves_nothing<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    let accept = refuse_records(&db).await?;
    for _ in 0..2 {
        answer!(write(&idem, "k", 1).await, Err(PayError::Idem(Error::Database(_))));
    }
    let together = futures_util::future::join(write(&idem, "k", 1), write(&idem, "k", 1)).await;
    answer!(together, (Err(PayError::Idem(Error::Database(_))), Err(PayError::Idem(Error::Database(_)))));
    left(&db, ["", ""]).await?;
    db.execute(accept).await?;
    result!(write(&idem, "k", 1).await, 1, is_replay: false);
    left(&db, ["k", "k:2"]).await
}

/// A session that cuts values off instead of refusing them: keys that differ in their last byte stay two keys.
async fn i23_a_mode_that_cuts_long_values_off<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    DB::execute(idem.pool(), "SET SESSION sql_mode = ''".into()).await?;
    let mode = DB::rows(idem.pool(), "SELECT @@sql_mode".into()).await?;
    ensure!(mode == [[""]], "the session is strict: {mode:?}");
    let long = "k".repeat(511);
    for (payload, end) in (1..).zip(["a", "b", "é"]) {
        let key = format!("{long}{end}");
        let answer = write(&idem, &key, payload).await;
        match end.len() {
            1 => result!(answer, payload, is_replay: false),
            _ => answer!(answer, Err(PayError::Idem(Error::InvalidKey { .. }))),
        }
    }
    ensure!(db.integer("SELECT COUNT(*) FROM idem_record").await? == 2, "two keys");
    Ok(())
}

/// Of characters that do not compress: an index holds fewer of these.
async fn i24_a_long_key_is_refused_before_any_statement<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    let mut random = ChaCha8Rng::seed_from_u64(24);
    let mut key = |length: usize| -> String { (0..length).map(|_| random.random_range('!'..='$')).collect() };
    result!(write(&idem, &key(512), 1).await, 1, is_replay: false);
    for length in [513, 1_024, 3 * 1_024, 1_024 * 1_024] {
        let key = key(length);
        let (answer, counts) = count_statements(&db, idem.pool(), write(&idem, &key, 1)).await?;
        answer!(answer, Err(PayError::Idem(Error::InvalidKey { .. })));
        ensure!(counts.total() == 0, "{length} bytes: {counts}");
    }
    ensure!(db.integer("SELECT COUNT(*) FROM idem_record").await? == 1, "the key of 512 bytes");
    Ok(())
}

#[idempotent(scope = "test.open", key = (tenant_id, request))]
async fn open<DB: Engine>(tx: &mut Tx<'_, DB>, tenant_id: i64, request: &str) -> Result<Once<String>, PayError> {
    effect(tx, &format!("open {tenant_id}")).await?;
    Ok(format!("opened for {tenant_id}").into())
}

#[idempotent(scope = "test.close", key = (tenant_id, request))]
async fn close<DB: Engine>(tx: &mut Tx<'_, DB>, tenant_id: i64, request: &str) -> Result<Once<String>, PayError> {
    effect(tx, &format!("close {tenant_id}")).await?;
    Ok(format!("closed for {tenant_id}").into())
}

/// Nobody hears what another tenant was told, or another function.
async fn i27_i29_one_key_of_two_tenants_and_of_two_functions<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    for is_replay in [false, true] {
        for tenant_id in [1, 2] {
            result!(open(&idem, tenant_id, "r").await, format!("opened for {tenant_id}"), is_replay: is_replay);
            result!(close(&idem, tenant_id, "r").await, format!("closed for {tenant_id}"), is_replay: is_replay);
        }
    }
    left(&db, ["close 1,close 2,open 1,open 2", "1/r:2,1/r:2,2/r:2,2/r:2"]).await
}

/// In one process, where something could be kept between the calls, and in another one.
async fn i36_a_mismatch_changes_no_later_answer<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let processes = [db.idem(1).await?, db.idem(1).await?];
    create_tables(&db).await?;
    result!(write(&processes[0], "k", 1).await, 1, is_replay: false);
    for idem in processes.iter().chain(&processes) {
        answer!(write(idem, "k", 2).await, Err(PayError::Idem(Error::Mismatch)));
        result!(write(idem, "k", 1).await, 1, is_replay: true);
        answer!(write(idem, "k", 2).await, Err(PayError::Idem(Error::Mismatch)));
    }
    left(&db, ["k", "k:2"]).await
}

/// Serializes unless it is asked not to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
struct Fragile(bool);

impl Serialize for Fragile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 { Err(serde::ser::Error::custom("it broke")) } else { self.0.serialize(serializer) }
    }
}

async fn i41_a_result_that_fails_to_serialize_undoes_the_effect<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    let make = async |begin: &mut Tx<'_, DB>, fragile: bool| {
        act(begin, "k", 1, |tx| {
            Box::pin(async move {
                effect(tx, "k").await?;
                Ok(Fragile(fragile))
            })
        })
        .await
    };
    let broken = act(&idem, "k", 1, |tx| {
        Box::pin(async move {
            effect(tx, "k").await?;
            Ok(Fragile(true))
        })
    });
    answer!(broken.await, Err(PayError::Idem(Error::Unencodable { what: "the result", .. })));
    left(&db, ["", ""]).await?;
    let mut tx = idem.begin().await?;
    effect(&mut tx, "outer").await?;
    answer!(make(&mut tx, true).await, Err(PayError::Idem(Error::Unencodable { .. })));
    result!(make(&mut tx, false).await, Fragile(false), is_replay: false);
    tx.commit().await?;
    left(&db, ["k,outer", "k:2"]).await
}

/// It holds its thread, not those of the others.
async fn i82_a_body_that_blocks<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    let blocked = idem.clone();
    // A task of its own, so that the thread it blocks is one of the runtime's.
    let call = tokio::spawn(async move {
        act(&blocked, "k", 1, |tx| {
            Box::pin(async move {
                effect(&mut *tx, "k").await?;
                let value = tokio::task::block_in_place(|| (1..=10).product::<i64>());
                effect(tx, "k").await?;
                Ok(value)
            })
        })
        .await
    });
    result!(call.await?, 3_628_800, is_replay: false);
    left(&db, ["k,k", "k:2"]).await
}

/// Somebody who removes records has one in hand: the call that meets it answers with the record's result while that is
/// there, or has a record of its own.
async fn i44_i62_a_record_that_is_removed_meanwhile<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem_without_gate(2).await?;
    create_tables(&db).await?;
    for (key, first, is_removed) in [
        ("deleted", "DELETE FROM idem_record", true),
        ("kept", "DELETE FROM idem_record", false),
        ("locked", "SELECT status FROM idem_record FOR UPDATE", true),
    ] {
        db.execute("DELETE FROM idem_record").await?;
        result!(write(&idem, key, 1).await, 1, is_replay: false);
        let mut reaper = idem.begin().await?;
        run(&mut reaper, first).await?;
        let (called, at) = (idem.clone(), key);
        let call = tokio::spawn(async move { insist(|| write(&called, at, 1)).await });
        if key != "locked" || DB::DIALECT == Dialect::MySql {
            // Whoever reads a record that is only locked waits on MySQL alone.
            until_waiting(&db, 1).await?;
        }
        if is_removed {
            run(&mut reaper, "DELETE FROM idem_record").await?;
            reaper.commit().await?;
        } else {
            reaper.rollback().await?;
        }
        let once = call.await??;
        let records = db.integer("SELECT COUNT(*) FROM idem_record").await?;
        let effects = db.integer(format!("SELECT COUNT(*) FROM effect WHERE name = '{key}'")).await?;
        ensure!(effects == if once.is_replay() { 1 } else { 2 }, "{key}: {effects} effects, {once:?}");
        ensure!(once.is_replay() || records == 1, "{key}: it ran without a record");
        ensure!(key == "locked" || once.is_replay() != is_removed, "{key}: {once:?}");
    }
    Ok(())
}

/// The transaction has looked at the database before the other one committed.
async fn i56_a_record_that_the_snapshot_does_not_show<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    let mut tx = idem.begin().await?;
    run(&mut tx, "SELECT value FROM counter").await?;
    run(&mut tx, "SELECT status FROM idem_record").await?;
    result!(write(&idem, "k", 1).await, 1, is_replay: false);
    result!(write(&mut *tx, "k", 1).await, 1, is_replay: true);
    answer!(write(&mut *tx, "k", 2).await, Err(PayError::Idem(Error::Mismatch)));
    result!(write(&mut *tx, "l", 1).await, 1, is_replay: false);
    tx.commit().await?;
    left(&db, ["k,l", "k:2,l:2"]).await
}
