//! What Redis does not answer is no answer about the token, and lets nobody through.

use std::time::Duration;

use idem_runtime::prelude::*;
use idem_runtime::token::{Confirmed, Consumed, GetdelTokens, RedisTokens, TokenError};
use redis::aio::{ConnectionManager, ConnectionManagerConfig};

use super::{Form, PATIENCE, PURPOSE, USER, insist};
use crate::answers::answer;
use crate::failures::Failure;
use crate::support::{Engine, Fault, Suite, TestDb, TestResult, ensure, on_every_engine};

pub(super) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            c57_redis_no_answer_lets_nobody_through,
            c57_redis_without_a_server,
            redis_an_answer_that_is_lost_with_its_connection,
            redis_without_its_scripts,
            redis_a_flush_forgets_tokens,
            redis_a_refusal_is_never_recorded,
        ]
    );
}

/// Asserts that the store has failed, which asks for another try.
macro_rules! failed {
    ($answer:expr) => {
        answer!($answer, Err(ref error @ TokenError::Store(_)) if error.is_retryable() && error.reply() == Reply::Resend)
    };
}

async fn c57_redis_no_answer_lets_nobody_through<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let form = Form::new(&db).await?;
    let faults = ["OOM", "READONLY", "LOADING", "MOVED", "MISCONF", "NOAUTH"].map(Fault::Says);
    let others = [Fault::Silence, Fault::Nonsense, Fault::AnswerLost];
    for fault in faults.into_iter().chain(others) {
        // On a machine that is busy what gives a token back may not come to Redis in time either.
        let brief = form.tokens.clone().timeout(Duration::from_millis(30)).hold(Duration::from_secs(2));
        let getdel = form.getdel.clone().timeout(Duration::from_millis(30));
        let [free, taken, reserved] = [form.issue().await?, form.getdel.issue(USER).await?, form.issue().await?];
        let patient = form.tokens.clone().timeout(Duration::from_secs(2));
        let mut reservation = patient.reserve(&reserved, USER).run().await?;
        form.redis.fail(Some(fault));
        failed!(brief.issue(USER).await);
        failed!(brief.reserve(&free, USER).run().await);
        failed!(reservation.confirm().await);
        failed!(getdel.take(&taken, USER).await);
        form.redis.fail(None);
        form.left("").await?;
        // Whatever Redis has done and not told: the token is given back, and what was confirmed is not.
        let free = insist(&form.tokens, &free).await;
        ensure!(free.is_ok(), "{fault:?}: {free:?}");
        answer!(reservation.confirm().await, Ok(Confirmed::Used));
        drop(reservation);
        answer!(insist(&form.tokens, &reserved).await, Err(TokenError::Used));
        // A token that was taken before the answer was lost is lost with it.
        let taken = form.getdel.take(&taken, USER).await;
        ensure!(taken.is_ok() != matches!(fault, Fault::AnswerLost), "{fault:?}: {taken:?}");
    }
    Ok(())
}

async fn c57_redis_without_a_server<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let mut form = Form::new(&db).await?;
    let token = form.issue().await?;
    // Nobody listens there.
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    let client = redis::Client::open(format!("redis://{}", listener.local_addr()?))?;
    drop(listener);
    let nowhere = ConnectionManager::new_lazy_with_config(client, ConnectionManagerConfig::new())?;
    let brief = Duration::from_millis(300);
    form.tokens = RedisTokens::new(nowhere.clone(), PURPOSE).prefix(&form.prefix).timeout(brief);
    form.getdel = GetdelTokens::new(nowhere, PURPOSE).prefix(&form.prefix).timeout(brief);
    failed!(form.send(&token, USER).await);
    failed!(form.issue().await);
    failed!(form.getdel.issue(USER).await);
    failed!(form.getdel.take(&token, USER).await);
    form.left("").await
}

/// A script is asked again, and does the same again; GETDEL would say that there is no token.
async fn redis_an_answer_that_is_lost_with_its_connection<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let form = Form::new(&db).await?;
    let dropped = || form.redis.fail(Some(Fault::Dropped));
    dropped();
    let token = form.issue().await?;
    dropped();
    let reservation = form.reserve(&token).request("r1").run().await?;
    answer!(reservation.consumed(), Consumed::Now);
    dropped();
    reservation.release().await?;
    let mut reservation = form.reserve(&token).run().await?;
    dropped();
    answer!(reservation.confirm().await, Ok(Confirmed::Used));
    answer!(form.reserve(&token).run().await, Err(TokenError::Used));
    let token = form.getdel.issue(USER).await?;
    dropped();
    failed!(form.getdel.take(&token, USER).await);
    answer!(form.getdel.take(&token, USER).await, Err(TokenError::Absent));
    Ok(())
}

async fn redis_without_its_scripts<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let form = Form::new(&db).await?;
    let forget = || form.redis.command(redis::cmd("SCRIPT").arg("FLUSH").clone());
    forget().await?;
    let token = form.issue().await?;
    forget().await?;
    form.reserve(&token).run().await?.release().await?;
    let mut reservation = form.reserve(&token).run().await?;
    forget().await?;
    answer!(reservation.confirm().await, Ok(Confirmed::Used));
    forget().await?;
    answer!(form.reserve(&token).run().await, Err(TokenError::Used));
    Ok(())
}

async fn redis_a_flush_forgets_tokens<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let form = Form::new(&db).await?;
    let [free, reserved, taken] = [form.issue().await?, form.issue().await?, form.getdel.issue(USER).await?];
    let mut reservation = form.reserve(&reserved).run().await?;
    form.redis.flush(&form.prefix).await?;
    answer!(form.send(&free, USER).await, Err(TokenError::Unknown));
    answer!(form.getdel.take(&taken, USER).await, Err(TokenError::Absent));
    // Nothing is made of what is not there.
    answer!(reservation.confirm().await, Ok(Confirmed::Lost));
    answer!(form.send(&reserved, USER).await, Err(TokenError::Unknown));
    tokio::time::timeout(PATIENCE, reservation.release()).await??;
    ensure!(form.redis.keys(&form.prefix).await?.is_empty(), "a release has made a token");
    Ok(())
}

/// Whatever the body makes of it.
async fn redis_a_refusal_is_never_recorded<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let form = Form::new(&db).await?;
    let mut reservation = form.reserve(&form.issue().await?).run().await?;
    for way in ["reserve", "confirm", "issue", "take", "issue for GETDEL"] {
        let act = || form.idem.once("test.form", way).record_err(|_: &Failure| true);
        let refused = act().run(async |_| {
            if way != "reserve" {
                form.redis.fail(Some(Fault::Says("OOM")));
            }
            let refused = match way {
                "reserve" => form.reserve("never issued").run().await.map(drop),
                "confirm" => reservation.confirm().await.map(drop),
                "issue" => form.issue().await.map(drop),
                "take" => form.getdel.take("any", USER).await,
                _ => form.getdel.issue(USER).await.map(drop),
            };
            form.redis.fail(None);
            Err::<i64, _>(Failure::Told(format!("{refused:?}")))
        });
        answer!(refused.await, Err(Failure::Told(told)) if told.starts_with("Err"));
        answer!(act().run(async |_| Ok::<i64, Failure>(7)).await, Ok(7));
    }
    Ok(())
}
