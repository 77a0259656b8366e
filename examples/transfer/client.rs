//! The way to the providers.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use idem_runtime::DownstreamKey;
use reqwest::StatusCode;

use crate::provider::{Kind, Request};
use crate::service::Receipt;

/// An HTTP client that does not wait for long.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    provider: SocketAddr,
}

/// Why there is no receipt.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotSent {
    /// The provider has said that it did nothing.
    #[error("the provider has refused")]
    Refused,
    /// Whether it was sent, nobody here knows.
    #[error("no answer: {0}")]
    NoAnswer(#[from] reqwest::Error),
}

impl Client {
    /// How long a request is valid, and waited for. A provider refuses one that arrives later.
    pub(crate) const VALIDITY: Duration = Duration::from_millis(150);

    /// A client of the providers at an address.
    pub(crate) fn new(provider: SocketAddr) -> Result<Self, NotSent> {
        Ok(Self { http: reqwest::Client::builder().timeout(Self::VALIDITY).build()?, provider })
    }

    /// Asks for a transfer.
    pub(crate) async fn send(
        &self,
        kind: Kind,
        key: &DownstreamKey,
        transfer_id: i64,
        amount: i64,
    ) -> Result<Receipt, NotSent> {
        let valid_until = SystemTime::now() + Self::VALIDITY;
        let request = Request { key: key.to_string(), transfer_id, amount, valid_until };
        let sent = self.http.post(self.url(kind, "")).json(&request).send().await?;
        match sent.status() {
            StatusCode::OK => Ok(sent.json().await?),
            _ => Err(NotSent::Refused),
        }
    }

    /// Asks what has become of one.
    pub(crate) async fn ask(&self, kind: Kind, key: &DownstreamKey) -> Result<Option<Receipt>, NotSent> {
        let found = self.http.get(self.url(kind, key)).send().await?;
        match found.status() {
            StatusCode::OK => Ok(Some(found.json().await?)),
            _ => Ok(None),
        }
    }

    fn url(&self, kind: Kind, key: &str) -> String {
        format!("http://{}/{}/{key}", self.provider, kind.name())
    }
}
