//! Child processes that end when xtask is told to end.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

static INTERRUPTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// How often a waiting loop looks again.
pub(crate) const POLL: Duration = Duration::from_millis(20);

/// Makes Ctrl-C and its relatives a flag, so that `main` returns and every server is stopped on the way.
pub(crate) fn watch_signals() -> Result<()> {
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&INTERRUPTED))?;
    }
    Ok(())
}

/// Fails once xtask was told to end.
pub(crate) fn check_interrupted() -> Result<()> {
    if INTERRUPTED.load(Ordering::Relaxed) {
        bail!("interrupted");
    }
    Ok(())
}

/// Returns when xtask is told to end.
pub(crate) fn wait_for_signal() {
    while check_interrupted().is_ok() {
        thread::sleep(POLL);
    }
}

/// Runs a command in a process group of its own, so that an interrupt ends all that it has started.
pub(crate) fn run_in_group(command: &mut Command) -> Result<ExitStatus> {
    wait(spawn(command.stdin(Stdio::null()).process_group(0))?, kill_process_group)
}

/// Runs a command that may read from the terminal, which only the foreground's process group may.
pub(crate) fn run_in_foreground(command: &mut Command) -> Result<ExitStatus> {
    wait(spawn(command)?, kill_process)
}

/// Starts a command.
pub(crate) fn spawn(command: &mut Command) -> Result<Child> {
    command.spawn().with_context(|| format!("cannot run `{}`", command.get_program().display()))
}

fn wait(mut child: Child, signal: fn(Pid, Signal) -> rustix::io::Result<()>) -> Result<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            check_interrupted()?;
            return Ok(status);
        }
        if check_interrupted().is_err() {
            end(&mut child, Signal::TERM, signal)?;
        }
        thread::sleep(POLL);
    }
}

/// Asks a child to end and kills it when it does not within a bound.
pub(crate) fn end(
    child: &mut Child,
    asking: Signal,
    signal: fn(Pid, Signal) -> rustix::io::Result<()>,
) -> io::Result<ExitStatus> {
    const BOUND: Duration = Duration::from_secs(20);
    let asked_at = Instant::now();
    // An error means that it has ended already, which the wait below finds out.
    let _ = signal(Pid::from_child(child), asking);
    while asked_at.elapsed() < BOUND {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        thread::sleep(POLL);
    }
    let _ = signal(Pid::from_child(child), Signal::KILL);
    child.wait()
}
