//! What the warehouse does with a reservation: a function for each message that reaches it, each in one transaction.
//!
//! The reservation moves first. Only when this call has moved it, the quantities follow, in the same transaction.

use std::collections::{BTreeMap, HashSet};

use idem_runtime::prelude::*;
use uuid::Uuid;

use crate::machine::Reservation;
use crate::machine::reservation::{Deduct, New, Release};
use crate::store::{Goods, Value, Warehouse};

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It made or moved the reservation with this number.
    Done(Uuid),
    /// An earlier message had told the same of this reservation.
    Again(Uuid),
    /// The line has this reservation by another request, or it is past what was asked for: nothing was written.
    Refused(Uuid),
    /// A sweep released so many.
    Swept(usize),
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StockError {
    /// There is less than was asked for. It may be another answer when something was released.
    #[error("there is not enough of it")]
    SoldOut,
    /// A quantity would become negative that a reservation accounts for.
    #[error("the quantities do not fit the reservations")]
    Torn,
    /// What idem answers for a transaction.
    #[error(transparent)]
    Idem(#[from] Error),
    /// The reservation was not made or did not move.
    #[error(transparent)]
    Transition(#[from] TransitionError),
    /// One of the warehouse's own statements failed.
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
}

/// Keeps a quantity for a line of an order. When there is less, the error undoes the reservation too.
pub(crate) async fn reserve<DB: Warehouse>(
    tx: &mut Tx<'_, DB>,
    request_no: &str,
    new: New,
) -> Result<Answer, StockError> {
    let goods = Goods::of(&new);
    match Reservation::create(new).cause(request_no).run(&mut *tx).await? {
        Created::New(row) => {
            take(tx, &goods).await?;
            Ok(Answer::Done(*row.id()))
        }
        Created::Replayed(row) => Ok(Answer::Again(*row.id())),
        Created::Existing(row) => Ok(Answer::Refused(*row.id())),
    }
}

/// Takes the quantity of a new reservation from what is available. The condition stands in the UPDATE itself: a rival
/// that was faster has changed the row that it is held against.
pub(crate) async fn take<DB: Warehouse>(tx: &mut Tx<'_, DB>, goods: &Goods) -> Result<(), StockError> {
    let update = "UPDATE stock SET available = available - ?, reserved = reserved + ? WHERE sku = ? AND available >= ?";
    let quantity = Value::Number(goods.quantity);
    if DB::write(&mut *tx, update, &[quantity, quantity, Value::Text(&goods.sku), quantity]).await? == 0 {
        return Err(StockError::SoldOut);
    }
    enter(tx, goods, "reserved").await
}

/// The line was paid: what was kept for it leaves the stock. A second payment is another cause, and deducts nothing.
pub(crate) async fn deduct<DB: Warehouse>(tx: &mut Tx<'_, DB>, id: Uuid, trade_no: &str) -> Result<Answer, StockError> {
    let deduct = Deduct { trade_no: trade_no.to_owned() };
    match Reservation::row(id).fire(deduct).cause(trade_no).run(&mut *tx).await {
        Ok(Outcome::Applied(_)) => send_out(tx, id).await,
        Ok(_) => Ok(Answer::Again(id)),
        Err(error) => refused(id, error),
    }
}

/// Deducts the quantity of a reservation that has moved for it.
pub(crate) async fn send_out<DB: Warehouse>(tx: &mut Tx<'_, DB>, id: Uuid) -> Result<Answer, StockError> {
    let goods = DB::goods(&mut *tx, id).await?;
    let update = "UPDATE stock SET reserved = reserved - ?, deducted = deducted + ? WHERE sku = ? AND reserved >= ?";
    account(&mut *tx, update, &goods.sku, goods.quantity).await?;
    enter(tx, &goods, "deducted").await?;
    Ok(Answer::Done(id))
}

/// The buyer does not want it any more: what was kept is available again.
pub(crate) async fn release<DB: Warehouse>(
    tx: &mut Tx<'_, DB>,
    id: Uuid,
    request_no: &str,
) -> Result<Answer, StockError> {
    match Reservation::row(id).fire(Release).cause(request_no).run(&mut *tx).await {
        Ok(Outcome::Applied(_)) => {
            let goods = DB::goods(&mut *tx, id).await?;
            give_back(tx, &[goods]).await?;
            Ok(Answer::Done(id))
        }
        Ok(_) => Ok(Answer::Again(id)),
        Err(error) => refused(id, error),
    }
}

/// Releases what was not paid in time, all of it at once. Of what was found some may be paid or released by now: each row
/// has its own answer, and only those that this sweep has moved give their quantities back.
pub(crate) async fn sweep<DB: Warehouse>(
    tx: &mut Tx<'_, DB>,
    mut overdue: Vec<Goods>,
    sweep_no: &str,
) -> Result<Answer, StockError> {
    let rows = Reservation::rows(overdue.iter().map(|goods| goods.id));
    let outcomes = rows.fire(Release).cause(sweep_no).run(&mut *tx).await?;
    let moved = outcomes.into_iter().filter(|(_, outcome)| matches!(outcome, Ok(Outcome::Applied(_))));
    let moved: HashSet<Uuid> = moved.map(|(id, _)| id).collect();
    overdue.retain(|goods| moved.contains(&goods.id));
    give_back(tx, &overdue).await?;
    Ok(Answer::Swept(moved.len()))
}

/// Makes quantities available again, article by article and in the order of their names, so that two sweeps do not wait
/// for each other.
async fn give_back<DB: Warehouse>(tx: &mut Tx<'_, DB>, released: &[Goods]) -> Result<(), StockError> {
    let mut sums = BTreeMap::new();
    for goods in released {
        *sums.entry(goods.sku.as_str()).or_default() += goods.quantity;
        enter(&mut *tx, goods, "released").await?;
    }
    let update = "UPDATE stock SET reserved = reserved - ?, available = available + ? WHERE sku = ? AND reserved >= ?";
    for (sku, quantity) in sums {
        account(&mut *tx, update, sku, quantity).await?;
    }
    Ok(())
}

/// Moves a quantity out of what is reserved, where it must be.
async fn account<DB: Warehouse>(
    tx: &mut Tx<'_, DB>,
    update: &'static str,
    sku: &str,
    quantity: i64,
) -> Result<(), StockError> {
    let quantity = Value::Number(quantity);
    match DB::write(tx, update, &[quantity, quantity, Value::Text(sku), quantity]).await? {
        0 => Err(StockError::Torn),
        _ => Ok(()),
    }
}

/// Writes down what happened to a quantity, for whoever counts the shelves.
pub(crate) async fn enter<DB: Warehouse>(tx: &mut Tx<'_, DB>, goods: &Goods, entry: &str) -> Result<(), StockError> {
    let insert = "INSERT INTO entries (reservation_id, sku, entry, quantity) VALUES (?, ?, ?, ?)";
    let values = [Value::Id(goods.id), Value::Text(&goods.sku), Value::Text(entry), Value::Number(goods.quantity)];
    DB::write(tx, insert, &values).await?;
    Ok(())
}

/// A reservation that is released or paid by another trade does not take the message: a payment then has to go back.
pub(crate) fn refused(id: Uuid, error: TransitionError) -> Result<Answer, StockError> {
    match error {
        TransitionError::Illegal { .. } | TransitionError::OtherCause { .. } => Ok(Answer::Refused(id)),
        other => Err(other.into()),
    }
}
