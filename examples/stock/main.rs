//! Stock that cannot be sold twice: what is reserved, deducted and released, each once.
//!
//! ```text
//! cargo run --example stock
//! cargo run --example stock -- --break read-then-write
//! cargo run --example stock -- --database-url postgres://postgres@localhost/postgres
//! ```
//!
//! Read `machine.rs` and `service.rs`: they are what a service writes. A machine for each reservation says who moves it; a
//! conditional UPDATE in the same transaction moves the quantity.

mod broken;
mod check;
mod letters;
#[path = "../common/luck.rs"]
mod luck;
mod machine;
mod market;
#[path = "../common/place.rs"]
mod place;
mod script;
mod service;
mod store;

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use idem_runtime::machine::{EventOf, NewRow};
use idem_runtime::prelude::*;
use sqlx::Pool;

use crate::broken::Break;
use crate::check::{Count, Finding};
use crate::machine::Reservation;
use crate::machine::reservation::{Deduct, New};
use crate::market::Tally;
use crate::place::Fresh;
use crate::store::{Shelf, Warehouse};

/// The name of the example, and of what it makes.
const EXAMPLE: &str = "stock";

/// Reserves, deducts and releases stock of which there is too little, by messages that come late, repeated and at the
/// same time.
#[derive(Debug, Parser)]
#[command(name = EXAMPLE)]
struct Arguments {
    /// A server to make a fresh database on, and to drop it again: `postgres://..` or `mysql://..` [default: a SQLite
    /// file in a temporary folder]
    #[arg(long)]
    database_url: Option<String>,

    /// Makes other orders, and shuffles the messages differently
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// How many orders there are
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    orders: u16,

    /// How many messages are under way at once
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

async fn on_server<DB: Warehouse>(fresh: Fresh<DB>, arguments: &Arguments) -> Result<bool, Box<dyn Error>> {
    let is_right = run(fresh.pool.clone(), &fresh.name, arguments).await;
    fresh.drop().await?;
    is_right
}

async fn run<DB: Warehouse>(pool: Pool<DB>, place: &str, arguments: &Arguments) -> Result<bool, Box<dyn Error>> {
    describe(DB::DIALECT);
    let lines = script::lines(arguments.seed, arguments.orders);
    let articles = script::articles(&lines);
    let idem = store::open(&pool, &articles).await?;
    say!("{} lines of {} orders in {place}", lines.len(), arguments.orders);
    let tally = market::deliver(&idem, lines, arguments.seed, arguments.workers, arguments.broken).await?;
    report_answers(&tally);
    report_shelves(&DB::shelves(&pool).await?);
    // Before the check, which tries to undo them by hand.
    let deducted = DB::find(&pool, "SELECT sku FROM reservations WHERE status = 'deducted'").await?.len();
    let findings = check::run(&pool).await?;
    report_findings(&findings);
    pool.close().await;
    Ok(last_line(deducted, &findings, &tally))
}

/// The machine, and the SQL that makes a reservation and deducts it.
fn describe(dialect: Dialect) {
    say!("{}", Reservation::MERMAID);
    say!("-- create\n{};\n", <New as NewRow<Reservation>>::SQL.insert.of(dialect).sql);
    say!("-- deduct\n{};\n", <Deduct as EventOf<Reservation>>::SQL.fire.of(dialect).sql);
}

fn report_answers(tally: &Tally) {
    let Tally { requests, replayed, sold_out, refused, unanswered, resent, swept, .. } = tally;
    say!("{requests:>6}  messages, of which");
    say!("{replayed:>6}  told what an earlier one had told");
    say!("{sold_out:>6}  asked for more than there was");
    say!("{refused:>6}  came to a reservation that did not take them");
    say!("{unanswered:>6}  were cut off or did not get their answer, and came again");
    say!("{resent:>6}  came again because the database had given them up");
    say!("{swept:>6}  reservations were released by a sweep");
}

fn report_shelves(shelves: &[Shelf]) {
    say!("\n{:12} {:>9} {:>9} {:>9} {:>9}", "", "counted", "available", "reserved", "deducted");
    for (sku, counted, available, reserved, deducted) in shelves {
        say!("{sku:12} {counted:>9} {available:>9} {reserved:>9} {deducted:>9}");
    }
}

fn report_findings(findings: &[Finding]) {
    say!("\nThe checker must find nothing (examples/stock/check.rs):");
    for Finding { what, found, .. } in findings {
        let mark = if found.is_empty() { "ok" } else { "FOUND" };
        say!("{mark:>5} {:>3}  {what}", found.len());
    }
}

/// The counts, for programs; whether the last two are zero.
fn last_line(deducted: usize, findings: &[Finding], tally: &Tally) -> bool {
    let sum = |kind| findings.iter().filter(|it| it.counts_as == kind).map(|it| it.found.len()).sum::<usize>();
    let (oversold, lost) = (sum(Count::Oversold), sum(Count::Lost) + tally.given_up);
    let Tally { requests, replayed, .. } = tally;
    say!("\nrequests={requests} deducted={deducted} replayed={replayed} oversold={oversold} lost={lost}");
    oversold + lost == 0
}
