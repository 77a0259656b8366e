//! Calls whose bodies reach outside of the database: what the record says while they run, how they end, and who goes on.

pub(crate) mod bank;
mod crashes;
mod drops;
mod endings;
mod functions;
mod lost;
mod overtaken;
mod owners;
mod takeovers;
mod times;
mod unanswered;

pub(crate) use crashes::{LeasedCall, TakenOverCall};

use std::time::Duration;

use idem_runtime::Dialect;

use crate::settle::PayError;
use crate::support::{BoxError, Engine, Suite, TestDb, TestResult, ensure};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    endings::add(suite);
    functions::add(suite);
    owners::add(suite);
    takeovers::add(suite);
    crashes::add(suite);
    lost::add(suite);
    times::add(suite);
    overtaken::add(suite);
    drops::add(suite);
    unanswered::add(suite);
}

/// Longer than any test: what ends before it was ended by somebody.
pub(crate) const LONG: Duration = Duration::from_hours(1);

/// The scope of the calls here.
pub(crate) const SCOPE: &str = "test.lease";

/// The record of a key as it is committed: `status attempt begun`, with `leased` where its lease goes on.
pub(crate) async fn record<DB: Engine>(db: &TestDb<DB>, key: &str) -> Result<String, BoxError> {
    let now = match DB::DIALECT {
        Dialect::Postgres => "clock_timestamp()",
        Dialect::MySql => "SYSDATE(6)",
        Dialect::Sqlite => "strftime('%Y-%m-%d %H:%M:%f', 'now')",
    };
    let select =
        format!("SELECT status, attempt, begun, CASE WHEN lease_until > {now} THEN 'leased' END FROM idem_record");
    let rows = db.rows(format!("{select} WHERE scope = '{SCOPE}' AND {} = '{key}'", key_column::<DB>())).await?;
    let texts = rows.into_iter().map(|row| row.into_iter().filter(|cell| cell != "NULL").collect::<Vec<_>>().join(" "));
    Ok(texts.collect::<Vec<_>>().join(", "))
}

/// Fails unless the record of a key is this.
pub(crate) async fn recorded<DB: Engine>(db: &TestDb<DB>, key: &str, expected: &str) -> TestResult {
    let found = record(db, key).await?;
    ensure!(found == expected, "expected the record `{expected}`, found `{found}`");
    Ok(())
}

/// Writes a record as an attempt that is not heard of any more has left it.
pub(crate) async fn abandoned<DB: Engine>(db: &TestDb<DB>, key: &str, begun: &[&str]) -> TestResult {
    let (status, begun) = match begun {
        [] => (1, "NULL".to_owned()),
        begun => (4, format!("'{}'", serde_json::to_string(begun)?)),
    };
    let fingerprint = fingerprint(db).await?;
    let columns = format!("scope, {}, status, fingerprint, owner, attempt, begun, created_at", key_column::<DB>());
    let values = format!("'{SCOPE}', '{key}', {status}, '{fingerprint}', 'pid 1', 1, {begun}, '2026-01-01'");
    db.execute(format!("INSERT INTO idem_record ({columns}) VALUES ({values})")).await.map(drop)
}

/// That of the payload 1.
async fn fingerprint<DB: Engine>(db: &TestDb<DB>) -> Result<String, BoxError> {
    let idem = db.idem(1).await?;
    let call = idem.once("test.fingerprint", "fingerprint").payload(&1_i64).run(async |_| Ok::<_, PayError>(1));
    call.await?;
    db.text("SELECT fingerprint FROM idem_record WHERE scope = 'test.fingerprint'").await
}

/// As if the owner had not been heard of since long ago.
pub(crate) async fn expire<DB: Engine>(db: &TestDb<DB>, key: &str) -> TestResult {
    let update = format!("UPDATE idem_record SET lease_until = '2026-01-01' WHERE {} = '{key}'", key_column::<DB>());
    ensure!(db.execute(update).await? == 1, "there is a record");
    Ok(())
}

/// `key` is a word of MySQL's.
pub(crate) const fn key_column<DB: Engine>() -> &'static str {
    match DB::DIALECT {
        Dialect::MySql => "`key`",
        Dialect::Postgres | Dialect::Sqlite => "key",
    }
}
