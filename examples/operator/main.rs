//! What a person does to records that need one, as a command line.
//!
//! ```text
//! cargo run --example operator -- --database-url sqlite:shop.db list --older-than 10m
//! cargo run --example operator -- --database-url sqlite:shop.db show transfer.send 7
//! cargo run --example operator -- --database-url sqlite:shop.db complete transfer.send 7 '{"receipt":31}' --reason T-12
//! cargo run --example operator -- --database-url sqlite:shop.db release transfer.send 7 --reason T-12
//! ```
//!
//! It works on the database that is there: it makes none, and no table in it. It exits with 1 when it is refused what it
//! was to do, and with 2 when it cannot try.

mod print;

use std::error::Error;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use idem_runtime::operator::{Operator, OperatorError};
use idem_runtime::prelude::*;
use sqlx::Pool;
use sqlx::mysql::MySqlPoolOptions;
use sqlx::postgres::PgPoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};

/// Lists, shows, completes and releases records that need a person.
#[derive(Debug, Parser)]
#[command(name = "operator")]
struct Arguments {
    /// The database of the service: `sqlite:..`, `postgres://..` or `mysql://..`
    #[arg(long)]
    database_url: String,

    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Lists the records that are in doubt, or in progress without a lease, the oldest first and 1,000 at most
    List {
        /// Those only that began so long ago: `90s`, `10m`, `2h`
        #[arg(long, default_value = "0s", value_parser = humantime::parse_duration)]
        older_than: Duration,
    },
    /// Shows a record, whatever has become of it, and what operators have done to it
    Show {
        #[command(flatten)]
        record: Record,
    },
    /// The effect happened: each later call is given this result
    Complete {
        #[command(flatten)]
        record: Record,

        /// The result, as the function would have stored it
        #[arg(allow_negative_numbers = true)]
        json: String,

        #[command(flatten)]
        how: How,
    },
    /// The effect certainly did not happen: the record is deleted, and the next call runs
    Release {
        #[command(flatten)]
        record: Record,

        #[command(flatten)]
        how: How,
    },
}

#[derive(Debug, Args)]
struct Record {
    /// The function's scope
    scope: String,

    /// The key, as `list` prints it
    key: String,
}

#[derive(Debug, Args)]
struct How {
    /// Why, for the audit: a ticket's number, what the bank said
    #[arg(long)]
    reason: String,

    /// Who, for the audit [default: the name in `USER`]
    #[arg(long)]
    actor: Option<String>,

    /// Only if no other attempt has come since: the owner that `list` or `show` has printed
    #[arg(long)]
    owner: Option<String>,

    /// Even if an attempt may be running
    #[arg(long)]
    even_running: bool,
}

type Answer = Result<(), Box<dyn Error>>;

#[tokio::main]
async fn main() -> ExitCode {
    match connect(&Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(if is_refusal(&*error) { 1 } else { 2 })
        }
    }
}

fn is_refusal(error: &(dyn Error + 'static)) -> bool {
    use OperatorError::{Changed, Ended, InProgress, NotFound};
    matches!(error.downcast_ref(), Some(NotFound | Ended { .. } | InProgress { .. } | Changed))
}

async fn connect(Arguments { database_url: url, verb }: &Arguments) -> Answer {
    match url.split_once(':').map(|(scheme, _)| scheme) {
        Some("sqlite") => {
            let options = SqliteConnectOptions::from_str(url)?.create_if_missing(false);
            run(SqlitePoolOptions::new().max_connections(1).connect_with(options).await?, verb).await
        }
        Some("postgres" | "postgresql") => run(PgPoolOptions::new().max_connections(1).connect(url).await?, verb).await,
        Some("mysql" | "mariadb") => run(MySqlPoolOptions::new().max_connections(1).connect(url).await?, verb).await,
        _ => Err("--database-url: expected `sqlite:..`, `postgres://..` or `mysql://..`".into()),
    }
}

async fn run<DB: SqlDialect>(pool: Pool<DB>, verb: &Verb) -> Answer {
    let idem = Idem::builder(pool).build().await?;
    match verb {
        Verb::List { older_than } => print::list(&idem.operator("").open(*older_than).await?),
        Verb::Show { record: Record { scope, key } } => {
            let shown = idem.operator("").show(scope, key).await?;
            // Of a record that was released, the audit is what is left.
            let audit = idem.operator("").audit(scope, key).await?;
            shown.iter().for_each(print::record);
            print::audit(&audit);
            shown.ok_or(OperatorError::NotFound)?;
        }
        Verb::Complete { record, json, how } => {
            let operator = how.operator(&idem, record).await?;
            operator.complete_json(&record.scope, &record.key, json, &how.reason).await?;
            print::done("completed", record);
        }
        Verb::Release { record, how } => {
            let operator = how.operator(&idem, record).await?;
            operator.release(&record.scope, &record.key, &how.reason).await?;
            print::done("released", record);
        }
    }
    Ok(())
}

impl How {
    async fn operator<DB: SqlDialect>(
        &self,
        idem: &Idem<DB>,
        Record { scope, key }: &Record,
    ) -> Result<Operator<DB>, Box<dyn Error>> {
        let actor = self.actor.clone().or_else(|| std::env::var("USER").ok());
        let mut operator = idem.operator(actor.ok_or("--actor: expected a name, since there is none in `USER`")?);
        if self.even_running {
            operator = operator.even_running();
        }
        let Some(owner) = &self.owner else { return Ok(operator) };
        match operator.show(scope, key).await? {
            Some(shown) if shown.record.owner == *owner => Ok(operator.as_seen(&shown.record)),
            Some(_) => Err(OperatorError::Changed.into()),
            None => Err(OperatorError::NotFound.into()),
        }
    }
}
