//! Four ways to get it wrong, which show that the checker can fail.

use clap::ValueEnum;
use idem_runtime::prelude::*;
use uuid::Uuid;

use crate::letters::Message;
use crate::machine::Reservation;
use crate::machine::reservation::{Deduct, New};
use crate::script::{Line, News};
use crate::service::{self, Answer, StockError};
use crate::store::{Goods, Value, Warehouse};

/// What `--break` takes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Break {
    /// A request's number is not the cause: it asks again when what it had reserved was released
    NoCause,
    /// The quantity is read, compared here and written back
    ReadThenWrite,
    /// The quantity is taken in a transaction of its own, after the reservation's
    TwoTransactions,
    /// Quantities are deducted whether the reservation moved for it or not
    IgnoreOutcome,
}

/// The messages that a broken warehouse gets wrong; it does right by all others.
pub(crate) async fn receive<DB: Warehouse>(
    how: Break,
    idem: &Idem<DB>,
    message: Message,
    cause: &str,
    lines: &[Line],
) -> Option<Result<Answer, StockError>> {
    Some(match (how, message) {
        (Break::NoCause, Message::Reserve { line, .. }) => reserve_without_cause(idem, lines[line].asked_for()).await,
        (Break::ReadThenWrite, Message::Reserve { line, .. }) => {
            reserve_what_was_read(idem, cause, lines[line].asked_for()).await
        }
        (Break::TwoTransactions, Message::Reserve { line, .. }) => {
            reserve_in_two_transactions(idem, cause, lines[line].asked_for()).await
        }
        (Break::IgnoreOutcome, Message::Tell { id, news: News::Paid(_), .. }) => {
            deduct_each_time(idem, id, cause).await
        }
        _ => return None,
    })
}

/// The rule still keeps a line at one reservation that lives, but nothing knows the request again after that.
async fn reserve_without_cause<DB: Warehouse>(idem: &Idem<DB>, new: New) -> Result<Answer, StockError> {
    let goods = Goods::of(&new);
    let mut tx = idem.begin().await?;
    let answer = match Reservation::create(new).run(&mut *tx).await? {
        Created::New(row) => {
            service::take(&mut tx, &goods).await?;
            Answer::Done(*row.id())
        }
        Created::Replayed(row) | Created::Existing(row) => Answer::Again(*row.id()),
    };
    tx.commit().await?;
    Ok(answer)
}

/// Two that read the same number take only one of the two quantities away.
async fn reserve_what_was_read<DB: Warehouse>(
    idem: &Idem<DB>,
    request_no: &str,
    new: New,
) -> Result<Answer, StockError> {
    let goods = Goods::of(&new);
    let shelves = DB::shelves(idem.pool()).await?;
    let available = shelves.iter().find(|shelf| shelf.0 == goods.sku).map_or(0, |shelf| shelf.2);
    let mut tx = idem.begin().await?;
    let answer = match Reservation::create(new).cause(request_no).run(&mut *tx).await? {
        Created::New(_) if available < goods.quantity => return Err(StockError::SoldOut),
        Created::New(row) => {
            write_back(&mut tx, &goods, available - goods.quantity).await?;
            Answer::Done(*row.id())
        }
        Created::Replayed(row) => Answer::Again(*row.id()),
        Created::Existing(row) => Answer::Refused(*row.id()),
    };
    tx.commit().await?;
    Ok(answer)
}

async fn write_back<DB: Warehouse>(tx: &mut Tx<'_, DB>, goods: &Goods, available: i64) -> Result<(), StockError> {
    let update = "UPDATE stock SET available = ?, reserved = reserved + ? WHERE sku = ?";
    let values = [Value::Number(available), Value::Number(goods.quantity), Value::Text(&goods.sku)];
    DB::write(&mut *tx, update, &values).await?;
    service::enter(tx, goods, "reserved").await
}

/// The reservation is there for good before it is known whether there is enough.
async fn reserve_in_two_transactions<DB: Warehouse>(
    idem: &Idem<DB>,
    request_no: &str,
    new: New,
) -> Result<Answer, StockError> {
    let goods = Goods::of(&new);
    match Reservation::create(new).cause(request_no).run(idem).await? {
        Created::New(row) => {
            let mut tx = idem.begin().await?;
            service::take(&mut tx, &goods).await?;
            tx.commit().await?;
            Ok(Answer::Done(*row.id()))
        }
        Created::Replayed(row) => Ok(Answer::Again(*row.id())),
        Created::Existing(row) => Ok(Answer::Refused(*row.id())),
    }
}

/// Whether the trade was new is not asked, and the quantity is deducted with each message.
async fn deduct_each_time<DB: Warehouse>(idem: &Idem<DB>, id: Uuid, trade_no: &str) -> Result<Answer, StockError> {
    let mut tx = idem.begin().await?;
    let deduct = Deduct { trade_no: trade_no.to_owned() };
    let answer = match Reservation::row(id).fire(deduct).cause(trade_no).run(&mut *tx).await {
        Ok(_) => service::send_out(&mut tx, id).await?,
        Err(error) => service::refused(id, error)?,
    };
    tx.commit().await?;
    Ok(answer)
}
