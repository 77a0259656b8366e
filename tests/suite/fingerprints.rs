//! The payload of a call against that of the record: compared in every status and on every path, before anything else.

use idem_runtime::prelude::*;

use crate::acts::{act, create_tables, left, result, write};
use crate::answers::answer;
use crate::settle::PayError;
use crate::support::{Engine, Suite, TestDb, TestResult, ensure, on_every_engine};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            i31_a_number_is_one_payload_in_each_of_its_forms,
            i37_every_status_compares_the_payload,
            i37_a_call_in_progress_in_its_own_transaction_compares_the_payload,
            a_fingerprint_of_another_version_is_no_mismatch,
        ]
    );
}

#[idempotent(scope = "test.amount", key = key, payload = amount)]
async fn in_cents<DB: Engine>(_tx: &mut Tx<'_, DB>, key: &str, amount: i64) -> Result<Once<i64>, PayError> {
    Ok(amount.into())
}

/// The next release of it, with the amount as another type; nobody waits for its result.
#[idempotent(scope = "test.amount", key = key, payload = amount)]
async fn in_float<DB: Engine>(_tx: &mut Tx<'_, DB>, key: &str, amount: f64) -> Result<Once<i64>, PayError> {
    Ok((-1).into())
}

async fn i31_a_number_is_one_payload_in_each_of_its_forms<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    for (key, amount, float) in [("zero", 0, -0.0), ("one", 1, 1.0), ("many", 1_999, 1_999.0), ("minus", -5, -5.0)] {
        result!(in_cents(&idem, key, amount).await, amount, is_replay: false);
        result!(in_float(&idem, key, float).await, amount, is_replay: true);
        answer!(in_float(&idem, key, float + 0.5).await, Err(PayError::Idem(Error::Mismatch)));
    }
    answer!(
        in_float(&idem, "new", f64::NAN).await,
        Err(PayError::Idem(Error::Unencodable { what: "the payload", .. }))
    );
    ensure!(
        db.integer("SELECT COUNT(*) FROM idem_record").await? == 4,
        "a payload without a fingerprint has no record"
    );
    Ok(())
}

async fn i37_every_status_compares_the_payload<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let processes = [db.idem(1).await?, db.idem(1).await?];
    create_tables(&db).await?;
    result!(write(&processes[0], "k", 1).await, 1, is_replay: false);
    let nothing = "result = NULL, completed_at = NULL";
    let error = r#"result = '"SoldOut"', completed_at = created_at"#;
    let states = [(2, "result = '1'"), (2, "result = 'not JSON'"), (3, error), (1, nothing), (4, nothing)];
    for (status, state) in states {
        db.execute(format!("UPDATE idem_record SET status = {status}, {state}")).await?;
        for idem in &processes {
            answer!(write(idem, "k", 2).await, Err(PayError::Idem(Error::Mismatch)));
            answer!(write(idem, "k", 1).await, ref answer if !is_mismatch(answer));
            answer!(write(idem, "k", 2).await, Err(PayError::Idem(Error::Mismatch)));
            let mut tx = idem.begin().await?;
            answer!(write(&mut *tx, "k", 2).await, Err(PayError::Idem(Error::Mismatch)));
            answer!(write(&mut *tx, "k", 1).await, ref answer if !is_mismatch(answer));
            tx.commit().await?;
        }
    }
    left(&db, ["k", "k:4"]).await
}

const fn is_mismatch(answer: &Result<Once<i64>, PayError>) -> bool {
    matches!(answer, Err(PayError::Idem(Error::Mismatch)))
}

/// A body that calls itself, in its own transaction: there is a record, and no result yet. Answers whether the same
/// payload was in progress and another one was refused.
async fn call_itself<DB: Engine>(begin: impl Begin<DB>, key: &'static str) -> Result<Once<(bool, bool)>, PayError> {
    act(begin, key, 1, |tx| {
        Box::pin(async move {
            let same = write(&mut *tx, key, 1).await;
            let other = write(&mut *tx, key, 2).await;
            let is_in_progress = matches!(same, Err(PayError::Idem(Error::InProgress { .. })));
            Ok((is_in_progress, matches!(other, Err(PayError::Idem(Error::Mismatch)))))
        })
    })
    .await
}

async fn i37_a_call_in_progress_in_its_own_transaction_compares_the_payload<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    result!(call_itself(&idem, "outermost").await, (true, true), is_replay: false);
    let mut tx = idem.begin().await?;
    result!(call_itself(&mut *tx, "nested").await, (true, true), is_replay: false);
    tx.commit().await?;
    left(&db, ["", "nested:2,outermost:2"]).await
}

/// A release that was taken back finds what the newer one has written: it cannot tell, and says so.
async fn a_fingerprint_of_another_version_is_no_mismatch<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    result!(write(&idem, "k", 1).await, 1, is_replay: false);
    let ours = db.text("SELECT fingerprint FROM idem_record").await?;
    ensure!(ours.starts_with("v1:"), "{ours}");
    db.execute(format!("UPDATE idem_record SET fingerprint = '{}'", ours.replace("v1:", "v2:"))).await?;
    for payload in [1, 2] {
        answer!(write(&idem, "k", payload).await, Err(PayError::Idem(ref error @ Error::Configuration(_))) if !error.is_done());
        let mut tx = idem.begin().await?;
        answer!(write(&mut *tx, "k", payload).await, Err(PayError::Idem(Error::Configuration(_))));
        tx.commit().await?;
    }
    left(&db, ["k", "k:2"]).await?;
    db.execute(format!("UPDATE idem_record SET fingerprint = '{ours}'")).await?;
    result!(write(&idem, "k", 1).await, 1, is_replay: true);
    answer!(write(&idem, "k", 2).await, Err(PayError::Idem(Error::Mismatch)));
    Ok(())
}
