//! The warehouse's own statements, and where they run: a SQLite file, or a fresh database on a server.
//!
//! A warehouse has one database, and writes `sqlx::query("..")` where it needs it. This one runs on three, so a macro
//! makes what it needs for each driver.

use idem_runtime::prelude::*;
use idem_runtime::schema;
use sqlx::{FromRow, MySql, Pool, Postgres, Sqlite};
use uuid::Uuid;

use crate::machine::reservation::New;
use crate::machine::{self, Reservation};
use crate::place::{Script, sql};
use crate::script::Article;

/// A value of a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value<'v> {
    Number(i64),
    Text(&'v str),
    Id(Uuid),
}

/// What a reservation keeps.
#[derive(Debug, Clone, FromRow)]
pub(crate) struct Goods {
    #[sqlx(rename = "reservation_id")]
    pub(crate) id: Uuid,
    pub(crate) sku: String,
    pub(crate) quantity: i64,
}

impl Goods {
    /// What a new reservation is to keep.
    pub(crate) fn of(new: &New) -> Self {
        Self { id: new.reservation_id, sku: new.sku.clone(), quantity: new.quantity }
    }
}

/// An article, and its quantities: counted, available, reserved, deducted.
pub(crate) type Shelf = (String, i64, i64, i64, i64);

/// A database that the warehouse can live in.
pub(crate) trait Warehouse: Script {
    /// Runs one statement, and tells how many rows it wrote.
    fn write(
        tx: &mut Tx<'_, Self>,
        statement: &'static str,
        values: &[Value<'_>],
    ) -> impl Future<Output = sqlx::Result<u64>> + Send;

    /// What a reservation keeps.
    fn goods(tx: &mut Tx<'_, Self>, id: Uuid) -> impl Future<Output = sqlx::Result<Goods>> + Send;

    /// What the reservations keep that were not paid in time.
    fn overdue(pool: &Pool<Self>, now: i64) -> impl Future<Output = sqlx::Result<Vec<Goods>>> + Send;

    /// The names that a check finds.
    fn find(pool: &Pool<Self>, check: &'static str) -> impl Future<Output = sqlx::Result<Vec<String>>> + Send;

    /// The quantities of every article.
    fn shelves(pool: &Pool<Self>) -> impl Future<Output = sqlx::Result<Vec<Shelf>>> + Send;
}

macro_rules! warehouse {
    ($DB:ty) => {
        impl Warehouse for $DB {
            async fn write(tx: &mut Tx<'_, Self>, statement: &'static str, values: &[Value<'_>]) -> sqlx::Result<u64> {
                let query = values.iter().fold(sqlx::query(sql::<Self>(statement)), |query, value| match *value {
                    Value::Number(number) => query.bind(number),
                    Value::Text(text) => query.bind(text),
                    Value::Id(id) => query.bind(id),
                });
                Ok(query.execute(tx).await?.rows_affected())
            }

            async fn goods(tx: &mut Tx<'_, Self>, id: Uuid) -> sqlx::Result<Goods> {
                let select = "SELECT reservation_id, sku, quantity FROM reservations WHERE reservation_id = ?";
                sqlx::query_as(sql::<Self>(select)).bind(id).fetch_one(tx).await
            }

            async fn overdue(pool: &Pool<Self>, now: i64) -> sqlx::Result<Vec<Goods>> {
                let select = "SELECT reservation_id, sku, quantity FROM reservations \
                              WHERE status = 'reserved' AND pay_until < ?";
                sqlx::query_as(sql::<Self>(select)).bind(now).fetch_all(pool).await
            }

            async fn find(pool: &Pool<Self>, check: &'static str) -> sqlx::Result<Vec<String>> {
                sqlx::query_scalar(check).fetch_all(pool).await
            }

            async fn shelves(pool: &Pool<Self>) -> sqlx::Result<Vec<Shelf>> {
                let select = "SELECT sku, counted, available, reserved, deducted FROM stock ORDER BY sku";
                sqlx::query_as(select).fetch_all(pool).await
            }
        }
    };
}

warehouse!(Postgres);
warehouse!(MySql);
warehouse!(Sqlite);

/// Creates the tables, fills the shelves, and sees that every statement of the machine fits what is there.
pub(crate) async fn open<DB: Warehouse>(
    pool: &Pool<DB>,
    articles: &[Article],
) -> Result<Idem<DB>, Box<dyn std::error::Error>> {
    let idem = Idem::builder(pool.clone()).build().await?;
    idem.migrate().await?;
    let dialect = DB::DIALECT;
    let of_machine = [schema::history::<Reservation>(dialect), schema::unique_while::<Reservation>(dialect)];
    let of_machine = of_machine.into_iter().flatten().chain([schema::guard::<Reservation>(dialect)]);
    for text in std::iter::once(machine::tables(dialect)).chain(of_machine.map(str::to_owned)) {
        DB::script(pool, text).await?;
    }
    let mut tx = idem.begin().await?;
    for Article { sku, quantity } in articles {
        let insert = "INSERT INTO stock (sku, counted, available) VALUES (?, ?, ?)";
        let quantity = Value::Number(*quantity);
        DB::write(&mut tx, insert, &[Value::Text(sku), quantity, quantity]).await?;
    }
    tx.commit().await?;
    idem.check_sql::<Reservation>().await?.into_result()?;
    Ok(idem)
}
