//! What a call costs behind each layer, over the same call without one.
//!
//! ```text
//! cargo xtask servers -- cargo bench --bench layers
//! ```
//!
//! Each round runs new calls and then their duplicates, with and without the layer, turn by turn. Only ratios mean something,
//! and those are of the loopback, where the network costs nothing.

mod common;

use idem_runtime::gate::Gate;
use idem_runtime::prelude::*;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use sqlx::{Executor as _, PgPool, Postgres};

use common::{BoxError, PayError, Size};

/// What stands before the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layer {
    ReadFirst,
    Gate,
    ReplayFromRedis,
    Memory,
}

const LAYERS: [(Layer, &str); 4] = [
    (Layer::ReadFirst, "read first"),
    (Layer::Gate, "gate"),
    (Layer::ReplayFromRedis, "gate, answers from Redis"),
    (Layer::Memory, "answers in memory"),
];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    common::on_database(async |url| {
        let plain = common::connect(url).await?;
        plain.execute("CREATE TABLE ledger (order_id BIGINT NOT NULL, amount BIGINT NOT NULL)").await?;
        Idem::builder(plain.clone()).build().await?.migrate().await?;
        for (layer, name) in LAYERS {
            measure(layer, name, &plain, &common::connect(url).await?).await?;
        }
        Ok(())
    })
    .await
}

async fn measure(layer: Layer, name: &str, plain: &PgPool, layered: &PgPool) -> Result<(), BoxError> {
    let size = Size::asked_for();
    let (plain, layered) = (Idem::builder(plain.clone()).build().await?, behind(layer, layered.clone()).await?);
    let mut ratios = [Vec::new(), Vec::new()];
    for round in 0..size.rounds {
        let key = |side: &str| format!("{name} {side} {round}");
        let (with, without) = (key("with"), key("without"));
        for ratios in &mut ratios {
            let with =
                async || common::time(size.calls, async |order| pay(&layered, Some(layer), &with, order).await).await;
            let without =
                async || common::time(size.calls, async |order| pay(&plain, None, &without, order).await).await;
            ratios.push(common::ratio(round, with, without).await?);
        }
    }
    let [new, duplicates] = ratios;
    common::tell(&format!("{name}, new"), "a new call", new, size);
    common::tell(&format!("{name}, duplicate"), "a duplicate", duplicates, size);
    Ok(())
}

async fn behind(layer: Layer, pool: PgPool) -> Result<Idem<Postgres>, BoxError> {
    let builder = Idem::builder(pool);
    let builder = match layer {
        Layer::ReadFirst => builder,
        Layer::Gate => builder.gate(gate()?),
        Layer::ReplayFromRedis => builder.gate(gate()?.replay_from_redis(1_000)),
        Layer::Memory => builder.replay_cache(100_000_000),
    };
    Ok(builder.build().await?)
}

fn gate() -> Result<Gate, BoxError> {
    let client = redis::Client::open(common::server("IDEM_TEST_REDIS_URL")?)?;
    let connection = ConnectionManager::new_lazy_with_config(client, ConnectionManagerConfig::new())?;
    Ok(Gate::new(connection).prefix(format!("bench-{}", uuid::Uuid::new_v4().simple())))
}

async fn pay(idem: &Idem<Postgres>, layer: Option<Layer>, round: &str, order: i64) -> Result<i64, PayError> {
    let key = (round, order);
    let call = idem.once("bench.pay", &key).payload(&7_i64);
    let call = if layer == Some(Layer::ReadFirst) { call.read_first() } else { call };
    call.run(async |tx| body(tx, order).await).await
}

async fn body(mut tx: idem_runtime::OnceTx<'_, Postgres>, order: i64) -> Result<i64, PayError> {
    let insert = sqlx::query("INSERT INTO ledger (order_id, amount) VALUES ($1, $2)");
    insert.bind(order).bind(7_i64).execute(&mut *tx).await?;
    Ok(7)
}
