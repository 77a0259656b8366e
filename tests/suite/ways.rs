//! One table of scenarios for the three ways to call: the macro, the builder, and a batch. What one has left, the others
//! find.

use idem_runtime::prelude::*;

use crate::acts::{Gate, act, create_tables, effect, left, result, write_at};
use crate::answers::answer;
use crate::failures::{Failure, fail};
use crate::settle::PayError;
use crate::support::{Engine, Suite, TestDb, TestResult, on_every_engine};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(suite, [i49_every_way_has_the_same_answers, i49_every_way_has_the_same_answers_in_a_transaction]);
}

/// How a call is made.
#[derive(Debug, Clone, Copy)]
enum Way {
    Macro,
    Builder,
    /// One call in a batch.
    Batch,
    /// A call between two others, which must come out as if they were alone.
    AmongOthers,
}

const WAYS: [Way; 4] = [Way::Macro, Way::Builder, Way::Batch, Way::AmongOthers];

type Answer = Result<Once<i64>, PayError>;

/// Where a way begins: what `&idem` and `&mut *tx` have in common for the builders.
enum On<'a, 't, DB: Engine> {
    Idem(&'a Idem<DB>),
    Tx(&'a mut Tx<'t, DB>),
}

impl Way {
    /// Calls with a body that writes an effect with the key's name and gives the payload back; it refuses a negative one.
    async fn call<DB: Engine>(self, on: On<'_, '_, DB>, key: &str, payload: i64) -> Answer {
        match self {
            Self::Macro => {
                let name = key.to_owned();
                macro_rules! with {
                    ($on:expr) => {
                        act($on, key, payload, |tx| Box::pin(async move { body(tx, &name, payload).await })).await
                    };
                }
                match on {
                    On::Idem(idem) => with!(idem),
                    On::Tx(tx) => with!(tx),
                }
            }
            Self::Builder => {
                macro_rules! with {
                    ($on:expr) => {{
                        let call = $on.once("test.act", key).payload(&payload);
                        call.run(async |mut tx| body(&mut tx, key, payload).await.map(Once::from)).await
                    }};
                }
                match on {
                    On::Idem(idem) => with!(idem),
                    On::Tx(tx) => with!(tx),
                }
            }
            Self::Batch => call_all(on, &[(key, payload)]).await.map(only)?.map_err(PayError::Idem),
            Self::AmongOthers => {
                // Before and after it in the order of keys.
                let [before, after] = ["!", "~"].map(|mark| format!("{mark}{key}"));
                let mut answers = call_all(on, &[(&after, 5), (key, payload), (&before, 6)]).await?;
                let mut other = |at: usize, value| match answers.remove(at) {
                    Ok(once) if *once == value => {}
                    other => panic!("a neighbour of {key}: {other:?}"),
                };
                other(2, 6);
                other(0, 5);
                only(answers).map_err(PayError::Idem)
            }
        }
    }
}

fn only<T>(mut answers: Vec<T>) -> T {
    assert_eq!(answers.len(), 1, "an answer to each call");
    answers.remove(0)
}

async fn call_all<DB: Engine>(
    on: On<'_, '_, DB>,
    calls: &[(&str, i64)],
) -> Result<Vec<Result<Once<i64>, Error>>, PayError> {
    macro_rules! with {
        ($on:expr) => {{
            let batch = $on.once_each("test.act", calls.iter().copied());
            batch
                .run(async |mut tx, new| {
                    let mut results = Vec::new();
                    for (key, payload) in new.into_iter().map(|place| calls[place]) {
                        results.push(body(&mut tx, key, payload).await?);
                    }
                    Ok(results)
                })
                .await
        }};
    }
    match on {
        On::Idem(idem) => with!(idem),
        On::Tx(tx) => with!(tx),
    }
}

async fn body<DB: Engine>(tx: &mut Tx<'_, DB>, name: &str, payload: i64) -> Result<i64, PayError> {
    if !name.starts_with(['!', '~']) {
        effect(tx, name).await?;
    }
    if payload < 0 { Err(PayError::Refused) } else { Ok(payload) }
}

async fn i49_every_way_has_the_same_answers<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let processes = [db.idem(2).await?, db.idem(2).await?];
    let [idem, elsewhere] = &processes;
    create_tables(&db).await?;
    let mut expected = Vec::new();
    for way in WAYS {
        let call = async |key: &str, payload| way.call(On::Idem(idem), key, payload).await;
        let key = |what: &str| format!("{what} {way:?}");

        // A body that fails leaves nothing, and the next one runs.
        answer!(call(&key("new"), -1).await, Err(PayError::Refused));
        result!(call(&key("new"), 1).await, 1, is_replay: false);
        for other in WAYS {
            result!(other.call(On::Idem(elsewhere), &key("new"), 1).await, 1, is_replay: true);
            answer!(other.call(On::Idem(idem), &key("new"), 2).await, Err(PayError::Idem(Error::Mismatch)));
        }
        answer!(call("", 1).await, Err(PayError::Idem(Error::InvalidKey { .. })));

        // One that runs here: joined, and its result read.
        let (gate, running) = (Gate::closed(), key("running"));
        let (here, at, name) = (idem.clone(), gate.clone(), running.clone());
        let winner = tokio::spawn(async move { write_at(&here, &name, at).await });
        gate.arrival().await?;
        let (joined, won) = tokio::join!(call(&running, 1), async {
            gate.open();
            winner.await
        });
        result!(won?, 1, is_replay: false);
        result!(joined, 1, is_replay: true);

        let set = async |what: &str, set: &str| {
            let key_is = if DB::DIALECT == Dialect::MySql { "`key` =" } else { "key =" };
            db.execute(format!("UPDATE idem_record SET {set} WHERE {key_is} '{}'", key(what))).await
        };
        result!(call(&key("gone"), 1).await, 1, is_replay: false);
        set("gone", "result_until = created_at").await?;
        answer!(call(&key("gone"), 1).await, Err(PayError::Idem(Error::Gone)));
        result!(call(&key("clash"), 1).await, 1, is_replay: false);
        set("clash", "result_type = 'v1:Refund'").await?;
        answer!(call(&key("clash"), 1).await, Err(PayError::Idem(Error::ScopeClash { .. })));
        set("clash", "result_type = 'v9:i64'").await?;
        answer!(call(&key("clash"), 1).await, Err(PayError::Idem(Error::Configuration(_))));
        result!(call(&key("shape"), 1).await, 1, is_replay: false);
        set("shape", "result = '\"one\"'").await?;
        answer!(call(&key("shape"), 1).await, Err(PayError::Idem(Error::Undecodable(_))));
        result!(call(&key("doubt"), 1).await, 1, is_replay: false);
        set("doubt", "status = 4, result = NULL, completed_at = NULL").await?;
        answer!(call(&key("doubt"), 1).await, Err(PayError::Idem(Error::Indeterminate)));
        // A recorded error of a function that has recorded some, where none is recorded.
        answer!(fail(idem, &key("failed"), Failure::SoldOut).await, Err(Failure::SoldOut));
        set(
            "failed",
            "scope = 'test.act', fingerprint = (SELECT * FROM (SELECT fingerprint FROM idem_record \
             WHERE status = 2 AND scope = 'test.act' AND result = '1' LIMIT 1) AS one)",
        )
        .await?;
        answer!(call(&key("failed"), 1).await, Err(PayError::Idem(Error::Undecodable(_))));
        expected.extend(["new", "running", "gone", "clash", "shape", "doubt"].map(key));
    }
    expected.sort();
    let found = crate::acts::effects(&db).await?;
    crate::support::ensure!(found == expected.join(","), "{found}");
    Ok(())
}

async fn i49_every_way_has_the_same_answers_in_a_transaction<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    for way in WAYS {
        let key = format!("{way:?}");
        for commits in [false, true] {
            let mut tx = idem.begin().await?;
            answer!(way.call(On::Tx(&mut tx), &key, -1).await, Err(PayError::Refused));
            result!(way.call(On::Tx(&mut tx), &key, 1).await, 1, is_replay: false);
            for other in WAYS {
                result!(other.call(On::Tx(&mut tx), &key, 1).await, 1, is_replay: true);
                answer!(other.call(On::Tx(&mut tx), &key, 2).await, Err(PayError::Idem(Error::Mismatch)));
            }
            if commits {
                tx.commit().await?;
            } else {
                tx.rollback().await?;
            }
        }
        result!(way.call(On::Idem(&idem), &key, 1).await, 1, is_replay: true);
    }
    let effects = "AmongOthers,Batch,Builder,Macro";
    // A call among others was made with each of the keys, and each neighbour's key is that key with a mark.
    let records =
        ["!", "%7E", ""].map(|mark| effects.split(',').map(|key| format!("{mark}{key}:2")).collect::<Vec<_>>());
    left(&db, [effects, &records.concat().join(",")]).await
}
