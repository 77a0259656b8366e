//! Two runs of a body cannot both have a value, nor what only one can borrow.

use idem_runtime::{Error, Tx, idempotent};
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

fn main() {}
