//! Leased calls that are cut, killed and raced at every step, and answers that are lost.

use std::time::Duration;

use idem_runtime::prelude::*;
use sqlx::{MySql, Postgres};

use super::{LONG, SCOPE, abandoned, record};
use crate::acts::{create_tables, effect};
use crate::answers::answer;
use crate::settle::PayError;
use crate::support::{Called, Engine, NoAnswer, Proxy, Scenario, Suite, TestDb, TestResult, ensure, on_engines};

pub(super) fn add(suite: &mut Suite) {
    on_engines!(
        suite,
        [Postgres, MySql],
        "there is no network between SQLite and its file",
        [i73_a_commit_of_an_attempt_that_is_not_answered]
    );
}

/// A call that asks a provider which honours its key, and books what the provider says.
pub(crate) struct LeasedCall;

impl Scenario for LeasedCall {
    const NAME: &'static str = "leased";

    async fn create_tables<DB: Engine>(db: &TestDb<DB>) -> TestResult {
        db.idem(1).await?;
        create_tables(db).await?;
        db.execute("CREATE TABLE provider (request VARCHAR(32) NOT NULL PRIMARY KEY, round BIGINT NOT NULL)")
            .await
            .map(drop)
    }

    async fn prepare<DB: Engine>(_: &TestDb<DB>, _: i64) -> TestResult {
        Ok(())
    }

    async fn call<DB: Engine>(idem: &Idem<DB>, round: i64) -> Result<(), NoAnswer> {
        // Short, since the call after a kill waits until it is over; and longer than a busy machine takes for a renewal.
        let call = idem.once(SCOPE, &round).payload(&1_i64).lease(Duration::from_millis(900)).take_over();
        let booked: i64 = call
            .run(async |mut attempt| {
                let key = attempt.external("provider").await?;
                ask_provider(attempt.idem(), &key, round).await?;
                let mut tx = attempt.tx().await?;
                book(&mut tx, round).await?;
                tx.commit().await?;
                Ok::<_, PayError>(round)
            })
            .await?;
        if booked == round { Ok(()) } else { Err(NoAnswer::Never(format!("another call's result: {booked}").into())) }
    }

    async fn check<DB: Engine>(db: &TestDb<DB>, round: i64, called: Called) -> TestResult {
        let asked = db.integer(format!("SELECT COUNT(*) FROM provider WHERE round = {round}")).await?;
        let booked = db.integer(format!("SELECT COUNT(*) FROM effect WHERE name = '{round}'")).await?;
        let record = record(db, &round.to_string()).await?;
        let is_whole = asked == 1 && booked == 1 && record.starts_with("2 ");
        // On its way: at most one of each, and whatever is there may have been begun.
        let is_on_its_way = !record.starts_with("2 ") && booked <= asked && asked <= 1;
        let begun = (asked == 0 || record.contains("provider")) && (booked == 0 || record.contains("\"tx\""));
        let is_right = is_whole || (called == Called::Cut && is_on_its_way && begun);
        ensure!(is_right, "asked {asked}, booked {booked}, record `{record}`");
        Ok(())
    }
}

async fn ask_provider<DB: Engine>(idem: &Idem<DB>, key: &DownstreamKey, round: i64) -> Result<(), PayError> {
    let insert = match DB::DIALECT {
        Dialect::MySql => {
            format!("INSERT INTO provider VALUES ('{key}', {round}) ON DUPLICATE KEY UPDATE round = round")
        }
        Dialect::Postgres | Dialect::Sqlite => {
            format!("INSERT INTO provider VALUES ('{key}', {round}) ON CONFLICT (request) DO NOTHING")
        }
    };
    Ok(DB::execute(idem.pool(), insert).await.map(drop)?)
}

/// Idempotent by itself, since a body that takes over books again.
async fn book<DB: Engine>(tx: &mut Tx<'static, DB>, round: i64) -> Result<i64, PayError> {
    let call = tx.once("test.book", &round);
    call.run(async |mut tx| {
        effect(&mut tx, &round.to_string()).await?;
        Ok(round)
    })
    .await
}

/// The same call, of which an attempt is not heard of any more.
pub(crate) struct TakenOverCall;

impl Scenario for TakenOverCall {
    const NAME: &'static str = "taken_over";

    async fn create_tables<DB: Engine>(db: &TestDb<DB>) -> TestResult {
        LeasedCall::create_tables(db).await
    }

    async fn prepare<DB: Engine>(db: &TestDb<DB>, round: i64) -> TestResult {
        abandoned(db, &round.to_string(), &["provider"]).await
    }

    async fn call<DB: Engine>(idem: &Idem<DB>, round: i64) -> Result<(), NoAnswer> {
        LeasedCall::call(idem, round).await
    }

    async fn check<DB: Engine>(db: &TestDb<DB>, round: i64, called: Called) -> TestResult {
        LeasedCall::check(db, round, called).await
    }
}

/// Whoever is not told whether it was committed is not told that nothing has happened either.
async fn i73_a_commit_of_an_attempt_that_is_not_answered<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let proxy = Proxy::to(&db).await?;
    let idem = proxy.idem(2).await?;
    create_tables(&db).await?;
    for (key, arrives) in [("arrived", true), ("lost", false)] {
        let call = idem.once(SCOPE, key).payload(&1_i64).lease(LONG);
        let answer: Result<i64, _> = call
            .run(async |mut attempt| {
                let mut tx = attempt.tx().await?;
                effect(&mut tx, key).await?;
                let held = proxy.hold_commit();
                let unknown = tx.commit().await;
                held.end(arrives).await.map_err(super::owners::failed)?;
                unknown?;
                Ok::<_, PayError>(1)
            })
            .await;
        answer!(answer, Err(PayError::Idem(Error::UnknownCommit(_))));
        let call = idem.once(SCOPE, key).payload(&1_i64).lease(LONG);
        answer!(call.run(async |_| Ok::<i64, PayError>(9)).await, Err(PayError::Idem(Error::Indeterminate)));
        let effects = db.integer(format!("SELECT COUNT(*) FROM effect WHERE name = '{key}'")).await?;
        ensure!(effects == i64::from(arrives), "{key}: {effects}");
    }
    Ok(())
}
