//! A function with each option does what one without does: the first call runs it, and the next one replays.

use idem_runtime::prelude::*;

use crate::acts::{create_tables, effect, left};
use crate::answers::answer;
use crate::failures::Failure;
use crate::support::{Engine, Suite, TestDb, TestResult, on_every_engine};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(suite, [each_option_runs_once_and_replays]);
}

/// A function that writes an effect with the name of its scope, and has the options.
macro_rules! function {
    ($name:ident, $scope:literal, $($options:tt)+) => {
        #[idempotent(scope = $scope, key = key, payload = number, $($options)+)]
        async fn $name<DB: Engine>(tx: &mut Tx<'_, DB>, key: &str, mut number: i64) -> Result<Once<i64>, Failure> {
            effect(&mut *tx, $scope).await?;
            number += 1;
            Ok(number.into())
        }
    };
}

function!(waits, "waits", wait = "500ms");
function!(waits_not, "waits_not", wait = "0s");
function!(keeps_a_result, "keeps_a_result", retain(result = "7d"));
function!(keeps_a_key, "keeps_a_key", retain(key = "30d"));
function!(records, "records", record_err = is_final);
function!(reruns, "reruns", rerun = 3);
function!(upgrades, "upgrades", upgrade = from_text);
function!(
    has_all,
    "has_all",
    wait = "2s",
    retain(result = "7d", key = "30d"),
    record_err = is_final,
    rerun = 100,
    upgrade = from_text
);

fn is_final(failure: &Failure) -> bool {
    matches!(failure, Failure::SoldOut)
}

/// What a result was before it was a number.
#[expect(clippy::needless_pass_by_value, reason = "an older shape is given away")]
fn from_text(text: String) -> Once<i64> {
    text.parse().unwrap_or(0).into()
}

async fn each_option_runs_once_and_replays<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    let on = &idem;
    macro_rules! run_and_replay {
        ($($function:ident),+) => {$(
            let key = stringify!($function);
            for is_replay in [false, true] {
                answer!($function(on, key, 7).await, Ok(once) if *once == 8 && once.is_replay() == is_replay);
            }
            answer!($function(on, key, 8).await, Err(Failure::Idem(Error::Mismatch)));
        )+};
    }
    run_and_replay!(has_all, keeps_a_key, keeps_a_result, records, reruns, upgrades, waits, waits_not);
    left(
        &db,
        [
            "has_all,keeps_a_key,keeps_a_result,records,reruns,upgrades,waits,waits_not",
            "has_all:2,keeps_a_key:2,keeps_a_result:2,records:2,reruns:2,upgrades:2,waits:2,waits_not:2",
        ],
    )
    .await
}
