//! Functions under a lease, as `#[idempotent]` makes them: what each option does, and what a probe is called with.

use idem_runtime::prelude::*;

use super::bank::Bank;
use super::owners::failed;
use super::{abandoned, key_column, recorded};
use crate::answers::answer;
use crate::settle::PayError;
use crate::support::{BoxError, Engine, Suite, TestDb, TestResult, ensure, on_every_engine};

pub(super) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            each_function_runs_once_and_replays,
            a_function_in_doubt_is_held,
            a_function_in_doubt_is_taken_over,
            a_function_in_doubt_is_probed,
            a_function_has_the_lease_that_is_written,
        ]
    );
}

#[idempotent(scope = "test.lease", key = key, payload = number)]
async fn held<DB: Engine>(
    attempt: &mut Attempt<'_, DB>,
    bank: &Bank,
    key: &str,
    mut number: i64,
) -> Result<Once<i64>, PayError> {
    bank.send(&attempt.external("bank.send").await?);
    number += 1;
    Ok(number.into())
}

/// Fails once it has sent the bank's first request.
#[idempotent(scope = "test.lease", key = key, payload = number, on_expired = takeover, downstream = idempotent)]
async fn taken_over<DB: Engine>(
    attempt: &mut Attempt<'_, DB>,
    bank: &Bank,
    key: &str,
    number: i64,
) -> Result<Once<i64>, PayError> {
    match bank.send(&attempt.external("bank.send").await?) {
        1 => Err(PayError::Refused),
        _ => Ok((number + 1).into()),
    }
}

/// What a probe says.
#[derive(Clone, Copy)]
enum Says {
    Done,
    Absent,
    Unknown,
    Fails,
}

#[derive(Default)]
struct Office {
    bank: Bank,
}

impl Office {
    /// Changes its arguments, which the probe was given too.
    #[idempotent(scope = "test.lease", key = key, payload = number, on_expired = probe(Self::ask))]
    async fn probed<DB: Engine>(
        &self,
        attempt: &mut Attempt<'_, DB>,
        mut key: String,
        mut number: i64,
        says: Says,
    ) -> Result<Once<i64>, PayError> {
        self.bank.send(&attempt.external("bank.send").await?);
        key.push('!');
        number += i64::try_from(key.len()).unwrap_or_default();
        Ok(number.into())
    }

    /// Finds a hundred for each letter of the key, and the number.
    async fn ask<DB: Engine>(
        &self,
        attempt: &mut Attempt<'_, DB>,
        mut key: String,
        number: i64,
        says: Says,
    ) -> Result<Probe<i64>, PayError> {
        if attempt.begun() != ["bank.send"] || self.bank.effects() > 0 {
            return Err(failed(format!("{attempt:?}").into()));
        }
        let letters = i64::try_from(key.len()).unwrap_or_default();
        key.clear();
        tokio::task::yield_now().await;
        match says {
            Says::Done => Ok(Probe::Done(100 * letters + number)),
            Says::Absent => Ok(Probe::Absent),
            Says::Unknown => Ok(Probe::Unknown),
            Says::Fails => Err(PayError::Refused),
        }
    }
}

async fn each_function_runs_once_and_replays<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (idem, office) = (db.idem(2).await?, Office::default());
    let bank = &office.bank;
    for is_replay in [false, true] {
        answer!(held(&idem, bank, "h", 1).await, Ok(once) if *once == 2 && once.is_replay() == is_replay);
        answer!(taken_over(&idem, bank, "t", 1).await, Ok(once) if *once == 2 && once.is_replay() == is_replay);
        let probed = office.probed(&idem, "p".to_owned(), 1, Says::Fails).await;
        answer!(probed, Ok(once) if *once == 3 && once.is_replay() == is_replay);
    }
    answer!(held(&idem, bank, "h", 2).await, Err(PayError::Idem(Error::Mismatch)));
    answer!(taken_over(&idem, bank, "t", 2).await, Err(PayError::Idem(Error::Mismatch)));
    let probed = office.probed(&idem, "p".to_owned(), 2, Says::Done).await;
    answer!(probed, Err(PayError::Idem(Error::Mismatch)));
    ensure!(bank.requests().len() == 3, "{bank:?}");
    Ok(())
}

async fn a_function_in_doubt_is_held<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (idem, bank) = (db.idem(2).await?, Bank::default());
    abandoned(&db, "k", &["bank.send"]).await?;
    answer!(held(&idem, &bank, "k", 1).await, Err(PayError::Idem(Error::Indeterminate)));
    ensure!(bank.requests().is_empty(), "{bank:?}");
    recorded(&db, "k", "4 1 [\"bank.send\"]").await
}

/// The provider gets the key of the attempt before.
async fn a_function_in_doubt_is_taken_over<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (idem, bank) = (db.idem(2).await?, Bank::default());
    answer!(taken_over(&idem, &bank, "k", 1).await, Err(PayError::Refused));
    recorded(&db, "k", "4 1 [\"bank.send\"]").await?;
    answer!(taken_over(&idem, &bank, "k", 1).await, Ok(once) if *once == 2 && !once.is_replay());
    ensure!(bank.requests().len() == 2 && bank.effects() == 1, "{bank:?}");
    Ok(())
}

async fn a_function_in_doubt_is_probed<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    for (key, says, answer, requests) in [
        ("done", Says::Done, "Ok(401)", 0),
        ("absent", Says::Absent, "Ok(8)", 1),
        ("unknown", Says::Unknown, "Err(Idem(Indeterminate))", 0),
        ("fails", Says::Fails, "Err(Refused)", 0),
    ] {
        abandoned(&db, key, &["bank.send"]).await?;
        let office = Office::default();
        let given = office.probed(&idem, key.to_owned(), 1, says).await.map(Once::into_inner);
        ensure!(format!("{given:?}") == answer, "{key}: {given:?}");
        ensure!(office.bank.requests().len() == requests, "{key}: {:?}", office.bank);
    }
    // What a probe has found is the result from now on.
    let again = Office::default().probed(&idem, "done".to_owned(), 1, Says::Fails).await;
    answer!(again, Ok(once) if *once == 401 && once.is_replay());
    Ok(())
}

#[idempotent(scope = "test.lease", key = key)]
async fn leased<DB: Engine>(_: &mut Attempt<'_, DB>, key: &str, db: &TestDb<DB>) -> Result<i64, PayError> {
    seconds(db, key).await.map_err(failed)
}

#[idempotent(scope = "test.lease", key = key, lease = "1h 30s")]
async fn leased_for_long<DB: Engine>(_: &mut Attempt<'_, DB>, key: &str, db: &TestDb<DB>) -> Result<i64, PayError> {
    seconds(db, key).await.map_err(failed)
}

/// How long after its last renewal a lease is over, in seconds.
async fn seconds<DB: Engine>(db: &TestDb<DB>, key: &str) -> Result<i64, BoxError> {
    let seconds = match DB::DIALECT {
        Dialect::Postgres => "CAST(EXTRACT(EPOCH FROM lease_until - updated_at) AS BIGINT)",
        Dialect::MySql => "CAST(TIMESTAMPDIFF(MICROSECOND, updated_at, lease_until) / 1000000 AS SIGNED)",
        Dialect::Sqlite => "CAST(ROUND((julianday(lease_until) - julianday(updated_at)) * 86400) AS INTEGER)",
    };
    db.integer(format!("SELECT {seconds} FROM idem_record WHERE {} = '{key}'", key_column::<DB>())).await
}

/// Without the option it is the one that the function's documentation names.
async fn a_function_has_the_lease_that_is_written<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    answer!(leased(&idem, "k", &db).await, Ok(30));
    answer!(leased_for_long(&idem, "long", &db).await, Ok(3_630));
    Ok(())
}
