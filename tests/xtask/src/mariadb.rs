//! A private MariaDB.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use rustix::process::Signal;

use crate::server::{Kind, Place, Server, free_ports};
use crate::{install, programs};

const KIND: Kind = Kind { name: "MariaDB", account: "mysql", stop: Signal::TERM, orphaned: "KILL" };

const SETTINGS: [&str; 9] = [
    "--skip-networking=0",
    "--bind-address=127.0.0.1",
    "--skip-name-resolve",
    "--max-connections=500",
    "--innodb-buffer-pool-size=256M",
    // The tests kill clients, never the machine: what a client was told is committed survives without a flush.
    "--innodb-flush-log-at-trx-commit=2",
    "--skip-log-bin",
    "--character-set-server=utf8mb4",
    "--log-warnings=0",
];

/// The account of the tests, which makes databases.
const ACCOUNT: &str = "\
CREATE USER IF NOT EXISTS idem@'127.0.0.1';
GRANT ALL ON *.* TO idem@'127.0.0.1';
CREATE USER IF NOT EXISTS idem@localhost;
";

struct Programs {
    server: PathBuf,
    install: PathBuf,
    client: PathBuf,
}

/// Starts a server; gives it and its URL.
pub(crate) fn start() -> Result<(Server, String)> {
    let programs = install::find_or_install("mariadb-server", find)?;
    let place = Place::new(&KIND)?;
    initialize(&place, &programs)?;
    let [port] = free_ports()?.map(|port| port.to_string());
    let mut probe = probe(&place, &programs);
    let mut command = place.command(&programs.server)?;
    command.arg("--no-defaults").args(SETTINGS).args([
        format!("--port={port}"),
        format!("--datadir={}", place.join("data").display()),
        format!("--socket={}", place.join("socket").display()),
        format!("--init-file={}", place.write("account.sql", ACCOUNT)?.display()),
    ]);
    let server = Server::start(place, &mut command, &mut probe)?;
    Ok((server, format!("mysql://idem@127.0.0.1:{port}")))
}

fn initialize(place: &Place, programs: &Programs) -> Result<()> {
    let mut command = place.command(&programs.install)?;
    command.args(["--no-defaults", "--skip-test-db"]);
    place.run(command.arg(format!("--datadir={}", place.join("data").display())))
}

/// Asks through the socket, which is ours alone: whoever took the port meanwhile cannot answer for our server.
fn probe(place: &Place, programs: &Programs) -> Command {
    let mut command = Command::new(&programs.client);
    command.args(["--no-defaults", "--user=idem", "--execute=SELECT 1"]);
    command.arg(format!("--socket={}", place.join("socket").display()));
    command
}

fn find() -> Option<Programs> {
    Some(Programs {
        server: programs::find("mariadbd")?,
        install: programs::find("mariadb-install-db")?,
        client: programs::find("mariadb")?,
    })
}
