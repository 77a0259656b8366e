//! Results of every shape and size: stored whole and replayed as they were, or refused before anything is committed.

use std::fmt::Debug;

use idem_runtime::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::{MySql, Postgres, Sqlite};

use crate::acts::{create_tables, effect, left, result};
use crate::answers::answer;
use crate::settle::PayError;
use crate::support::{Engine, Suite, TestDb, TestResult, ensure, on_engines, on_every_engine};

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            i39_unit_replays,
            i39_zero_replays,
            i39_false_replays,
            i39_none_replays,
            i39_some_replays,
            i39_some_none_replays,
            i39_some_unit_replays,
            i39_empty_replays,
            odd_text_replays,
            numbers_at_their_ends_replay,
            i42_sixty_four_kib_and_one_replays,
            i41_what_json_cannot_hold_is_refused,
            i42_a_result_over_the_limit_is_refused,
        ]
    );
    on_engines!(suite, [Sqlite, Postgres], "MySQL's packets are set first", [i42_sixteen_mib_replays]);
    on_engines!(suite, [MySql], "the others have no such packets", [i42_sixteen_mib_needs_a_packet]);
}

/// Gives back the value, after an effect.
#[idempotent(scope = "test.make", key = key)]
async fn make_for<DB: Engine, T: Serialize + DeserializeOwned + Send + Sync>(
    tx: &mut Tx<'_, DB>,
    key: &str,
    value: T,
) -> Result<Once<T>, PayError> {
    effect(tx, "e").await?;
    Ok(value.into())
}

async fn make<DB, T>(begin: impl Begin<DB>, value: T) -> Result<Once<T>, PayError>
where
    DB: Engine,
    T: Serialize + DeserializeOwned + Send + Sync,
{
    make_for(begin, "k", value).await
}

/// One effect, and the same result in this process and in another one.
async fn replays<DB, T>(db: &TestDb<DB>, value: T) -> TestResult
where
    DB: Engine,
    T: Serialize + DeserializeOwned + Debug + Clone + PartialEq + Send + Sync + 'static,
{
    let processes = [db.idem(1).await?, db.idem(1).await?];
    create_tables(db).await?;
    for (idem, is_replay) in [(&processes[0], false), (&processes[0], true), (&processes[1], true)] {
        let once = make(idem, value.clone()).await?;
        // A result of some MiB is not printed.
        ensure!(*once == value, "{:.200}", format!("{once:?}"));
        ensure!(once.is_replay() == is_replay, "is a replay: {}", once.is_replay());
    }
    left(db, ["e", "k:2"]).await
}

async fn i39_unit_replays<DB: Engine>(db: TestDb<DB>) -> TestResult {
    replays(&db, ()).await
}

async fn i39_zero_replays<DB: Engine>(db: TestDb<DB>) -> TestResult {
    replays(&db, 0).await
}

async fn i39_false_replays<DB: Engine>(db: TestDb<DB>) -> TestResult {
    replays(&db, false).await
}

async fn i39_none_replays<DB: Engine>(db: TestDb<DB>) -> TestResult {
    replays(&db, None::<Option<i64>>).await
}

async fn i39_some_replays<DB: Engine>(db: TestDb<DB>) -> TestResult {
    replays(&db, Some(Some(0))).await
}

async fn i39_some_none_replays<DB: Engine>(db: TestDb<DB>) -> TestResult {
    replays(&db, Some(None::<i64>)).await
}

async fn i39_some_unit_replays<DB: Engine>(db: TestDb<DB>) -> TestResult {
    replays(&db, Some(())).await
}

async fn i39_empty_replays<DB: Engine>(db: TestDb<DB>) -> TestResult {
    replays(&db, (String::new(), Vec::<i64>::new())).await
}

async fn odd_text_replays<DB: Engine>(db: TestDb<DB>) -> TestResult {
    replays(&db, "\0\u{7f}\"\\ 😀 \u{2028}".to_owned()).await
}

async fn numbers_at_their_ends_replay<DB: Engine>(db: TestDb<DB>) -> TestResult {
    replays(&db, (i64::MIN, u64::MAX, i128::MIN, 0.1_f64)).await
}

async fn i42_sixty_four_kib_and_one_replays<DB: Engine>(db: TestDb<DB>) -> TestResult {
    replays(&db, text_of(64 * KIB + 1)).await
}

async fn i42_sixteen_mib_replays<DB: Engine>(db: TestDb<DB>) -> TestResult {
    replays(&db, text_of(16 * MIB)).await
}

/// A text of that many bytes when it is stored, between two quotes.
fn text_of(bytes: usize) -> String {
    let (many, few) = ((bytes - 2) / 2, (bytes - 2) % 2);
    "é".repeat(many) + &"x".repeat(few)
}

/// The server takes 16 MiB in a packet, and closes the connection on more: then only a larger packet helps.
async fn i42_sixteen_mib_needs_a_packet<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let packet = usize::try_from(db.integer("SELECT CAST(@@global.max_allowed_packet AS SIGNED)").await?)?;
    db.execute(format!("SET GLOBAL max_allowed_packet = {}", 16 * MIB)).await?;
    let idem = db.idem(1).await?;
    drop(idem.pool().acquire().await?);
    db.execute(format!("SET GLOBAL max_allowed_packet = {}", 64 * MIB)).await?;
    create_tables(&db).await?;
    let refused = make(&idem, text_of(16 * MIB)).await;
    answer!(refused.map(|once| once.len()),
        Err(PayError::Idem(Error::ResultTooLarge { bytes, limit })) if bytes == 16 * MIB && limit < bytes);
    left(&db, ["", ""]).await?;
    let fits = make(&idem, text_of(16 * MIB - 2 * KIB)).await?;
    ensure!(fits.len() + 2 == 16 * MIB - 2 * KIB && !fits.is_replay(), "what fits is stored");
    db.execute("DROP TABLE effect, counter, idem_record").await?;
    replays(&db, text_of(16 * MIB)).await?;
    db.execute(format!("SET GLOBAL max_allowed_packet = {packet}")).await.map(drop)
}

/// What JSON would make another value is refused before it is committed.
async fn i41_what_json_cannot_hold_is_refused<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    let told = "the result";
    answer!(make(&idem, vec![Some(None::<i64>)]).await, Err(PayError::Idem(Error::Unencodable { what, .. })) if what == told);
    answer!(make(&idem, (1, Some(()))).await, Err(PayError::Idem(Error::Unencodable { what, .. })) if what == told);
    answer!(make(&idem, f64::NAN).await, Err(PayError::Idem(Error::Unencodable { what, .. })) if what == told);
    left(&db, ["", ""]).await?;
    result!(make(&idem, 1).await, 1, is_replay: false);
    Ok(())
}

async fn i42_a_result_over_the_limit_is_refused<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let pool = db.idem(1).await?.pool().clone();
    create_tables(&db).await?;
    let idem = Idem::builder(pool).result_limit(100).build().await?;
    answer!(make(&idem, text_of(101)).await,
        Err(PayError::Idem(ref error @ Error::ResultTooLarge { bytes: 101, limit: 100 })) if !error.is_retryable());
    left(&db, ["", ""]).await?;
    // Inside of a transaction of the engine's the limit is the same, and the transaction goes on.
    let mut tx = idem.begin().await?;
    answer!(make(&mut *tx, text_of(101)).await, Err(PayError::Idem(Error::ResultTooLarge { .. })));
    effect(&mut tx, "outer").await?;
    tx.commit().await?;
    left(&db, ["outer", ""]).await?;
    let once = make(&idem, text_of(100)).await?;
    ensure!(!once.is_replay() && once.len() == 98, "what fits is stored");
    left(&db, ["e,outer", "k:2"]).await
}
