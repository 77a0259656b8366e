//! Four layers together: a button that greys out, a one-time token, a gate in Redis, the claim, compare-and-swap and
//! unique-while around one purchase, which comes ten times over.
//!
//! ```text
//! cargo run --example checkout
//! cargo run --example checkout -- --without claim,token
//! cargo run --example checkout -- --only button,token,gate --redis redis://127.0.0.1
//! cargo run --example checkout -- --database-url postgres://postgres@localhost/postgres
//! ```
//!
//! Read `shop.rs`: it is what a service writes. `sources.rs` says where duplicates come from; the other files are the world
//! around it.

mod layers;
#[path = "../common/luck.rs"]
#[expect(dead_code, reason = "what goes wrong here is planned")]
mod luck;
mod machine;
#[path = "../common/place.rs"]
mod place;
mod shop;
mod sources;
mod store;
mod street;
mod table;

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use idem_runtime::gate::Gate;
use idem_runtime::prelude::*;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use sqlx::Pool;
use uuid::Uuid;

use crate::layers::{Layer, Layers};
use crate::place::Fresh;
use crate::sources::{Purchase, Source};
use crate::store::Till;
use crate::street::Shop;
use crate::table::Table;

/// The name of the example, and of what it makes.
const EXAMPLE: &str = "checkout";

/// Delivers each purchase about ten times, from seven sources of duplicates, and counts which layer stopped how many.
#[derive(Debug, Parser)]
#[command(name = EXAMPLE)]
struct Arguments {
    /// A server to make a fresh database on, and to drop it again: `postgres://..` or `mysql://..` [default: a SQLite
    /// file in a temporary folder]
    #[arg(long)]
    database_url: Option<String>,

    /// The gate's Redis: `redis://..` [default: the variable `REDIS_URL`; without one the gate is off]
    #[arg(long)]
    redis: Option<String>,

    /// Layers to switch off
    #[arg(long, value_enum, value_delimiter = ',')]
    without: Vec<Layer>,

    /// Layers to leave on, and no others
    #[arg(long, value_enum, value_delimiter = ',', conflicts_with = "without")]
    only: Vec<Layer>,

    /// Makes other purchases, and repeats them differently
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// How many deliveries there are
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    deliveries: u32,

    /// How many purchases are under way at once
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    workers: u16,
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

/// The whole story on the chosen database; whether it went as it must.
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

async fn on_server<DB: Till>(fresh: Fresh<DB>, arguments: &Arguments) -> Result<bool, Box<dyn Error>> {
    let is_right = run(fresh.pool.clone(), &fresh.name, arguments).await;
    fresh.drop().await?;
    is_right
}

async fn run<DB: Till>(pool: Pool<DB>, place: &str, arguments: &Arguments) -> Result<bool, Box<dyn Error>> {
    let redis = arguments.redis.clone().or_else(|| std::env::var("REDIS_URL").ok());
    let (layers, idle_gate) = Layers::chosen(&arguments.without, &arguments.only).without_idle_gate(redis.is_some());
    let gates = gates(redis.filter(|_| layers.has(Layer::Gate)))?;
    let purchases = sources::purchases(arguments.seed, arguments.deliveries as usize);
    say!("{} purchases, {} deliveries, two instances of the shop", purchases.len(), arguments.deliveries);
    say!("database: {place}\nlayers: {layers}");
    if let Some(why) = idle_gate {
        say!("{why}");
    }
    let (count, planned) = (purchases.len(), sources::planned(&purchases));
    let table = play(pool, &gates, &layers, purchases, arguments.workers).await?;
    say!("\n{table}");
    report_gates(&gates);
    Ok(last_line(&table, count, &planned, &layers))
}

/// Makes the two instances, delivers everything, and asks the database who was charged.
async fn play<DB: Till>(
    pool: Pool<DB>,
    gates: &[Gate],
    layers: &Layers,
    purchases: Vec<Purchase>,
    workers: u16,
) -> Result<Table, Box<dyn Error>> {
    let pools = [pool.clone(), second_pool(&pool).await?];
    let told = async {
        let shop = Shop { instances: instances(&pools, gates).await?, layers: layers.clone() };
        store::open(&shop.instances[0], layers).await?;
        let answered = street::deliver(shop, purchases, workers).await?;
        Ok(Table::new(&answered, &DB::charges(&pool).await?))
    };
    let table = told.await;
    for pool in &pools {
        pool.close().await;
    }
    table
}

/// A pool of its own on the same database: another instance of the service.
async fn second_pool<DB: Till>(pool: &Pool<DB>) -> sqlx::Result<Pool<DB>> {
    pool.options().clone().connect_with(pool.connect_options().as_ref().clone()).await
}

/// A gate for each instance, over one Redis.
fn gates(redis: Option<String>) -> Result<Vec<Gate>, Box<dyn Error>> {
    let Some(url) = redis else { return Ok(Vec::new()) };
    let (client, prefix) = (redis::Client::open(url)?, format!("{EXAMPLE}-{}", Uuid::new_v4().simple()));
    let gate = || {
        let connection = ConnectionManager::new_lazy_with_config(client.clone(), ConnectionManagerConfig::new())?;
        // Nobody needs the hints after the run, and on a machine that is busy with both sides Redis may be late.
        let gate = Gate::new(connection).prefix(&prefix).keep(Duration::from_secs(30), Duration::from_mins(1));
        Ok(gate.timeout(Duration::from_secs(1)))
    };
    (0..2).map(|_| gate()).collect()
}

async fn instances<DB: Till>(pools: &[Pool<DB>; 2], gates: &[Gate]) -> Result<[Idem<DB>; 2], idem_runtime::Error> {
    let instance = |number: usize| {
        let builder = Idem::builder(pools[number].clone());
        let builder = if let Some(gate) = gates.get(number) { builder.gate(gate.clone()) } else { builder };
        builder.build()
    };
    Ok([instance(0).await?, instance(1).await?])
}

fn report_gates(gates: &[Gate]) {
    let counts = || gates.iter().map(Gate::counts);
    if !gates.is_empty() {
        let ended = counts().map(|it| it.ended).sum::<u64>();
        let asked = ended + counts().map(|it| it.first + it.running).sum::<u64>();
        let bypassed = counts().map(|it| it.bypassed).sum::<u64>();
        say!("Redis was asked {asked} times and knew {ended} calls to have ended; {bypassed} times it was not there.");
    }
}

/// Why the purchase was charged again, where that was asked for.
fn report_leak(duplicated: usize, layers: &Layers) {
    if duplicated > 0 && !layers.decide() {
        say!(
            "{duplicated} charges too many: neither the claim nor compare-and-swap is there to decide. A token lets the"
        );
        say!("same request through again, what the back end and the provider send has none, and a gate is a hint.");
    }
}

/// The counts, for programs; whether they add up, and are what the layers promise.
fn last_line(table: &Table, purchases: usize, planned: &[Source], layers: &Layers) -> bool {
    let totals = table.totals(purchases, planned);
    report_leak(totals.duplicated, layers);
    say!("{totals}");
    table.adds_up(planned) && totals.lost == 0 && (totals.duplicated == 0 || !layers.decide())
}
