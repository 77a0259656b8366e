//! Five ways to get it wrong, which show that the checker can fail.

use clap::ValueEnum;
use idem_runtime::prelude::*;

use crate::script::{Delivery, Wish};
use crate::service::{self, Grant, RewardError};
use crate::store::{Bank, Value};

/// What `--break` takes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Break {
    /// Every request that arrives is granted
    NoDedup,
    /// It is looked up whether something was granted, and then granted
    LookFirst,
    /// The key has the request's number in it: the app and the web page ask with numbers of their own
    RequestInKey,
    /// The record is kept first, and what it stands for is written in a transaction of its own
    AfterCommit,
    /// The badge has the scope of the points
    OneScope,
}

/// A delivery to a broken shop.
pub(crate) async fn receive<DB: Bank>(
    how: Break,
    idem: &Idem<DB>,
    delivery: Delivery,
) -> Result<Once<Grant>, RewardError> {
    let Delivery { wish, request, .. } = delivery;
    match how {
        Break::NoDedup => give(idem, wish, service::new_number()).await.map(Once::from),
        Break::LookFirst => look_first(idem, wish).await.map(Once::from),
        Break::RequestInKey => {
            grant_by_request(idem, wish.kind.name(), wish.activity_id, wish.user_id, request, wish).await
        }
        Break::AfterCommit => after_commit(idem, wish).await,
        Break::OneScope => grant_in_one_scope(idem, wish.activity_id, wish.user_id, wish).await,
    }
}

async fn give<DB: Bank>(idem: &Idem<DB>, wish: Wish, number: String) -> Result<Grant, RewardError> {
    let mut tx = idem.begin().await?;
    let grant = service::give(&mut tx, wish, number).await?;
    tx.commit().await?;
    Ok(grant)
}

/// Two that look at the same time both find nothing.
async fn look_first<DB: Bank>(idem: &Idem<DB>, wish: Wish) -> Result<Grant, RewardError> {
    let select = "SELECT number FROM grants WHERE kind = ? AND activity_id = ? AND user_id = ?";
    let [activity, user] = [wish.activity_id, wish.user_id].map(Value::Number);
    let found = DB::find(idem.pool(), select, &[Value::Text(wish.kind.name()), activity, user]).await?;
    match found.into_iter().next() {
        Some(number) => Ok(Grant { number, points: wish.points }),
        None => give(idem, wish, service::new_number()).await,
    }
}

/// Each request is granted once, and there are two for one wish.
#[idempotent(scope = "reward.by-request", key = (kind, activity_id, user_id, request))]
async fn grant_by_request<DB: Bank>(
    tx: &mut Tx<'_, DB>,
    kind: &str,
    activity_id: i64,
    user_id: i64,
    request: u8,
    wish: Wish,
) -> Result<Once<Grant>, RewardError> {
    Ok(service::give(tx, wish, service::new_number()).await?.into())
}

/// Who hangs up between the two transactions is told later that it was granted.
async fn after_commit<DB: Bank>(idem: &Idem<DB>, wish: Wish) -> Result<Once<Grant>, RewardError> {
    let promised = promise(idem, wish.kind.name(), wish.activity_id, wish.user_id, wish.points).await?;
    if !promised.is_replay() {
        give(idem, wish, promised.number.clone()).await?;
    }
    Ok(promised)
}

#[idempotent(scope = "reward.promise", key = (kind, activity_id, user_id), payload = points)]
async fn promise<DB: Bank>(
    _tx: &mut Tx<'_, DB>,
    kind: &str,
    activity_id: i64,
    user_id: i64,
    points: i64,
) -> Result<Once<Grant>, RewardError> {
    Ok(Grant { number: service::new_number(), points }.into())
}

/// Whatever comes second is told of what came first.
#[idempotent(scope = "reward.one-for-all", key = (activity_id, user_id))]
async fn grant_in_one_scope<DB: Bank>(
    tx: &mut Tx<'_, DB>,
    activity_id: i64,
    user_id: i64,
    wish: Wish,
) -> Result<Once<Grant>, RewardError> {
    Ok(service::give(tx, wish, service::new_number()).await?.into())
}
