//! The test command: every check and every test, in the order in which a fault is cheapest to find.

use std::ffi::OsString;
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context as _, Result};

use crate::servers::Servers;
use crate::{programs, step};

/// Runs everything and stops at the first failure.
pub(crate) fn everything() -> Result<ExitCode> {
    let began_at = Instant::now();
    step::run("rustfmt", &mut cargo("fmt --all --check"))?;
    step::run("clippy", &mut cargo("clippy --workspace --all-targets -- -D warnings"))?;
    check_each_feature()?;
    test_on_every_engine()?;
    step::run("documentation", cargo("doc --workspace --no-deps").env("RUSTDOCFLAGS", "-D warnings"))?;
    println!("\neverything passed: {:.0} s", began_at.elapsed().as_secs_f64());
    Ok(ExitCode::SUCCESS)
}

/// A feature that compiles only beside another one is a broken feature.
fn check_each_feature() -> Result<()> {
    const CLIPPY: &str = "clippy --package idem-runtime --lib --no-default-features";
    step::run("clippy, no feature", &mut cargo(&format!("{CLIPPY} -- -D warnings")))?;
    for feature in runtime_features()? {
        let command = format!("{CLIPPY} --features {feature} -- -D warnings");
        step::run(&format!("clippy, feature {feature}"), &mut cargo(&command))?;
    }
    Ok(())
}

fn runtime_features() -> Result<Vec<String>> {
    let text = programs::output_of(cargo_program(), &["metadata", "--no-deps", "--format-version=1"])
        .context("`cargo metadata` failed")?;
    let metadata: serde_json::Value = serde_json::from_str(&text)?;
    let packages = metadata["packages"].as_array().context("`cargo metadata` names no packages")?;
    let runtime = packages.iter().find(|package| package["name"] == "idem-runtime");
    let features = runtime.and_then(|package| package["features"].as_object()).context("idem-runtime is missing")?;
    Ok(features.keys().cloned().collect())
}

/// Those of the documentation come last. Not `--all-targets`: it would build the examples as tests, of which they have
/// none, and the tests that run the examples would build them once more.
fn test_on_every_engine() -> Result<()> {
    let servers = Servers::start()?;
    step::run("tests", &mut on_every_engine("test --workspace", &servers))?;
    let mut gated = on_every_engine("test --workspace --test suite", &servers);
    step::run("idempotent functions behind a gate, Redis in a storm", gated.env("IDEM_TEST_GATE", "on"))
}

/// Runs the tests that compare with files, each of which then writes its file instead.
pub(crate) fn renew_golden_files() -> Result<ExitCode> {
    const TESTS: [(&str, &str); 3] = [
        ("texts", "test --workspace --lib --test golden --test ui"),
        // It reads what the tests before it have written.
        ("gallery of compile errors", "test --workspace --test gallery"),
        ("statement counts", "test --workspace --test suite -- statements_per_operation"),
    ];
    let servers = Servers::start()?;
    for (name, command) in TESTS {
        let mut command = on_every_engine(command, &servers);
        step::run(name, command.env("UPDATE_EXPECT", "1").env("TRYBUILD", "overwrite"))?;
    }
    println!("\nreview what has changed: `git diff`");
    Ok(ExitCode::SUCCESS)
}

/// A cargo command that finds the servers, for tests that fail without one.
fn on_every_engine(arguments: &str, servers: &Servers) -> Command {
    let mut command = cargo(arguments);
    command.envs(servers.environment()).env("IDEM_TEST_ENGINES", "all");
    // Left in a shell, they would make every comparison succeed.
    command.env_remove("UPDATE_EXPECT").env_remove("TRYBUILD");
    command
}

/// A cargo command.
pub(crate) fn cargo(arguments: &str) -> Command {
    let mut command = Command::new(cargo_program());
    command.args(arguments.split_whitespace());
    command
}

/// The cargo that runs xtask, so that all steps use one toolchain.
fn cargo_program() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
