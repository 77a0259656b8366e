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
    /// An outside call that was not answered frees the key, as if nothing had been sent
    ReleaseAfterExternal,
}

/// Neither an answer that did not come nor an instance that was killed is taken for more than a refusal: the next call sends
/// again.
pub(crate) async fn send<DB: SqlDialect>(
    idem: &Idem<DB>,
    client: &Client,
    kind: Kind,
    transfer_id: i64,
    amount: i64,
) -> Result<Once<Receipt>, SendError> {
    let call = idem.once("transfer.released", &transfer_id).payload(&amount).lease(Duration::from_secs(1));
    call.run_or_probe(
        async |_| Ok(Probe::Absent),
        async |mut attempt| {
            let key = attempt.external(SEND).await?;
            let sent = client.send(kind, &key, transfer_id, amount).await;
            if sent.is_err() {
                attempt.retract(SEND).await?;
            }
            let receipt = sent?;
            book(&mut attempt, transfer_id, &receipt).await?;
            Ok(receipt.into())
        },
    )
    .await
}
