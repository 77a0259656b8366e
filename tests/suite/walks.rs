//! Random walks under the guard: it refuses exactly what the machine's table refuses, and what it refuses changes nothing.

use idem_runtime::machine::{Refused, guard_refusal};
use idem_runtime::prelude::*;
use idem_runtime::schema;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::interleavings::{Answer, ByName, Told, by_name};
use crate::machines::Review;
use crate::shop::OrderStatus;
use crate::support::{BoxError, Engine, Suite, TestDb, TestResult, ensure, on_every_engine};
use crate::values::Lift;
use crate::values::lift::{Cellar, Close, Dig, Ground, Rise, Sink, TopFloor};
use crate::{machines, shop, values};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(suite, [walks_of_orders, walks_of_reviews, walks_of_lifts, walks_find_another_guard]);
}

by_name!(Lift,
    "rise"  [Ground Cellar] Rise;
    "sink"  [TopFloor]      Sink;
    "dig"   [Ground]        Dig;
    "close" [Ground]        Close;
);

/// The orders, but that what is shipped is not taken back.
#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64), rename_all = "snake_case", module = strict)]
#[transition(pay:    Pending => Paid)]
#[transition(ship:   Paid    => Shipped)]
#[transition(finish: Shipped => Done)]
#[transition(cancel: Pending => Cancelled)]
#[transition(refund: Paid    => Refunded)]
enum StrictStatus {
    #[state(initial)]
    Pending,
    Paid,
    Shipped,
    #[state(terminal)]
    Done,
    #[state(terminal)]
    Cancelled,
    #[state(terminal)]
    Refunded,
}

/// Where the walks of a machine begin.
const SEEDS: [u64; 3] = [1, 20_301, 7_777_777];

/// How long they are.
const STEPS: usize = 60;

async fn walks_of_orders<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    every_walk::<OrderStatus, DB>(&db, &["lost", "PAID", ""]).await
}

async fn walks_of_reviews<DB: Engine>(db: TestDb<DB>) -> TestResult {
    machines::create_tables(&db).await?;
    every_walk::<Review, DB>(&db, &["HELD"]).await
}

/// Numbers, some of which are other words for a state.
async fn walks_of_lifts<DB: Engine>(db: TestDb<DB>) -> TestResult {
    values::create_tables(&db).await?;
    if DB::DIALECT != Dialect::Sqlite {
        db.execute("ALTER TABLE lifts DROP CONSTRAINT lifts_floor_check").await?;
    }
    every_walk::<Lift, DB>(&db, &["7", "-2"]).await
}

async fn every_walk<M: ByName, DB: Engine>(db: &TestDb<DB>, unknown: &[&'static str]) -> TestResult {
    let mut seen = Seen::default();
    for (walk, seed) in SEEDS.into_iter().enumerate() {
        let walk = Walk::begin::<M>(db, 1_000 * walk, unknown, schema::guard::<M>(DB::DIALECT), seed).await?;
        walk.go::<M>(STEPS, allowed::<M>, true, &mut seen).await?;
    }
    ensure!(seen.passed > 10 && seen.refused > 10 && seen.fired > 1, "too little to tell: {seen:?}");
    Ok(())
}

/// With one edge less, or more, than the guard has.
async fn walks_find_another_guard<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let strict = schema::guard::<StrictStatus>(DB::DIALECT);
    let found = find_difference(&db, strict, allowed::<OrderStatus>).await?;
    ensure!(found.contains("\"shipped\" to \"refunded\"") && found.contains("Err("), "{found}");
    let lax = schema::guard::<OrderStatus>(DB::DIALECT);
    let found = find_difference(&db, lax, allowed::<StrictStatus>).await?;
    ensure!(found.contains("\"shipped\" to \"refunded\": Ok(1)"), "{found}");
    Ok(())
}

async fn find_difference<DB: Engine>(
    db: &TestDb<DB>,
    guard: &str,
    allowed: fn(&str, &str) -> bool,
) -> Result<String, BoxError> {
    for seed in SEEDS {
        let walk = Walk::begin::<OrderStatus>(db, 0, &[], guard, seed).await?;
        if let Err(difference) = walk.go::<OrderStatus>(10 * STEPS, allowed, false, &mut Seen::default()).await {
            return Ok(difference.to_string());
        }
    }
    Err("the walks found no difference".into())
}

/// Whether one stored value may follow the other.
fn allowed<M: StateMachine>(from: &str, to: &str) -> bool {
    let leads = |source: M, target: M| {
        let is_edge = |edge: &idem_runtime::machine::Transition<M>| {
            edge.source.name() == source.name() && edge.target.name() == target.name()
        };
        source.name() == target.name() || M::TRANSITIONS.iter().any(is_edge)
    };
    match (M::from_stored(from), M::from_stored(to)) {
        (Some(source), Some(target)) => leads(source, target),
        _ => from == to,
    }
}

/// A walk that has begun.
struct Walk<'w, DB: Engine> {
    db: &'w TestDb<DB>,
    /// The number of the first row: the histories of earlier walks stay.
    first: usize,
    seed: u64,
    random: ChaCha8Rng,
    values: Vec<&'static str>,
    /// What the rows must hold.
    rows: Vec<String>,
}

/// What a walk has met.
#[derive(Debug, Default)]
struct Seen {
    passed: usize,
    refused: usize,
    fired: usize,
}

impl<'w, DB: Engine> Walk<'w, DB> {
    /// Makes a row of each value and installs the guard.
    async fn begin<M: ByName>(
        db: &'w TestDb<DB>,
        first: usize,
        unknown: &[&'static str],
        guard: &str,
        seed: u64,
    ) -> Result<Self, BoxError> {
        let written = M::STATES.iter().map(StateMachine::stored);
        let aliases = M::ALIASES.iter().map(|(alias, _)| *alias);
        let values: Vec<_> = written.chain(aliases).chain(unknown.iter().copied()).collect();
        db.execute(schema::guard_removal::<M>(DB::DIALECT)).await?;
        db.execute(format!("DELETE FROM {}", M::TABLE)).await?;
        for (id, value) in (first..).zip(&values) {
            db.execute(insert::<M>(id, value)).await?;
        }
        db.execute(guard.to_owned()).await?;
        let rows = values.iter().map(|value| (*value).to_owned()).collect();
        Ok(Self { db, first, seed, random: ChaCha8Rng::seed_from_u64(seed), values, rows })
    }

    /// Goes on for that many steps; fails where the guard and `allowed` differ, and where the table is not as it must be.
    async fn go<M: ByName>(
        mut self,
        steps: usize,
        allowed: fn(&str, &str) -> bool,
        fires: bool,
        seen: &mut Seen,
    ) -> TestResult {
        let idem = self.db.idem(2).await?;
        for step in 0..steps {
            let done = match self.random.random_range(0..10) {
                0..2 => self.insert::<M>(&idem, seen).await,
                2..4 if fires => self.fire::<M>(&idem, seen).await,
                _ => self.update::<M>(&idem, allowed, seen).await,
            };
            let checked = match done {
                Ok(()) => self.compare::<M>().await,
                Err(error) => Err(error),
            };
            checked.map_err(|error| format!("seed {}, step {step}: {error}", self.seed))?;
        }
        Ok(())
    }

    async fn update<M: ByName>(
        &mut self,
        idem: &Idem<DB>,
        allowed: fn(&str, &str) -> bool,
        seen: &mut Seen,
    ) -> TestResult {
        let row = self.random.random_range(0..self.rows.len());
        let to = self.any_value();
        let from = self.rows[row].clone();
        let (table, status, id) = (M::TABLE, status_column::<M>(), id_column::<M>());
        let update = format!("UPDATE {table} SET {status} = '{to}' WHERE {id} = {}", self.first + row);
        let done = DB::execute(idem.pool(), update).await;
        let expected = (!allowed(&from, to)).then_some(Refused::Transition);
        seen.judge(&done, expected).map_err(|()| format!("{from:?} to {to:?}: {done:?}"))?;
        if expected.is_none() {
            to.clone_into(&mut self.rows[row]);
        }
        Ok(())
    }

    async fn insert<M: ByName>(&mut self, idem: &Idem<DB>, seen: &mut Seen) -> TestResult {
        let value = self.any_value();
        let done = DB::execute(idem.pool(), insert::<M>(self.first + self.rows.len(), value)).await;
        let expected = (!is_initial::<M>(value)).then_some(Refused::Insert);
        seen.judge(&done, expected).map_err(|()| format!("INSERT of {value:?}: {done:?}"))?;
        if expected.is_none() {
            self.rows.push(value.to_owned());
        }
        Ok(())
    }

    /// What idem does passes, and is what the machine's table says.
    async fn fire<M: ByName>(&mut self, idem: &Idem<DB>, seen: &mut Seen) -> TestResult {
        let row = self.random.random_range(0..self.rows.len());
        let source = M::from_stored(&self.rows[row]);
        let accepted: Vec<_> = M::TRANSITIONS.iter().filter(|edge| Some(edge.source) == source).collect();
        let any = M::TRANSITIONS.choose(&mut self.random).ok_or("a machine without transitions")?;
        let edge = accepted.choose(&mut self.random).copied().unwrap_or(any);
        let mut tx = idem.begin().await?;
        let answer: Answer = M::fire(edge.event, i64::try_from(self.first + row)?, None, &mut tx).await;
        tx.commit().await?;
        let right = match &answer {
            Ok(Told::Applied(_)) => Some(edge.source) == source,
            Ok(_) | Err(TransitionError::Illegal { .. } | TransitionError::OtherCause { .. }) => {
                accepted.is_empty() && source.is_some()
            }
            Err(TransitionError::UnknownState { .. }) => source.is_none(),
            Err(_) => false,
        };
        ensure!(right, "{} at {:?}: {answer:?}", edge.event, self.rows[row]);
        if answer.is_ok_and(|told| matches!(told, Told::Applied(_))) {
            seen.fired += 1;
            edge.target.stored().clone_into(&mut self.rows[row]);
        }
        Ok(())
    }

    /// The whole table is as it must be, in the steps that were refused as well.
    async fn compare<M: ByName>(&self) -> TestResult {
        let (table, status, id) = (M::TABLE, status_column::<M>(), id_column::<M>());
        let found = self.db.rows(format!("SELECT {status} FROM {table} ORDER BY {id}")).await?.concat();
        ensure!(found == self.rows, "expected {:?}, found {found:?}", self.rows);
        Ok(())
    }

    fn any_value(&mut self) -> &'static str {
        self.values.choose(&mut self.random).copied().unwrap_or_default()
    }
}

impl Seen {
    /// Notes the end of a statement, if it is the expected one.
    fn judge(&mut self, done: &Result<u64, sqlx::Error>, expected: Option<Refused>) -> Result<(), ()> {
        match (done, expected) {
            (Ok(1), None) => self.passed += 1,
            (Err(error), Some(what)) if guard_refusal(error).is_some_and(|it| it.refused == what) => self.refused += 1,
            _ => return Err(()),
        }
        Ok(())
    }
}

fn insert<M: StateMachine>(id: usize, value: &str) -> String {
    let (table, status, column) = (M::TABLE, status_column::<M>(), id_column::<M>());
    format!("INSERT INTO {table} ({column}, {status}) VALUES ({id}, '{value}')")
}

fn is_initial<M: StateMachine>(value: &str) -> bool {
    M::from_stored(value).is_some_and(|state| state.name() == M::INITIAL.name())
}

fn id_column<M: StateMachine>() -> String {
    format!("{}_id", M::TABLE.trim_end_matches('s'))
}

fn status_column<M: StateMachine>() -> &'static str {
    if M::TABLE == Lift::TABLE { "floor" } else { "status" }
}
