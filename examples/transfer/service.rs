//! What a service writes: a function for each provider, which differ only in what happens to a transfer in doubt.

use idem_runtime::prelude::*;
use serde::{Deserialize, Serialize};

use crate::client::{Client, NotSent};
use crate::machine::TransferStatus;
use crate::machine::transfer_status::Book;
use crate::provider::Kind;

/// The name of the outside step.
pub(crate) const SEND: &str = "provider.send";

/// What the provider says of a transfer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Receipt {
    pub(crate) number: String,
}

/// Why a transfer has no receipt yet.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    /// The provider, or the way to it.
    #[error(transparent)]
    NotSent(#[from] NotSent),
    /// What idem answers in place of the function's own answer.
    #[error(transparent)]
    Idem(#[from] Error),
    /// It could not be booked.
    #[error(transparent)]
    Transition(#[from] TransitionError),
}

/// By a provider that knows a request again by its key. Whatever has become of an attempt, the next one sends the same key.
#[idempotent(
    scope = "transfer.honouring", key = transfer_id, payload = amount,
    lease = "1s", on_expired = takeover, downstream = idempotent
)]
pub(crate) async fn send_honouring<DB: SqlDialect>(
    attempt: &mut Attempt<'_, DB>,
    client: &Client,
    transfer_id: i64,
    amount: i64,
) -> Result<Once<Receipt>, SendError> {
    Ok(send(attempt, client, Kind::Honouring, transfer_id, amount).await?.into())
}

/// By a provider that sends whatever it is told, and can be asked what it has sent.
#[idempotent(scope = "transfer.asked", key = transfer_id, payload = amount, lease = "1s", on_expired = probe(ask))]
pub(crate) async fn send_asked<DB: SqlDialect>(
    attempt: &mut Attempt<'_, DB>,
    client: &Client,
    transfer_id: i64,
    amount: i64,
) -> Result<Once<Receipt>, SendError> {
    Ok(send(attempt, client, Kind::Asked, transfer_id, amount).await?.into())
}

/// What has become of a transfer in doubt. That nothing is there says something only once nothing can arrive any more.
async fn ask<DB: SqlDialect>(
    attempt: &mut Attempt<'_, DB>,
    client: &Client,
    transfer_id: i64,
    _amount: i64,
) -> Result<Probe<Receipt>, SendError> {
    let key = attempt.downstream_key(SEND);
    let mut sent = client.ask(Kind::Asked, &key).await?;
    if sent.is_none() {
        tokio::time::sleep(Client::VALIDITY).await;
        sent = client.ask(Kind::Asked, &key).await?;
    }
    let Some(receipt) = sent else { return Ok(Probe::Absent) };
    book(attempt, transfer_id, &receipt).await?;
    Ok(Probe::Done(receipt))
}

/// By a provider that can do neither. A transfer in doubt stays so until somebody has called them.
#[idempotent(scope = "transfer.silent", key = transfer_id, payload = amount, lease = "1s")]
pub(crate) async fn send_silent<DB: SqlDialect>(
    attempt: &mut Attempt<'_, DB>,
    client: &Client,
    transfer_id: i64,
    amount: i64,
) -> Result<Once<Receipt>, SendError> {
    Ok(send(attempt, client, Kind::Silent, transfer_id, amount).await?.into())
}

/// Sends, and books what was sent. Only a refusal says that nothing was: after anything else nobody knows.
async fn send<DB: SqlDialect>(
    attempt: &mut Attempt<'_, DB>,
    client: &Client,
    kind: Kind,
    transfer_id: i64,
    amount: i64,
) -> Result<Receipt, SendError> {
    let key = attempt.external(SEND).await?;
    let receipt = match client.send(kind, &key, transfer_id, amount).await {
        Err(refused @ NotSent::Refused) => {
            attempt.retract(SEND).await?;
            return Err(refused.into());
        }
        sent => sent?,
    };
    book(attempt, transfer_id, &receipt).await?;
    Ok(receipt)
}

/// The provider's number is the cause: an attempt that books again finds that it was booked.
pub(crate) async fn book<DB: SqlDialect>(
    attempt: &mut Attempt<'_, DB>,
    transfer_id: i64,
    receipt: &Receipt,
) -> Result<(), SendError> {
    let mut tx = attempt.tx().await?;
    let book = Book { number: receipt.number.clone() };
    let _ = TransferStatus::row(transfer_id).fire(book).cause(&receipt.number).run(&mut *tx).await?;
    Ok(tx.commit().await?)
}
