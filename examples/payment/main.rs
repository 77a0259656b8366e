//! A payment channel pushes its callbacks late, repeated and out of order, and every trade is charged once.
//!
//! ```text
//! cargo run --example payment
//! cargo run --example payment -- --break no-claim
//! cargo run --example payment -- --database-url postgres://postgres@localhost/postgres
//! ```
//!
//! Read `machines.rs` and `service.rs`: they are what a service writes. The other files are the world around it.

mod broken;
mod callbacks;
mod check;
mod database;
mod generate;
mod machines;
mod money;
mod network;
#[path = "../common/place.rs"]
mod place;
mod report;
mod service;
mod store;
mod stories;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use idem_runtime::Idem;
use indicatif::{ProgressBar, ProgressStyle};
use sqlx::Pool;
use sqlx::mysql::MySqlConnectOptions;
use sqlx::postgres::PgConnectOptions;

use crate::broken::Break;
use crate::callbacks::{Expected, Notification, OrderLine};
use crate::database::Database;
use crate::network::Weather;
use crate::place::Fresh;

/// The name of the example, and of what it makes.
const EXAMPLE: &str = "payment";

/// Delivers payment callbacks late, repeated and out of order, and counts what went wrong: nothing.
#[derive(Debug, Parser)]
#[command(name = EXAMPLE)]
struct Arguments {
    /// A server to make a fresh database on, and to drop it again: `postgres://..` or `mysql://..` [default: a SQLite
    /// file in a temporary folder]
    #[arg(long, value_parser = server)]
    database_url: Option<Server>,

    /// Shuffles the deliveries
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// How many deliveries are under way at once
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    workers: u16,

    /// How often each line is delivered
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=100))]
    repeat: u16,

    /// Does it wrong, to show that the checker can fail
    #[arg(long = "break", value_enum)]
    broken: Option<Break>,

    /// Writes the files of examples/payment into a folder instead
    #[arg(long, hide = true)]
    generate: Option<PathBuf>,
}

/// Where to make the fresh database.
#[derive(Debug, Clone)]
enum Server {
    Postgres(PgConnectOptions),
    MySql(MySqlConnectOptions),
}

fn server(url: &str) -> Result<Server, String> {
    match url.split_once("://").map(|(scheme, _)| scheme) {
        Some("postgres" | "postgresql") => url.parse().map(Server::Postgres).map_err(|error| error.to_string()),
        Some("mysql" | "mariadb") => url.parse().map(Server::MySql).map_err(|error| error.to_string()),
        _ => Err("expected `postgres://..` or `mysql://..`".to_owned()),
    }
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
    if let Some(folder) = &arguments.generate {
        generate(folder)?;
        return Ok(true);
    }
    match arguments.database_url.clone() {
        None => on_sqlite(arguments).await,
        Some(Server::Postgres(server)) => on_server(place::postgres(EXAMPLE, server).await?, arguments).await,
        Some(Server::MySql(server)) => on_server(place::mysql(EXAMPLE, server).await?, arguments).await,
    }
}

async fn on_sqlite(arguments: &Arguments) -> Result<bool, Box<dyn Error>> {
    let (pool, file) = place::sqlite(EXAMPLE).await?;
    let place = file.display().to_string();
    let how_to_run = format!("In examples/payment: sqlite3 {place} < check/wrong_end.sql");
    run(pool, &place, &how_to_run, arguments).await
}

async fn on_server<DB: Database>(fresh: Fresh<DB>, arguments: &Arguments) -> Result<bool, Box<dyn Error>> {
    let how_to_run = format!("They ran in the database {}, which is dropped now.", fresh.name);
    let is_right = run(fresh.pool.clone(), &fresh.name, &how_to_run, arguments).await;
    fresh.drop().await?;
    is_right
}

async fn run<DB: Database>(
    pool: Pool<DB>,
    place: &str,
    how_to_run: &str,
    arguments: &Arguments,
) -> Result<bool, Box<dyn Error>> {
    let notifications: Vec<Notification> = callbacks::read("callbacks.jsonl")?;
    let orders: Vec<OrderLine> = callbacks::read("orders.jsonl")?;
    let idem = open_shop(&pool, &orders).await?;
    report::machines(DB::DIALECT);

    let weather = arguments.weather();
    report::deliveries(notifications.len(), orders.len(), weather, place);
    let tally = network::deliver(&idem, &notifications, &orders, weather, progress_bar()).await?;
    report::outcomes(&tally);
    report::busiest(&tally, &check::life(&pool, &tally.busiest.0).await?);

    let expected: Vec<Expected> = callbacks::read("expected.jsonl")?;
    check::expect(&pool, &expected).await?;
    let findings = check::run(&pool).await?;
    report::findings(&findings, &check::books(&pool).await?, how_to_run);
    report::last_line(&tally, &findings);
    pool.close().await;
    Ok(report::is_right(&tally, &findings))
}

/// Creates the tables and takes the orders.
async fn open_shop<DB: Database>(pool: &Pool<DB>, orders: &[OrderLine]) -> Result<Idem<DB>, Box<dyn Error>> {
    let idem = Idem::builder(pool.clone()).build().await?;
    idem.migrate().await?;
    database::create_tables(pool).await?;
    for order in orders {
        DB::take_order(pool, order).await?;
    }
    Ok(idem)
}

fn progress_bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:60} {pos}/{len} {elapsed}");
    ProgressBar::no_length().with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn generate(folder: &Path) -> std::io::Result<()> {
    generate::files().iter().try_for_each(|(name, text)| std::fs::write(folder.join(name), text))
}

impl Arguments {
    fn weather(&self) -> Weather {
        let (workers, repeat) = (usize::from(self.workers), usize::from(self.repeat));
        Weather { seed: self.seed, workers, repeat, broken: self.broken }
    }
}
