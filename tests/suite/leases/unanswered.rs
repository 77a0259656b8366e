//! Statements of a leased call that commit, and whose answer is lost: the call finds out what it has done itself.

use sqlx::{MySql, Postgres};

use super::bank::Sent;
use super::{LONG, SCOPE, abandoned, record, recorded};
use crate::answers::answer;
use crate::settle::PayError;
use crate::support::{Engine, Proxy, Suite, TestDb, TestResult, ensure, on_engines};

pub(super) fn add(suite: &mut Suite) {
    on_engines!(
        suite,
        [Postgres, MySql],
        "there is no network between SQLite and its file",
        [i73_a_statement_of_a_leased_call_that_is_not_answered]
    );
}

/// Each packet is known by a parameter that is in no other one before it.
async fn i73_a_statement_of_a_leased_call_that_is_not_answered<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let proxy = Proxy::to(&db).await?;
    let idem = proxy.idem(2).await?;
    abandoned(&db, "taken over", &[]).await?;
    for (key, said) in [
        ("claimed", "claimed"),
        ("taken over", "pid 1"),
        ("marked", "bank.marked"),
        ("stored", "7654321"),
        ("freed", "freed"),
    ] {
        let mut runs = 0;
        if key != "freed" {
            proxy.lose_answer_to(said);
        }
        let sent: Sent = idem
            .once(SCOPE, key)
            .payload(&1_i64)
            .lease(LONG)
            .run(async |mut attempt| {
                runs += 1;
                if key == "freed" {
                    proxy.lose_answer_to(said);
                    return Err(PayError::Refused);
                }
                attempt.external(&format!("bank.{key}")).await?;
                Ok(7_654_321)
            })
            .await;
        ensure!(proxy.is_done() && runs == 1, "{key}: {runs} runs, {sent:?}");
        if key == "freed" {
            answer!(sent, Err(PayError::Refused));
            recorded(&db, key, "").await?;
        } else {
            answer!(sent, Ok(7_654_321));
            ensure!(record(&db, key).await?.starts_with("2 "), "{key}: {}", record(&db, key).await?);
        }
    }
    Ok(())
}
