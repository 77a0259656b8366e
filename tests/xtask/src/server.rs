//! One private server: its account, its folder, its process.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use rustix::process::{Signal, kill_process};
use tempfile::TempDir;

use crate::{child, programs};

/// What tells one kind of server from another.
pub(crate) struct Kind {
    /// Its name in messages.
    pub(crate) name: &'static str,
    /// The account that runs it when xtask is root, because no server is to be root and most refuse to be.
    pub(crate) account: &'static str,
    /// The signal on which it ends at once and in order.
    pub(crate) stop: Signal,
    /// The name of the signal that it gets when xtask is killed.
    pub(crate) orphaned: &'static str,
}

/// A folder of a server's own and the commands that work in it.
pub(crate) struct Place {
    kind: &'static Kind,
    folder: TempDir,
}

impl Place {
    /// Makes the folder.
    pub(crate) fn new(kind: &'static Kind) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix(&format!("idem-{}-", kind.account)).tempdir()?;
        let place = Self { kind, folder };
        place.give_to_account(place.path())?;
        Ok(place)
    }

    /// The folder's path; the server's socket is in it too.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A path in the folder.
    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file that the server can read.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let file = self.join(name);
        std::fs::write(&file, text)?;
        self.give_to_account(&file)?;
        Ok(file)
    }

    fn give_to_account(&self, path: &Path) -> Result<()> {
        if !programs::is_root() {
            return Ok(());
        }
        let account = self.kind.account;
        let status = Command::new("chown").arg(format!("{account}:")).arg(path).status()?;
        if !status.success() {
            bail!("cannot give {} to the account `{account}`", path.display());
        }
        Ok(())
    }

    /// A command that runs under the server's account and writes to its log.
    pub(crate) fn command(&self, program: &Path) -> Result<Command> {
        let mut words = self.launcher().into_iter().chain([program.into()]);
        let mut command = Command::new(words.next().unwrap_or_default());
        let log = self.log()?;
        command.args(words).current_dir(self.path()).stdin(Stdio::null());
        command.stdout(log.try_clone()?).stderr(log);
        Ok(command)
    }

    /// The words before a command. `setpriv` ends the server even when xtask gets no time to do so; a system without
    /// it goes without that.
    fn launcher(&self) -> Vec<OsString> {
        let account = self.kind.account;
        let as_account = ["--reuid", account, "--regid", account, "--clear-groups"];
        let ended_with_us = ["setpriv", "--pdeathsig", self.kind.orphaned];
        let words: Vec<_> = match programs::is_root() {
            true => ended_with_us.into_iter().chain(as_account).collect(),
            false if programs::find("setpriv").is_some() => ended_with_us.into(),
            false => return Vec::new(),
        };
        words.into_iter().chain(["--"]).map(OsString::from).collect()
    }

    fn log(&self) -> Result<File> {
        Ok(OpenOptions::new().create(true).append(true).open(self.join("server.log"))?)
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, command: &mut Command) -> Result<()> {
        let status = child::run_in_group(command)?;
        if !status.success() {
            bail!("{} cannot be set up ({status}); its log ends with:\n{}", self.kind.name, self.end_of_log());
        }
        Ok(())
    }

    fn end_of_log(&self) -> String {
        const LINES: usize = 30;
        let text = std::fs::read(self.join("server.log")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }
}

/// A running server; dropping it stops it and removes its folder.
pub(crate) struct Server {
    place: Place,
    process: Child,
}

impl Server {
    /// Starts a server and waits until the probe, a command that connects to it, succeeds.
    ///
    /// The parent of the process must be the main thread: a server ends with the thread that started it.
    pub(crate) fn start(place: Place, command: &mut Command, probe: &mut Command) -> Result<Self> {
        // The terminal's Ctrl-C is for xtask, which stops the server in order when nobody uses it any more.
        command.process_group(0);
        let process = child::spawn(command)?;
        let mut server = Self { place, process };
        probe.stdout(Stdio::null()).stderr(Stdio::null());
        server.wait_until(|| Ok(probe.status()?.success()))?;
        Ok(server)
    }

    /// The server's folder.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// Waits as long as the server runs, within a bound.
    pub(crate) fn wait_until(&mut self, mut ready: impl FnMut() -> Result<bool>) -> Result<()> {
        const BOUND: Duration = Duration::from_mins(1);
        let started_at = Instant::now();
        while !ready()? {
            child::check_interrupted()?;
            let ended = self.process.try_wait()?;
            if ended.is_some() || started_at.elapsed() > BOUND {
                bail!("{} does not start; its log ends with:\n{}", self.place.kind.name, self.place.end_of_log());
            }
            thread::sleep(child::POLL);
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = child::end(&mut self.process, self.place.kind.stop, kill_process);
    }
}

/// Ports that nobody listens on.
pub(crate) fn free_ports<const COUNT: usize>() -> Result<[u16; COUNT]> {
    // All are open at once, so that no two are the same.
    let listeners: Vec<_> =
        (0..COUNT).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).collect::<Result<_, _>>()?;
    let mut ports = [0; COUNT];
    for (port, listener) in ports.iter_mut().zip(&listeners) {
        *port = listener.local_addr()?.port();
    }
    Ok(ports)
}
