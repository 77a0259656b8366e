//! A crate that depends on the packaged `idem-runtime` alone, under another name, builds.

use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

const USER: &str = r#"
use idem::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64), history, rename_all = "snake_case", crate = idem)]
#[transition(pay: Pending => Paid, set(paid_at = now, trade_no: String))]
pub enum OrderStatus {
    #[state(initial)]
    Pending,
    #[state(terminal)]
    Paid,
}

#[idempotent(scope = "order.pay", key = order_id, payload = trade_no, crate = idem)]
pub async fn pay<DB: SqlDialect>(tx: &mut Tx<'_, DB>, order_id: i64, trade_no: &str) -> Result<bool, TransitionError> {
    let event = order_status::Pay { trade_no: trade_no.to_owned() };
    let outcome = OrderStatus::row(order_id).fire(event).cause(trade_no).run(&mut *tx).await?;
    Ok(matches!(outcome, Outcome::Applied(_)))
}

pub async fn twice<DB: SqlDialect>(idem: &Idem<DB>) -> Result<bool, TransitionError> {
    pay(idem, 1, "T1").await?;
    pay(idem, 1, "T1").await
}
"#;

#[test]
fn a_renamed_dependency_on_the_packages_builds() -> Result {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let [macros, runtime] = packages()?.map(|package| unpack(&package, folder.path()));
    let user = write_user(folder.path(), &macros?, &runtime?)?;
    run(cargo("check --offline").current_dir(user).env("CARGO_TARGET_DIR", target()))
}

/// Packages both crates, without the check that builds each of them: the build of the user checks both.
fn packages() -> Result<[PathBuf; 2]> {
    let package = "package --package idem-macros --package idem-runtime --no-verify --allow-dirty --offline";
    run(cargo(package).current_dir(root()).env("CARGO_TARGET_DIR", target()))?;
    let file = |name| target().join(format!("package/{name}-{}.crate", env!("CARGO_PKG_VERSION")));
    Ok(["idem-macros", "idem-runtime"].map(file))
}

/// Unpacks a package; gives the folder of its crate.
fn unpack(package: &Path, folder: &Path) -> Result<PathBuf> {
    run(Command::new("tar").arg("-xzf").arg(package).arg("-C").arg(folder))?;
    Ok(folder.join(package.file_stem().unwrap_or_default()))
}

fn write_user(folder: &Path, macros: &Path, runtime: &Path) -> Result<PathBuf> {
    let user = folder.join("user");
    fs::create_dir_all(user.join("src"))?;
    fs::write(user.join("Cargo.toml"), manifest(macros, runtime)?)?;
    // The same versions, which the build of this test has downloaded.
    fs::copy(root().join("Cargo.lock"), user.join("Cargo.lock"))?;
    fs::write(user.join("src/lib.rs"), USER)?;
    Ok(user)
}

fn manifest(macros: &Path, runtime: &Path) -> Result<String> {
    let ours = fs::read_to_string(root().join("Cargo.toml"))?;
    // With the same profiles the dependencies are compiled only once.
    let profiles = ours.find("[profile.").map_or("", |start| &ours[start..]);
    Ok(format!(
        r#"
[package]
name = "user"
version = "0.0.0"
edition = "2024"

[dependencies]
idem = {{ package = "idem-runtime", path = '{}', features = ["sqlite"] }}

[patch.crates-io]
idem-macros = {{ path = '{}' }}

# A workspace of its own, though its folder is inside another one.
[workspace]

{profiles}"#,
        runtime.display(),
        macros.display()
    ))
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The target directory of this build.
fn target() -> &'static Path {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    folder.parent().unwrap_or(folder)
}

fn cargo(arguments: &str) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").as_deref().unwrap_or(OsStr::new("cargo")));
    command.args(arguments.split_whitespace());
    command
}

fn run(command: &mut Command) -> Result {
    let output = command.output()?;
    assert!(output.status.success(), "{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
