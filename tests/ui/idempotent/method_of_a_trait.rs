//! The signature of a trait's method cannot become the one that callers see.

use std::pin::Pin;

use idem_runtime::{Error, Tx, idempotent};
use sqlx::Sqlite;

trait Payments {
    #[idempotent(scope = "order.pay", key = order_id)]
    fn pay(&self, tx: &mut Tx<'_, Sqlite>, order_id: i64) -> impl Future<Output = Result<i64, Error>>;

    fn refund<'a>(
        &'a self,
        tx: &'a mut Tx<'_, Sqlite>,
        order_id: i64,
    ) -> Pin<Box<dyn Future<Output = Result<i64, Error>> + 'a>>;
}

struct Shop;

impl Payments for Shop {
    async fn pay(&self, _tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, Error> {
        Ok(order_id)
    }

    // What `#[async_trait]` makes of an `async fn`.
    #[idempotent(scope = "order.refund", key = order_id)]
    fn refund<'a>(
        &'a self,
        _tx: &'a mut Tx<'_, Sqlite>,
        order_id: i64,
    ) -> Pin<Box<dyn Future<Output = Result<i64, Error>> + 'a>> {
        Box::pin(async move { Ok(order_id) })
    }
}

fn main() {}
