//! At most one row with a key is in some states, whoever brings it there.

use std::future::{Future, poll_fn};
use std::task::Poll;

use idem_runtime::prelude::*;
use idem_runtime::schema;

use crate::answers::answer;
use crate::creation::cart::{Begin, Close, Pay, Reopen};
use crate::creation::{Cart, create_tables};
use crate::support::{
    BoxError, Engine, Suite, TestDb, TestResult, ensure, leave_one_operation, on_every_engine, release_together,
};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            s80_one_open_row_of_a_key,
            s80_into_an_open_state_without_a_history,
            c52_nine_of_ten_move,
            reopened_together,
            row_that_leaves_before_it_is_read,
            null_in_the_key,
        ]
    );
}

async fn insert<DB: Engine>(db: &TestDb<DB>, cart_id: i64, buyer: i64, status: &str) -> TestResult {
    let insert = "INSERT INTO carts (cart_id, shop, buyer, amount, opened_at, status) VALUES";
    db.execute(format!("{insert} ({cart_id}, 'tea', {buyer}, 500, '2020-02-02', '{status}')")).await.map(drop)
}

async fn count<DB: Engine>(db: &TestDb<DB>, condition: &str) -> Result<i64, BoxError> {
    db.integer(format!("SELECT COUNT(*) FROM carts WHERE {condition}")).await
}

/// Any number of closed rows, one that is open, and a transition that would make it two is told by name.
async fn s80_one_open_row_of_a_key<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    let idem = db.idem(1).await?;
    for (cart_id, status) in [(1, "closed"), (2, "closed"), (3, "paid"), (4, "paid"), (5, "in_payment")] {
        insert(&db, cart_id, 7, status).await?;
    }
    ensure!(insert(&db, 6, 7, "open").await.is_err(), "by hand a second one is refused too");
    insert(&db, 6, 8, "open").await?;
    let reopen = || Cart::row(1).fire(Reopen).cause("again");

    answer!(
        reopen().run(&idem).await,
        Err(TransitionError::UniqueWhile { machine: "Cart", event: "reopen", rule: "one_open" })
    );
    answer!(reopen().run(idem.pool()).await, Err(TransitionError::UniqueWhile { .. }));
    let mut tx = idem.begin().await?;
    answer!(Cart::row(6).fire(Begin).run(&mut *tx).await, Ok(Outcome::Applied(_)));
    answer!(reopen().run(&mut *tx).await, Err(TransitionError::UniqueWhile { rule: "one_open", .. }));
    answer!(Cart::row(5).fire(Pay).run(&mut *tx).await, Ok(Outcome::Applied(_)));
    answer!(reopen().run(&mut *tx).await, Ok(Outcome::Applied(row)) if row.version() == 1);
    answer!(reopen().run(&mut *tx).await, Ok(Outcome::Replayed(_)));
    tx.commit().await?;
    ensure!(db.integer("SELECT COUNT(*) FROM carts_history").await? == 3, "an entry of a row that did not move");
    answer!(Cart::row(2).fire(Reopen).cause("again").run(&idem).await, Err(TransitionError::UniqueWhile { .. }));
    answer!(Cart::row(1).fire(Close).cause("done").run(&idem).await, Ok(Outcome::Applied(_)));
    answer!(Cart::row(2).fire(Reopen).cause("again").run(&idem).await, Ok(Outcome::Applied(_)));
    Ok(())
}

/// A desk of a room: no history, two rules, and the row comes back.
#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "desks", id(desk_id: i64), rename_all = "snake_case")]
#[create(desk_id: i64, room: i64, person: i64)]
#[unique_while(one_of_a_room: room in Taken)]
#[unique_while(one_of_a_person: person in Taken | Kept)]
#[transition(take: Free | Kept => Taken)]
#[transition(keep: Taken       => Kept)]
#[transition(leave: Taken | Kept => Free)]
enum Desk {
    #[state(initial)]
    Free,
    Taken,
    Kept,
}

async fn s80_into_an_open_state_without_a_history<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let columns = schema::columns::<Desk>(DB::DIALECT);
    let id = "desk_id BIGINT NOT NULL PRIMARY KEY";
    db.execute(format!("CREATE TABLE desks ({id}, room BIGINT NOT NULL, person BIGINT NOT NULL, {columns})")).await?;
    db.execute(schema::unique_while::<Desk>(DB::DIALECT).ok_or("desks have rules")?).await?;
    let idem = db.idem(1).await?;
    for (desk_id, room, person) in [(1, 1, 1), (2, 1, 2), (3, 2, 1), (4, 2, 2)] {
        answer!(Desk::create(desk::New { desk_id, room, person }).run(&idem).await, Ok(Created::New(_)));
    }
    let take = |desk_id| Desk::row(desk_id).fire(desk::Take).any_version();
    answer!(take(1).run(&idem).await, Ok(Outcome::Applied(_)));
    answer!(take(2).run(&idem).await, Err(TransitionError::UniqueWhile { rule: "one_of_a_room", .. }));
    let mut tx = idem.begin().await?;
    answer!(take(3).run(&mut *tx).await, Err(TransitionError::UniqueWhile { rule: "one_of_a_person", .. }));
    answer!(Desk::row(1).fire(desk::Keep).any_version().run(&mut *tx).await, Ok(Outcome::Applied(_)));
    answer!(take(3).run(&mut *tx).await, Err(TransitionError::UniqueWhile { rule: "one_of_a_person", .. }));
    answer!(take(2).run(&mut *tx).await, Ok(Outcome::Applied(_)));
    answer!(take(1).run(&mut *tx).await, Err(TransitionError::UniqueWhile { rule: "one_of_a_room", .. }));
    answer!(take(2).run(&mut *tx).await, Ok(Outcome::Already(_)));
    tx.commit().await?;
    ensure!(db.text("SELECT status FROM desks WHERE desk_id = 2").await? == "taken", "the transaction is whole");
    Ok(())
}

/// One of ten collides: the other nine move, in one transaction.
async fn c52_nine_of_ten_move<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    let idem = db.idem(1).await?;
    for cart_id in 1..=10 {
        insert(&db, cart_id, cart_id, "closed").await?;
    }
    insert(&db, 99, 4, "open").await?;
    let mut tx = idem.begin().await?;
    let mut kept_out = Vec::new();
    for cart_id in 1..=10 {
        match Cart::row(cart_id).fire(Reopen).cause("all").run(&mut *tx).await {
            Err(TransitionError::UniqueWhile { .. }) => kept_out.push(cart_id),
            moved => ensure!(moved?.is_applied(), "{cart_id}"),
        }
    }
    tx.commit().await?;
    ensure!(kept_out == [4], "{kept_out:?}");
    ensure!(count(&db, "status = 'open' AND version = 1").await? == 9, "nine have moved");
    ensure!(db.integer("SELECT COUNT(*) FROM carts_history").await? == 9, "and nine entries say so");
    Ok(())
}

/// Many closed rows of one key are reopened at once: one of them is.
async fn reopened_together<DB: Engine>(db: TestDb<DB>) -> TestResult {
    const ROUNDS: i64 = 20;
    create_tables(&db).await?;
    let idem = db.idem(8).await?;
    for round in 0..ROUNDS {
        for task in 0..32 {
            insert(&db, round * 100 + task, round, "closed").await?;
        }
        let answers = release_together(|task| {
            let (idem, cart_id) = (idem.clone(), round * 100 + i64::try_from(task).unwrap_or_default());
            async move { reopen_until_told(&idem, cart_id, task % 2 == 0).await }
        });
        let mut applied = 0;
        for answer in answers.await? {
            match answer {
                Ok(outcome) if outcome.is_applied() => applied += 1,
                Err(TransitionError::UniqueWhile { .. }) => {}
                other => return Err(format!("in round {round}: {other:?}").into()),
            }
        }
        ensure!(applied == 1, "in round {round}: {applied}");
    }
    ensure!(db.integer("SELECT COUNT(*) FROM carts_history").await? == ROUNDS, "an entry a round");
    Ok(())
}

async fn reopen_until_told<DB: Engine>(
    idem: &Idem<DB>,
    cart_id: i64,
    in_transaction: bool,
) -> Result<Outcome<Cart, crate::creation::cart::Open>, TransitionError> {
    loop {
        let reopen = Cart::row(cart_id).fire(Reopen).cause("again");
        let answer = if in_transaction {
            async {
                let mut tx = idem.begin().await?;
                let outcome = reopen.run(&mut *tx).await?;
                tx.commit().await?;
                Ok(outcome)
            }
            .await
        } else {
            reopen.run(idem).await
        };
        match answer {
            Err(error) if error.is_retryable() => {}
            answer => return answer,
        }
    }
}

/// A stay in a room: no history, so that nothing but the statements themselves holds a lock.
#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "stays", id(stay_id: i64), rename_all = "snake_case")]
#[create(stay_id: i64, room: i64, fresh_id)]
#[unique_while(one_stay: room in Open)]
#[transition(leave: Open => Over)]
enum Stay {
    #[state(initial)]
    Open,
    #[state(terminal)]
    Over,
}

/// The open row that a creation collides with is closed before the creation reads it: tried for every moment at which
/// the creation waits. It is told of the row, or makes one of its own, and never that of an index.
async fn row_that_leaves_before_it_is_read<DB: Engine>(db: TestDb<DB>) -> TestResult {
    const MOST_POLLS: i64 = 60;
    let (columns, id) = (schema::columns::<Stay>(DB::DIALECT), "stay_id BIGINT NOT NULL PRIMARY KEY");
    db.execute(format!("CREATE TABLE stays ({id}, room BIGINT NOT NULL, {columns})")).await?;
    db.execute(schema::unique_while::<Stay>(DB::DIALECT).ok_or("stays have a rule")?).await?;
    // With one connection it waits for that one's return between the collision and the read.
    let (one, other) = (db.pool(1)?, db.idem(2).await?);
    let (mut made, mut existing) = (0, 0);
    for room in 0..MOST_POLLS {
        answer!(Stay::create(stay::New { stay_id: room * 2, room }).run(&other).await, Ok(Created::New(_)));
        let mut create = Stay::create(stay::New { stay_id: room * 2 + 1, room }).run(&one);
        let early = pending(&mut create, room).await;
        answer!(Stay::row(room * 2).fire(stay::Leave).run(&other).await, Ok(Outcome::Applied(_)));
        let created = match early {
            Some(created) => created,
            None => create.await,
        };
        match created? {
            Created::New(_) => made += 1,
            Created::Existing(row) if *row.id() == room * 2 => existing += 1,
            created => return Err(format!("after {room} pending polls: {created:?}").into()),
        }
    }
    ensure!(made > 0 && existing > 0, "not both came about: {made} made, {existing} existing");
    Ok(())
}

/// Polls until the future is ready or has been pending `polls` times.
async fn pending<F: Future + Unpin>(future: &mut F, polls: i64) -> Option<F::Output> {
    let mut left = polls;
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        leave_one_operation(context);
        match std::pin::Pin::new(&mut *future).poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// NULL is equal to nothing: it would switch the rule off for its row.
async fn null_in_the_key<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    let null = "INSERT INTO carts (cart_id, shop, buyer, opened_at) VALUES";
    ensure!(db.execute(format!("{null} (1, 'tea', NULL, '2020-02-02')")).await.is_err(), "NULL is refused");
    ensure!(db.execute(format!("{null} (1, NULL, 7, '2020-02-02')")).await.is_err(), "in each column");
    db.execute(format!("{null} (1, 'tea', 7, '2020-02-02')")).await?;
    ensure!(db.execute("UPDATE carts SET buyer = NULL").await.is_err(), "and afterwards");
    Ok(())
}
