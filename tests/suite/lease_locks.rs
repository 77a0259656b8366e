//! A lease on a name: one owner at a time by the database's clock, and a fence where that is not enough.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use idem_runtime::lease::Turn;
use idem_runtime::prelude::*;
use tokio::time::{sleep, timeout};

use crate::acts::{create_tables, effect, effects};
use crate::answers::answer;
use crate::settle::PayError;
use crate::support::{Engine, Suite, TestDb, TestResult, ensure, on_every_engine, release_together};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            one_owner_at_a_time,
            a_token_rises_with_each_owner,
            c48_c49_a_stale_owner_commits_nothing,
            a_lease_is_renewed_and_trusted,
            a_renewal_finds_another_owner,
            dropped_it_is_given_back,
            c51_a_waiter_takes_over_when_nothing_was_made,
            a_waiter_answers_with_what_was_made,
            a_waiter_gives_up,
            many_waiters_make_it_once,
        ]
    );
}

/// Longer than any test.
const LONG: Duration = Duration::from_hours(1);

async fn one_owner_at_a_time<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (first, second) = (db.idem(2).await?, db.idem(2).await?);
    let lease = first.lease("sweep", LONG).try_take().await?.ok_or("nobody has it")?;
    for idem in [&first, &second] {
        ensure!(idem.lease("sweep", LONG).try_take().await?.is_none(), "a second owner");
    }
    ensure!(second.lease(&("sweep", 2), LONG).try_take().await?.is_some(), "another name is free");
    ensure!(second.lease("Sweep", LONG).try_take().await?.is_some(), "compared as bytes");
    answer!(first.lease("", LONG).try_take().await, Err(Error::InvalidKey { .. }));
    lease.release().await?;
    ensure!(second.lease("sweep", LONG).try_take().await?.is_some(), "it is free again");
    Ok(())
}

async fn a_token_rises_with_each_owner<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    let mut last = 0;
    for round in 0..4 {
        let lease = idem.lease("n", LONG).try_take().await?.ok_or("nobody has it")?;
        ensure!(lease.token() > last, "{} after {last}", lease.token());
        last = lease.token();
        if round % 2 == 0 {
            lease.release().await?;
        } else {
            expire(&db).await?;
            let next = idem.lease("n", LONG).try_take().await?.ok_or("it is over")?;
            ensure!(next.token() > last, "{} after {last}", next.token());
            last = next.token();
            // An owner that is late takes nothing from its successor.
            lease.release().await?;
            ensure!(idem.lease("n", LONG).try_take().await?.is_none(), "it took the successor's lease away");
            next.release().await?;
        }
    }
    Ok(())
}

/// As if the owner had not been heard of since long ago.
async fn expire<DB: Engine>(db: &TestDb<DB>) -> TestResult {
    ensure!(db.execute("UPDATE idem_lease SET lease_until = '2026-01-01'").await? > 0, "there is a lease");
    Ok(())
}

/// However it lost the lease: a stopped process, a clock, a restored table.
async fn c48_c49_a_stale_owner_commits_nothing<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (first, second) = (db.idem(2).await?, db.idem(2).await?);
    create_tables(&db).await?;
    let mut stale = first.lease("n", LONG).try_take().await?.ok_or("nobody has it")?;
    let mut tx = stale.tx().await?;
    effect(&mut tx, "ours").await?;
    tx.commit().await?;
    expire(&db).await?;
    let mut fresh = second.lease("n", LONG).try_take().await?.ok_or("it is over")?;
    let mut tx = fresh.tx().await?;
    effect(&mut tx, "theirs").await?;
    tx.commit().await?;
    let mut tx = stale.tx().await?;
    effect(&mut tx, "stale").await?;
    answer!(tx.commit().await, Err(Error::StaleOwner));
    db.execute("DELETE FROM idem_lease").await?;
    for lease in [&mut stale, &mut fresh] {
        let mut tx = lease.tx().await?;
        effect(&mut tx, "of nobody").await?;
        answer!(tx.commit().await, Err(Error::StaleOwner));
    }
    ensure!(effects(&db).await? == "ours,theirs", "{}", effects(&db).await?);
    Ok(())
}

async fn until<T>(
    mut done: impl AsyncFnMut() -> Result<Option<T>, crate::support::BoxError>,
) -> Result<T, crate::support::BoxError> {
    let waits = async {
        loop {
            if let Some(value) = done().await? {
                return Ok(value);
            }
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(30), waits).await.map_err(|_| "it never comes")?
}

async fn a_lease_is_renewed_and_trusted<DB: Engine>(db: TestDb<DB>) -> TestResult {
    const SHORT: Duration = Duration::from_millis(1_500);
    let (idem, other) = (db.idem(1).await?, db.idem(1).await?);
    let lease = idem.lease("n", SHORT).try_take().await?.ok_or("nobody has it")?;
    // Its own connection renews it, while somebody else has the pool's.
    let held = idem.pool().acquire().await?;
    let began_at = tokio::time::Instant::now();
    while began_at.elapsed() < 2 * SHORT {
        ensure!(lease.trusted_for() <= SHORT, "{:?}", lease.trusted_for());
        let taken = other.lease("n", SHORT).try_take().await?;
        ensure!(taken.is_none(), "it ran out after {:?}", began_at.elapsed());
        sleep(Duration::from_millis(50)).await;
    }
    until(async || Ok((lease.trusted_for() > Duration::ZERO).then_some(()))).await?;
    drop(held);
    Ok(())
}

async fn a_renewal_finds_another_owner<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    let lease = idem.lease("n", Duration::from_millis(300)).try_take().await?.ok_or("nobody has it")?;
    db.execute("UPDATE idem_lease SET owner = 'another'").await?;
    until(async || Ok((lease.trusted_for() == Duration::ZERO).then_some(()))).await
}

async fn dropped_it_is_given_back<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (idem, other) = (db.idem(2).await?, db.idem(2).await?);
    for _ in 0..20 {
        drop(until(async || Ok(idem.lease("n", LONG).try_take().await?)).await?);
        drop(until(async || Ok(other.lease("n", LONG).try_take().await?)).await?);
    }
    Ok(())
}

/// The owner has failed: nobody is told that something was made.
async fn c51_a_waiter_takes_over_when_nothing_was_made<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (first, second) = (db.idem(2).await?, db.idem(2).await?);
    create_tables(&db).await?;
    for dies in [false, true] {
        let owner = first.lease("n", LONG).try_take().await?.ok_or("nobody has it")?;
        let asked = AtomicUsize::new(0);
        let query = async || {
            asked.fetch_add(1, Ordering::SeqCst);
            Ok::<_, Error>(None::<i64>)
        };
        let waits = second.lease("n", LONG).or_wait(Duration::from_millis(5), query);
        let ends = async {
            until(async || Ok((asked.load(Ordering::SeqCst) > 2).then_some(()))).await?;
            if dies {
                expire(&db).await?;
            } else {
                owner.release().await?;
            }
            TestResult::Ok(())
        };
        let (turn, ended) = tokio::join!(waits, ends);
        ended?;
        let Turn::Ours(lease) = turn? else { return Err("there is nothing to be found".into()) };
        lease.release().await?;
    }
    Ok(())
}

async fn a_waiter_answers_with_what_was_made<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (first, second) = (db.idem(2).await?, db.idem(2).await?);
    create_tables(&db).await?;
    let mut owner = first.lease("n", LONG).try_take().await?.ok_or("nobody has it")?;
    let query = async || {
        let made = db
            .integer("SELECT COUNT(*) FROM effect")
            .await
            .map_err(|error| sqlx::Error::Protocol(error.to_string()))?;
        Ok::<_, PayError>((made > 0).then_some(made))
    };
    let waits = second.lease("n", LONG).or_wait(Duration::from_millis(5), query);
    let makes = async {
        let mut tx = owner.tx().await?;
        effect(&mut tx, "made").await?;
        tx.commit().await?;
        TestResult::Ok(())
    };
    let (turn, made) = tokio::join!(waits, makes);
    made?;
    let Turn::Found(1) = turn? else { return Err("it was made".into()) };
    // Free, and made: whoever takes it looks first.
    owner.release().await?;
    let Turn::Found(1) = second.lease("n", LONG).or_wait(LONG, query).await? else { return Err("made twice".into()) };
    ensure!(second.lease("n", LONG).try_take().await?.is_some(), "it was given back");
    Ok(())
}

async fn a_waiter_gives_up<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (first, second) = (db.idem(2).await?, db.idem(2).await?);
    let owner = first.lease("n", LONG).try_take().await?.ok_or("nobody has it")?;
    let call = second.lease("n", LONG).wait(Duration::from_millis(20));
    let given_up = call.or_wait(Duration::from_millis(5), async || Ok::<_, Error>(None::<i64>)).await;
    answer!(given_up, Err(Error::InProgress { .. }));
    owner.release().await?;
    Ok(())
}

async fn many_waiters_make_it_once<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let processes = [db.idem(8).await?, db.idem(8).await?];
    create_tables(&db).await?;
    for round in 0..5 {
        let made = Arc::new(AtomicUsize::new(0));
        let answers = release_together(|task| {
            let (idem, made, db) = (processes[task % 2].clone(), Arc::clone(&made), db.clone());
            async move { make(&idem, &db, round, &made).await.map_err(|error| error.to_string()) }
        });
        for answer in answers.await? {
            answer!(answer, Ok(()));
        }
        ensure!(made.load(Ordering::SeqCst) == 1, "{made:?} have made it");
    }
    ensure!(effects(&db).await?.split(',').count() == 5, "{}", effects(&db).await?);
    Ok(())
}

async fn make<DB: Engine>(idem: &Idem<DB>, db: &TestDb<DB>, round: i64, made: &AtomicUsize) -> TestResult {
    let query = async || {
        let found = db.integer(format!("SELECT COUNT(*) FROM effect WHERE name = '{round}'")).await;
        let found = found.map_err(|error| sqlx::Error::Protocol(error.to_string()))?;
        Ok::<_, PayError>((found > 0).then_some(()))
    };
    let call = idem.lease(&("make", round), LONG).wait(Duration::from_mins(1));
    let Turn::Ours(mut lease) = call.or_wait(Duration::from_millis(5), query).await? else { return Ok(()) };
    made.fetch_add(1, Ordering::SeqCst);
    let mut tx = lease.tx().await?;
    effect(&mut tx, &round.to_string()).await?;
    tx.commit().await?;
    Ok(lease.release().await?)
}
