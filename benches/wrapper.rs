//! What `#[idempotent]` costs over the same statements written by hand.
//!
//! ```text
//! cargo xtask servers -- cargo bench --bench wrapper
//! ```
//!
//! Each round runs a number of new calls and of replays in both ways, turn by turn, and compares their times; the medians
//! of the ratios are printed. Only ratios mean something: a machine is fast or slow for both.

mod common;

use idem_runtime::prelude::*;
use idem_runtime::schema;
use sqlx::{Executor as _, PgPool, Postgres, Row as _};

use common::{BoxError, PayError, Size};

#[idempotent(scope = "bench.pay", key = (tenant, order), payload = amount)]
async fn pay(tx: &mut Tx<'_, Postgres>, tenant: i64, order: i64, amount: i64) -> Result<i64, PayError> {
    body(&mut *tx, order, amount).await
}

async fn body(on: impl sqlx::PgExecutor<'_>, order: i64, amount: i64) -> Result<i64, PayError> {
    let insert = sqlx::query("INSERT INTO ledger (order_id, amount) VALUES ($1, $2)");
    insert.bind(order).bind(amount).execute(on).await?;
    Ok(amount)
}

/// The statements that [`pay`] runs, as somebody would write them.
async fn pay_by_hand(pool: &PgPool, sql: &Sql, tenant: i64, order: i64, amount: i64) -> Result<i64, PayError> {
    let (key, owner) = (format!("{tenant}/{order}"), uuid::Uuid::new_v4().to_string());
    let mut tx = pool.begin().await?;
    let claim = sqlx::query(sql.claim).bind("bench.hand").bind(&key).bind("v1:none").bind(&owner).bind("2000");
    let row = claim.fetch_one(&mut *tx).await?;
    if row.try_get::<Option<i32>, _>("claimed")?.is_none() {
        tx.rollback().await?;
        let result: String = row.try_get("result")?;
        return serde_json::from_str(&result).map_err(|error| sqlx::Error::Decode(error.into()).into());
    }
    let paid = body(&mut *tx, order, amount).await?;
    let end =
        sqlx::query(sql.end).bind(2_i64).bind(paid.to_string()).bind("v1:i64").bind(None::<i64>).bind(None::<i64>);
    end.bind("bench.hand").bind(&key).bind(&owner).execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(paid)
}

struct Sql {
    claim: &'static str,
    end: &'static str,
}

impl Sql {
    fn named(name: &str) -> Result<&'static str, BoxError> {
        let found = schema::statements(Dialect::Postgres).find(|statement| statement.0 == name);
        Ok(found.ok_or_else(|| format!("no statement `{name}`"))?.1)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    common::on_database(measure).await
}

async fn measure(url: &str) -> Result<(), BoxError> {
    let pool = common::connect(url).await?;
    let idem = Idem::builder(pool.clone()).build().await?;
    idem.migrate().await?;
    pool.execute("CREATE TABLE ledger (order_id BIGINT NOT NULL, amount BIGINT NOT NULL)").await?;
    let sql = Sql { claim: Sql::named("claim")?, end: Sql::named("end")? };
    let size = Size::asked_for();
    let mut ratios = [Vec::new(), Vec::new()];
    for round in 0..size.rounds {
        let tenant = i64::try_from(round)?;
        for ratios in &mut ratios {
            let wrapped = async || common::time(size.calls, async |order| pay(&idem, tenant, order, 7).await).await;
            let by_hand =
                async || common::time(size.calls, async |order| pay_by_hand(&pool, &sql, tenant, order, 7).await).await;
            ratios.push(common::ratio(round, wrapped, by_hand).await?);
        }
    }
    let [new, replays] = ratios;
    common::tell("new calls", "the time by hand", new, size);
    common::tell("replays", "the time by hand", replays, size);
    Ok(())
}
