//! An instance of the service: a process of its own, which is killed at any moment. It gets requests as lines and answers
//! each in a line.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;

use idem_runtime::prelude::{Idem, SqlDialect};
use serde::{Deserialize, Serialize};
use sqlx::{MySqlPool, PgPool, Pool, SqlitePool};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines, Stdin};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use crate::broken::{self, Break};
use crate::client::{Client, NotSent};
use crate::provider::Kind;
use crate::service::{self, Receipt, SendError};

/// A request that reaches an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Delivery {
    /// Which copy it is, for the answer.
    pub(crate) number: usize,
    pub(crate) kind: Kind,
    pub(crate) transfer_id: i64,
    pub(crate) amount: i64,
}

/// What an instance says of it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) number: usize,
    pub(crate) told: Told,
}

/// What the sender of a request is told.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Told {
    Sent {
        receipt: Receipt,
        is_replay: bool,
    },
    /// Come again.
    Later,
    /// Nobody knows, and it is not sent again.
    Indeterminate,
    /// What must not be.
    Failed(String),
}

/// The argument that makes this program an instance.
pub(crate) const WORKER: &str = "--worker";

/// The first line of its input: where everything is.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Errand {
    pub(crate) database_url: String,
    pub(crate) providers: SocketAddr,
    pub(crate) broken: Option<Break>,
}

type Requests = Lines<BufReader<Stdin>>;

/// Works until the input ends.
pub(crate) async fn run() -> Result<(), Box<dyn Error>> {
    let mut requests = BufReader::new(tokio::io::stdin()).lines();
    let errand = requests.next_line().await?.ok_or("there is no errand")?;
    let errand: Errand = serde_json::from_str(&errand)?;
    match errand.database_url.split_once(':').map(|(scheme, _)| scheme) {
        Some("postgres") => work(PgPool::connect(&errand.database_url).await?, &errand, requests).await,
        Some("mysql") => work(MySqlPool::connect(&errand.database_url).await?, &errand, requests).await,
        _ => work(SqlitePool::connect(&errand.database_url).await?, &errand, requests).await,
    }
}

async fn work<DB: SqlDialect>(pool: Pool<DB>, errand: &Errand, mut requests: Requests) -> Result<(), Box<dyn Error>> {
    let idem = Idem::builder(pool).build().await?;
    let (client, out) = (Client::new(errand.providers)?, Arc::new(Mutex::new(tokio::io::stdout())));
    let (broken, mut calls) = (errand.broken, JoinSet::new());
    while let Some(line) = requests.next_line().await? {
        let delivery: Delivery = serde_json::from_str(&line)?;
        let (idem, client, out) = (idem.clone(), client.clone(), Arc::clone(&out));
        calls.spawn(async move {
            let told = answer(&idem, &client, delivery, broken).await;
            let answer = serde_json::to_string(&Answer { number: delivery.number, told })?;
            let mut out = out.lock().await;
            out.write_all(format!("{answer}\n").as_bytes()).await?;
            out.flush().await
        });
    }
    while let Some(done) = calls.join_next().await {
        done??;
    }
    Ok(())
}

async fn answer<DB: SqlDialect>(idem: &Idem<DB>, client: &Client, delivery: Delivery, broken: Option<Break>) -> Told {
    let Delivery { kind, transfer_id, amount, .. } = delivery;
    let sent = match (broken, kind) {
        (Some(Break::ReleaseAfterExternal), _) => broken::send(idem, client, kind, transfer_id, amount).await,
        (None, Kind::Honouring) => service::send_honouring(idem, client, transfer_id, amount).await,
        (None, Kind::Asked) => service::send_asked(idem, client, transfer_id, amount).await,
        (None, Kind::Silent) => service::send_silent(idem, client, transfer_id, amount).await,
    };
    match sent {
        Ok(once) => Told::Sent { is_replay: once.is_replay(), receipt: once.into_inner() },
        Err(SendError::Idem(idem_runtime::Error::Indeterminate)) => Told::Indeterminate,
        Err(SendError::NotSent(NotSent::Refused | NotSent::NoAnswer(_))) => Told::Later,
        Err(SendError::Idem(error)) if error.is_retryable() => Told::Later,
        Err(SendError::Transition(error)) if error.is_retryable() => Told::Later,
        Err(error) => Told::Failed(error.to_string()),
    }
}
