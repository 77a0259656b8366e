//! The shop's own tables and statements, and where they live: a SQLite file, or a fresh database on a server.
//!
//! A shop has one database, and writes `sqlx::query("..")` where it needs it. This one runs on three, so its statements
//! stand here, once, and a macro makes them for each driver.

use idem_runtime::prelude::*;
use idem_runtime::schema;
use sqlx::{MySql, Pool, Postgres, Sqlite};

use crate::machine::{self, OrderStatus};
use crate::place::{Script, sql};
use crate::script::Order;

/// A value of a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value<'v> {
    Number(i64),
    Text(&'v str),
    Status(OrderStatus),
}

/// A state that an order is in, and an entry of its history: event, source and target.
pub(crate) type Entry = (i64, OrderStatus, String, OrderStatus, OrderStatus);

/// A database that the shop can live in.
pub(crate) trait Shop: Script {
    /// Runs one statement, and tells how many rows it wrote.
    fn write(
        tx: &mut Tx<'_, Self>,
        statement: &'static str,
        values: &[Value<'_>],
    ) -> impl Future<Output = sqlx::Result<u64>> + Send;

    /// Reads a number of an order.
    fn number(
        tx: &mut Tx<'_, Self>,
        select: &'static str,
        order_id: i64,
    ) -> impl Future<Output = sqlx::Result<i64>> + Send;

    /// The identifiers of the orders that a check finds.
    fn find(pool: &Pool<Self>, check: &'static str) -> impl Future<Output = sqlx::Result<Vec<i64>>> + Send;

    /// How many orders are in each state.
    fn states(pool: &Pool<Self>) -> impl Future<Output = sqlx::Result<Vec<(OrderStatus, i64)>>> + Send;

    /// Every entry of the history, order by order.
    fn history(pool: &Pool<Self>) -> impl Future<Output = sqlx::Result<Vec<Entry>>> + Send;
}

macro_rules! shop {
    ($DB:ty) => {
        impl Shop for $DB {
            async fn write(tx: &mut Tx<'_, Self>, statement: &'static str, values: &[Value<'_>]) -> sqlx::Result<u64> {
                let query = values.iter().fold(sqlx::query(sql::<Self>(statement)), |query, value| match *value {
                    Value::Number(number) => query.bind(number),
                    Value::Text(text) => query.bind(text),
                    Value::Status(status) => query.bind(status),
                });
                Ok(query.execute(tx).await?.rows_affected())
            }

            async fn number(tx: &mut Tx<'_, Self>, select: &'static str, order_id: i64) -> sqlx::Result<i64> {
                sqlx::query_scalar(sql::<Self>(select)).bind(order_id).fetch_one(tx).await
            }

            async fn find(pool: &Pool<Self>, check: &'static str) -> sqlx::Result<Vec<i64>> {
                sqlx::query_scalar(check).fetch_all(pool).await
            }

            async fn states(pool: &Pool<Self>) -> sqlx::Result<Vec<(OrderStatus, i64)>> {
                let select = "SELECT status, COUNT(*) FROM orders GROUP BY status ORDER BY COUNT(*) DESC";
                sqlx::query_as(select).fetch_all(pool).await
            }

            async fn history(pool: &Pool<Self>) -> sqlx::Result<Vec<Entry>> {
                let select = "SELECT orders.order_id, orders.status, event, source, target FROM orders \
                              JOIN orders_history AS history ON history.order_id = orders.order_id \
                              ORDER BY orders.order_id, history.version";
                sqlx::query_as(select).fetch_all(pool).await
            }
        }
    };
}

shop!(Postgres);
shop!(MySql);
shop!(Sqlite);

/// Creates the tables and takes the orders.
pub(crate) async fn open<DB: Shop>(pool: &Pool<DB>, orders: &[Order]) -> Result<Idem<DB>, Box<dyn std::error::Error>> {
    let idem = Idem::builder(pool.clone()).build().await?;
    idem.migrate().await?;
    let dialect = DB::DIALECT;
    // Only PostgreSQL has a type of its own for the status, and it has to be there before the table.
    let status_type = schema::status_type::<OrderStatus>(dialect).map(str::to_owned);
    let history = schema::history::<OrderStatus>(dialect).map(str::to_owned);
    for text in [status_type, Some(machine::tables(dialect)), history].into_iter().flatten() {
        DB::script(pool, text).await?;
    }
    let mut tx = idem.begin().await?;
    for order in orders {
        take(&mut tx, order).await?;
    }
    tx.commit().await?;
    // What was written by hand before stays where it is; from here on only declared transitions move an order.
    DB::script(pool, schema::guard::<OrderStatus>(dialect).to_owned()).await?;
    Ok(idem)
}

/// Takes an order, and writes down what the checker expects of it.
async fn take<DB: Shop>(tx: &mut Tx<'_, DB>, order: &Order) -> sqlx::Result<()> {
    let id = Value::Number(order.id);
    let (price, parcels) = (Value::Number(order.price), Value::Number(order.parcels));
    let insert = "INSERT INTO orders (order_id, price, parcels, status) VALUES (?, ?, ?, ?)";
    DB::write(&mut *tx, insert, &[id, price, parcels, Value::Status(OrderStatus::Pending)]).await?;
    let insert = "INSERT INTO expected (order_id, payments, repayments) VALUES (?, ?, ?)";
    let expected = [id, Value::Number(order.payments), Value::Number(order.repayments)];
    DB::write(&mut *tx, insert, &expected).await?;
    if order.is_old {
        // By the name that the state had then, and without a history.
        let update = "UPDATE orders SET status = 'part_shipped', paid = price, sent = 1 WHERE order_id = ?";
        DB::write(&mut *tx, update, &[id]).await?;
        let insert = "INSERT INTO parcels (order_id, parcel_no) VALUES (?, 'sent before')";
        DB::write(tx, insert, &[id]).await?;
    }
    Ok(())
}
