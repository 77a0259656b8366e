//! The commands that run the checks of idem and the database servers that they need: `cargo xtask help` lists them.

mod child;
mod cost;
mod install;
mod mariadb;
mod postgres;
mod programs;
mod redis;
mod server;
mod servers;
mod step;
mod test;

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use anyhow::{Result, bail};
use servers::Servers;

const USAGE: &str = "\
cargo xtask test                       run every check and every test, on every engine
cargo xtask golden                     renew the golden files, to be reviewed with `git diff`
cargo xtask servers [-- COMMAND ..]    start the database servers for a command; without one, until Ctrl-C
cargo xtask cost                       measure what the derive costs to compile, against serde's";

fn main() -> ExitCode {
    child::watch_signals().and_then(|()| run(std::env::args_os().skip(1).collect())).unwrap_or_else(|error| {
        eprintln!("\nerror: {error:#}");
        ExitCode::FAILURE
    })
}

fn run(mut arguments: Vec<OsString>) -> Result<ExitCode> {
    let rest = arguments.split_off(arguments.len().min(1));
    let name = arguments.first().map(|name| name.to_string_lossy());
    match (name.as_deref(), &rest[..]) {
        (Some("test"), []) => test::everything(),
        (Some("golden"), []) => test::renew_golden_files(),
        (Some("cost"), []) => cost::measure(),
        (Some("servers"), []) => servers_until_interrupted(),
        (Some("servers"), [dashes, program, arguments @ ..]) if dashes == "--" => servers_for(program, arguments),
        (None | Some("help" | "--help"), []) => {
            println!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        _ => bail!("unknown arguments\n{USAGE}"),
    }
}

fn servers_until_interrupted() -> Result<ExitCode> {
    let servers = Servers::start()?;
    for (name, value) in servers.environment() {
        println!("export {name}='{value}'");
    }
    println!("# the servers run until Ctrl-C");
    child::wait_for_signal();
    Ok(ExitCode::SUCCESS)
}

fn servers_for(program: &OsString, arguments: &[OsString]) -> Result<ExitCode> {
    let servers = Servers::start()?;
    let mut command = Command::new(program);
    command.args(arguments).envs(servers.environment());
    let status = child::run_in_foreground(&mut command)?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}
