//! kill -9 at every step: a child process makes a scenario's call and is killed at a step of the runtime.

use std::process::Stdio;
use std::sync::OnceLock;
use std::time::Duration;

use futures_util::future::BoxFuture;
use idem_runtime::__steps::{Step, on_step};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};

use super::scenario::{Called, NoAnswer, Scenario, check_and_call_again};
use super::{BoxError, Engine, TestDb, TestResult, ensure};

/// What a child process is to do. It travels in an environment variable.
#[derive(Debug)]
pub(crate) struct Errand {
    /// The full name of the test that sent it.
    pub(crate) test: String,
    /// The test's database.
    pub(crate) url: String,
    scenario: String,
    step: String,
    round: i64,
}

impl Errand {
    const VARIABLE: &str = "IDEM_TEST_ERRAND";

    /// What this process was started for; `None` when it is not the child of a test.
    pub(crate) fn of_this_process() -> Option<Self> {
        let words = std::env::var(Self::VARIABLE).ok()?;
        let [test, scenario, step, round, url] = words.splitn(5, ' ').collect::<Vec<_>>().try_into().ok()?;
        let [test, scenario, step, url] = [test, scenario, step, url].map(str::to_owned);
        Some(Self { test, url, scenario, step, round: round.parse().ok()? })
    }

    /// Starts a process that runs a part of its own of the test `test`, on the same database. It is killed with the test.
    pub(crate) fn start_part<DB: Engine>(db: &TestDb<DB>, test: &str, part: &str) -> Result<Child, BoxError> {
        let (test, url) = (format!("{}::{test}", DB::DIALECT.name()), db.url().to_owned());
        Self { test, url, scenario: part.to_owned(), step: "none".to_owned(), round: 0 }.start_child()
    }

    /// The part that this process was started for.
    pub(crate) fn part(&self) -> &str {
        &self.scenario
    }

    fn start_child(&self) -> Result<Child, BoxError> {
        let Self { test, url, scenario, step, round } = self;
        let mut command = Command::new(std::env::current_exe()?);
        command.env(Self::VARIABLE, format!("{test} {scenario} {step} {round} {url}"));
        Ok(command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?)
    }

    /// Sends a child and kills it when it says that it has reached the step. False when it ended without.
    async fn send(&self) -> Result<bool, BoxError> {
        let mut child = self.start_child()?;
        let output = child.stdout.take().ok_or("the child's output is piped")?;
        let said = tokio::time::timeout(Duration::from_mins(1), says_reached(output)).await;
        let reached = said.map_err(|_| "the child neither ends nor reaches the step")??;
        if reached {
            child.kill().await?;
        } else {
            let status = child.wait().await?;
            ensure!(status.success(), "the child failed with {status}");
        }
        Ok(reached)
    }
}

/// What a child says at its step.
const REACHED: &str = "reached";

async fn says_reached(output: ChildStdout) -> std::io::Result<bool> {
    let mut lines = BufReader::new(output).lines();
    while let Some(line) = lines.next_line().await? {
        if line == REACHED {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A scenario with its type erased, so that a list can hold several.
pub(crate) struct Killable<DB: Engine> {
    name: &'static str,
    call: fn(TestDb<DB>, &'static str, i64) -> BoxFuture<'static, TestResult>,
    create_tables: fn(TestDb<DB>) -> BoxFuture<'static, TestResult>,
    prepare: fn(TestDb<DB>, i64) -> BoxFuture<'static, TestResult>,
    check: fn(TestDb<DB>, Step, i64) -> BoxFuture<'static, TestResult>,
}

impl<DB: Engine> Killable<DB> {
    /// The scenario `S`.
    pub(crate) fn of<S: Scenario>() -> Self {
        Self {
            name: S::NAME,
            call: |db, step, round| Box::pin(call_until::<S, DB>(db, step, round)),
            create_tables: |db| Box::pin(async move { S::create_tables(&db).await }),
            prepare: |db, round| Box::pin(async move { S::prepare(&db, round).await }),
            check: |db, step, round| Box::pin(check::<S, DB>(db, step, round)),
        }
    }
}

/// Kills a process at every step of every scenario. `test` is the name of the calling test: the child process runs it
/// too, up to here, for its list of scenarios.
///
/// # Errors
///
/// What is broken, and a step that no scenario has reached: a kill there is not tested.
pub(crate) async fn kill_at_every_step<DB: Engine>(
    db: TestDb<DB>,
    test: &str,
    scenarios: Vec<Killable<DB>>,
) -> TestResult {
    kill_at_steps(db, test, scenarios, &Step::ALL).await
}

/// Likewise at some steps, all of which have to be reached.
///
/// # Errors
///
/// Those of [`kill_at_every_step`].
pub(crate) async fn kill_at_steps<DB: Engine>(
    db: TestDb<DB>,
    test: &str,
    scenarios: Vec<Killable<DB>>,
    steps: &[Step],
) -> TestResult {
    if let Some(errand) = Errand::of_this_process() {
        return run_errand(db, &scenarios, &errand).await;
    }
    let mut missed: Vec<_> = steps.iter().copied().filter(|step| !DB::NO_STEPS.contains(step)).collect();
    for scenario in &scenarios {
        let reached = kill_scenario(test, scenario, steps).await?;
        if let Some(step) = DB::NO_STEPS.iter().find(|step| reached.contains(step)) {
            return Err(format!("reached, and said not to exist on it: {step:?}").into());
        }
        missed.retain(|step| !reached.contains(step));
    }
    ensure!(missed.is_empty(), "reached by no scenario: {missed:?}");
    Ok(())
}

/// The steps that one scenario reaches, in a database of its own.
async fn kill_scenario<DB: Engine>(test: &str, scenario: &Killable<DB>, steps: &[Step]) -> Result<Vec<Step>, BoxError> {
    let db = TestDb::create().await?;
    let reached = kill_in(&db, test, scenario, steps).await;
    db.remove().await?;
    reached
}

async fn kill_in<DB: Engine>(
    db: &TestDb<DB>,
    test: &str,
    scenario: &Killable<DB>,
    steps: &[Step],
) -> Result<Vec<Step>, BoxError> {
    (scenario.create_tables)(db.clone()).await?;
    let mut reached = Vec::new();
    for (round, &step) in (0..).zip(steps) {
        let killed = kill_once(db, test, scenario, step, round).await;
        if killed.map_err(|error| format!("{} killed at {}: {error}", scenario.name, step.name()))? {
            reached.push(step);
        }
    }
    Ok(reached)
}

/// One kill; false when the call does not pass the step.
async fn kill_once<DB: Engine>(
    db: &TestDb<DB>,
    test: &str,
    scenario: &Killable<DB>,
    step: Step,
    round: i64,
) -> Result<bool, BoxError> {
    (scenario.prepare)(db.clone(), round).await?;
    let errand = Errand {
        test: format!("{}::{test}", DB::DIALECT.name()),
        url: db.url().to_owned(),
        scenario: scenario.name.to_owned(),
        step: step.name().to_owned(),
        round,
    };
    let killed = errand.send().await?;
    (scenario.check)(db.clone(), step, round).await?;
    Ok(killed)
}

async fn check<S: Scenario, DB: Engine>(db: TestDb<DB>, step: Step, round: i64) -> TestResult {
    if step == Step::Committed {
        S::check(&db, round, Called::Answered).await.map_err(|error| format!("committed and lost: {error}"))?;
    }
    check_and_call_again::<S, DB>(&db, &db.idem(2).await?, round).await
}

async fn run_errand<DB: Engine>(db: TestDb<DB>, scenarios: &[Killable<DB>], errand: &Errand) -> TestResult {
    let scenario = scenarios.iter().find(|scenario| scenario.name == errand.scenario).ok_or("an unknown scenario")?;
    let step = Step::ALL.iter().find(|step| step.name() == errand.step).ok_or("an unknown step")?;
    (scenario.call)(db, step.name(), errand.round).await
}

/// The child's part: makes the call, which stops for ever at the step.
async fn call_until<S: Scenario, DB: Engine>(db: TestDb<DB>, step: &'static str, round: i64) -> TestResult {
    static LAST_STEP: OnceLock<&str> = OnceLock::new();
    fn stop(step: Step) {
        if LAST_STEP.get() == Some(&step.name()) {
            println!("{REACHED}");
            loop {
                std::thread::park();
            }
        }
    }
    let idem = db.idem(2).await?;
    LAST_STEP.get_or_init(|| step);
    on_step(stop);
    S::call(&idem, round).await.map_err(NoAnswer::into_error)
}
