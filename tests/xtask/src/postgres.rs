//! A private PostgreSQL.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use rustix::process::Signal;

use crate::server::{Kind, Place, Server, free_ports};
use crate::{install, programs};

const KIND: Kind = Kind {
    name: "PostgreSQL",
    account: "postgres",
    // "Fast shutdown": sessions are ended, nothing is lost.
    stop: Signal::INT,
    // "Immediate shutdown": the main process ends its children too, which SIGKILL would leave to themselves.
    orphaned: "QUIT",
};

const SETTINGS: [&str; 7] = [
    // `count_statements` of the suite reads it.
    "shared_preload_libraries=pg_stat_statements",
    "max_connections=400",
    "max_prepared_transactions=0",
    "log_min_messages=fatal",
    "listen_addresses=127.0.0.1",
    // The tests kill clients, never the machine: what a client was told is committed survives without it.
    "fsync=off",
    // The default, written out: a commit is answered after it was written.
    "synchronous_commit=on",
];

/// Starts a server; gives it and its URL.
pub(crate) fn start() -> Result<(Server, String)> {
    let programs = install::find_or_install("postgresql", find)?;
    let place = Place::new(&KIND)?;
    initialize(&place, &programs)?;
    let [port] = free_ports()?.map(|port| port.to_string());
    let mut probe = probe(&place, &programs, &port);
    let mut command = place.command(&programs.join("postgres"))?;
    command.arg("-D").arg(place.join("data")).args(["-p", &port, "-k"]).arg(place.path());
    command.args(SETTINGS.iter().flat_map(|setting| ["-c", setting]));
    let server = Server::start(place, &mut command, &mut probe)?;
    Ok((server, format!("postgres://idem@127.0.0.1:{port}/postgres")))
}

fn initialize(place: &Place, programs: &Path) -> Result<()> {
    let mut command = place.command(&programs.join("initdb"))?;
    command.args(["--auth=trust", "--username=idem", "--encoding=UTF8", "--locale=C", "--no-sync"]);
    place.run(command.arg("-D").arg(place.join("data")))
}

/// Asks through the socket, which is ours alone: whoever took the port meanwhile cannot answer for our server.
fn probe(place: &Place, programs: &Path, port: &str) -> Command {
    let mut command = Command::new(programs.join("psql"));
    command.arg("--no-psqlrc").arg("--host").arg(place.path()).args(["--port", port, "--username=idem"]);
    command.args(["--dbname=postgres", "--command=SELECT 1"]);
    command
}

/// The folder that holds the server's programs.
fn find() -> Option<PathBuf> {
    let configured = programs::output_of("pg_config", &["--bindir"]).map(PathBuf::from);
    let in_path = programs::find("postgres").and_then(|file| Some(file.parent()?.to_path_buf()));
    let complete = |folder: &PathBuf| ["initdb", "postgres", "psql"].iter().all(|name| folder.join(name).is_file());
    configured.into_iter().chain(debian_folders()).chain(in_path).find(complete)
}

/// Debian keeps one folder a version; the newest comes first.
fn debian_folders() -> Vec<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<_> = versions.map(|version| version.path()).collect();
    let number = |folder: &PathBuf| folder.file_name()?.to_str()?.parse::<u32>().ok();
    versions.sort_by_key(|folder| std::cmp::Reverse(number(folder)));
    versions.into_iter().map(|version| version.join("bin")).collect()
}
