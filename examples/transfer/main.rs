//! Transfers by three payment providers, each slow, timing out, and sometimes sending money without saying so: one knows a
//! request again by its key, one can be asked, one can do neither. The service is killed again and again under way.
//!
//! ```text
//! cargo run --example transfer
//! cargo run --example transfer -- --break release-after-external
//! cargo run --example transfer -- --database-url postgres://postgres@localhost/postgres
//! ```
//!
//! Read `service.rs`: it is what a service writes. The other files are the world around it.

mod broken;
mod check;
mod client;
mod machine;
#[path = "../common/place.rs"]
mod place;
mod provider;
mod script;
mod service;
mod store;
mod street;
mod worker;

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use idem_runtime::schema;
use sqlx::{ConnectOptions as _, Pool};

use crate::broken::Break;
use crate::check::{Count, Finding};
use crate::place::Fresh;
use crate::provider::Providers;
use crate::store::Ledger;
use crate::street::Tally;
use crate::worker::{Errand, WORKER};

/// The name of the example, and of what it makes.
const EXAMPLE: &str = "transfer";

/// Sends money by providers that time out, from a service that is killed under way, and counts what was sent.
#[derive(Debug, Parser)]
#[command(name = EXAMPLE)]
struct Arguments {
    /// A server to make a fresh database on, and to drop it again: `postgres://..` or `mysql://..` [default: a SQLite
    /// file in a temporary folder]
    #[arg(long)]
    database_url: Option<String>,

    /// Makes other transfers, and lets other things go wrong
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// How many transfers each provider is asked for
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    transfers: u16,

    /// How often an instance of the service is killed at most
    #[arg(long, default_value_t = 20)]
    kills: usize,

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
    let is_worker = std::env::args().nth(1).is_some_and(|argument| argument == WORKER);
    let done = if is_worker { worker::run().await.map(|()| true) } else { tell(&Arguments::parse()).await };
    match done {
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

async fn on_server<DB: Ledger>(fresh: Fresh<DB>, arguments: &Arguments) -> Result<bool, Box<dyn Error>> {
    let is_right = run(fresh.pool.clone(), &fresh.name, arguments).await;
    fresh.drop().await?;
    is_right
}

async fn run<DB: Ledger>(pool: Pool<DB>, place: &str, arguments: &Arguments) -> Result<bool, Box<dyn Error>> {
    let Arguments { seed, transfers, kills, broken, .. } = *arguments;
    for (name, sql) in schema::attempt_statements(DB::DIALECT) {
        say!("-- {name}\n{sql};\n");
    }
    let transfers = script::transfers(seed, transfers);
    store::open(&pool, &transfers).await?;
    let (providers, address) = Providers::start(seed).await?;
    say!("{} transfers by three providers in {place}", transfers.len());
    let database_url = pool.connect_options().to_url_lossy().into();
    let errand = Errand { database_url, providers: address, broken };
    let tally = street::deliver(script::deliveries(seed, &transfers), &errand, seed, kills).await?;
    let (effects, booked) = (providers.effects(), DB::booked(&pool).await?);
    report_answers(&tally);
    let findings = check::run(&transfers, &effects, &tally, &booked);
    report_findings(&findings);
    pool.close().await;
    Ok(last_line(effects.len(), &findings, &tally))
}

fn report_answers(tally: &Tally) {
    let Tally { requests, replayed, resent, cut_off, kills, .. } = tally;
    say!("{kills:>6}  instances of the service were killed");
    say!("{requests:>6}  requests, of which");
    say!("{replayed:>6}  were told of a transfer that an earlier one had sent");
    say!("{resent:>6}  had no answer from their provider or were too early, and came again");
    say!("{cut_off:>6}  were under way in an instance that was killed, and came again");
}

fn report_findings(findings: &[Finding]) {
    say!("\nThe checker must find nothing (examples/transfer/check.rs):");
    for Finding { what, found, .. } in findings {
        let mark = if found.is_empty() { "ok" } else { "FOUND" };
        say!("{mark:>5} {:>3}  {what}", found.len());
    }
}

/// The counts, for programs; whether the last two are zero.
fn last_line(effects: usize, findings: &[Finding], tally: &Tally) -> bool {
    for failed in &tally.failed {
        eprintln!("{failed}");
    }
    let sum = |kind| findings.iter().filter(|it| it.counts_as == kind).map(|it| it.found.len()).sum::<usize>();
    let (duplicated, lost) = (sum(Count::Duplicated), sum(Count::Lost) + tally.failed.len());
    let Tally { requests, replayed, .. } = tally;
    let indeterminate = tally.indeterminate.len();
    say!(
        "\nrequests={requests} effects={effects} replayed={replayed} indeterminate={indeterminate} \
         duplicated={duplicated} lost={lost}"
    );
    duplicated + lost == 0
}
