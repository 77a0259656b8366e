//! A private Redis Cluster of three masters.

use std::process::Command;

use anyhow::Result;
use rustix::process::Signal;

use super::{Programs, through_socket, url};
use crate::server::{Kind, Place, Server, free_ports};

const KIND: Kind = Kind { name: "Redis Cluster", account: "redis", stop: Signal::TERM, orphaned: "KILL" };

/// The first and the last slot of each node.
const SLOTS: [[&str; 2]; 3] = [["0", "5460"], ["5461", "10922"], ["10923", "16383"]];

/// The nodes; dropping it stops them.
pub(crate) struct Cluster {
    programs: Programs,
    nodes: Vec<Node>,
}

struct Node {
    server: Server,
    port: u16,
    bus: u16,
}

impl Cluster {
    /// Starts the nodes and tells them of each other; what they make of it takes them about two seconds.
    pub(crate) fn start() -> Result<Self> {
        let programs = Programs::find_or_install()?;
        // The bus has a port of its own, because the usual one, 10000 above the client's, need not be free.
        let [first, second, third, buses @ ..] = free_ports::<6>()?;
        let ports = [first, second, third].into_iter().zip(buses);
        let nodes = ports.map(|(port, bus)| Node::start(&programs, port, bus)).collect::<Result<_>>()?;
        let cluster = Self { programs, nodes };
        cluster.give_slots()?;
        cluster.introduce()?;
        Ok(cluster)
    }

    fn give_slots(&self) -> Result<()> {
        let mut nodes = self.nodes.iter().zip(SLOTS);
        nodes.try_for_each(|(node, [from, to])| self.tell(node, &["ADDSLOTSRANGE", from, to]))
    }

    /// Each pair on its own: what one node passes on about another one comes seconds later.
    fn introduce(&self) -> Result<()> {
        for (index, node) in self.nodes.iter().enumerate() {
            for Node { port, bus, .. } in &self.nodes[index + 1..] {
                self.tell(node, &["MEET", "127.0.0.1", &port.to_string(), &bus.to_string()])?;
            }
        }
        Ok(())
    }

    fn tell(&self, node: &Node, words: &[&str]) -> Result<()> {
        let place = node.server.place();
        let mut command = place.command(&self.programs.client)?;
        place.run(command.args(through_socket(place)).arg("CLUSTER").args(words))
    }

    /// Waits until every node knows who serves each slot.
    pub(crate) fn wait_until_complete(&mut self) -> Result<()> {
        for Node { server, .. } in &mut self.nodes {
            let arguments = through_socket(server.place());
            server.wait_until(|| {
                let mut command = Command::new(&self.programs.client);
                let output = command.args(&arguments).args(["CLUSTER", "INFO"]).output()?;
                Ok(String::from_utf8_lossy(&output.stdout).lines().any(|line| line == "cluster_state:ok"))
            })?;
        }
        Ok(())
    }

    /// The URL of each node, with commas between them.
    pub(crate) fn urls(&self) -> String {
        self.nodes.iter().map(|node| url(node.port)).collect::<Vec<_>>().join(",")
    }
}

impl Node {
    /// What the cluster tells a node is kept in its own folder, in `nodes.conf`.
    fn start(programs: &Programs, port: u16, bus: u16) -> Result<Self> {
        let settings = [["--cluster-enabled", "yes"], ["--cluster-port", &bus.to_string()]];
        let server = programs.start(Place::new(&KIND)?, &port.to_string(), &settings)?;
        Ok(Self { server, port, bus })
    }
}
