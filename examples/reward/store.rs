//! The shop's own statements.
//!
//! A shop has one database, and writes `sqlx::query("..")` where it needs it. This one runs on three, so a macro makes
//! what it needs for each driver.

use idem_runtime::prelude::*;
use sqlx::{MySql, Pool, Postgres, Sqlite};

use crate::place::{Script, sql};
use crate::script::Wish;
use crate::tables::TABLES;

/// A value of a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value<'v> {
    Number(i64),
    Text(&'v str),
}

/// A database that the accounts can live in.
pub(crate) trait Bank: Script {
    /// Runs one statement, and tells how many rows it wrote.
    fn write(
        tx: &mut Tx<'_, Self>,
        statement: &'static str,
        values: &[Value<'_>],
    ) -> impl Future<Output = sqlx::Result<u64>> + Send;

    /// The texts that a query finds.
    fn find(
        pool: &Pool<Self>,
        query: &'static str,
        values: &[Value<'_>],
    ) -> impl Future<Output = sqlx::Result<Vec<String>>> + Send;
}

macro_rules! bank {
    ($DB:ty) => {
        impl Bank for $DB {
            async fn write(tx: &mut Tx<'_, Self>, statement: &'static str, values: &[Value<'_>]) -> sqlx::Result<u64> {
                let query = values.iter().fold(sqlx::query(sql::<Self>(statement)), |query, value| match *value {
                    Value::Number(number) => query.bind(number),
                    Value::Text(text) => query.bind(text),
                });
                Ok(query.execute(tx).await?.rows_affected())
            }

            async fn find(pool: &Pool<Self>, query: &'static str, values: &[Value<'_>]) -> sqlx::Result<Vec<String>> {
                let query = values.iter().fold(sqlx::query_scalar(sql::<Self>(query)), |query, value| match *value {
                    Value::Number(number) => query.bind(number),
                    Value::Text(text) => query.bind(text),
                });
                query.fetch_all(pool).await
            }
        }
    };
}

bank!(Postgres);
bank!(MySql);
bank!(Sqlite);

/// Creates the tables, opens an account for each user, and writes down for the checker what is wanted.
pub(crate) async fn open<DB: Bank>(pool: &Pool<DB>, wishes: &[Wish]) -> Result<Idem<DB>, Box<dyn std::error::Error>> {
    let idem = Idem::builder(pool.clone()).build().await?;
    idem.migrate().await?;
    DB::script(pool, TABLES.to_owned()).await?;
    let mut tx = idem.begin().await?;
    let mut last = None;
    for wish in wishes {
        // The wishes come in the order of their users.
        if last.replace(wish.user_id) != Some(wish.user_id) {
            let insert = "INSERT INTO accounts (user_id, name) VALUES (?, ?)";
            let name = format!("user {}", wish.user_id);
            DB::write(&mut tx, insert, &[Value::Number(wish.user_id), Value::Text(&name)]).await?;
        }
        let insert = "INSERT INTO wanted (name, kind, activity_id, user_id) VALUES (?, ?, ?, ?)";
        let (name, kind) = (wish.name(), wish.kind.name());
        let [activity, user] = [wish.activity_id, wish.user_id].map(Value::Number);
        DB::write(&mut tx, insert, &[Value::Text(&name), Value::Text(kind), activity, user]).await?;
    }
    tx.commit().await?;
    Ok(idem)
}
