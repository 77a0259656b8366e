//! How to get it wrong, which shows that the checker can fail.

use std::time::Duration;

use clap::ValueEnum;
use idem_runtime::prelude::*;
use serde::{Deserialize, Serialize};

use crate::client::Client;
use crate::provider::Kind;
use crate::service::{Receipt, SEND, SendError, book};

/// What `--break` takes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Break {
    /// An error after the outside call frees the key, as if nothing had been sent
    ReleaseAfterExternal,
}

/// No answer is taken for a refusal: the next call sends again.
pub(crate) async fn send<DB: SqlDialect>(
    idem: &Idem<DB>,
    client: &Client,
    kind: Kind,
    transfer_id: i64,
    amount: i64,
) -> Result<Once<Receipt>, SendError> {
    let call =
        idem.once("transfer.released", &(kind.name(), transfer_id)).payload(&amount).lease(Duration::from_secs(1));
    let sent: Receipt = call
        .run(async |mut attempt| {
            let key = attempt.external(SEND).await?;
            match client.send(kind, &key, transfer_id, amount).await {
                Ok(receipt) => {
                    book(&mut attempt, transfer_id, &receipt).await?;
                    Ok(receipt)
                }
                Err(error) => {
                    attempt.retract(SEND).await?;
                    Err(SendError::from(error))
                }
            }
        })
        .await?;
    Ok(sent.into())
}
