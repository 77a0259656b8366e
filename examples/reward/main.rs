//! A reward that is granted once: nothing in it changes its state, and only a key says that it was done.
//!
//! ```text
//! cargo run --example reward
//! cargo run --example reward -- --break request-in-key
//! cargo run --example reward -- --database-url postgres://postgres@localhost/postgres
//! ```
//!
//! Read `service.rs`: it is what a service writes. `broken.rs` is what it must not.

mod broken;
mod check;
#[path = "../common/luck.rs"]
mod luck;
#[path = "../common/place.rs"]
mod place;
mod script;
mod service;
mod store;
mod tables;
mod traffic;

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use idem_runtime::schema;
use sqlx::Pool;

use crate::broken::Break;
use crate::check::{Count, Finding};
use crate::place::Fresh;
use crate::store::Bank;
use crate::traffic::Tally;

/// The name of the example, and of what it makes.
const EXAMPLE: &str = "reward";

/// Grants points and badges by requests that come late, repeated and at the same time.
#[derive(Debug, Parser)]
#[command(name = EXAMPLE)]
struct Arguments {
    /// A server to make a fresh database on, and to drop it again: `postgres://..` or `mysql://..` [default: a SQLite
    /// file in a temporary folder]
    #[arg(long)]
    database_url: Option<String>,

    /// Makes other wishes, and shuffles the requests differently
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// How many users take part in the two activities
    #[arg(long, default_value_t = 150, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    users: u16,

    /// How many requests are under way at once
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    workers: u16,

    /// Does it wrong, to show that the checker can fail
    #[arg(long = "break", value_enum)]
    broken: Option<Break>,
}

/// `println!` that a closed pipe does not stop: a run that began goes on to its end, and drops its database.
macro_rules! say {
    ($($text:tt)*) => {
        let _ = writeln!(std::io::stdout(), $($text)*);
    };
}

#[tokio::main]
async fn main() -> ExitCode {
    match tell(&Arguments::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// The whole story on the chosen database; whether the checker found nothing.
async fn tell(arguments: &Arguments) -> Result<bool, Box<dyn Error>> {
    let Some(url) = &arguments.database_url else {
        let (pool, file) = place::sqlite(EXAMPLE).await?;
        return run(pool, &file.display().to_string(), arguments).await;
    };
    match url.split_once("://").map(|(scheme, _)| scheme) {
        Some("postgres" | "postgresql") => on_server(place::postgres(EXAMPLE, url.parse()?).await?, arguments).await,
        Some("mysql" | "mariadb") => on_server(place::mysql(EXAMPLE, url.parse()?).await?, arguments).await,
        _ => Err("--database-url: expected `postgres://..` or `mysql://..`".into()),
    }
}

async fn on_server<DB: Bank>(fresh: Fresh<DB>, arguments: &Arguments) -> Result<bool, Box<dyn Error>> {
    let is_right = run(fresh.pool.clone(), &fresh.name, arguments).await;
    fresh.drop().await?;
    is_right
}

async fn run<DB: Bank>(pool: Pool<DB>, place: &str, arguments: &Arguments) -> Result<bool, Box<dyn Error>> {
    for (name, sql) in schema::transaction_statements(DB::DIALECT) {
        say!("-- {name}\n{sql};\n");
    }
    let wishes = script::wishes(arguments.seed, arguments.users);
    let idem = store::open(&pool, &wishes).await?;
    say!("{} rewards of {} users in {place}", wishes.len(), arguments.users);
    let tally = traffic::deliver(&idem, &wishes, arguments.seed, arguments.workers, arguments.broken).await?;
    report_answers(&tally);
    let granted = DB::find(&pool, "SELECT number FROM grants", &[]).await?.len();
    let findings = check::run(&pool).await?;
    report_findings(&findings);
    pool.close().await;
    Ok(last_line(granted, &findings, &tally))
}

fn report_answers(tally: &Tally) {
    let Tally { requests, replayed, refused, unanswered, resent, .. } = tally;
    say!("{requests:>6}  requests, of which");
    say!("{replayed:>6}  were told of a grant that an earlier one had got");
    say!("{refused:>6}  asked for another number of points than the first one");
    say!("{unanswered:>6}  were cut off or did not get their answer, and came again");
    say!("{resent:>6}  were told to come again");
}

fn report_findings(findings: &[Finding]) {
    say!("\nThe checker must find nothing (examples/reward/check.rs):");
    for Finding { what, found, .. } in findings {
        let mark = if found.is_empty() { "ok" } else { "FOUND" };
        say!("{mark:>5} {:>3}  {what}", found.len());
    }
}

/// The counts, for programs; whether the last two are zero.
fn last_line(granted: usize, findings: &[Finding], tally: &Tally) -> bool {
    let sum = |kind| findings.iter().filter(|it| it.counts_as == kind).map(|it| it.found.len()).sum::<usize>();
    let (duplicated, lost) = (sum(Count::Duplicated), sum(Count::Lost) + tally.given_up);
    let Tally { requests, replayed, .. } = tally;
    say!("\nrequests={requests} granted={granted} replayed={replayed} duplicated={duplicated} lost={lost}");
    duplicated + lost == 0
}
