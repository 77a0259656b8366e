//! The shop's own statements, and where they run: a SQLite file, or a fresh database on a server.
//!
//! A shop has one database, and writes `sqlx::query("..")` where it needs it. This one runs on three, so a macro makes
//! what it needs for each driver.

use idem_runtime::prelude::*;
use idem_runtime::schema;
use sqlx::{MySql, Pool, Postgres, Sqlite};
use uuid::Uuid;

use crate::layers::{Layer, Layers};
use crate::machine::{self, OrderStatus};
use crate::place::{Script, sql};

/// A value of a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value {
    Number(i64),
    Id(Uuid),
}

/// A charge: the delivery that was charged, and its cart.
pub(crate) type Charge = (i64, i64);

/// A database that the shop can live in.
pub(crate) trait Till: Script {
    /// Runs one statement, and tells how many rows it wrote.
    fn write(
        tx: &mut Tx<'_, Self>,
        statement: &'static str,
        values: &[Value],
    ) -> impl Future<Output = sqlx::Result<u64>> + Send;

    /// The order of a cart.
    fn order_of(tx: &mut Tx<'_, Self>, cart_id: i64) -> impl Future<Output = sqlx::Result<Option<Uuid>>> + Send;

    /// All charges, cart by cart.
    fn charges(pool: &Pool<Self>) -> impl Future<Output = sqlx::Result<Vec<Charge>>> + Send;
}

macro_rules! till {
    ($DB:ty) => {
        impl Till for $DB {
            async fn write(tx: &mut Tx<'_, Self>, statement: &'static str, values: &[Value]) -> sqlx::Result<u64> {
                let query = values.iter().fold(sqlx::query(sql::<Self>(statement)), |query, value| match *value {
                    Value::Number(number) => query.bind(number),
                    Value::Id(id) => query.bind(id),
                });
                Ok(query.execute(tx).await?.rows_affected())
            }

            async fn order_of(tx: &mut Tx<'_, Self>, cart_id: i64) -> sqlx::Result<Option<Uuid>> {
                let select = sql::<Self>("SELECT order_id FROM orders WHERE cart_id = ?");
                sqlx::query_scalar(select).bind(cart_id).fetch_optional(tx).await
            }

            async fn charges(pool: &Pool<Self>) -> sqlx::Result<Vec<Charge>> {
                sqlx::query_as("SELECT delivery_id, cart_id FROM charges ORDER BY cart_id, delivery_id")
                    .fetch_all(pool)
                    .await
            }
        }
    };
}

till!(Postgres);
till!(MySql);
till!(Sqlite);

/// Creates the tables. Without compare-and-swap there is no rule for orders either.
pub(crate) async fn open<DB: Till>(idem: &Idem<DB>, layers: &Layers) -> Result<(), Box<dyn std::error::Error>> {
    idem.migrate().await?;
    DB::script(idem.pool(), machine::tables(DB::DIALECT)).await?;
    if layers.has(Layer::Cas) {
        let (history, rule) =
            (schema::history::<OrderStatus>(DB::DIALECT), schema::unique_while::<OrderStatus>(DB::DIALECT));
        for text in history.into_iter().chain(rule) {
            DB::script(idem.pool(), text.to_owned()).await?;
        }
        idem.check_sql::<OrderStatus>().await?.into_result()?;
    }
    Ok(())
}
