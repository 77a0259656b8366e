//! Finding programs that no package manager is asked about.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The file of a program in `PATH` or where servers are installed without being in everybody's `PATH`.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let everywhere = std::env::split_paths(&path).chain(["/usr/sbin", "/usr/local/sbin", "/sbin"].map(PathBuf::from));
    everywhere.map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// What a program prints, without the line's end; nothing when it is missing or fails.
pub(crate) fn output_of(program: impl AsRef<Path>, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program.as_ref()).args(arguments).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Whether this process may do everything.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
