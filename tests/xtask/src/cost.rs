//! What the derive costs: `cargo check` of one crate after another, in turn, so that a slow minute slows all of them.

mod sources;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use sources::Crate;

use crate::{child, step, test};

/// Enough for a median that one disturbed round does not move.
const ROUNDS: usize = 9;

/// Measures every crate and prints the table.
pub(crate) fn measure() -> Result<ExitCode> {
    let bench = Bench::write(sources::all())?;
    step::timed("dependencies, compiled once", || bench.crates.iter().try_for_each(|it| bench.check(it).map(drop)))?;
    let durations = step::timed(&format!("{ROUNDS} rounds"), || bench.rounds())?;
    println!("\n{}", table(&bench.crates, &durations));
    Ok(ExitCode::SUCCESS)
}

/// A workspace beside the build, a package a crate.
struct Bench {
    folder: PathBuf,
    crates: Vec<Crate>,
}

impl Bench {
    fn write(crates: Vec<Crate>) -> Result<Self> {
        let folder = root().join("target/cost");
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("Cargo.toml"), workspace(&crates)?)?;
        // The same versions, which the build of this program has downloaded.
        fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock"))?;
        for it in &crates {
            fs::create_dir_all(folder.join(it.name).join("src"))?;
            fs::write(folder.join(it.name).join("Cargo.toml"), package(it))?;
            fs::write(folder.join(it.name).join("src/lib.rs"), &it.source)?;
        }
        Ok(Self { folder, crates })
    }

    /// Round after round, and in each of them every crate: a row of durations a crate.
    fn rounds(&self) -> Result<Vec<Vec<Duration>>> {
        let mut durations = vec![Vec::new(); self.crates.len()];
        for _ in 0..ROUNDS {
            for (it, durations) in self.crates.iter().zip(&mut durations) {
                durations.push(self.check(it)?);
            }
        }
        Ok(durations)
    }

    /// From scratch: the source is written anew, and nothing is kept from one check to the next.
    fn check(&self, it: &Crate) -> Result<Duration> {
        child::check_interrupted()?;
        fs::write(self.folder.join(it.name).join("src/lib.rs"), &it.source)?;
        let mut command = test::cargo("check --quiet --offline --package");
        command
            .arg(it.name)
            .current_dir(&self.folder)
            .env("CARGO_TARGET_DIR", self.folder.join("target"))
            .env("CARGO_INCREMENTAL", "0");
        let began_at = Instant::now();
        let status = child::spawn(&mut command)?.wait()?;
        anyhow::ensure!(status.success(), "`cargo check` of the crate `{}` failed", it.name);
        Ok(began_at.elapsed())
    }
}

fn workspace(crates: &[Crate]) -> Result<String> {
    let ours = fs::read_to_string(root().join("Cargo.toml"))?;
    let (_, profiles) = ours.split_once("[profile.").context("Cargo.toml has no profiles")?;
    let members: Vec<_> = crates.iter().map(|it| it.name).collect();
    Ok(format!("[workspace]\nresolver = \"3\"\nmembers = {members:?}\n\n[profile.{profiles}"))
}

/// All crates depend on the same, so that only their sources differ.
fn package(it: &Crate) -> String {
    format!(
        r#"[package]
name = "{}"
version = "0.0.0"
edition = "2024"

[dependencies]
idem-runtime = {{ path = '{}', features = ["sqlite"] }}
serde = {{ version = "1", features = ["derive"] }}
"#,
        it.name,
        root().join("idem-runtime").display(),
    )
}

/// For each crate its median and what it takes over its base, for one machine.
fn table(crates: &[Crate], durations: &[Vec<Duration>]) -> String {
    let medians: Vec<_> = durations.iter().map(|all| median(all)).collect();
    let seconds_of = |name| crates.iter().position(|it| it.name == name).map_or(f64::NAN, |at| medians[at]);
    let mut text = format!("{:<44}{:>10}{:>16}{:>10}\n", "crate", "median", "over its base", "ratio");
    for (it, median) in crates.iter().zip(&medians) {
        let over = |name| (seconds_of(name) - seconds_of(it.base)) / f64::from(it.machines) * 1e3;
        let ratio = it.against.map_or(String::new(), |against| format!("{:.2}", over(it.name) / over(against)));
        let _ = writeln!(text, "{:<44}{median:>8.3} s{:>13.1} ms{ratio:>10}", it.title, over(it.name));
    }
    text
}

fn median(durations: &[Duration]) -> f64 {
    let mut sorted = durations.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2].as_secs_f64()
}

/// The workspace that this program was built in.
fn root() -> &'static Path {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).unwrap_or(manifest)
}
