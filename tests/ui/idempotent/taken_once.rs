//! Two runs of a body, or a probe and a body, cannot both have a value, nor what only one can borrow.

use idem_runtime::{Attempt, Error, Tx, idempotent};
use sqlx::Sqlite;

struct Shop;

impl Shop {
    #[idempotent(scope = "shop.close", key = day, rerun = 3)]
    async fn close(self, _tx: &mut Tx<'_, Sqlite>, day: i64) -> Result<i64, Error> {
        Ok(day)
    }

    #[idempotent(scope = "shop.clean", key = day, rerun = 3)]
    async fn clean(&mut self, _tx: &mut Tx<'_, Sqlite>, day: i64) -> Result<i64, Error> {
        Ok(day)
    }

    #[idempotent(scope = "shop.open", key = day, rerun = 3)]
    async fn open(mut self: Box<Self>, _tx: &mut Tx<'_, Sqlite>, day: i64) -> Result<i64, Error> {
        *self = Self;
        Ok(day)
    }
}

#[idempotent(scope = "order.count", key = day, rerun = 3)]
async fn count(_tx: &mut Tx<'_, Sqlite>, day: i64, count: &mut i64) -> Result<i64, Error> {
    *count += 1;
    Ok(day)
}

#[idempotent(scope = "transfer.send", key = id, on_expired = probe(ask))]
async fn send(_attempt: &mut Attempt<'_, Sqlite>, id: i64, count: &mut i64) -> Result<i64, Error> {
    *count += 1;
    Ok(id)
}

fn main() {}
