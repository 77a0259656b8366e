//! An order leaves the house in several parcels and part of its money goes back, each parcel and each refund once.
//!
//! ```text
//! cargo run --example order
//! cargo run --example order -- --break no-cause
//! cargo run --example order -- --database-url postgres://postgres@localhost/postgres
//! ```
//!
//! Read `machine.rs` and `service.rs`: they are what a service writes. The status is an enum of the database, by
//! `repr = native`: a type on PostgreSQL, an `ENUM` on MySQL. An `alias` lets rows of the older release go on.

mod broken;
mod check;
mod machine;
#[path = "../common/place.rs"]
mod place;
mod post;
mod script;
mod service;
mod store;

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use idem_runtime::machine::EventOf;
use idem_runtime::prelude::*;
use idem_runtime::schema;
use sqlx::Pool;

use crate::broken::Break;
use crate::check::{Count, Finding};
use crate::machine::OrderStatus;
use crate::machine::order_status::Ship;
use crate::place::Fresh;
use crate::post::Tally;
use crate::store::Shop;

/// The name of the example, and of what it makes.
const EXAMPLE: &str = "order";

/// Ships orders in parts and gives money back in parts, by messages that come late, repeated and at the same time.
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

async fn on_server<DB: Shop>(fresh: Fresh<DB>, arguments: &Arguments) -> Result<bool, Box<dyn Error>> {
    let is_right = run(fresh.pool.clone(), &fresh.name, arguments).await;
    fresh.drop().await?;
    is_right
}

async fn run<DB: Shop>(pool: Pool<DB>, place: &str, arguments: &Arguments) -> Result<bool, Box<dyn Error>> {
    describe(DB::DIALECT);
    let orders = script::orders(arguments.seed, arguments.orders);
    let idem = store::open(&pool, &orders).await?;
    let tally = post::deliver(&idem, &orders, arguments.seed, arguments.workers, arguments.broken).await;
    say!("{} orders in {place}, {} messages. They are now:", orders.len(), tally.messages);
    for (status, count) in DB::states(&pool).await? {
        say!("{count:>5}  {status}");
    }
    let findings = check::run(&pool).await?;
    report(&findings);
    pool.close().await;
    Ok(last_line(orders.len(), &findings, &tally))
}

/// The machine, and the SQL of the event that can come back to where it starts.
fn describe(dialect: Dialect) {
    say!("{}", OrderStatus::MERMAID);
    if let Some(status_type) = schema::status_type::<OrderStatus>(dialect) {
        say!("{status_type};\n");
    }
    say!("-- ship\n{};\n", <Ship as EventOf<OrderStatus>>::SQL.fire.of(dialect).sql);
}

fn report(findings: &[Finding]) {
    say!("\nThe checker must find nothing (examples/order/check.rs):");
    for Finding { what, found, .. } in findings {
        let mark = if found.is_empty() { "ok" } else { "FOUND" };
        say!("{mark:>5} {:>3}  {what}", found.len());
    }
}

/// The counts, for programs; whether the last two are zero.
fn last_line(orders: usize, findings: &[Finding], tally: &Tally) -> bool {
    let sum = |kind| findings.iter().filter(|it| it.counts_as == kind).map(|it| it.found.len()).sum::<usize>();
    let (double, lost) = (sum(Count::Double), sum(Count::Lost) + tally.given_up);
    let Tally { messages, shipped, refunded, called_off, replayed, refused, resent, .. } = tally;
    say!(
        "\norders={orders} messages={messages} shipped={shipped} refunded={refunded} called_off={called_off} \
         replayed={replayed} refused={refused} resent={resent} double={double} lost={lost}"
    );
    double + lost == 0
}
