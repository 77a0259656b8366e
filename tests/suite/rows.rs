//! Faults of other state machines that their users reported, as tests: what a row is and what its holder believes.

use idem_runtime::prelude::*;
use sqlx::pool::PoolOptions;
use sqlx::{Postgres, Sqlite};

use crate::acts::{run, until_waiting};
use crate::answers::answer;
use crate::machines::review::{Approve, Draft, Reject, Submit, Submitted, Touch};
use crate::machines::word::{Move, Use};
use crate::machines::{Review, Word, quoted};
use crate::shop::order_status::{Finish, Paid, Pay, Pending, Refund, Ship, Shipped};
use crate::shop::{OrderStatus, history, new_order, status};
use crate::support::{
    BoxError, Engine, Suite, TASKS, TestDb, TestResult, ensure, on_engines, on_every_engine, release_together,
};
use crate::{machines, shop};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            s1_one_of_many_moves_the_row,
            s2_late_worker_moves_nothing_back,
            s5_version_of_a_former_visit,
            s15_self_transition_moves_the_version,
            s20_next_edge_after_a_rollback,
            s41_the_same_event_again,
            s42_refusal_names_event_and_state,
            s44_version_of_the_very_transition,
            s48_words_that_rust_keeps,
        ]
    );
    on_engines!(suite, [Postgres], "only there a snapshot refuses a second writer", [s12_second_writer_of_a_snapshot]);
    on_engines!(suite, [Sqlite], "only there a reader can not become a writer", [s14_reader_becomes_a_writer]);
}

fn pay() -> Pay {
    Pay { trade_no: "T1".to_owned() }
}

fn ship() -> Ship {
    Ship { carrier: "sf".to_owned() }
}

/// How the tasks of one round fire.
#[derive(Debug, Clone, Copy)]
enum How {
    WithCause,
    WithoutCause,
    AtVersion,
    InTransaction,
}

/// How many tasks moved the row, and how many found that it had moved.
async fn fire_together<DB: Engine>(idem: &Idem<DB>, order_id: i64, how: How) -> Result<[usize; 3], BoxError> {
    let answers = release_together(|_| {
        let idem = idem.clone();
        async move {
            let order = OrderStatus::row(order_id).fire(pay());
            match how {
                How::WithCause => order.cause("T1").run(&idem).await,
                How::WithoutCause => order.run(idem.pool()).await,
                How::AtVersion => order.expect_version(0).run(&idem).await,
                How::InTransaction => fire_and_commit(&idem, order_id).await,
            }
        }
    });
    let mut counts = [0; 3];
    for answer in answers.await? {
        match answer? {
            Outcome::Applied(_) => counts[0] += 1,
            Outcome::Replayed(_) => counts[1] += 1,
            Outcome::Already(_) => counts[2] += 1,
        }
    }
    Ok(counts)
}

/// Pays in a transaction, all of which is run again for as long as idem says so.
async fn fire_and_commit<DB: Engine>(
    idem: &Idem<DB>,
    order_id: i64,
) -> Result<Outcome<OrderStatus, Paid>, TransitionError> {
    loop {
        let mut tx = idem.begin().await?;
        let answer = OrderStatus::row(order_id).fire(pay()).cause("T1").run(&mut *tx).await;
        let answer = match answer {
            Ok(outcome) => tx.commit().await.map(|()| outcome).map_err(TransitionError::from),
            Err(error) => Err(error),
        };
        match answer {
            Err(error) if error.is_retryable() => {}
            answer => return answer,
        }
    }
}

async fn s1_one_of_many_moves_the_row<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(8).await?;
    let all = [
        (How::WithCause, [1, TASKS - 1, 0], "T1"),
        (How::WithoutCause, [1, 0, TASKS - 1], "NULL"),
        (How::AtVersion, [1, 0, TASKS - 1], "NULL"),
        (How::InTransaction, [1, TASKS - 1, 0], "T1"),
    ];
    for (order_id, (how, expected, cause)) in (1..).zip(all) {
        new_order(&db, order_id).await?;
        let counts = fire_together(&idem, order_id, how).await?;
        ensure!(counts == expected, "{how:?}: applied, replayed, already: {counts:?}");
        let found = (status(&db, order_id).await?, history(&db, order_id).await?);
        ensure!(found == ("paid 1".into(), format!("1 pending paid pay {cause}")), "{how:?}: {found:?}");
    }
    Ok(())
}

async fn s2_late_worker_moves_nothing_back<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    new_order(&db, 1).await?;
    let late: Row<OrderStatus, Pending> = OrderStatus::row(1).load(&idem).await?.in_state()?;
    let quick: Row<OrderStatus, Pending> = OrderStatus::row(1).load(&idem).await?.in_state()?;
    let paid = quick.fire(pay()).cause("T1").run(&idem).await?.expect_applied()?;
    let shipped: Row<OrderStatus, Shipped> = paid.fire(ship()).run(&idem).await?.expect_applied()?;
    ensure!(shipped.version() == 2, "{shipped:?}");

    answer!(late.clone().fire(pay()).run(&idem).await, Err(TransitionError::Illegal { current: "Shipped", .. }));
    let mut tx = idem.begin().await?;
    answer!(late.fire(pay()).cause("T2").run(&mut *tx).await, Err(TransitionError::Illegal { current: "Shipped", .. }));
    tx.commit().await?;
    ensure!(status(&db, 1).await? == "shipped 2", "{}", status(&db, 1).await?);
    let entries = history(&db, 1).await?;
    ensure!(entries == "1 pending paid pay T1\n2 paid shipped ship NULL", "{entries}");
    Ok(())
}

async fn s5_version_of_a_former_visit<DB: Engine>(db: TestDb<DB>) -> TestResult {
    machines::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    db.execute("INSERT INTO reviews (review_id) VALUES (1)").await?;
    let draft: Row<Review, Draft> = Review::row(1).load(&idem).await?.in_state()?;
    let first = draft.fire(Submit).run(&idem).await?.expect_applied()?;
    let draft = first.clone().fire(Reject).run(&idem).await?.expect_applied()?;
    let edited = draft.fire(Touch).run(&idem).await?.expect_applied()?;
    let again: Row<Review, Submitted> = edited.fire(Submit).run(&idem).await?.expect_applied()?;

    answer!(first.clone().fire(Approve).run(&idem).await, Err(TransitionError::Stale { expected: 1, found: 4, .. }));
    let mut tx = idem.begin().await?;
    answer!(first.fire(Approve).run(&mut *tx).await, Err(TransitionError::Stale { expected: 1, found: 4, .. }));
    tx.commit().await?;
    answer!(again.fire(Approve).run(&idem).await, Ok(Outcome::Applied(row)) if row.version() == 5);
    Ok(())
}

/// MySQL counts changed rows or matched ones, as the client wishes: with a version that always rises both are one.
async fn s15_self_transition_moves_the_version<DB: Engine>(db: TestDb<DB>) -> TestResult {
    machines::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    db.execute("INSERT INTO reviews (review_id, version) VALUES (1, 40)").await?;
    answer!(Review::row(1).fire(Touch).cause("C1").run(&idem).await,
        Ok(Outcome::Applied(row)) if row.version() == 41 && row.state() == Review::Draft);
    answer!(Review::row(1).fire(Touch).cause("C1").run(&idem).await, Ok(Outcome::Replayed(row)) if row.version() == 41);
    answer!(Review::row(1).fire(Touch).any_version().run(&idem).await, Ok(Outcome::Applied(row)) if row.version() == 42);
    let mut tx = idem.begin().await?;
    answer!(Review::row(1).fire(Touch).cause("C2").run(&mut *tx).await, Ok(Outcome::Applied(row)) if row.version() == 43);
    answer!(Review::row(1).fire(Touch).cause("C2").run(&mut *tx).await, Ok(Outcome::Replayed(row)) if row.version() == 43);
    answer!(
        Review::row(1).fire(Touch).cause("C3").expect_version(42).run(&mut *tx).await,
        Err(TransitionError::Stale { expected: 42, found: 43, .. })
    );
    tx.commit().await?;
    let versions = db.rows("SELECT version, source, target FROM reviews_history ORDER BY version").await?;
    let versions: Vec<_> = versions.iter().map(|row| row.join(" ")).collect();
    ensure!(versions == ["41 draft draft", "42 draft draft", "43 draft draft"], "{versions:?}");
    Ok(())
}

async fn s20_next_edge_after_a_rollback<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    new_order(&db, 1).await?;
    let mut tx = idem.begin().await?;
    let paid = OrderStatus::row(1).fire(pay()).cause("T1").run(&mut *tx).await?.expect_applied()?;
    tx.rollback().await?;

    answer!(paid.clone().fire(ship()).run(&idem).await, Err(TransitionError::Illegal { current: "Pending", .. }));
    let mut tx = idem.begin().await?;
    answer!(
        paid.fire(Refund).run(&mut *tx).await,
        Err(TransitionError::Illegal { current: "Pending", passed: None, .. })
    );
    answer!(OrderStatus::row(1).fire(pay()).cause("T1").run(&mut *tx).await, Ok(Outcome::Applied(_)));
    tx.commit().await?;
    ensure!(history(&db, 1).await? == "1 pending paid pay T1", "{}", history(&db, 1).await?);
    Ok(())
}

/// A duplicate is told from a success, and a terminal state takes nothing in silence.
async fn s41_the_same_event_again<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    new_order(&db, 1).await?;
    let order = || OrderStatus::row(1);
    answer!(order().fire(pay()).cause("T1").run(&idem).await, Ok(Outcome::Applied(_)));
    answer!(order().fire(pay()).cause("T1").run(&idem).await, Ok(Outcome::Replayed(row)) if row.version() == 1);
    answer!(order().fire(pay()).run(&idem).await, Ok(Outcome::Already(row)) if row.version() == 1);
    answer!(order().fire(pay()).cause("T2").run(&idem).await, Err(TransitionError::OtherCause { .. }));
    answer!(order().fire(Refund).cause("R1").run(&idem).await, Ok(Outcome::Applied(row)) if row.version() == 2);
    answer!(order().fire(Refund).cause("R2").run(&idem).await, Err(TransitionError::OtherCause { .. }));
    answer!(order().fire(pay()).run(&idem).await, Err(TransitionError::Illegal { current: "Refunded", .. }));
    answer!(order().fire(ship()).run(&idem).await, Err(TransitionError::Illegal { current: "Refunded", .. }));
    ensure!(status(&db, 1).await? == "refunded 2", "{}", status(&db, 1).await?);
    Ok(())
}

async fn s42_refusal_names_event_and_state<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    new_order(&db, 1).await?;
    let error = OrderStatus::row(1).fire(ship()).run(&idem).await.expect_err("a pending order is not shipped");
    ensure!(error.to_string() == "`OrderStatus` in state `Pending` does not accept event `ship`", "{error}");
    Ok(())
}

/// The answer's version is that of its own transition, however many follow at once.
async fn s44_version_of_the_very_transition<DB: Engine>(db: TestDb<DB>) -> TestResult {
    machines::create_tables(&db).await?;
    let idem = db.idem(8).await?;
    db.execute("INSERT INTO reviews (review_id) VALUES (1)").await?;
    let answers = release_together(|task| {
        let idem = idem.clone();
        async move {
            let cause = format!("C{task}");
            let answer = Review::row(1).fire(Touch).cause(&cause).run(&idem).await;
            answer.and_then(Outcome::expect_applied).map(|row| vec![row.version().to_string(), cause])
        }
    });
    let mut told = answers.await?.into_iter().collect::<Result<Vec<_>, _>>()?;
    told.sort_by_key(|entry| entry[0].parse::<i64>().unwrap_or_default());
    let entries = db.rows("SELECT version, cause FROM reviews_history ORDER BY version").await?;
    ensure!(told == entries, "told {told:?}, kept {entries:?}");
    Ok(())
}

async fn s48_words_that_rust_keeps<DB: Engine>(db: TestDb<DB>) -> TestResult {
    machines::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    let stored: Vec<_> = Word::STATES.iter().map(|state| (state.name(), state.stored())).collect();
    ensure!(stored == [("type", "type"), ("match", "match"), ("final", "final")], "{stored:?}");
    for state in Word::STATES {
        ensure!(Word::from_stored(state.stored()) == Some(*state), "{state:?}");
    }
    let insert = "INSERT INTO 'order' ('group', 'where', 'select', 'from') VALUES (1, $, $type$, 7)";
    let insert = quoted(DB::DIALECT, insert).replace("$type$", "'type'").replace('$', "'here'");
    db.execute(insert).await?;
    let word = || Word::row(1, "here".to_owned());

    answer!(word().load(&idem).await, Ok(row) if row.state() == Word::r#type && row.version() == 7);
    let moved = word().fire(Move { r#in: "a".to_owned() }).cause("C").run(&idem).await;
    answer!(moved, Ok(Outcome::Applied(row)) if row.state() == Word::r#match && row.version() == 8);
    let moved = word().fire(Move { r#in: "a".to_owned() }).cause("C").run(&idem).await;
    answer!(moved, Ok(Outcome::Replayed(row)) if row.state() == Word::r#match);
    let mut tx = idem.begin().await?;
    let used = word().fire(Use { key: 5 }).expect_version(8).run(&mut *tx).await;
    answer!(used, Ok(Outcome::Applied(row)) if row.state() == Word::r#final && row.version() == 9);
    tx.commit().await?;
    answer!(word().load(&idem).await, Ok(row) if row.state() == Word::r#final);

    let row = db.rows(quoted(DB::DIALECT, "SELECT 'select', 'from', 'in', 'to', 'key' FROM 'order'")).await?;
    ensure!(row == [["final", "9", "a", "it's", "5"]], "{row:?}");
    let entries = quoted(DB::DIALECT, "SELECT version, source, target, event, cause FROM 'table' ORDER BY version");
    let entries = db.rows(entries).await?;
    ensure!(entries == [["8", "type", "match", "move", "C"], ["9", "match", "final", "use", "NULL"]], "{entries:?}");
    Ok(())
}

async fn s12_second_writer_of_a_snapshot<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    for (order_id, level) in [(1, "REPEATABLE READ"), (2, "SERIALIZABLE")] {
        new_order(&db, order_id).await?;
        let order = || OrderStatus::row(order_id);
        let mut second = idem.begin().await?;
        run(&mut second, format!("SET TRANSACTION ISOLATION LEVEL {level}")).await?;
        answer!(order().load(&mut *second).await, Ok(row) if row.state() == OrderStatus::Pending);
        answer!(order().fire(pay()).cause("T1").run(&idem).await, Ok(Outcome::Applied(_)));

        let answer = order().fire(pay()).cause("T1").run(&mut *second).await;
        answer!(&answer, Err(TransitionError::Retry(_)));
        ensure!(answer.is_err_and(|error| error.is_retryable()), "the answer is to run it all again");
        answer!(order().load(&mut *second).await, Err(TransitionError::Retry(_)));
        answer!(second.commit().await, Err(Error::Retry(_)));

        let mut again = idem.begin().await?;
        answer!(order().fire(pay()).cause("T1").run(&mut *again).await, Ok(Outcome::Replayed(_)));
        again.commit().await?;
        ensure!(history(&db, order_id).await? == "1 pending paid pay T1", "{}", history(&db, order_id).await?);
    }
    // A second writer that waits for the first one hears the same.
    new_order(&db, 3).await?;
    let mut first = idem.begin().await?;
    let mut second = idem.begin().await?;
    run(&mut second, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ").await?;
    answer!(OrderStatus::row(3).fire(pay()).cause("T1").run(&mut *first).await, Ok(Outcome::Applied(_)));
    let (answer, ended) = tokio::join!(OrderStatus::row(3).fire(pay()).cause("T1").run(&mut *second), async {
        until_waiting(&db, 1).await?;
        first.commit().await?;
        Ok::<_, BoxError>(())
    });
    ended?;
    answer!(answer, Err(TransitionError::Retry(_)));
    answer!(second.commit().await, Err(Error::Retry(_)));
    Ok(())
}

/// A transaction of idem is a writer from its start, so that what it has read cannot be overtaken.
async fn s14_reader_becomes_a_writer<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let (one, other) = (db.idem(2).await?, db.idem(2).await?);
    new_order(&db, 1).await?;
    let read = OrderStatus::row(1).load(&other).await?;
    let mut tx = one.begin().await?;
    answer!(OrderStatus::row(1).load(&mut *tx).await, Ok(row) if row.version() == 0);

    // The other process cannot write in between: it waits, and then tells what it finds.
    let (late, answer) = tokio::join!(OrderStatus::row(1).fire(pay()).cause("T2").run(&other), async {
        let answer = OrderStatus::row(1).fire(pay()).cause("T1").run(&mut *tx).await;
        tx.commit().await.map_err(TransitionError::from).and(answer)
    });
    answer!(answer, Ok(Outcome::Applied(_)));
    answer!(late, Err(TransitionError::OtherCause { recorded: Some(cause), .. }) if cause == "T1");
    answer!(
        OrderStatus::row(1).fire(Finish).expect_version(read.version()).run(&other).await,
        Err(TransitionError::Illegal { .. })
    );

    // One that may not wait is told to come again, before it could do anything in halves.
    let impatient = PoolOptions::<DB>::new().max_connections(1);
    let impatient = impatient.connect_with(DB::options(db.url())?).await?;
    DB::execute(&impatient, "PRAGMA busy_timeout = 0".to_owned()).await?;
    let impatient = Idem::builder(impatient).build().await?;
    let mut tx = one.begin().await?;
    answer!(OrderStatus::row(1).fire(ship()).run(&mut *tx).await, Ok(Outcome::Applied(_)));
    let refused = OrderStatus::row(1).fire(Refund).run(&impatient).await;
    ensure!(refused.as_ref().is_err_and(TransitionError::is_retryable), "{refused:?}");
    answer!(impatient.begin().await, Err(Error::Retry(_)));
    tx.commit().await?;
    answer!(OrderStatus::row(1).fire(Refund).run(&impatient).await, Ok(Outcome::Applied(row)) if row.version() == 3);
    impatient.pool().close().await;
    ensure!(history(&db, 1).await?.ends_with("3 shipped refunded refund NULL"), "{}", history(&db, 1).await?);
    Ok(())
}
