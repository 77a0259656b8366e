//! Three payment providers, played by one HTTP server on the loopback. They are slow, they time out, and sometimes they
//! have sent the money and do not say so. What they have sent is counted here, where no service can make it look right.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

use crate::service::Receipt;

/// What a provider can do about a request that comes again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// It knows the key again, and answers as it did.
    Honouring,
    /// It sends again, and can be asked before.
    Asked,
    /// It sends again, and cannot be asked.
    Silent,
}

impl Kind {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Honouring, Self::Asked, Self::Silent];

    /// As tables, addresses and reports call it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Honouring => "honouring",
            Self::Asked => "asked",
            Self::Silent => "silent",
        }
    }
}

/// A transfer that a service asks for.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) key: String,
    pub(crate) transfer_id: i64,
    pub(crate) amount: i64,
    /// Refused when it arrives later.
    pub(crate) valid_until: SystemTime,
}

/// Money that was sent.
#[derive(Debug, Clone)]
pub(crate) struct Effect {
    pub(crate) transfer_id: i64,
    pub(crate) amount: i64,
    pub(crate) number: String,
}

/// What the server has sent, and how it fares.
#[derive(Debug)]
pub(crate) struct Providers {
    books: Mutex<Books>,
}

#[derive(Debug)]
struct Books {
    effects: Vec<Effect>,
    /// The first receipt for each key.
    receipts: HashMap<(Kind, String), Receipt>,
    luck: ChaCha8Rng,
}

/// What becomes of a request.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Answered,
    /// Nothing is sent, and the provider says so.
    Refused,
    /// The answer comes when nobody waits for it any more.
    Late,
    /// The answer never comes.
    Silence,
}

impl Providers {
    /// Starts the server.
    pub(crate) async fn start(seed: u64) -> std::io::Result<(Arc<Self>, SocketAddr)> {
        let luck = ChaCha8Rng::seed_from_u64(seed);
        let books = Books { effects: Vec::new(), receipts: HashMap::new(), luck };
        let providers = Arc::new(Self { books: Mutex::new(books) });
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let routes = Router::new().route("/{kind}/", post(send)).route("/{kind}/{key}", get(ask));
        let routes = routes.with_state(Arc::clone(&providers));
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Ok((providers, address))
    }

    /// All that was sent.
    pub(crate) fn effects(&self) -> Vec<Effect> {
        self.lock().effects.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn send(
    State(providers): State<Arc<Providers>>,
    Path(kind): Path<Kind>,
    Json(request): Json<Request>,
) -> Result<Json<Receipt>, StatusCode> {
    let (fate, pause) = providers.lock().draw();
    tokio::time::sleep(pause).await;
    if matches!(fate, Fate::Refused) || SystemTime::now() > request.valid_until {
        return Err(StatusCode::SERVICE_UNAVAILABLE);
    }
    let receipt = providers.lock().send(kind, request);
    match fate {
        Fate::Late => tokio::time::sleep(Duration::from_millis(400)).await,
        Fate::Silence => std::future::pending().await,
        Fate::Answered | Fate::Refused => {}
    }
    Ok(Json(receipt))
}

async fn ask(
    State(providers): State<Arc<Providers>>,
    Path((kind, key)): Path<(Kind, String)>,
) -> Result<Json<Receipt>, StatusCode> {
    let receipt = providers.lock().receipts.get(&(kind, key)).cloned();
    receipt.filter(|_| kind != Kind::Silent).map(Json).ok_or(StatusCode::NOT_FOUND)
}

impl Books {
    fn draw(&mut self) -> (Fate, Duration) {
        let fate = match self.luck.random_range(0..20) {
            0 | 1 => Fate::Refused,
            2 => Fate::Late,
            3 => Fate::Silence,
            _ => Fate::Answered,
        };
        (fate, Duration::from_millis(self.luck.random_range(1..30)))
    }

    /// The money leaves.
    fn send(&mut self, kind: Kind, request: Request) -> Receipt {
        let Request { key, transfer_id, amount, .. } = request;
        if kind == Kind::Honouring
            && let Some(receipt) = self.receipts.get(&(kind, key.clone()))
        {
            return receipt.clone();
        }
        let number = format!("{}-{}", kind.name(), self.effects.len() + 1);
        self.effects.push(Effect { transfer_id, amount, number: number.clone() });
        self.receipts.entry((kind, key)).or_insert(Receipt { number: number.clone() });
        Receipt { number }
    }
}
