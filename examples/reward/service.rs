//! What the shop gives to the people who took part in an activity: two functions, each in one transaction and once for
//! each activity and user.
//!
//! There is no row whose state says that it was done: the key alone tells a request that comes again.

use idem_runtime::prelude::*;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::script::{Kind, Wish};
use crate::store::{Bank, Value};

/// What was given. Its number is made by the body: who hears it again hears the first one's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Grant {
    pub(crate) number: String,
    pub(crate) points: i64,
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RewardError {
    /// Nobody has such an account. The error undoes the grant, and the next request with the key begins anew.
    #[error("user {0} has no account")]
    NoAccount(i64),
    /// What idem answers for a call.
    #[error(transparent)]
    Idem(#[from] Error),
    /// One of the shop's own statements failed.
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
}

/// Points for taking part. A request that asks for another number of points is no duplicate, and is refused.
#[idempotent(scope = "reward.points", key = (activity_id, user_id), payload = points)]
pub(crate) async fn grant_points<DB: Bank>(
    tx: &mut Tx<'_, DB>,
    activity_id: i64,
    user_id: i64,
    points: i64,
) -> Result<Once<Grant>, RewardError> {
    Ok(give(tx, Wish { kind: Kind::Points, activity_id, user_id, points }, new_number()).await?.into())
}

/// The activity's badge. Its key is that of the points; its scope is not, so that neither answers for the other.
#[idempotent(scope = "reward.badge", key = (activity_id, user_id))]
pub(crate) async fn grant_badge<DB: Bank>(
    tx: &mut Tx<'_, DB>,
    activity_id: i64,
    user_id: i64,
) -> Result<Once<Grant>, RewardError> {
    Ok(give(tx, Wish { kind: Kind::Badge, activity_id, user_id, points: 0 }, new_number()).await?.into())
}

/// Writes a grant, and raises the account by it. Nothing in it asks whether it was done before.
pub(crate) async fn give<DB: Bank>(tx: &mut Tx<'_, DB>, wish: Wish, number: String) -> Result<Grant, RewardError> {
    let Wish { kind, activity_id, user_id, points } = wish;
    let (activity, user) = (Value::Number(activity_id), Value::Number(user_id));
    let insert = "INSERT INTO grants (number, kind, activity_id, user_id, points) VALUES (?, ?, ?, ?, ?)";
    let values = [Value::Text(&number), Value::Text(kind.name()), activity, user, Value::Number(points)];
    DB::write(&mut *tx, insert, &values).await?;
    let update = "UPDATE accounts SET points = points + ?, badges = badges + ? WHERE user_id = ?";
    let badges = Value::Number((kind == Kind::Badge).into());
    match DB::write(tx, update, &[Value::Number(points), badges, user]).await? {
        0 => Err(RewardError::NoAccount(user_id)),
        _ => Ok(Grant { number, points }),
    }
}

pub(crate) fn new_number() -> String {
    Uuid::new_v4().simple().to_string()
}
