//! Whatever stands before the claim, a gate, a memory, both: the same calls have the same answers and the same effects.

use std::time::Duration;

use futures_util::FutureExt as _;
use idem_runtime::OnceTx;
use idem_runtime::gate::Gate;
use idem_runtime::prelude::*;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use tokio::sync::oneshot;

use crate::acts::{create_tables, effect};
use crate::failures::Failure;
use crate::leases::LONG;
use crate::support::{BoxError, Engine, Faulty, Suite, TestDb, TestResult, ensure, on_every_engine, redis_prefix};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(suite, [layers_change_no_answer]);
}

/// How a call is made.
#[derive(Debug, Clone, Copy)]
enum Way {
    Plain,
    ReadsFirst,
    Records,
    Reruns,
    Batch,
    Inside { commits: bool },
    Leased,
    TakenBack,
    DroppedAtOnce,
    DroppedInside,
}

const WAYS: [Way; 11] = [
    Way::Plain,
    Way::ReadsFirst,
    Way::Records,
    Way::Reruns,
    Way::Batch,
    Way::Inside { commits: true },
    Way::Inside { commits: false },
    Way::Leased,
    Way::TakenBack,
    Way::DroppedAtOnce,
    Way::DroppedInside,
];

/// What is called, the same way with layers and without.
#[derive(Debug)]
struct Act {
    way: Way,
    calls: Vec<(i64, i64)>,
    fails: bool,
    /// The result, which tells who has made it.
    number: i64,
}

impl Act {
    fn random(number: i64, random: &mut ChaCha8Rng) -> Self {
        // Few keys, and now and then another payload.
        let mut call = || (random.random_range(0..40), i64::from(random.random_bool(0.15)));
        let calls = (0..4).map(|_| call()).collect();
        Self { way: WAYS[random.random_range(0..WAYS.len())], calls, fails: random.random_bool(0.3), number }
    }

    async fn body<DB: Engine>(&self, scope: &str, key: i64, tx: &mut Tx<'_, DB>) -> Result<i64, Failure> {
        effect(tx, &format!("{scope} {key} {}", self.number)).await?;
        self.end()
    }

    fn end(&self) -> Result<i64, Failure> {
        match (self.fails, self.way) {
            (false, _) => Ok(self.number),
            (true, Way::Records) => Err(Failure::SoldOut),
            (true, _) => Err(Failure::Busy),
        }
    }

    /// The answer as a text.
    async fn play<DB: Engine>(&self, scope: &'static str, idem: &Idem<DB>) -> String {
        let (key, payload) = self.calls[0];
        let call = || idem.once(scope, &key).payload(&payload);
        let body = async |mut tx: OnceTx<'_, DB>| self.body(scope, key, &mut tx).await;
        match self.way {
            Way::Plain => format!("{:?}", call().run(body).await),
            Way::ReadsFirst => format!("{:?}", call().read_first().run(body).await),
            Way::Records => format!("{:?}", call().record_err(|_| true).run(body).await),
            Way::Reruns => format!("{:?}", call().rerun(2, body).await),
            Way::Batch => format!("{:?}", self.play_batch(scope, idem).await),
            Way::Inside { commits } => format!("{:?}", self.play_inside(scope, commits, idem).await),
            Way::Leased | Way::TakenBack => format!("{:?}", self.play_leased(scope, idem).await),
            Way::DroppedAtOnce => {
                // It may have come to its end all the same: then this is its answer.
                drop(call().run(body).now_or_never());
                format!("{:?}", call().run(body).await)
            }
            Way::DroppedInside => {
                let (says, said) = oneshot::channel();
                let never_ends = async |tx| {
                    body(tx).await?;
                    let _ = says.send(());
                    std::future::pending().await
                };
                tokio::select! {
                    answer = call().run(never_ends) => format!("{answer:?}"),
                    Ok(()) = said => "dropped".to_owned(),
                }
            }
        }
    }

    async fn play_batch<DB: Engine>(&self, scope: &'static str, idem: &Idem<DB>) -> Result<Vec<String>, Failure> {
        let answers = idem.once_each(scope, self.calls.clone()).run(async |mut tx, new| {
            let mut results = Vec::new();
            for place in new {
                results.push(self.body(scope, self.calls[place].0, &mut tx).await?);
            }
            Ok::<_, Failure>(results)
        });
        let text = |answer: Result<Once<i64>, Error>| format!("{:?}", answer.map(|once| (*once, once.is_replay())));
        Ok(answers.await?.into_iter().map(text).collect())
    }

    /// Inside of another transaction, and once more after it.
    async fn play_inside<DB: Engine>(
        &self,
        scope: &'static str,
        commits: bool,
        idem: &Idem<DB>,
    ) -> Result<[Result<i64, Failure>; 3], Failure> {
        let (mut tx, body) =
            (idem.begin().await?, async |key, mut tx: OnceTx<'_, DB>| self.body(scope, key, &mut tx).await);
        let mut inside = Vec::new();
        for (key, payload) in &self.calls[..2] {
            let call = tx.once(scope, key).payload(payload);
            inside.push(call.run(async |tx| body(*key, tx).await).await);
        }
        if commits {
            tx.commit().await?;
        } else {
            tx.rollback().await?;
        }
        let (key, payload) = self.calls[0];
        let after = idem.once(scope, &key).payload(&payload).run(async |tx| body(key, tx).await).await;
        let [first, second] = inside.try_into().unwrap_or_else(|_| unreachable!("two calls"));
        Ok([first, second, after])
    }

    async fn play_leased<DB: Engine>(&self, scope: &'static str, idem: &Idem<DB>) -> Result<i64, Failure> {
        let (key, payload) = self.calls[0];
        let call = idem.once(scope, &key).payload(&payload).lease(LONG);
        call.run(async |mut attempt| {
            attempt.external("bank.send").await?;
            if matches!(self.way, Way::TakenBack) || self.fails {
                attempt.retract("bank.send").await?;
                self.end()?;
            }
            let mut tx = attempt.tx().await?;
            effect(&mut tx, &format!("{scope} {key} {}", self.number)).await?;
            tx.commit().await?;
            Ok(self.number)
        })
        .await
    }
}

const ALONE: &str = "alone";
const LAYERED: &str = "layered";

async fn layers_change_no_answer<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (redis, prefixes) = (Faulty::new()?, [redis_prefix(), redis_prefix()]);
    let gate = |number: usize| Gate::new(redis.clone()).prefix(&prefixes[number]).timeout(Duration::from_secs(5));
    let builder = || Ok::<_, BoxError>(Idem::builder(db.pool(3)?));
    let alone = builder()?.build().await?;
    alone.migrate().await?;
    let layered = [
        builder()?.gate(gate(0)).build().await?,
        builder()?.gate(gate(0)).replay_cache(1_000_000).build().await?,
        builder()?.gate(gate(1).replay_from_redis(1_000)).build().await?,
        builder()?.gate(gate(1).replay_from_redis(3)).replay_cache(5_000).build().await?,
        builder()?.replay_cache(1_000_000).build().await?,
    ];
    create_tables(&db).await?;
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for number in 0..400 {
        let act = Act::random(number, &mut random);
        let idem = &layered[random.random_range(0..layered.len())];
        if random.random_bool(0.05) {
            redis.flush(&prefixes[random.random_range(0..2)]).await?;
        }
        let (expected, found) = (act.play(ALONE, &alone).await, act.play(LAYERED, idem).await);
        ensure!(found == expected, "{act:?} gave\n{found}, and alone\n{expected}");
    }
    for query in ["SELECT name FROM effect WHERE name LIKE '{} %'", RECORDS] {
        let of = |scope: &str| db.rows(query.replace("{}", scope));
        let texts = |rows: Vec<Vec<String>>, scope| {
            let mut rows: Vec<_> = rows.into_iter().map(|row| row.join(" ").replace(scope, "")).collect();
            rows.sort();
            rows
        };
        let (expected, found) = (texts(of(ALONE).await?, ALONE), texts(of(LAYERED).await?, LAYERED));
        ensure!(found == expected && !found.is_empty(), "{query}: {found:?}, and alone {expected:?}");
    }
    Ok(())
}

const RECORDS: &str = "SELECT status, fingerprint, result FROM idem_record WHERE scope = '{}'";
