//! Sessions that are isolated in another way than the server's own: a rival that has committed may be out of sight, or
//! the database gives one of the two up. Whoever asks is told what is right, or to run it all again; there is one effect.

use std::ops::Range;
use std::time::Duration;

use idem_runtime::prelude::*;
use sqlx::{MySql, Postgres};
use tokio::time::sleep;

use crate::acts::{Gate, act, effect, effects, left, records, result, run, until_waiting, write, write_at};
use crate::answers::answer;
use crate::creation::cart::{Close, Reopen};
use crate::creation::{Cart, race_creations};
use crate::failures::{Failure, fail};
use crate::machines::Coupon;
use crate::machines::coupon::Redeem;
use crate::settle::{PayError, Receipt, settle};
use crate::shop::order_status::{Paid, Pay, Refund, Ship};
use crate::shop::{OrderStatus, history, new_order, status};
use crate::support::{BoxError, Engine, Suite, TASKS, TestDb, TestResult, ensure, release_together, sql};
use crate::{acts, creation, leases, machines, races, shop};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    add_at::<Postgres>(suite, &POSTGRES);
    add_at::<MySql>(suite, &MARIADB);
    // What is in no other file at the server's own level.
    suite.add::<Postgres, _>(&READ_COMMITTED.names(LOSER), |db| i61_the_loser_sees_the_winner(db, &READ_COMMITTED));
    suite.add::<Postgres, _>(&READ_COMMITTED.names(CREATION), |db| creations_behind_a_rival(db, &READ_COMMITTED));
    suite.add::<MySql, _>(&REPEATABLE_READ.names(CREATION), |db| creations_behind_a_rival(db, &REPEATABLE_READ));
}

const LOSER: &str = "i61_the_loser_sees_the_winner";
const CREATION: &str = "creations_behind_a_rival";

fn add_at<DB: Engine>(suite: &mut Suite, levels: &'static [Level]) {
    for level in levels {
        suite.add::<DB, _>(&level.names(LOSER), |db| i61_the_loser_sees_the_winner(db, level));
        suite.add::<DB, _>(&level.names("calls_of_one_key"), |db| calls_of_one_key(db, level));
        suite.add::<DB, _>(&level.names("calls_of_pairs_of_keys"), |db| calls_of_pairs_of_keys(db, level));
        suite.add::<DB, _>(&level.names("calls_with_a_final_error"), |db| calls_with_a_final_error(db, level));
        suite.add::<DB, _>(&level.names("calls_inside_of_calls"), |db| calls_inside_of_calls(db, level));
        suite.add::<DB, _>(&level.names("payments_of_one_order"), |db| payments_of_one_order(db, level));
        suite.add::<DB, _>(&level.names("transitions_with_a_cause"), |db| transitions_with_a_cause(db, level));
        suite.add::<DB, _>(&level.names("transitions_from_several"), |db| transitions_from_several(db, level));
        suite.add::<DB, _>(&level.names("creations"), |db| creations(db, level));
        suite.add::<DB, _>(&level.names("calls_behind_a_rival"), |db| calls_behind_a_rival(db, level));
        suite.add::<DB, _>(&level.names("transitions_behind_a_rival"), |db| transitions_behind_a_rival(db, level));
        suite.add::<DB, _>(&level.names(CREATION), |db| creations_behind_a_rival(db, level));
        suite.add::<DB, _>(&level.names("takeovers"), |db| takeovers(db, level));
        suite
            .add::<DB, _>(&level.names("a_commit_beside_the_heartbeat"), |db| a_commit_beside_the_heartbeat(db, level));
    }
}

/// How sessions are isolated.
#[derive(Debug, Clone, Copy)]
struct Level {
    name: &'static str,
    /// Makes a session so.
    set: &'static str,
    /// Shows what a session is, and what it must be.
    shows: &'static str,
    shown: &'static str,
    /// What a row is read with that is written next: where it is not needed, the level itself keeps what was read.
    lock: &'static str,
}

const READ_COMMITTED: Level = Level {
    name: "read_committed",
    set: "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED",
    shows: "SHOW transaction_isolation",
    shown: "read committed",
    lock: " FOR UPDATE",
};

const POSTGRES: [Level; 2] = [
    Level {
        name: "repeatable_read",
        set: "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        shown: "repeatable read",
        lock: "",
        ..READ_COMMITTED
    },
    Level {
        name: "serializable",
        set: "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        shown: "serializable",
        lock: "",
        ..READ_COMMITTED
    },
];

const REPEATABLE_READ: Level = Level {
    name: "repeatable_read",
    set: "SET SESSION innodb_snapshot_isolation = OFF",
    shows: "SELECT CONCAT(@@tx_isolation, ' ', @@innodb_snapshot_isolation)",
    shown: "REPEATABLE-READ OFF",
    lock: " FOR UPDATE",
};

const MARIADB: [Level; 3] = [
    Level {
        name: "innodb_snapshot_isolation",
        set: "SET SESSION innodb_snapshot_isolation = ON",
        shown: "REPEATABLE-READ ON",
        lock: "",
        ..REPEATABLE_READ
    },
    Level {
        name: "serializable",
        set: "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        shows: "SELECT @@tx_isolation",
        shown: "SERIALIZABLE",
        lock: "",
    },
    Level {
        name: "read_committed",
        set: "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        shows: "SELECT @@tx_isolation",
        shown: "READ-COMMITTED",
        lock: " FOR UPDATE",
    },
];

impl Level {
    fn names(&self, test: &str) -> String {
        format!("{test}_at_{}", self.name)
    }

    /// An engine of one more process.
    async fn idem<DB: Engine>(&self, db: &TestDb<DB>, max_connections: u32) -> Result<Idem<DB>, BoxError> {
        let idem = db.idem_after(self.set, max_connections).await?;
        let shown = DB::rows(idem.pool(), self.shows.into()).await?;
        ensure!(shown == [[self.shown]], "{shown:?}");
        Ok(idem)
    }

    async fn processes<DB: Engine>(&self, db: &TestDb<DB>) -> Result<[Idem<DB>; 2], BoxError> {
        acts::create_tables(db).await?;
        Ok([self.idem(db, 8).await?, self.idem(db, 8).await?])
    }
}

/// An error that may say to come again: none but `Retry` and `InProgress` does here.
trait Told: Into<BoxError> + std::fmt::Debug {
    fn to_come_again(&self) -> bool;
}

impl Told for Error {
    fn to_come_again(&self) -> bool {
        matches!(self, Self::Retry(_) | Self::InProgress { .. })
    }
}

impl Told for TransitionError {
    fn to_come_again(&self) -> bool {
        matches!(self, Self::Retry(_))
    }
}

impl Told for PayError {
    fn to_come_again(&self) -> bool {
        match self {
            Self::Idem(error) => error.to_come_again(),
            Self::Transition(error) => error.to_come_again(),
            Self::Refused | Self::Sql(_) => false,
        }
    }
}

impl Told for Failure {
    fn to_come_again(&self) -> bool {
        matches!(self, Self::Idem(error) if error.to_come_again())
    }
}

/// Asks until there is an answer.
async fn until_told<T, E: Told, F: Future<Output = Result<T, E>>>(mut call: impl FnMut() -> F) -> Result<T, E> {
    const MOST_CALLS: usize = 100;
    for _ in 1..MOST_CALLS {
        match call().await {
            Err(error) if error.to_come_again() => sleep(Duration::from_millis(10)).await,
            answer => return answer,
        }
    }
    call().await
}

/// The winner is not committed yet: nobody hears that there is nothing.
async fn i61_the_loser_sees_the_winner<DB: Engine>(db: TestDb<DB>, level: &Level) -> TestResult {
    acts::create_tables(&db).await?;
    let processes = [level.idem(&db, 1).await?, level.idem(&db, 1).await?];
    let gate = Gate::closed();
    let (idem, at) = (processes[0].clone(), gate.clone());
    let winner = tokio::spawn(async move { write_at(&idem, "k", at).await });
    gate.arrival().await?;
    let (lost, won) = tokio::join!(write(&processes[1], "k", 1), async {
        let waits = until_waiting(&db, 1).await;
        gate.open();
        waits?;
        Ok::<_, BoxError>(winner.await?)
    });
    result!(won?, 1, is_replay: false);
    match lost {
        Ok(once) if once.is_replay() => {}
        Err(PayError::Idem(Error::Retry(_))) if level.shown != READ_COMMITTED.shown => {}
        other => return Err(format!("{other:?}").into()),
    }
    result!(write(&processes[1], "k", 1).await, 1, is_replay: true);
    left(&db, ["k", "k:2"]).await
}

async fn calls_of_one_key<DB: Engine>(db: TestDb<DB>, level: &Level) -> TestResult {
    let processes = level.processes(&db).await?;
    for round in 0..8 {
        let answers = release_together(|task| {
            let (idem, key) = (processes[task % 2].clone(), round.to_string());
            async move { until_told(|| write(&idem, &key, 1)).await }
        });
        let answers: Vec<_> = answers.await?.into_iter().collect::<Result<_, _>>()?;
        let executed = answers.iter().filter(|once| !once.is_replay()).count();
        ensure!(executed == 1, "{executed} calls ran in round {round}");
    }
    left(&db, ["0,1,2,3,4,5,6,7", "0:2,1:2,2:2,3:2,4:2,5:2,6:2,7:2"]).await
}

/// Two keys that are next to each other count up the same row, each of them called twice: no count is lost.
async fn calls_of_pairs_of_keys<DB: Engine>(db: TestDb<DB>, level: &'static Level) -> TestResult {
    const ROUNDS: i64 = 4;
    const PAIRS: i64 = 8;
    let processes = level.processes(&db).await?;
    for pair in 0..PAIRS {
        db.execute(format!("INSERT INTO counter (id, value) VALUES ({}, 0)", 10 + pair)).await?;
    }
    for round in 0..ROUNDS {
        let answers = release_together(|task| {
            let (pair, idem) = (number(task) % PAIRS, processes[task / 8 % 2].clone());
            let key = format!("{round}/{pair}/{}", task / 16);
            async move { until_told(|| count_up(&idem, &key, 10 + pair, level)).await }
        });
        let answers: Vec<_> = answers.await?.into_iter().collect::<Result<_, _>>()?;
        let executed = answers.iter().filter(|once| !once.is_replay()).count();
        ensure!(number(executed) == 2 * PAIRS, "{executed} calls ran in round {round}");
    }
    let values = db.rows("SELECT DISTINCT value FROM counter WHERE id >= 10").await?.concat();
    ensure!(values == [(2 * ROUNDS).to_string()], "{values:?}");
    let count = db.integer("SELECT COUNT(*) FROM effect").await?;
    ensure!(count == 2 * PAIRS * ROUNDS, "{count} effects");
    Ok(())
}

/// Reads, then writes what was read, plus one.
async fn count_up<DB: Engine>(
    idem: &Idem<DB>,
    key: &str,
    row: i64,
    level: &'static Level,
) -> Result<Once<i64>, PayError> {
    let name = key.to_owned();
    act(idem, key, 1, move |tx| {
        Box::pin(async move {
            let read = sql::<DB>(&format!("SELECT value FROM counter WHERE id = ?{}", level.lock)).bind(row);
            let value: i64 = read.rows(&mut *tx).await?.concat().concat().parse().unwrap_or_default();
            effect(&mut *tx, &name).await?;
            let update = sql::<DB>("UPDATE counter SET value = ? WHERE id = ?").bind(value + 1).bind(row);
            update.execute(tx).await?;
            Ok(value)
        })
    })
    .await
}

fn number(task: usize) -> i64 {
    i64::try_from(task).unwrap_or(i64::MAX)
}

async fn calls_with_a_final_error<DB: Engine>(db: TestDb<DB>, level: &Level) -> TestResult {
    let processes = level.processes(&db).await?;
    for round in 0..4 {
        let answers = release_together(|task| {
            let (idem, key) = (processes[task % 2].clone(), round.to_string());
            async move { until_told(|| fail(&idem, &key, Failure::SoldOut)).await }
        });
        for answer in answers.await? {
            answer!(answer, Err(Failure::SoldOut));
        }
    }
    left(&db, ["", "0:3,1:3,2:3,3:3"]).await
}

/// Two calls of other keys call the same one inside of them, while others call that one by itself.
async fn calls_inside_of_calls<DB: Engine>(db: TestDb<DB>, level: &Level) -> TestResult {
    let processes = level.processes(&db).await?;
    for round in 0..6 {
        let answers = release_together(|task| {
            let (idem, key) = (processes[task / 4 % 2].clone(), round.to_string());
            async move {
                until_told(|| async {
                    match task % 4 {
                        outer @ (0 | 1) => call_inside(&idem, &format!("{key} {outer}"), &key).await,
                        _ => write(&idem, &key, 1).await,
                    }
                })
                .await
            }
        });
        for answer in answers.await? {
            answer!(answer, Ok(once) if *once == 1);
        }
    }
    let all = ["0,0 0,0 1", "1,1 0,1 1", "2,2 0,2 1", "3,3 0,3 1", "4,4 0,4 1", "5,5 0,5 1"].join(",");
    let with_status = format!("{all},").replace(',', ":2,");
    left(&db, [&all, with_status.trim_end_matches(',')]).await
}

async fn call_inside<DB: Engine>(idem: &Idem<DB>, outer: &str, inner: &str) -> Result<Once<i64>, PayError> {
    let (name, inner) = (outer.to_owned(), inner.to_owned());
    act(idem, outer, 1, |tx| {
        Box::pin(async move {
            effect(&mut *tx, &name).await?;
            Ok(write(tx, &inner, 1).await?.into_inner())
        })
    })
    .await
}

/// Two payments of one order come in together, each reported sixteen times: one of them pays.
async fn payments_of_one_order<DB: Engine>(db: TestDb<DB>, level: &Level) -> TestResult {
    shop::create_tables(&db).await?;
    let processes = level.processes(&db).await?;
    for order_id in 0..6 {
        new_order(&db, order_id).await?;
        let answers = release_together(|task| {
            let (idem, trade_no) = (processes[task / 2 % 2].clone(), ["A", "B"][task % 2]);
            async move { (trade_no, until_told(|| settle(&idem, order_id, trade_no, 5)).await) }
        });
        let answers = answers.await?;
        let entry = history(&db, order_id).await?;
        let paid_by = entry.strip_prefix("1 pending paid pay ").ok_or_else(|| format!("the history: {entry}"))?;
        let mut executed = 0;
        for (trade_no, answer) in answers {
            match answer {
                Ok(once) if trade_no == paid_by && *once == (Receipt { order_id, amount: 5 }) => {
                    executed += usize::from(!once.is_replay());
                }
                Err(PayError::Transition(TransitionError::OtherCause { recorded: Some(cause), .. }))
                    if trade_no != paid_by && cause == paid_by => {}
                other => return Err(format!("{trade_no} after {paid_by}: {other:?}").into()),
            }
        }
        ensure!(executed == 1, "{executed} calls have settled order {order_id}");
        let notes = db.integer(format!("SELECT COUNT(*) FROM ledger WHERE order_id = {order_id}")).await?;
        ensure!(notes == 1, "{notes} notes");
    }
    Ok(())
}

/// Duplicates at one order, then two payments at each of eight.
async fn transitions_with_a_cause<DB: Engine>(db: TestDb<DB>, level: &Level) -> TestResult {
    shop::create_tables(&db).await?;
    let processes = level.processes(&db).await?;
    for round in 0..6 {
        pay_together(&db, &processes, round..round + 1, 1).await?;
    }
    for round in 0..6 {
        pay_together(&db, &processes, 100 + 8 * round..108 + 8 * round, 2).await?;
    }
    Ok(())
}

/// Pays all the orders at once, by so many causes each: one moves its order, and everybody is told which.
async fn pay_together<DB: Engine>(
    db: &TestDb<DB>,
    processes: &[Idem<DB>; 2],
    orders: Range<i64>,
    causes: usize,
) -> TestResult {
    for order_id in orders.clone() {
        new_order(db, order_id).await?;
    }
    let count = usize::try_from(orders.end - orders.start)?;
    let answers = release_together(|task| {
        let order_id = orders.start + number(task % count);
        let (idem, cause) = (processes[task / count % 2].clone(), ["A", "B"][task / count / 2 % causes]);
        let half = task / (TASKS / 2) + usize::try_from(orders.start).unwrap_or_default() / count;
        let in_transaction = half.is_multiple_of(2);
        async move { (order_id, cause, until_told(|| pay(&idem, order_id, cause, in_transaction)).await) }
    });
    let mut applied = 0;
    for (order_id, cause, answer) in answers.await? {
        let entry = history(db, order_id).await?;
        let paid_by = entry.strip_prefix("1 pending paid pay ").ok_or_else(|| format!("the history: {entry}"))?;
        match answer {
            Ok(Outcome::Applied(row)) if cause == paid_by && row.version() == 1 => applied += 1,
            Ok(Outcome::Replayed(row)) if cause == paid_by && row.version() == 1 => {}
            Err(TransitionError::OtherCause { recorded: Some(recorded), .. })
                if cause != paid_by && recorded == paid_by => {}
            other => return Err(format!("order {order_id}: {cause} after {paid_by}: {other:?}").into()),
        }
    }
    ensure!(applied == count, "{applied} calls have moved {count} rows");
    Ok(())
}

fn trade(cause: &str) -> Pay {
    Pay { trade_no: cause.to_owned() }
}

async fn pay<DB: Engine>(
    idem: &Idem<DB>,
    order_id: i64,
    cause: &str,
    in_transaction: bool,
) -> Result<Outcome<OrderStatus, Paid>, TransitionError> {
    let fire = OrderStatus::row(order_id).fire(trade(cause)).cause(cause);
    if !in_transaction {
        return fire.run(idem).await;
    }
    let mut tx = idem.begin().await?;
    let outcome = fire.run(&mut *tx).await?;
    tx.commit().await?;
    Ok(outcome)
}

async fn transitions_from_several<DB: Engine>(db: TestDb<DB>, level: &Level) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = level.idem(&db, 8).await?;
    races::refund_and_ship_together(&db, &idem, 0..8, false).await?;
    races::refund_and_ship_together(&db, &idem, 8..16, true).await
}

/// By one cause, for one key and of one identifier.
async fn creations<DB: Engine>(db: TestDb<DB>, level: &Level) -> TestResult {
    creation::create_tables(&db).await?;
    let idem = level.idem(&db, 8).await?;
    let cart = |round, task| creation::new(round * 100 + task, round, 500);
    race_creations(&db, &idem, 0..6, true, cart).await?;
    race_creations(&db, &idem, 10..16, false, cart).await?;
    race_creations(&db, &idem, 5_000..5_006, false, |round, task| creation::new(round, round * 100 + task, 500)).await
}

/// A transaction looks at the database, a rival commits, and then the transaction acts. It is told what is right, or to
/// run again; then nobody is in its way any more, and it is told what is right.
async fn behind<DB: Engine, T, E: Told>(
    idem: &Idem<DB>,
    rival: impl AsyncFnOnce() -> Result<(), BoxError>,
    act: impl AsyncFn(&mut Tx<'_, DB>) -> Result<T, E>,
) -> Result<Result<T, E>, BoxError> {
    let mut tx = look(idem).await?;
    rival().await?;
    let answer = act(&mut tx).await;
    if answer.as_ref().is_err_and(Told::to_come_again) {
        tx.rollback().await?;
    } else {
        match tx.commit().await {
            Err(error) if error.to_come_again() => {}
            committed => return committed.map(|()| answer).map_err(BoxError::from),
        }
    }
    let mut tx = look(idem).await?;
    let answer = act(&mut tx).await;
    tx.commit().await?;
    Ok(answer)
}

/// Begins a transaction and reads what nobody changes: the snapshot, where there is one, is of now.
async fn look<DB: Engine>(idem: &Idem<DB>) -> Result<Box<Tx<'static, DB>>, BoxError> {
    let mut tx = idem.begin().await?;
    run(&mut tx, "SELECT value FROM counter").await?;
    Ok(tx)
}

async fn calls_behind_a_rival<DB: Engine>(db: TestDb<DB>, level: &Level) -> TestResult {
    acts::create_tables(&db).await?;
    shop::create_tables(&db).await?;
    new_order(&db, 1).await?;
    let (idem, other) = (level.idem(&db, 1).await?, level.idem(&db, 1).await?);
    let rival = |key: &'static str| {
        let other = other.clone();
        async move || {
            result!(write(&other, key, 1).await, 1, is_replay: false);
            Ok(())
        }
    };
    let again = behind(&idem, rival("same"), async |tx| write(tx, "same", 1).await).await?;
    result!(again, 1, is_replay: true);
    let mismatch = behind(&idem, rival("payload"), async |tx| write(tx, "payload", 2).await).await?;
    answer!(mismatch, Err(PayError::Idem(Error::Mismatch)));
    let beside = behind(&idem, rival("theirs"), async |tx| write(tx, "ours", 1).await).await?;
    result!(beside, 1, is_replay: false);

    let failed = async || {
        answer!(fail(&other, "failed", Failure::SoldOut).await, Err(Failure::SoldOut));
        Ok(())
    };
    let told = async |tx: &mut Tx<'_, DB>| fail(tx, "failed", Failure::Busy).await;
    answer!(behind(&idem, failed, told).await?, Err(Failure::SoldOut));
    let paid = async || {
        answer!(settle(&other, 1, "A", 5).await, Ok(_));
        Ok(())
    };
    let other_payment = behind(&idem, paid, async |tx: &mut Tx<'_, DB>| settle(tx, 1, "B", 5).await).await?;
    answer!(other_payment,
        Err(PayError::Transition(TransitionError::OtherCause { recorded: Some(cause), .. })) if cause == "A");
    ensure!(effects(&db).await? == "ours,payload,same,theirs", "{}", effects(&db).await?);
    let records = records(&db).await?;
    ensure!(records == "1/A:2,1/settle:2,failed:3,ours:2,payload:2,same:2,theirs:2", "{records}");
    Ok(())
}

async fn transitions_behind_a_rival<DB: Engine>(db: TestDb<DB>, level: &Level) -> TestResult {
    acts::create_tables(&db).await?;
    shop::create_tables(&db).await?;
    machines::create_tables(&db).await?;
    for order_id in 1..=4 {
        new_order(&db, order_id).await?;
    }
    db.execute("INSERT INTO coupons (tenant_id, code) VALUES (7, 'a'), (7, 'b')").await?;
    let (idem, other) = (level.idem(&db, 1).await?, level.idem(&db, 1).await?);
    let order = OrderStatus::row;
    let rival = |order_id| {
        let other = other.clone();
        async move || {
            answer!(pay(&other, order_id, "A", false).await, Ok(Outcome::Applied(_)));
            Ok(())
        }
    };
    let same = behind(&idem, rival(1), async |tx| order(1).fire(trade("A")).cause("A").run(tx).await).await?;
    answer!(same, Ok(Outcome::Replayed(row)) if row.version() == 1);
    let fields = behind(&idem, rival(2), async |tx| order(2).fire(trade("B")).cause("A").run(tx).await).await?;
    answer!(fields, Err(TransitionError::Mismatch { .. }));
    let late = behind(&idem, rival(3), async |tx| order(3).fire(trade("B")).cause("B").run(tx).await).await?;
    answer!(late, Err(TransitionError::OtherCause { recorded: Some(cause), .. }) if cause == "A");

    answer!(pay(&other, 4, "A", false).await, Ok(Outcome::Applied(_)));
    let shipped = async || {
        let ship = Ship { carrier: "sf".to_owned() };
        answer!(order(4).fire(ship).cause("S").run(&other).await, Ok(Outcome::Applied(_)));
        Ok(())
    };
    let refunded = behind(&idem, shipped, async |tx| order(4).fire(Refund).cause("R").run(tx).await).await?;
    answer!(refunded, Ok(Outcome::Applied(row)) if row.version() == 3);
    let entries = history(&db, 4).await?;
    ensure!(entries.ends_with("2 paid shipped ship S\n3 shipped refunded refund R"), "{entries}");

    // One cause redeems one coupon, and the rival has taken the other one.
    let redeem = |code: &str| Coupon::row(7, code.to_owned()).fire(Redeem { order_id: 1 }).cause("O");
    let redeemed = async || {
        answer!(redeem("a").run(&other).await, Ok(Outcome::Applied(_)));
        Ok(())
    };
    let second = behind(&idem, redeemed, async |tx| redeem("b").run(tx).await).await?;
    answer!(second, Err(TransitionError::Mismatch { .. }));
    ensure!(status(&db, 4).await? == "refunded 3", "{}", status(&db, 4).await?);
    Ok(())
}

async fn creations_behind_a_rival<DB: Engine>(db: TestDb<DB>, level: &Level) -> TestResult {
    acts::create_tables(&db).await?;
    creation::create_tables(&db).await?;
    let (idem, other) = (level.idem(&db, 1).await?, level.idem(&db, 1).await?);
    let create = |cart_id, buyer, cause: &str| Cart::create(creation::new(cart_id, buyer, 500)).cause(cause);
    let rival = |cart_id, buyer| {
        let other = other.clone();
        async move || {
            answer!(create(cart_id, buyer, &format!("R{cart_id}")).run(&other).await, Ok(Created::New(_)));
            Ok(())
        }
    };
    let caused = behind(&idem, rival(1, 1), async |tx| create(11, 1, "R1").run(tx).await).await?;
    answer!(caused, Ok(Created::Replayed(row)) if *row.id() == 1);
    let open = behind(&idem, rival(2, 2), async |tx| create(12, 2, "other").run(tx).await).await?;
    answer!(open, Ok(Created::Existing(row)) if *row.id() == 2);
    let identifier = behind(&idem, rival(3, 3), async |tx| create(3, 13, "other").run(tx).await).await?;
    answer!(identifier, Err(TransitionError::Mismatch { .. }));

    // There and back: the row looks as it did, and a cart that the rival has opened keeps another one closed.
    answer!(create(4, 4, "R4").run(&other).await, Ok(Created::New(_)));
    let round = async || {
        answer!(Cart::row(4).fire(Close).cause("C").run(&other).await, Ok(Outcome::Applied(_)));
        answer!(Cart::row(4).fire(Reopen).cause("O").run(&other).await, Ok(Outcome::Applied(_)));
        Ok(())
    };
    let closed = behind(&idem, round, async |tx| Cart::row(4).fire(Close).cause("C").run(tx).await).await?;
    answer!(closed, Ok(Outcome::Replayed(row)) if row.version() == 2);
    answer!(Cart::row(4).fire(Close).cause("D").run(&other).await, Ok(Outcome::Applied(_)));
    let reopened = behind(&idem, rival(5, 4), async |tx| Cart::row(4).fire(Reopen).cause("P").run(tx).await).await?;
    answer!(reopened, Err(TransitionError::UniqueWhile { rule: "one_open", .. }));

    // An index of the user's own is met in every snapshot.
    let gift = |cart_id| {
        let note = Some("gift".to_owned());
        Cart::create(creation::cart::New { note, ..creation::new(cart_id, cart_id, 500) }).cause(&cart_id)
    };
    answer!(gift(6).run(&other).await, Ok(Created::New(_)));
    db.execute("CREATE UNIQUE INDEX one_note ON carts (note)").await?;
    let nobody = async || Ok(());
    let refused = behind(&idem, nobody, async |tx| gift(7).run(tx).await).await?;
    answer!(refused, Err(TransitionError::Database(sqlx::Error::Database(error))) if error.is_unique_violation());
    let rows = db.integer("SELECT COUNT(*) FROM carts").await?;
    ensure!(rows == 6, "{rows} carts");
    Ok(())
}

/// One of many goes on with a call that is not heard of any more, whatever each of them sees.
async fn takeovers<DB: Engine>(db: TestDb<DB>, level: &'static Level) -> TestResult {
    let processes = level.processes(&db).await?;
    for round in 0..8 {
        let key = round.to_string();
        leases::abandoned(&db, &key, &["bank.send"]).await?;
        let answers = release_together(|task| {
            let (idem, key) = (processes[task % 2].clone(), key.clone());
            async move { until_told(|| take_over(&idem, &key)).await }
        });
        for answer in answers.await? {
            answer!(answer, Ok(2));
        }
    }
    left(&db, ["0,1,2,3,4,5,6,7", "0:2,1:2,2:2,3:2,4:2,5:2,6:2,7:2,fingerprint:2"]).await
}

async fn take_over<DB: Engine>(idem: &Idem<DB>, key: &str) -> Result<i64, PayError> {
    let call = idem.once(leases::SCOPE, key).payload(&1_i64).wait(Duration::from_mins(1)).lease(leases::LONG);
    call.take_over()
        .run(async |mut attempt| {
            attempt.external("bank.send").await?;
            let mut tx = attempt.tx().await?;
            effect(&mut tx, key).await?;
            tx.commit().await?;
            Ok(i64::try_from(attempt.number()).unwrap_or_default())
        })
        .await
}

/// A lease that is renewed in the middle of a transaction changes what its fence writes.
async fn a_commit_beside_the_heartbeat<DB: Engine>(db: TestDb<DB>, level: &Level) -> TestResult {
    const LEASE: Duration = Duration::from_secs(9);
    let [idem, _] = level.processes(&db).await?;
    let call = idem.once(leases::SCOPE, "k").lease(LEASE);
    let committed: Result<(), PayError> = call
        .run(async |mut attempt| {
            let mut tx = attempt.tx().await?;
            // From here on it sees the database as it is now.
            run(&mut tx, "SELECT COUNT(*) FROM effect").await?;
            effect(&mut tx, "k").await?;
            // It is renewed after a third of its time, unless a transaction is open.
            sleep(LEASE / 3 + LEASE / 18).await;
            Ok(tx.commit().await?)
        })
        .await;
    answer!(committed, Ok(()));
    left(&db, ["k", "k:2"]).await
}
