//! A named part of a run, printed with its duration.

use std::process::Command;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::child;

/// Runs a command as one step; a command that fails is an error that shows it.
pub(crate) fn run(name: &str, command: &mut Command) -> Result<()> {
    timed(name, || {
        let status = child::run_in_group(command)?;
        if !status.success() {
            bail!("`{name}` failed with {status}: {}", shown(command));
        }
        Ok(())
    })
}

/// Runs a step that is more than one command.
pub(crate) fn timed<T>(name: &str, body: impl FnOnce() -> Result<T>) -> Result<T> {
    child::check_interrupted()?;
    eprintln!("\n==> {name}");
    let began_at = Instant::now();
    let value = body()?;
    eprintln!("    {name}: {:.1} s", began_at.elapsed().as_secs_f64());
    Ok(value)
}

fn shown(command: &Command) -> String {
    let words =
        command.get_envs().filter_map(|(name, value)| Some(format!("{}='{}'", name.display(), value?.display())));
    let program = std::iter::once(command.get_program()).chain(command.get_args());
    words.chain(program.map(|word| word.display().to_string())).collect::<Vec<_>>().join(" ")
}
