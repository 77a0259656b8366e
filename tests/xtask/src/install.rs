//! Installing a server that is missing, where that is possible.

use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::{programs, step};

/// Finds a server's programs; when they are missing, installs their Debian package and looks again.
pub(crate) fn find_or_install<T>(package: &str, find: impl Fn() -> Option<T>) -> Result<T> {
    if let Some(found) = find() {
        return Ok(found);
    }
    let Some(mut command) = installer() else {
        bail!("{}", instructions(package));
    };
    step::run(&format!("install {package}"), command.arg(package))?;
    find().with_context(|| format!("the package `{package}` was installed, yet its programs were not found"))
}

/// The command that installs the packages given to it, for root or for whoever may become root without a password.
fn installer() -> Option<Command> {
    programs::find("apt-get")?;
    let mut command = if programs::is_root() {
        Command::new("sh")
    } else {
        programs::output_of("sudo", &["--non-interactive", "true"])?;
        let mut sudo = Command::new("sudo");
        sudo.args(["--non-interactive", "sh"]);
        sudo
    };
    command.args(["-c", include_str!("install.sh"), "install.sh"]);
    Some(command)
}

fn instructions(package: &str) -> String {
    format!(
        "`{package}` is not installed, and cannot be installed from here: \
         that takes apt-get and root, or sudo without a password\n\
         help: on Debian or Ubuntu: `sudo apt-get install {package}`; \
         elsewhere install PostgreSQL 15 or newer with its contrib modules, MariaDB 10.6 or newer, and Redis 7.0 or \
         newer, so that `pg_config`, `mariadbd`, `mariadb-install-db`, `redis-server` and `redis-cli` are in PATH"
    )
}
