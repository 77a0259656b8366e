//! A private Redis.

mod cluster;
mod storm;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
pub(crate) use cluster::Cluster;
use rustix::process::Signal;
pub(crate) use storm::Storm;

use crate::server::{Kind, Place, Server, free_ports};
use crate::{install, programs};

const KIND: Kind = Kind { name: "Redis", account: "redis", stop: Signal::TERM, orphaned: "KILL" };

/// What to do when the memory is full is left to Redis: a test that cares says so.
const SETTINGS: [[&str; 2]; 5] = [
    ["--bind", "127.0.0.1"],
    ["--save", ""],
    ["--appendonly", "no"],
    ["--maxmemory", "64mb"],
    ["--loglevel", "warning"],
];

/// Starts a server; gives it and its URL.
pub(crate) fn start() -> Result<(Server, String)> {
    let programs = Programs::find_or_install()?;
    let [port] = free_ports()?;
    let server = programs.start(Place::new(&KIND)?, &port.to_string(), &[])?;
    Ok((server, url(port)))
}

fn url(port: u16) -> String {
    format!("redis://127.0.0.1:{port}")
}

struct Programs {
    server: PathBuf,
    client: PathBuf,
}

impl Programs {
    fn find_or_install() -> Result<Self> {
        install::find_or_install("redis-server", Self::find)
    }

    fn find() -> Option<Self> {
        Some(Self { server: programs::find("redis-server")?, client: programs::find("redis-cli")? })
    }

    fn start(&self, place: Place, port: &str, settings: &[[&str; 2]]) -> Result<Server> {
        let mut command = place.command(&self.server)?;
        command.args(["--port", port, "--unixsocket"]).arg(socket(&place));
        command.args(SETTINGS.as_flattened()).args(settings.as_flattened());
        let mut probe = Command::new(&self.client);
        probe.args(through_socket(&place)).arg("PING");
        Server::start(place, &mut command, &mut probe)
    }
}

fn socket(place: &Place) -> PathBuf {
    place.join("socket")
}

/// The arguments of a client that fails on an error, and that asks through the socket, which is ours alone: whoever
/// took the port meanwhile cannot answer for our server.
fn through_socket(place: &Place) -> [OsString; 3] {
    ["-e".into(), "-s".into(), socket(place).into()]
}
