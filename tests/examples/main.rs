//! The examples, run as a stranger runs them: on every engine, with several seeds, and broken on purpose.
//!
//! `IDEM_TEST_SEEDS=20` runs more seeds than a usual run has time for.

mod checkout;
mod operator;
mod order;
mod payment;
mod reward;
mod stock;
mod transfer;

#[path = "../support/example.rs"]
mod example;

use std::collections::HashMap;
use std::fmt;
use std::process::Output;

/// Runs a check of an example on every engine, a test each.
macro_rules! on_each_engine {
    ($check:ident) => {
        #[test]
        fn sqlite() {
            $check(&$crate::Engine { name: "sqlite", url: None });
        }

        #[test]
        fn postgres() {
            $crate::on_server("postgres", "IDEM_TEST_POSTGRES_URL", $check);
        }

        #[test]
        fn mysql() {
            $crate::on_server("mysql", "IDEM_TEST_MYSQL_URL", $check);
        }
    };
}
use on_each_engine;

/// An engine, and the address of its server if it has one.
#[derive(Debug, Clone)]
struct Engine {
    name: &'static str,
    url: Option<String>,
}

/// An absent server is said in one line; where every engine was asked for it is a failure.
fn on_server(name: &'static str, variable: &str, check: fn(&Engine)) {
    if let Ok(url) = std::env::var(variable) {
        return check(&Engine { name, url: Some(url) });
    }
    assert!(std::env::var("IDEM_TEST_ENGINES").as_deref() != Ok("all"), "{variable} is not set");
    eprintln!("{name}: not run, {variable} is not set (`cargo xtask test` runs every engine)");
}

/// How many seeds each example is run with.
fn seeds(usual: u64) -> u64 {
    std::env::var("IDEM_TEST_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(usual)
}

/// What a run has printed, how it ended, and of what it was a run.
struct Report {
    title: String,
    text: String,
    code: Option<i32>,
}

/// Runs an example with a temporary folder of its own, since it keeps its database there.
fn run(example: &str, engine: &Engine, arguments: &[&str]) -> Report {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = example::command(example);
    command.env("TMPDIR", folder.path()).args(arguments);
    if let Some(url) = &engine.url {
        command.args(["--database-url", url]);
    }
    let Output { status, stdout, .. } = command.output().expect("the example starts");
    let title = format!("{example} on {} with {arguments:?}", engine.name);
    Report { title, text: String::from_utf8_lossy(&stdout).into_owned(), code: status.code() }
}

/// An example says that its arguments are wrong, each of them.
fn refuses(example: &str, wrong: &[[&str; 2]]) {
    for arguments in wrong {
        let output = example::command(example).args(arguments).output().expect("the example starts");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

impl Report {
    /// How often the last line (`orders=N messages=N ..`) counts this.
    fn count(&self, name: &str) -> u64 {
        let last = self.text.lines().last().unwrap_or_default();
        let pairs: HashMap<_, _> = last.split(' ').filter_map(|pair| pair.split_once('=')).collect();
        pairs.get(name).and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("no {name} in {self}"))
    }

    /// The run ended well, and counts nothing of this.
    fn is_right(&self, zeros: &[&str]) {
        assert_eq!(self.code, Some(0), "{self}");
        for zero in zeros {
            assert_eq!(self.count(zero), 0, "{zero} of {self}");
        }
    }

    /// The run ended badly, and counts this.
    fn is_wrong(&self, count: &str) {
        assert_eq!(self.code, Some(1), "{self}");
        assert!(self.count(count) > 0, "{count} of {self}");
    }

    /// The line of the report that ends so.
    fn line(&self, end: &str) -> &str {
        self.text.lines().find(|line| line.ends_with(end)).unwrap_or_else(|| panic!("no line `{end}` in {self}"))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:\n{}", self.title, self.text)
    }
}
