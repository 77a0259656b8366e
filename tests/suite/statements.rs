//! What each operation costs in statements and written rows, compared with a reviewed table for each engine.

use std::time::Duration;

use idem_runtime::prelude::*;

use crate::acts;
use crate::creation::cart::{Close, Reopen};
use crate::creation::{self, Cart};
use crate::failures::{Failure, fail, succeed};
use crate::machines::lamp::Light;
use crate::machines::review::{Reject, Submit};
use crate::machines::{self, Lamp, Review};
use crate::settle::{PayError, note, settle};
use crate::shop::order_status::{Finish, Pay, Refund, Ship};
use crate::shop::{OrderStatus, create_tables, new_order};
use crate::support::{Engine, StatementTable, Suite, TestDb, TestResult, count_statements, on_every_engine};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(suite, [statements_per_operation]);
}

async fn statements_per_operation<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    let mut table = StatementTable::<DB>::new();
    count_transitions(&db, &idem, &mut table).await?;
    count_other_machines(&db, &idem, &mut table).await?;
    count_creations(&db, &idem, &mut table).await?;
    count_functions(&db, &idem, &mut table).await?;
    count_locks_and_batches(&db, &idem, &mut table).await?;
    table.check();
    Ok(())
}

/// Runs an operation whose answer must match, and adds its line.
macro_rules! count {
    ($db:expr, $idem:expr, $table:expr, $name:literal, $operation:expr, $answer:pat) => {
        let (answer, counts) = count_statements($db, $idem.pool(), $operation).await?;
        match answer {
            $answer => {}
            other => return Err(format!("{}: {other:?}", $name).into()),
        }
        $table.add($name, &counts);
    };
}

async fn count_transitions<DB: Engine>(db: &TestDb<DB>, idem: &Idem<DB>, table: &mut StatementTable<DB>) -> TestResult {
    new_order(db, 1).await?;
    new_order(db, 2).await?;
    let (first, second) = (|| OrderStatus::row(1), || OrderStatus::row(2));
    let pay = || Pay { trade_no: "T".to_owned() };
    let ship = || Ship { carrier: "sf".to_owned() };

    count!(db, idem, table, "load a row", first().load(idem), Ok(_));
    count!(
        db,
        idem,
        table,
        "transition, illegal",
        first().fire(Finish).run(idem),
        Err(TransitionError::Illegal { .. })
    );
    let stale = first().fire(pay()).cause("T").expect_version(7).run(idem);
    count!(db, idem, table, "transition, stale", stale, Err(TransitionError::Stale { .. }));
    let paid = first().fire(pay()).cause("T").run(idem);
    count!(db, idem, table, "transition, applied", paid, Ok(Outcome::Applied(_)));
    let paid = first().fire(pay()).cause("T").run(idem);
    count!(db, idem, table, "transition, replayed", paid, Ok(Outcome::Replayed(_)));
    let paid = first().fire(pay()).cause("U").run(idem);
    count!(db, idem, table, "transition, other cause", paid, Err(TransitionError::OtherCause { .. }));
    count!(db, idem, table, "transition, already", first().fire(pay()).run(idem), Ok(Outcome::Already(_)));
    let refunded = first().fire(Refund).cause("R").run(idem);
    count!(db, idem, table, "transition of two sources, applied", refunded, Ok(Outcome::Applied(_)));
    let in_transaction = async {
        let mut tx = idem.begin().await?;
        let _ = second().fire(pay()).cause("T").run(&mut *tx).await?;
        let _ = second().fire(ship()).run(&mut *tx).await?;
        tx.commit().await.map_err(TransitionError::from)
    };
    count!(db, idem, table, "begin, two transitions, commit", in_transaction, Ok(()));
    Ok(())
}

/// Without a history, without a row, and on a cycle, where the entry can meet another one.
async fn count_other_machines<DB: Engine>(
    db: &TestDb<DB>,
    idem: &Idem<DB>,
    table: &mut StatementTable<DB>,
) -> TestResult {
    machines::create_tables(db).await?;
    db.execute("INSERT INTO lamps (lamp_id) VALUES (1)").await?;
    db.execute("INSERT INTO reviews (review_id) VALUES (1)").await?;

    let missing = OrderStatus::row(9).fire(Finish).run(idem);
    count!(db, idem, table, "transition, not found", missing, Err(TransitionError::NotFound { .. }));
    let lit = Lamp::row(1).fire(Light).any_version().run(idem);
    count!(db, idem, table, "transition without a history, applied", lit, Ok(Outcome::Applied(_)));
    let lit = Lamp::row(1).fire(Light).any_version().run(idem);
    count!(db, idem, table, "transition without a history, already", lit, Ok(Outcome::Already(_)));
    let submitted = Review::row(1).fire(Submit).cause("S").run(idem);
    count!(db, idem, table, "transition on a cycle, applied", submitted, Ok(Outcome::Applied(_)));
    let in_transaction = async {
        let mut tx = idem.begin().await?;
        let _ = Review::row(1).fire(Reject).cause("R").run(&mut *tx).await?;
        let _ = Review::row(1).fire(Submit).cause("S").run(&mut *tx).await?;
        tx.commit().await.map_err(TransitionError::from)
    };
    count!(db, idem, table, "begin, cycle applied, replayed, commit", in_transaction, Ok(()));
    Ok(())
}

async fn count_creations<DB: Engine>(db: &TestDb<DB>, idem: &Idem<DB>, table: &mut StatementTable<DB>) -> TestResult {
    creation::create_tables(db).await?;
    let create = |cart_id, buyer| Cart::create(creation::new(cart_id, buyer, 500)).cause(&buyer);

    count!(db, idem, table, "creation, new", create(1, 7).run(idem), Ok(Created::New(_)));
    count!(db, idem, table, "creation, replayed", create(2, 7).run(idem), Ok(Created::Replayed(_)));
    let existing = Cart::create(creation::new(2, 7, 500)).run(idem);
    count!(db, idem, table, "creation, existing", existing, Ok(Created::Existing(_)));
    let in_transaction = async {
        let mut tx = idem.begin().await?;
        let _ = create(3, 8).run(&mut *tx).await?;
        let _ = create(4, 8).run(&mut *tx).await?;
        tx.commit().await.map_err(TransitionError::from)
    };
    count!(db, idem, table, "begin, creation new, replayed, commit", in_transaction, Ok(()));
    let _ = Cart::row(1).fire(Close).cause("C").run(idem).await?;
    let reopen = || Cart::row(1).fire(Reopen).cause("R");
    let other = Cart::create(creation::new(5, 7, 500)).run(idem);
    count!(db, idem, table, "creation without a cause, new", other, Ok(Created::New(_)));
    let kept_out = reopen().run(idem);
    count!(db, idem, table, "transition, kept out", kept_out, Err(TransitionError::UniqueWhile { .. }));
    let in_transaction = async {
        let mut tx = idem.begin().await?;
        let kept_out = reopen().run(&mut *tx).await;
        tx.commit().await?;
        kept_out
    };
    count!(db, idem, table, "begin, kept out, commit", in_transaction, Err(TransitionError::UniqueWhile { .. }));
    Ok(())
}

/// Locks need a transaction; its beginning and its end are counted with them.
async fn count_locks_and_batches<DB: Engine>(
    db: &TestDb<DB>,
    idem: &Idem<DB>,
    table: &mut StatementTable<DB>,
) -> TestResult {
    let values = (100..164).map(|order_id| format!("({order_id})")).collect::<Vec<_>>().join(", ");
    db.execute(format!("INSERT INTO orders (order_id) VALUES {values}")).await?;

    let lock = |wait| async move {
        let mut tx = idem.begin().await?;
        let row = OrderStatus::row(100).lock_row(wait).run(&mut tx).await;
        tx.commit().await?;
        row
    };
    count!(db, idem, table, "begin, lock a row, commit", lock(Duration::from_secs(1)), Ok(_));
    count!(db, idem, table, "begin, lock a row without a wait, commit", lock(Duration::ZERO), Ok(_));
    let pay = || OrderStatus::rows(100..164).fire(Pay { trade_no: "T".to_owned() }).cause("T").run(idem);
    count!(db, idem, table, "64 rows in one call, applied", pay(), Ok(_));
    count!(db, idem, table, "64 rows in one call, replayed", pay(), Ok(_));
    let lit = Lamp::rows(1..=64).fire(Light).any_version().run(idem);
    count!(db, idem, table, "64 rows without a history, not found", lit, Ok(_));
    Ok(())
}

async fn count_functions<DB: Engine>(db: &TestDb<DB>, idem: &Idem<DB>, table: &mut StatementTable<DB>) -> TestResult {
    new_order(db, 3).await?;
    new_order(db, 4).await?;

    count!(db, idem, table, "function of one INSERT, executed", note(idem, 3, 1, "a"), Ok(1));
    count!(db, idem, table, "function of one INSERT, replayed", note(idem, 3, 1, "a"), Ok(1));
    let reads_first = idem.once("order.note", &(3, "a")).read_first();
    let reads_first = reads_first.run(async |_| Err::<i64, _>(PayError::Refused));
    count!(db, idem, table, "the same, read before it is claimed", reads_first, Ok(1));
    let batch = || {
        let batch = idem.once_each("order.batch", (0..64).map(|key| (key, ())));
        batch.run(async |_, new| Ok::<_, PayError>(new))
    };
    count!(db, idem, table, "batch of 64 functions without a body", batch(), Ok(_));
    count!(db, idem, table, "the same, replayed", batch(), Ok(_));
    let settled = settle(idem, 3, "T3", 5);
    count!(db, idem, table, "function of a transition and a function", settled, Ok(_));
    count!(db, idem, table, "the same, replayed", settle(idem, 3, "T3", 5), Ok(_));
    let other = settle(idem, 3, "T3", 6);
    count!(db, idem, table, "the same, with another payload", other, Err(PayError::Idem(Error::Mismatch)));
    let refused = settle(idem, 4, "T4", -1);
    count!(db, idem, table, "the same, the body fails at its end", refused, Err(PayError::Refused));
    count_recorded_errors(db, idem, table).await
}

async fn count_recorded_errors<DB: Engine>(
    db: &TestDb<DB>,
    idem: &Idem<DB>,
    table: &mut StatementTable<DB>,
) -> TestResult {
    acts::create_tables(db).await?;
    let failed = || fail(idem, "failed", Failure::SoldOut);
    count!(db, idem, table, "function of one INSERT with record_err", succeed(idem, "done"), Ok(_));
    count!(db, idem, table, "the same, a final error", failed(), Err(Failure::SoldOut));
    count!(db, idem, table, "the same, the error replayed", failed(), Err(Failure::SoldOut));
    let busy = fail(idem, "busy", Failure::Busy);
    count!(db, idem, table, "the same, an error that is not final", busy, Err(Failure::Busy));
    Ok(())
}
