//! Every schedule of two callers at one row, and the kit that plays them: it has to find what it is for.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::future::pending;
use std::time::Duration;

use idem_runtime::machine::{HasVersion, State};
use idem_runtime::prelude::*;
use idem_runtime::testing::{Caller, Interleaving, rivals};
use idem_runtime::{On, interleave};

use crate::machines::Review;
use crate::machines::review::{Approve, Draft, Held, Hold, Recall, Reject, Submit, Submitted, Touch};
use crate::shop::order_status::{Cancel, Finish, Paid, Pay, Pending, Refund, Ship, Shipped};
use crate::shop::{OrderStatus, create_tables, new_order, status};
use crate::support::{BoxError, Engine, Suite, TestDb, TestResult, ensure, on_every_engine, sql};
use crate::{acts, machines, shop};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            s10_rivals_with_causes,
            s10_rivals_without_a_cause,
            s10_rivals_that_loaded_the_row,
            s10_rival_of_one_that_rolls_back,
            s10_deliveries_of_one_cause,
            kit_plays_every_schedule,
            kit_finds_a_lost_update,
            kit_goes_on_after_a_deadlock,
            kit_names_the_caller_that_hangs,
        ]
    );
}

/// What a caller was told of the row that it fired at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    Applied(i64),
    Replayed,
    Already,
}

/// What a call answers.
pub(crate) type Answer = Result<Told, TransitionError>;

/// An outcome without its types.
pub(crate) fn told<M: StateMachine + HasVersion, T: State<M>>(outcome: Outcome<M, T>) -> Told {
    match outcome {
        Outcome::Applied(row) => Told::Applied(row.version()),
        Outcome::Replayed(_) => Told::Replayed,
        Outcome::Already(_) => Told::Already,
    }
}

/// A machine whose events can be fired by their names.
pub(crate) trait ByName: HasVersion + Copy + PartialEq + std::fmt::Debug {
    /// Fires at a row, whatever its state and version.
    async fn fire<DB: Engine>(event: &str, id: i64, cause: Option<&str>, tx: &mut Tx<'_, DB>) -> Answer;

    /// Loads a row.
    async fn load<DB: Engine>(id: i64, on: impl On<DB = DB>) -> Result<Row<Self>, TransitionError>;

    /// Fires at a row that was loaded, its state known by type.
    async fn fire_loaded<DB: Engine>(event: &str, source: Self, row: Row<Self>, tx: &mut Tx<'_, DB>) -> Answer;
}

/// Implements [`ByName`]: each event with its sources and a value.
macro_rules! by_name {
    ($Machine:ident, $($event:literal [$($Source:ident)+] $value:expr;)+) => {
        impl $crate::interleavings::ByName for $Machine {
            async fn fire<DB: $crate::support::Engine>(event: &str, id: i64, cause: Option<&str>, tx: &mut Tx<'_, DB>) -> $crate::interleavings::Answer {
                match (event, cause) {
                    $(
                        ($event, None) => $Machine::row(id).fire($value).any_version().run(tx).await.map($crate::interleavings::told),
                        ($event, Some(cause)) => $Machine::row(id).fire($value).cause(cause).run(tx).await.map($crate::interleavings::told),
                    )+
                    _ => panic!("`{event}` is not in the list of events"),
                }
            }

            async fn load<DB: $crate::support::Engine>(id: i64, on: impl idem_runtime::On<DB = DB>) -> Result<Row<Self>, TransitionError> {
                $Machine::row(id).load(on).await
            }

            async fn fire_loaded<DB: $crate::support::Engine>(event: &str, source: Self, row: Row<Self>, tx: &mut Tx<'_, DB>) -> $crate::interleavings::Answer {
                match (event, source) {
                    $($(
                        ($event, $Machine::$Source) => row.in_state::<$Source>()?.fire($value).run(tx).await.map($crate::interleavings::told),
                    )+)+
                    _ => panic!("`{event}` from {source:?} is not in the list of events"),
                }
            }
        }
    };
}

pub(crate) use by_name;

by_name!(OrderStatus,
    "pay"    [Pending]      pay();
    "ship"   [Paid]         Ship { carrier: "sf".to_owned() };
    "finish" [Shipped]      Finish;
    "cancel" [Pending]      Cancel;
    "refund" [Paid Shipped] Refund;
);

by_name!(Review,
    "touch"   [Draft]          Touch;
    "submit"  [Draft]          Submit;
    "reject"  [Submitted]      Reject;
    "recall"  [Submitted Held] Recall;
    "hold"    [Submitted]      Hold;
    "approve" [Submitted]      Approve;
);

fn pay() -> Pay {
    Pay { trade_no: "T1".to_owned() }
}

/// The version of a row that nobody has moved yet.
const BEGINNING: i64 = 3;

/// Two events at rows of one state.
struct Pair<'p, M, DB: Engine> {
    db: &'p TestDb<DB>,
    idem: &'p Idem<DB>,
    source: M,
    events: [&'static str; 2],
    next_row: &'p Cell<i64>,
}

/// How the two fire.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    WithCause,
    WithoutCause,
    Loaded,
}

impl How {
    fn cause(self, caller: usize) -> Option<&'static str> {
        (self == Self::WithCause).then_some(["A", "B"][caller])
    }
}

async fn s10_rivals_with_causes<DB: Engine>(db: TestDb<DB>) -> TestResult {
    every_pair_of_both_machines(&db, How::WithCause).await
}

async fn s10_rivals_without_a_cause<DB: Engine>(db: TestDb<DB>) -> TestResult {
    every_pair_of_both_machines(&db, How::WithoutCause).await
}

async fn s10_rivals_that_loaded_the_row<DB: Engine>(db: TestDb<DB>) -> TestResult {
    every_pair_of_both_machines(&db, How::Loaded).await
}

async fn every_pair_of_both_machines<DB: Engine>(db: &TestDb<DB>, how: How) -> TestResult {
    for_each_pair::<OrderStatus, DB>(db, async |pair| pair.race(how).await).await?;
    for_each_pair::<Review, DB>(db, async |pair| pair.race(how).await).await
}

/// Plays each pair of the machine's table.
async fn for_each_pair<M: ByName, DB: Engine>(
    db: &TestDb<DB>,
    play: impl AsyncFn(&Pair<'_, M, DB>) -> TestResult,
) -> TestResult {
    if M::TABLE == OrderStatus::TABLE {
        shop::create_tables(db).await?;
    } else {
        machines::create_tables(db).await?;
    }
    let (idem, next_row) = (db.idem(2).await?, Cell::new(0));
    for (source, events) in rivals::<M>() {
        let pair = Pair { db, idem: &idem, source, events, next_row: &next_row };
        play(&pair).await.map_err(|error| format!("{}: {} and {}: {error}", M::NAME, events[0], events[1]))?;
    }
    Ok(())
}

impl<M: ByName, DB: Engine> Pair<'_, M, DB> {
    fn id_column() -> String {
        format!("{}_id", M::TABLE.trim_end_matches('s'))
    }

    async fn new_row(&self) -> Result<i64, BoxError> {
        let id = self.next_row.get() + 1;
        self.next_row.set(id);
        let (table, column, status) = (M::TABLE, Self::id_column(), self.source.stored());
        let insert = format!("INSERT INTO {table} ({column}, status, version) VALUES ({id}, '{status}', {BEGINNING})");
        self.db.execute(insert).await.map(|_| id)
    }

    /// The row's status and version, and its history, an entry a line. By statements whose text stays the same: a driver
    /// that forgets old ones for each new one is slow.
    async fn found(&self, id: i64) -> Result<(String, String), BoxError> {
        let (table, column) = (M::TABLE, Self::id_column());
        let row = sql::<DB>(&format!("SELECT status, version FROM {table} WHERE {column} = ?"));
        let entries = sql::<DB>(&format!(
            "SELECT version, source, target, event, cause FROM {table}_history WHERE {column} = ? ORDER BY version"
        ));
        let lines = |rows: Vec<Vec<String>>| rows.iter().map(|row| row.join(" ")).collect::<Vec<_>>().join("\n");
        let mut tx = self.idem.begin().await?;
        let row = lines(row.bind(id).rows(&mut *tx).await?);
        Ok((row, lines(entries.bind(id).rows(&mut *tx).await?)))
    }

    /// Plays both in every order.
    async fn race(&self, how: How) -> TestResult {
        let winners = std::cell::RefCell::new(BTreeSet::new());
        let schedules = Interleaving::new(self.idem, async || self.new_row().await)
            .script("a", async |caller, id| self.play(caller, id, how, 0).await)
            .script("b", async |caller, id| self.play(caller, id, how, 1).await)
            .run(async |id, answers| {
                let winner = self.check(id, how, &answers).await?;
                winners.borrow_mut().insert(winner);
                Ok::<_, BoxError>(())
            })
            .await?;
        ensure!(schedules.iter().any(|schedule| schedule.contains("(waits)")), "nobody waited: {schedules:?}");
        ensure!(winners.borrow().len() == 2, "always the same one moves the row first: {schedules:?}");
        Ok(())
    }

    /// Gives what the caller was told, and at which version it had loaded the row, if it had.
    async fn play(&self, caller: Caller<DB>, id: i64, how: How, who: usize) -> (Answer, Option<i64>) {
        let loaded = Cell::new(None);
        let answer = match how {
            How::Loaded => self.play_loaded(&caller, id, who, &loaded).await,
            How::WithCause | How::WithoutCause => self.play_by_id(&caller, id, how.cause(who), who).await,
        };
        (answer, loaded.get())
    }

    async fn play_by_id(&self, caller: &Caller<DB>, id: i64, cause: Option<&str>, who: usize) -> Answer {
        caller.step("fire").await;
        let mut tx = caller.begin().await?;
        let told = M::fire(self.events[who], id, cause, &mut tx).await?;
        caller.step("commit").await;
        tx.commit().await?;
        Ok(told)
    }

    async fn play_loaded(&self, caller: &Caller<DB>, id: i64, who: usize, loaded: &Cell<Option<i64>>) -> Answer {
        let (event, source) = (self.events[who], self.source);
        caller.step("load").await;
        // SQLite's only writer would load and fire without anybody in between.
        let (mut tx, row) = if DB::DIALECT == Dialect::Sqlite {
            let row = M::load(id, caller.idem()).await?;
            loaded.set(Some(row.version()));
            caller.step("fire").await;
            (caller.begin().await?, row)
        } else {
            let mut tx = caller.begin().await?;
            let row = M::load(id, &mut *tx).await?;
            loaded.set(Some(row.version()));
            caller.step("fire").await;
            (tx, row)
        };
        let told = M::fire_loaded(event, source, row, &mut tx).await?;
        caller.step("commit").await;
        tx.commit().await?;
        Ok(told)
    }

    /// Compares what is there, and what they were told, with the machine's table. Gives who moved the row first.
    async fn check(&self, id: i64, how: How, answers: &[(Answer, Option<i64>)]) -> Result<usize, BoxError> {
        let mut applied: Vec<_> = (0..2).filter_map(|who| Some((applied_version(&answers[who].0)?, who))).collect();
        applied.sort_unstable();
        let (mut state, mut entries) = (self.source, Vec::new());
        for (moved, (version, who)) in (BEGINNING + 1..).zip(&applied) {
            let (event, cause) = (self.events[*who], how.cause(*who).unwrap_or("NULL"));
            let target = edge(state, event).ok_or_else(|| format!("{event} moved the row out of {state:?}"))?;
            ensure!(*version == moved, "{event} made version {version}, not {moved}");
            let loaded = answers[*who].1;
            ensure!(loaded.is_none_or(|it| it + 1 == moved), "{event} was fired at version {loaded:?}, not {moved}");
            entries.push(format!("{version} {} {} {event} {cause}", state.stored(), target.stored()));
            state = target;
        }
        let row = format!("{} {}", state.stored(), BEGINNING + i64::try_from(applied.len())?);
        let found = self.found(id).await?;
        ensure!(found == (row, entries.join("\n")), "{answers:?} left {found:?}");
        let (_, first) = *applied.first().ok_or_else(|| format!("nobody moved the row: {answers:?}"))?;
        if applied.len() == 1 {
            self.check_refusal(how, state, 1 - first, &answers[1 - first])?;
        }
        Ok(first)
    }

    /// The answer of one whose rival has moved the row to this state.
    fn check_refusal(&self, how: How, state: M, who: usize, refused: &(Answer, Option<i64>)) -> TestResult {
        let (event, (answer, loaded)) = (self.events[who], refused);
        let is_target = M::TRANSITIONS.iter().any(|edge| edge.event == event && edge.target == state);
        let winner = how.cause(1 - who);
        let (accepted, found) = (edge(state, event).is_some(), BEGINNING + 1);
        let right = match answer {
            _ if *loaded == Some(found) => {
                matches!(answer, Err(TransitionError::NotInState { found, .. }) if *found == state.name())
            }
            Err(TransitionError::Stale { expected, found: it, .. }) => {
                accepted && Some(*expected) == *loaded && *it == found
            }
            Ok(Told::Already) => !accepted && is_target && winner.is_none(),
            Err(TransitionError::OtherCause { recorded, .. }) => {
                !accepted && is_target && winner.is_some() && recorded.as_deref() == winner
            }
            Err(TransitionError::Illegal { current, passed: None, .. }) => {
                !accepted && !is_target && *current == state.name()
            }
            _ => false,
        };
        ensure!(right, "{event} at a row that is {state:?} by now: {answer:?}");
        Ok(())
    }

    /// The first one fires and rolls back: whatever the other one saw, it moves the row.
    async fn against_a_rollback(&self) -> TestResult {
        let check = async |id, answers: Vec<Answer>| {
            ensure!(applied_version(&answers[1]) == Some(BEGINNING + 1), "{answers:?}");
            let target = edge(self.source, self.events[1]).ok_or("an event of the state")?;
            let entry =
                format!("{} {} {} {} NULL", BEGINNING + 1, self.source.stored(), target.stored(), self.events[1]);
            let found = self.found(id).await?;
            ensure!(found == (format!("{} {}", target.stored(), BEGINNING + 1), entry), "{found:?}");
            Ok::<_, BoxError>(())
        };
        let schedules = Interleaving::new(self.idem, async || self.new_row().await)
            .script("back", async |caller: Caller<DB>, id| {
                caller.step("fire").await;
                let mut tx = caller.begin().await?;
                let told = M::fire(self.events[0], id, None, &mut tx).await?;
                caller.step("drop").await;
                drop(tx);
                Ok(told)
            })
            .script("on", async |caller: Caller<DB>, id| self.play_by_id(&caller, id, None, 1).await)
            .run(check)
            .await?;
        ensure!(schedules.iter().any(|schedule| schedule.contains("on.fire(waits) back.drop")), "{schedules:?}");
        Ok(())
    }

    /// The same event with the same cause from both.
    async fn deliver_twice(&self) -> TestResult {
        let script = async |caller: Caller<DB>, id| {
            caller.step("fire").await;
            let mut tx = caller.begin().await?;
            let told = M::fire(self.events[0], id, Some("T"), &mut tx).await?;
            caller.step("commit").await;
            tx.commit().await?;
            Ok(told)
        };
        let schedules = Interleaving::new(self.idem, async || self.new_row().await)
            .script("a", script)
            .script("b", script)
            .run(async |id, answers: Vec<Answer>| {
                let applied = answers.iter().filter(|answer| applied_version(answer) == Some(BEGINNING + 1)).count();
                let replayed = answers.iter().filter(|answer| matches!(answer, Ok(Told::Replayed))).count();
                ensure!((applied, replayed) == (1, 1), "{answers:?}");
                let (_, entries) = self.found(id).await?;
                ensure!(entries.lines().count() == 1 && entries.ends_with(" T"), "{entries}");
                Ok::<_, BoxError>(())
            })
            .await?;
        ensure!(schedules.len() == 4, "all orders of two steps: {schedules:?}");
        Ok(())
    }
}

fn applied_version(answer: &Answer) -> Option<i64> {
    match answer {
        Ok(Told::Applied(version)) => Some(*version),
        _ => None,
    }
}

/// Where an event leads.
fn edge<M: StateMachine + Copy + PartialEq>(source: M, event: &str) -> Option<M> {
    M::TRANSITIONS.iter().find(|edge| edge.source == source && edge.event == event).map(|edge| edge.target)
}

async fn s10_rival_of_one_that_rolls_back<DB: Engine>(db: TestDb<DB>) -> TestResult {
    for_each_pair::<OrderStatus, DB>(&db, async |pair| pair.against_a_rollback().await).await?;
    for_each_pair::<Review, DB>(&db, async |pair| pair.against_a_rollback().await).await
}

async fn s10_deliveries_of_one_cause<DB: Engine>(db: TestDb<DB>) -> TestResult {
    for_each_pair::<OrderStatus, DB>(&db, async |pair| only_twins(pair).await).await?;
    for_each_pair::<Review, DB>(&db, async |pair| only_twins(pair).await).await
}

async fn only_twins<M: ByName, DB: Engine>(pair: &Pair<'_, M, DB>) -> TestResult {
    if pair.events[0] == pair.events[1] { pair.deliver_twice().await } else { Ok(()) }
}

/// As the documentation shows it.
async fn kit_plays_every_schedule<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    let idem = db.idem(2).await?;
    let next = Cell::new(0);
    let fresh = async || {
        next.set(next.get() + 1);
        new_order(&db, next.get()).await.map(|()| next.get())
    };
    let schedules = interleave!(&idem, fresh, |caller, order_id| {
        pay {
            load   { let order = OrderStatus::row(order_id).load(caller.idem()).await?; }
            fire   { let mut tx = caller.begin().await?;
                     let paid = order.in_state()?.fire(pay()).run(&mut *tx).await?; }
            commit { tx.commit().await?; }
            => paid.is_applied()
        }
        cancel {
            fire   { let mut tx = caller.begin().await?;
                     let cancelled = OrderStatus::row(order_id).fire(Cancel).run(&mut *tx).await?; }
            commit { tx.commit().await?; }
            => cancelled.is_applied()
        }
    }, async |order_id, answers: Vec<_>| {
        let (found, paid) = (status(&db, order_id).await?, matches!(answers[0], Ok(true)));
        ensure!(paid != matches!(answers[1], Ok(true)), "{answers:?}");
        ensure!(found == if paid { "paid 1" } else { "cancelled 1" }, "{found}: {answers:?}");
        Ok::<_, BoxError>(())
    })?;
    let expected = [
        "pay.load pay.fire pay.commit cancel.fire",
        "pay.load pay.fire cancel.fire(waits) pay.commit",
        "pay.load cancel.fire pay.fire(waits) cancel.commit",
        "pay.load cancel.fire cancel.commit pay.fire",
        "cancel.fire pay.load pay.fire(waits) cancel.commit",
        "cancel.fire pay.load cancel.commit pay.fire",
        "cancel.fire cancel.commit pay.load pay.fire",
    ];
    ensure!(schedules == expected, "{schedules:#?}");
    Ok(())
}

/// Reads a number, and writes one more in a statement of its own.
async fn count_up<DB: Engine>(caller: Caller<DB>, row: i64) -> Result<(), sqlx::Error> {
    let pool = caller.idem().pool();
    caller.step("read").await;
    let found = DB::rows(pool, format!("SELECT value + 1 FROM counter WHERE id = {row}")).await?;
    caller.step("write").await;
    DB::execute(pool, format!("UPDATE counter SET value = {} WHERE id = {row}", found.concat().concat())).await?;
    Ok(())
}

async fn kit_finds_a_lost_update<DB: Engine>(db: TestDb<DB>) -> TestResult {
    acts::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    let counted = || {
        let fresh = async || db.execute("UPDATE counter SET value = 0").await.map(|_| 1);
        Interleaving::new(&idem, fresh).script("one", count_up).script("other", count_up)
    };
    let check = async |row: i64, answers: Vec<Result<(), sqlx::Error>>| {
        ensure!(answers.iter().all(Result::is_ok), "{answers:?}");
        let value = db.integer(format!("SELECT value FROM counter WHERE id = {row}")).await?;
        ensure!(value == 2, "counted {value}");
        Ok::<_, BoxError>(())
    };
    let expected = "in the schedule `one.read other.read one.write other.write`: counted 1";
    let failure = counted().run(check).await.err().ok_or("the kit found nothing")?;
    ensure!(failure.to_string() == expected, "{failure}");
    let again = counted().only(failure.schedule()).run(check).await.err().ok_or("not found again")?;
    ensure!(again.to_string() == expected, "{again}");
    let right = "other.read other.write one.read one.write";
    let played = counted().only(right).run(check).await?;
    ensure!(played == [right], "{played:?}");
    let stranger = counted().only("nobody.read").run(check).await.err().ok_or("there is no such caller")?;
    ensure!(stranger.to_string().ends_with("there is no caller `nobody`"), "{stranger}");
    Ok(())
}

/// Writes two rows in one transaction.
async fn write_both<DB: Engine>(caller: Caller<DB>, rows: [i64; 2]) -> Result<(), Error> {
    caller.step("first").await;
    let mut tx = caller.begin().await?;
    let update = || sql::<DB>("UPDATE counter SET value = value + 1 WHERE id = ?");
    update().bind(rows[0]).execute(&mut *tx).await.map_err(Error::Database)?;
    caller.step("second").await;
    update().bind(rows[1]).execute(&mut *tx).await.map_err(Error::Database)?;
    tx.commit().await
}

async fn kit_goes_on_after_a_deadlock<DB: Engine>(db: TestDb<DB>) -> TestResult {
    acts::create_tables(&db).await?;
    let idem = db.idem(2).await?;
    let played = Interleaving::new(&idem, async || db.execute("UPDATE counter SET value = 0").await)
        .script("one", async |caller, _| write_both(caller, [1, 2]).await)
        .script("other", async |caller, _| write_both(caller, [2, 1]).await)
        .only("one.first other.first one.second other.second")
        .run(async |_, answers| {
            let done = answers.iter().filter(|answer| answer.is_ok()).count();
            let expected = if DB::DIALECT == Dialect::Sqlite { 2 } else { 1 };
            let values = db.rows("SELECT value FROM counter").await?;
            ensure!(done == expected && values == [[done.to_string()], [done.to_string()]], "{values:?}: {answers:?}");
            Ok::<_, BoxError>(())
        })
        .await?;
    let expected = match DB::DIALECT {
        // The second one does not get as far as its first statement.
        Dialect::Sqlite => "one.first other.first(waits) one.second other.second",
        Dialect::Postgres | Dialect::MySql => "one.first other.first one.second(waits) other.second",
    };
    ensure!(played[0].replace("other.second(waits)", "other.second") == expected, "{played:?}");
    Ok(())
}

async fn kit_names_the_caller_that_hangs<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    let failure = Interleaving::new(&idem, async || Ok::<_, BoxError>(()))
        .script("one", async |caller: Caller<DB>, ()| caller.step("only").await)
        .script("other", async |caller: Caller<DB>, ()| {
            caller.step("first").await;
            pending::<()>().await;
        })
        .patience(Duration::from_millis(50))
        .run(async |(), _| Ok::<_, BoxError>(()))
        .await;
    let failure = failure.err().ok_or("the kit waits for nobody")?.to_string();
    let expected =
        "in the schedule `one.only other.first`: not at the next step after 50ms, and nobody can let it go on: other";
    ensure!(failure == expected, "{failure}");
    Ok(())
}
