//! The private Redis servers, asked as a stranger asks them: at the URLs that the tests are given.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Duration;

#[test]
fn redis_answers() {
    let Some(url) = given("IDEM_TEST_REDIS_URL") else { return };
    assert_eq!(Connection::open(address(&url)).ask("PING"), "+PONG");
}

#[test]
fn redis_keeps_nothing_on_disk() {
    for url in ["IDEM_TEST_REDIS_URL", "IDEM_TEST_REDIS_CLUSTER"].into_iter().filter_map(given) {
        for node in url.split(',') {
            let mut node = Connection::open(address(node));
            assert_eq!(node.setting("save"), "");
            assert_eq!(node.setting("appendonly"), "no");
        }
    }
}

#[test]
fn the_cluster_takes_a_key_on_each_node() {
    const KEYS: u32 = 30;
    let Some(urls) = given("IDEM_TEST_REDIS_CLUSTER") else { return };
    let addresses: Vec<_> = urls.split(',').map(address).collect();
    let mut keys_of: BTreeMap<_, u32> = BTreeMap::new();
    for key in 0..KEYS {
        *keys_of.entry(node_that_takes(&format!("idem-xtask-{key}"), &addresses)).or_default() += 1;
    }
    assert_eq!(addresses.len(), 3);
    assert!(addresses.iter().all(|address| keys_of.contains_key(address)), "the keys of each node: {keys_of:?}");
}

/// Every node but one has to name that one.
fn node_that_takes<'a>(key: &str, addresses: &[&'a str]) -> &'a str {
    let ask = |address: &&'a str| (*address, Connection::open(address).ask(&format!("SET {key} 1")));
    let replies: BTreeMap<_, _> = addresses.iter().map(ask).collect();
    let taken = replies.iter().filter(|(_, reply)| *reply == "+OK").map(|(address, _)| *address);
    let [node] = taken.collect::<Vec<_>>()[..] else { panic!("`{key}` is not taken once: {replies:?}") };
    for (_, reply) in replies.iter().filter(|(address, _)| **address != node) {
        assert!(reply.starts_with("-MOVED ") && reply.ends_with(&format!(" {node}")), "{node} takes `{key}`: {reply}");
    }
    assert_eq!(Connection::open(node).ask(&format!("DEL {key}")), ":1");
    node
}

/// The value of a variable. An absent server is said in one line; where every engine was asked for it is a failure.
fn given(variable: &str) -> Option<String> {
    let value = std::env::var(variable).ok();
    if value.is_none() {
        assert!(std::env::var("IDEM_TEST_ENGINES").as_deref() != Ok("all"), "{variable} is not set");
        eprintln!("not run, {variable} is not set (`cargo xtask test` runs every engine)");
    }
    value
}

fn address(url: &str) -> &str {
    url.strip_prefix("redis://").expect("a URL of Redis")
}

/// A connection that reads a line an answer.
struct Connection(BufReader<TcpStream>);

impl Connection {
    fn open(address: &str) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a bound that is not zero");
        Self(BufReader::new(stream))
    }

    fn ask(&mut self, command: &str) -> String {
        write!(self.0.get_mut(), "{command}\r\n").expect("the server listens");
        self.line()
    }

    /// The answer is a list of the name and the value, each after a line with its length.
    fn setting(&mut self, name: &str) -> String {
        assert_eq!(self.ask(&format!("CONFIG GET {name}")), "*2");
        let [_, answered, _, value] = [(); 4].map(|()| self.line());
        assert_eq!(answered, name);
        value
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("the server answers");
        line.trim_end().to_owned()
    }
}
