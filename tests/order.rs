//! The example `order`, run as a stranger runs it: on every engine, with several seeds, and broken on purpose.

#[path = "support/example.rs"]
mod example;

use std::collections::HashMap;
use std::process::Output;

/// What `--break` knows, and the finding that shows it.
const MUTANTS: [(&str, &str); 2] = [("no-cause", "a parcel counted twice"), ("ignore-outcome", "a refund paid twice")];

#[test]
fn sqlite() {
    check_engine("sqlite", None);
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
    for arguments in [["--database-url", "oracle://x"], ["--break", "everything"], ["--orders", "0"]] {
        let output = example::command("order").args(arguments).output().expect("the example starts");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

/// An absent server is said in one line; where every engine was asked for it is a failure.
fn on_server(engine: &str, variable: &str) {
    if let Ok(url) = std::env::var(variable) {
        return check_engine(engine, Some(&url));
    }
    assert!(std::env::var("IDEM_TEST_ENGINES").as_deref() != Ok("all"), "{variable} is not set");
    eprintln!("{engine}: not run, {variable} is not set (`cargo xtask test` runs every engine)");
}

fn check_engine(engine: &str, url: Option<&str>) {
    for seed in ["1", "2"] {
        check_right(engine, seed, &run(url, &["--orders", "80", "--seed", seed]));
    }
    for (mutant, finding) in MUTANTS {
        check_mutant(engine, mutant, finding, &run(url, &["--orders", "80", "--break", mutant]));
    }
}

fn check_right(engine: &str, seed: &str, output: &Output) {
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{engine} with seed {seed}:\n{text}");
    let counts = counts(&text);
    assert_eq!((counts["double"], counts["lost"]), (0, 0), "{engine} with seed {seed}:\n{text}");
    // A run in which nothing came twice or too late would show nothing.
    for count in ["shipped", "refunded", "called_off", "replayed", "refused", "resent"] {
        assert!(counts[count] > 0, "{count} of {engine} with seed {seed}:\n{text}");
    }
}

fn check_mutant(engine: &str, mutant: &str, finding: &str, output: &Output) {
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{engine} with --break {mutant}:\n{text}");
    assert!(counts(&text)["double"] > 0, "{engine} with --break {mutant}:\n{text}");
    let found = text.lines().find(|line| line.ends_with(finding)).expect("the report names the check");
    assert!(found.contains("FOUND"), "{engine} with --break {mutant}:\n{text}");
}

/// Runs the example with a temporary folder of its own, since it keeps its database there.
fn run(url: Option<&str>, arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = example::command("order");
    command.env("TMPDIR", folder.path()).args(arguments);
    if let Some(url) = url {
        command.args(["--database-url", url]);
    }
    command.output().expect("the example starts")
}

/// The last line: `orders=N messages=N ..`.
fn counts(text: &str) -> HashMap<&str, u64> {
    let last = text.lines().last().unwrap_or_default();
    let pairs = last.split(' ').filter_map(|pair| pair.split_once('='));
    pairs.filter_map(|(name, count)| Some((name, count.parse().ok()?))).collect()
}
