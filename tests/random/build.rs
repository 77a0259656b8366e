//! Writes the machines that the tests compile, a file a test target.

#[path = "generate/mod.rs"]
mod generate;
#[path = "build/tables.rs"]
mod tables;
#[path = "build/walk.rs"]
mod walk;

use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

use generate::Machine;

/// How many test targets share the machines.
const BATCHES: u64 = 4;
/// How many machines there are when nobody asks for more. A thousand take minutes to compile.
const MACHINES: u64 = 200;

/// One machine in this many is walked, since the code that moves its rows is compiled for each event.
const WALKS: u64 = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let (machines, seed) = (variable("IDEM_TEST_MACHINES", MACHINES)?, variable("IDEM_TEST_SEED", 1)?);
    let folder = PathBuf::from(env::var("OUT_DIR")?);
    for batch in 0..BATCHES {
        let numbers = (0..machines).filter(|number| number % BATCHES == batch);
        fs::write(folder.join(format!("batch_{batch}.rs")), file(seed, numbers))?;
    }
    for path in ["build", "build.rs", "generate"] {
        println!("cargo::rerun-if-changed={path}");
    }
    Ok(())
}

/// A number from the environment.
fn variable(name: &str, default: u64) -> Result<u64, Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed={name}");
    match env::var(name) {
        Ok(number) => Ok(number.parse()?),
        Err(_) => Ok(default),
    }
}

fn file(seed: u64, numbers: impl Iterator<Item = u64>) -> String {
    let (mut modules, mut cases) = (String::new(), String::new());
    for number in numbers {
        modules += &module(number, &generate::machine(seed, number));
        let _ = write!(cases, "machine_{number}::CASE, ");
    }
    format!("{modules}\nconst CASES: &[idem_random_machines::Case] = &[{cases}];\n{}", tests())
}

/// A test an engine, so that they run side by side.
fn tests() -> String {
    let test = |(name, dialect)| {
        format!(
            "#[test]
fn {name}_prepares_every_statement() {{
    let prepared = idem_random_machines::every_statement_prepares(idem_runtime::Dialect::{dialect}, CASES);
    prepared.unwrap_or_else(|error| panic!(\"{{error}}\"));
}}
"
        )
    };
    let walk = "#[test]
fn rows_move_along_declared_transitions_only() {
    idem_random_machines::walk_all(CASES).unwrap_or_else(|error| panic!(\"{error}\"));
}
";
    [("postgres", "Postgres"), ("mysql", "MySql"), ("sqlite", "Sqlite")].map(test).concat() + walk
}

/// Each machine has a module of its own, so that it may have any name.
fn module(number: u64, machine: &Machine) -> String {
    let (name, source) = (machine.name, &machine.source);
    let [postgres, mysql, sqlite] = tables::create(machine);
    // The machine needs none of them.
    let others = if number.is_multiple_of(2) { ", Debug, Clone, Copy, PartialEq, Eq" } else { "" };
    let walk = if number.is_multiple_of(WALKS) { walk::walk(machine) } else { "None".to_owned() };
    format!(
        "mod machine_{number} {{
    use idem_runtime::prelude::*;
    #[allow(unused_imports)]
    use uuid::Uuid;
    #[derive(StateMachine{others})]
    {source}
    pub(super) const CASE: idem_random_machines::Case = idem_random_machines::Case::new::<{name}>(
        {number},
        {source:?},
        idem_runtime::dialect::PerDialect {{ postgres: {postgres:?}, mysql: {mysql:?}, sqlite: {sqlite:?} }},
        {walk},
    );
}}
"
    )
}
