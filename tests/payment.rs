//! The example `payment`, run as a stranger runs it: on every engine, with several seeds, and broken on purpose.
//!
//! `IDEM_TEST_SEEDS=20` runs more seeds than a usual run has time for.

#[path = "support/example.rs"]
mod example;

use std::collections::HashMap;
use std::process::Output;

/// What `--break` knows, how often each line has to come to show it, and the count that shows it.
const MUTANTS: [(&str, &str, &str); 4] = [
    ("unconditional-update", "1", "charged_twice"),
    ("claim-after-body", "3", "wrongly_refunded"),
    ("cause-notify-id", "1", "wrongly_refunded"),
    ("no-claim", "1", "wrongly_refunded"),
];

/// An engine, and the address of its server if it has one.
#[derive(Debug, Clone)]
struct Engine {
    name: &'static str,
    url: Option<String>,
}

#[test]
fn sqlite() {
    check_engine(&Engine { name: "sqlite", url: None });
}

#[test]
fn postgres() {
    on_server("postgres", "IDEM_TEST_POSTGRES_URL");
}

#[test]
fn mysql() {
    on_server("mysql", "IDEM_TEST_MYSQL_URL");
}

#[test]
fn wrong_arguments_exit_with_2() {
    for arguments in [["--database-url", "oracle://x"], ["--break", "everything"], ["--workers", "0"]] {
        let output = example::command("payment").args(arguments).output().expect("the example starts");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn help_lists_the_mutants() {
    let output = example::command("payment").arg("--help").output().expect("the example starts");
    let help = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(MUTANTS.iter().all(|(mutant, ..)| help.contains(mutant)), "{help}");
}

/// An absent server is said in one line; where every engine was asked for it is a failure.
fn on_server(name: &'static str, variable: &str) {
    if let Ok(url) = std::env::var(variable) {
        return check_engine(&Engine { name, url: Some(url) });
    }
    assert!(std::env::var("IDEM_TEST_ENGINES").as_deref() != Ok("all"), "{variable} is not set");
    eprintln!("{name}: not run, {variable} is not set (`cargo xtask test` runs every engine)");
}

fn check_engine(engine: &Engine) {
    for seed in 1..=seeds() {
        check_right(engine, seed);
    }
    for (mutant, repeat, count) in MUTANTS {
        check_mutant(engine, mutant, repeat, count);
    }
}

fn seeds() -> u64 {
    std::env::var("IDEM_TEST_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(3)
}

fn check_right(engine: &Engine, seed: u64) {
    let output = run(engine, &["--seed", &seed.to_string()]);
    let text = String::from_utf8_lossy(&output.stdout);
    let counts = counts(&text);
    assert_eq!(output.status.code(), Some(0), "{} with seed {seed}:\n{text}", engine.name);
    for zero in ["charged_twice", "wrongly_refunded", "lost"] {
        assert_eq!(counts[zero], 0, "{} with seed {seed}:\n{text}", engine.name);
    }
    assert!(counts["overlaps"] >= 1_000, "{} with seed {seed}: {counts:?}", engine.name);
    check_width(&text);
}

/// The report is read in a terminal, all but its last line, which is for programs.
fn check_width(text: &str) {
    let report = text.trim_end().rsplit_once('\n').map_or("", |(report, _)| report);
    let widest = report.lines().max_by_key(|line| line.chars().count()).unwrap_or_default();
    assert!(widest.chars().count() <= 100, "wider than 100 columns: {widest}");
}

fn check_mutant(engine: &Engine, mutant: &str, repeat: &str, count: &str) {
    let output = run(engine, &["--break", mutant, "--repeat", repeat]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{} with --break {mutant}:\n{text}", engine.name);
    assert!(counts(&text)[count] > 0, "{} with --break {mutant}:\n{text}", engine.name);
}

/// Runs the example with a temporary folder of its own, since it keeps its database there.
fn run(engine: &Engine, arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = example::command("payment");
    command.env("TMPDIR", folder.path()).args(arguments);
    if let Some(url) = &engine.url {
        command.args(["--database-url", url]);
    }
    command.output().expect("the example starts")
}

/// The last line: `callbacks=N executed=N ..`.
fn counts(text: &str) -> HashMap<&str, u64> {
    let last = text.lines().last().unwrap_or_default();
    let pairs = last.split(' ').filter_map(|pair| pair.split_once('='));
    pairs.filter_map(|(name, count)| Some((name, count.parse().ok()?))).collect()
}
