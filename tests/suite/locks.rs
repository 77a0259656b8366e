//! Rows that a transaction keeps from all others: what the lock shows, how long it waits, and what is left when it fails.

use std::time::{Duration, Instant};

use futures_util::future::try_join;
use idem_runtime::prelude::*;
use sqlx::{MySql, Postgres};

use crate::acts::until_waiting;
use crate::answers::answer;
use crate::shop::order_status::{Cancel, Pay};
use crate::shop::{OrderStatus, create_tables, new_order, status};
use crate::support::{BoxError, Engine, ROUNDS, Suite, TestDb, TestResult, ensure, on_engines, on_every_engine};

/// Longer than any test waits.
const LONG: Duration = Duration::from_mins(1);

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            s6_the_source_is_read_under_the_lock,
            locked_row_stays_as_it_is,
            locks_of_rows_that_cannot_be_read,
            locks_of_several_rows_are_taken_in_order,
        ]
    );
    on_engines!(
        suite,
        [Postgres, MySql],
        "SQLite's transactions wait for one another at their beginning",
        [lock_that_is_not_granted, locks_of_several_rows_have_one_bound]
    );
}

fn pay() -> Pay {
    Pay { trade_no: "T1".to_owned() }
}

async fn s6_the_source_is_read_under_the_lock<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    let idem = db.idem(2).await?;
    new_order(&db, 1).await?;
    let mut first = idem.begin().await?;
    answer!(OrderStatus::row(1).lock_row(LONG).run(&mut first).await, Ok(row) if row.state() == OrderStatus::Pending);

    let second = tokio::spawn(async move {
        let mut tx = idem.begin().await?;
        let before = OrderStatus::row(1).load(&mut *tx).await?;
        let locked = OrderStatus::row(1).lock_row(LONG).run(&mut *tx).await?;
        let cancelled = OrderStatus::row(1).fire(Cancel).run(&mut *tx).await;
        tx.commit().await?;
        Ok::<_, BoxError>((before, locked, cancelled))
    });
    until_waiting(&db, 1).await?;
    let _ = OrderStatus::row(1).fire(pay()).run(&mut *first).await?.expect_applied()?;
    first.commit().await?;

    let (before, locked, cancelled) = second.await??;
    // Only where a writer does not wait for the other at its beginning has it an older reading.
    let stale = before.state() == OrderStatus::Pending;
    ensure!(stale == (DB::DIALECT != Dialect::Sqlite), "{before:?}");
    ensure!(locked.state() == OrderStatus::Paid && locked.version() == 1, "{locked:?}");
    answer!(cancelled, Err(TransitionError::Illegal { current: "Paid", .. }));
    Ok(())
}

async fn locked_row_stays_as_it_is<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    let idem = db.idem(2).await?;
    new_order(&db, 1).await?;
    let mut tx = idem.begin().await?;
    answer!(OrderStatus::row(1).lock_row(Duration::ZERO).run(&mut tx).await, Ok(_));
    let rival = tokio::spawn({
        let idem = idem.clone();
        async move { OrderStatus::row(1).fire(pay()).run(&idem).await }
    });
    until_waiting(&db, 1).await?;
    answer!(OrderStatus::row(1).load(&mut *tx).await, Ok(row) if row.version() == 0);
    let _ = OrderStatus::row(1).fire(Cancel).run(&mut *tx).await?.expect_applied()?;
    tx.commit().await?;
    answer!(rival.await?, Err(TransitionError::Illegal { current: "Cancelled", .. }));
    ensure!(status(&db, 1).await? == "cancelled 1", "{}", status(&db, 1).await?);
    Ok(())
}

async fn locks_of_rows_that_cannot_be_read<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    let idem = db.idem(1).await?;
    new_order(&db, 1).await?;
    db.execute("INSERT INTO orders (order_id, status) VALUES (2, 'lost')").await?;
    let mut tx = idem.begin().await?;
    for wait in [Duration::ZERO, LONG] {
        answer!(OrderStatus::row(9).lock_row(wait).run(&mut tx).await, Err(TransitionError::NotFound { .. }));
        answer!(OrderStatus::row(2).lock_row(wait).run(&mut tx).await,
            Err(TransitionError::UnknownState { raw, .. }) if raw == "lost");
        let rows = OrderStatus::rows([9, 2, 1, 2]).lock_rows(wait).run(&mut tx).await?;
        answer!(&rows[..], [
            (1, Ok(row)),
            (2, Err(TransitionError::UnknownState { .. })),
            (9, Err(TransitionError::NotFound { .. })),
        ] if row.state() == OrderStatus::Pending);
        answer!(OrderStatus::rows([]).lock_rows(wait).run(&mut tx).await, Ok(rows) if rows.is_empty());
    }
    let _ = OrderStatus::row(1).fire(Cancel).run(&mut *tx).await?.expect_applied()?;
    tx.commit().await?;
    ensure!(status(&db, 1).await? == "cancelled 1", "{}", status(&db, 1).await?);
    Ok(())
}

/// The session's own bound, in the test's unit: it must not be the one of the call afterwards.
async fn bound<DB: Engine>(tx: &mut Tx<'_, DB>) -> Result<String, BoxError> {
    let query = match DB::DIALECT {
        Dialect::Postgres => "SELECT current_setting('lock_timeout')",
        _ => "SELECT CAST(@@SESSION.innodb_lock_wait_timeout AS CHAR)",
    };
    let row = sqlx::Executor::fetch_optional(tx, query).await?.ok_or("no setting")?;
    let bound = DB::cells(&row).concat();
    ensure!(bound.starts_with(|it: char| it.is_ascii_digit()), "{bound:?} is no bound");
    Ok(bound)
}

async fn lock_that_is_not_granted<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    let idem = db.idem(2).await?;
    new_order(&db, 1).await?;
    new_order(&db, 2).await?;
    let mut holder = idem.begin().await?;
    answer!(OrderStatus::row(1).lock_row(LONG).run(&mut holder).await, Ok(_));

    let mut tx = idem.begin().await?;
    let before = bound(&mut tx).await?;
    let _ = OrderStatus::row(2).fire(pay()).run(&mut *tx).await?.expect_applied()?;
    for wait in [Duration::ZERO, Duration::from_millis(900)] {
        let began_at = Instant::now();
        let answer = OrderStatus::row(1).lock_row(wait).run(&mut tx).await;
        answer!(answer, Err(error @ TransitionError::Locked { .. }) if error.is_retryable());
        // The server's timer and ours are not the same one.
        let least = wait.saturating_sub(Duration::from_millis(50));
        ensure!((least..LONG).contains(&began_at.elapsed()), "{:?} of {wait:?}", began_at.elapsed());
        ensure!(bound(&mut tx).await? == before, "{} is not {before}", bound(&mut tx).await?);
    }
    answer!(OrderStatus::row(2).load(&mut *tx).await, Ok(row) if row.version() == 1);
    let waits = OrderStatus::row(1).lock_row(LONG).run(&mut tx);
    let (locked, ()) = try_join(async { waits.await.map_err(BoxError::from) }, async {
        until_waiting(&db, 1).await?;
        Ok(holder.commit().await?)
    })
    .await?;
    ensure!(locked.version() == 0, "{locked:?}");
    ensure!(bound(&mut tx).await? == before, "{} is not {before}", bound(&mut tx).await?);
    let _ = OrderStatus::row(1).fire(Cancel).run(&mut *tx).await?.expect_applied()?;
    tx.commit().await?;
    let found = [status(&db, 1).await?, status(&db, 2).await?];
    ensure!(found == ["cancelled 1", "paid 1"], "{found:?}");
    Ok(())
}

async fn locks_of_several_rows_have_one_bound<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    let idem = db.idem(2).await?;
    for order_id in 1..=3 {
        new_order(&db, order_id).await?;
    }
    let mut holder = idem.begin().await?;
    answer!(OrderStatus::row(3).lock_row(LONG).run(&mut holder).await, Ok(_));
    let mut tx = idem.begin().await?;
    let before = bound(&mut tx).await?;
    let rows = OrderStatus::rows([3, 2, 1]).lock_rows(Duration::from_millis(300)).run(&mut tx).await;
    answer!(rows, Err(TransitionError::Locked { .. }));
    ensure!(bound(&mut tx).await? == before, "{} is not {before}", bound(&mut tx).await?);
    let _ = OrderStatus::row(2).fire(Cancel).run(&mut *tx).await?.expect_applied()?;
    tx.commit().await?;
    ensure!(status(&db, 2).await? == "cancelled 1", "{}", status(&db, 2).await?);
    Ok(())
}

async fn locks_of_several_rows_are_taken_in_order<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    let idem = db.idem(2).await?;
    for order_id in 1..=4 {
        new_order(&db, order_id).await?;
    }
    for _ in 0..ROUNDS {
        let lock = |ids: [i64; 4]| {
            let idem = idem.clone();
            async move {
                let mut tx = idem.begin().await?;
                let rows = OrderStatus::rows(ids).lock_rows(LONG).run(&mut tx).await?;
                ensure!(rows.len() == 4 && rows.iter().all(|(_, row)| row.is_ok()), "{rows:?}");
                Ok::<_, BoxError>(tx.commit().await?)
            }
        };
        let (one, other) = (tokio::spawn(lock([1, 2, 3, 4])), tokio::spawn(lock([4, 3, 2, 1])));
        one.await??;
        other.await??;
    }
    Ok(())
}
