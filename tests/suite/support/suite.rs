//! The list of tests: each is written once and named for every engine that it runs on.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::time::Duration;

use futures_util::FutureExt as _;
use libtest_mimic::{Arguments, Failed, Trial};

use super::kill::Errand;
use super::{Engine, TestDb, TestResult, count, gate};

/// Every test that does not end by itself ends after that.
const BOUND: Duration = Duration::from_mins(5);

/// Tests of one engine mostly wait for it.
const TEST_THREADS: usize = 4;

/// The tests of the suite.
#[derive(Default)]
pub(crate) struct Suite {
    tests: Vec<Test>,
    /// What the tests need that are added now, beside their engine.
    also_need: &'static [Need],
}

/// A server, and the variable that says where it is.
type Need = (&'static str, &'static str);

const REDIS: &[Need] = &[("redis", "IDEM_TEST_REDIS_URL"), ("redis", "IDEM_TEST_REDIS_CLUSTER")];

struct Test {
    name: String,
    /// Without these it cannot run.
    needs: Vec<Need>,
    body: Box<dyn FnOnce() -> TestResult + Send>,
}

/// Adds tests, generic functions `async fn name<DB: Engine>(db: TestDb<DB>) -> TestResult`, for all engines.
macro_rules! on_every_engine {
    ($suite:expr, $tests:tt) => {
        $crate::support::on_engines!($suite, [sqlx::Sqlite, sqlx::Postgres, sqlx::MySql], "every engine", $tests)
    };
}

/// Adds tests for some engines, with the reason why the others are left out.
macro_rules! on_engines {
    ($suite:expr, [$($DB:ty),+ $(,)?], $reason:literal, $tests:tt) => {
        $($crate::support::on_engines!(@one $suite, $DB, $tests);)+
    };
    (@one $suite:expr, $DB:ty, [$($test:ident),+ $(,)?]) => {
        $($suite.add::<$DB, _>(stringify!($test), $test::<$DB>);)+
    };
}

/// Adds scenarios: on every engine each of them is dropped at every await and raced, and all are killed at every step.
macro_rules! scenarios {
    ($suite:expr, $scenarios:tt) => {
        $crate::support::scenarios!(@one $suite, sqlx::Sqlite, $scenarios);
        $crate::support::scenarios!(@one $suite, sqlx::Postgres, $scenarios);
        $crate::support::scenarios!(@one $suite, sqlx::MySql, $scenarios);
    };
    (@one $suite:expr, $DB:ty, [$($Scenario:ty),+ $(,)?]) => {
        $($suite.add_scenario::<$Scenario, $DB>();)+
        $suite.add::<$DB, _>("killed_at_every_step", |db| {
            let scenarios = vec![$($crate::support::Killable::of::<$Scenario>()),+];
            $crate::support::kill_at_every_step(db, "killed_at_every_step", scenarios)
        });
    };
}

pub(crate) use {on_engines, on_every_engine, scenarios};

impl Suite {
    /// Adds tests that need Redis as well.
    pub(crate) fn with_redis(&mut self, add: impl FnOnce(&mut Self)) {
        self.also_need = REDIS;
        add(self);
        self.also_need = &[];
    }

    /// Adds a test for one engine.
    pub(crate) fn add<DB, F>(&mut self, name: &str, test: impl FnOnce(TestDb<DB>) -> F + Send + 'static)
    where
        DB: Engine,
        F: Future<Output = TestResult>,
    {
        let engine = DB::URL_VARIABLE.map(|variable| (DB::DIALECT.name(), variable));
        self.tests.push(Test {
            name: format!("{}::{name}", DB::DIALECT.name()),
            needs: engine.into_iter().chain(self.also_need.iter().copied()).collect(),
            body: Box::new(move || block_on(with_database(test))),
        });
    }

    /// Adds the tests of a scenario that need nothing but the scenario.
    pub(crate) fn add_scenario<S: super::Scenario, DB: Engine>(&mut self) {
        use super::scenario::{dropped_at_every_await, released_together};
        self.add::<DB, _>(&format!("{}_dropped_at_every_await", S::NAME), dropped_at_every_await::<S, DB>);
        self.add::<DB, _>(&format!("{}_released_together", S::NAME), released_together::<S, DB>);
    }

    /// Adds a test that needs no database.
    pub(crate) fn add_plain<F>(&mut self, name: &str, test: impl FnOnce() -> F + Send + 'static)
    where
        F: Future<Output = TestResult>,
    {
        let body = Box::new(move || block_on(bounded(test())));
        self.tests.push(Test { name: name.to_owned(), needs: Vec::new(), body });
    }

    /// Runs the tests that the command line asks for; in the child process of a test, that test's part for the child.
    pub(crate) fn run(self) -> ExitCode {
        count::watch_statements();
        if let Some(errand) = Errand::of_this_process() {
            return self.run_errand(&errand);
        }
        let mut arguments = Arguments::from_args();
        arguments.test_threads.get_or_insert(TEST_THREADS);
        let absent = self.absent_servers();
        if let Some(line) = absent_line(&absent) {
            eprintln!("{line}");
            if std::env::var("IDEM_TEST_ENGINES").is_ok_and(|engines| engines == "all") {
                return ExitCode::FAILURE;
            }
        }
        let trials = self.tests.into_iter().map(Test::into_trial).collect();
        let conclusion = libtest_mimic::run(&arguments, trials);
        if gate::is_on() {
            eprintln!("the gates have met: {}", gate::met());
            if arguments.filter.is_none() && !arguments.list && !gate::was_tried() {
                eprintln!("a way was never gone: is Redis there?");
                return ExitCode::FAILURE;
            }
        }
        conclusion.exit_code()
    }

    fn run_errand(self, errand: &Errand) -> ExitCode {
        let test = self.tests.into_iter().find(|test| test.name == errand.test);
        match test.ok_or_else(|| "an unknown test".into()).and_then(|test| (test.body)()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        }
    }

    /// The servers that are not there, and the variables that would name them.
    fn absent_servers(&self) -> Vec<Need> {
        let mut absent: Vec<_> = self.tests.iter().flat_map(Test::absent).collect();
        absent.sort_unstable();
        absent.dedup();
        absent
    }
}

impl Test {
    fn absent(&self) -> impl Iterator<Item = Need> {
        self.needs.iter().copied().filter(|(_, variable)| std::env::var_os(variable).is_none())
    }

    fn into_trial(self) -> Trial {
        let ignored = self.absent().next().is_some();
        let body = self.body;
        Trial::test(self.name, move || body().map_err(|error| Failed::from(with_sources(&*error))))
            .with_ignored_flag(ignored)
    }
}

fn absent_line(absent: &[Need]) -> Option<String> {
    if absent.is_empty() {
        return None;
    }
    let (mut servers, variables): (Vec<_>, Vec<_>) = absent.iter().copied().unzip();
    servers.dedup();
    Some(format!(
        "{}: not run, without {} in the environment (`cargo xtask test` runs every engine)",
        servers.join(", "),
        variables.join(", ")
    ))
}

/// Runs a test with a database of its own, or, in a child process, with that of its parent.
async fn with_database<DB, F>(test: impl FnOnce(TestDb<DB>) -> F) -> TestResult
where
    DB: Engine,
    F: Future<Output = TestResult>,
{
    if let Some(errand) = Errand::of_this_process() {
        return test(TestDb::attach(errand.url)?).await;
    }
    let db = TestDb::create().await?;
    let outcome = AssertUnwindSafe(bounded(test(db.clone()))).catch_unwind().await;
    let removed = db.remove().await;
    outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic)).and(removed)
}

async fn bounded(test: impl Future<Output = TestResult>) -> TestResult {
    let late = || format!("not at its end after {} s", BOUND.as_secs());
    tokio::time::timeout(BOUND, test).await.map_err(|_| late())?
}

fn block_on(test: impl Future<Output = TestResult>) -> TestResult {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2).enable_all().build()?.block_on(test)
}

fn with_sources(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}\n  because: {cause}"))
}
