//! The scope is written out, because renaming the function must not change it.

use idem_runtime::{Error, Tx, idempotent};
use sqlx::Sqlite;

#[idempotent]
async fn pay(_tx: &mut Tx<'_, Sqlite>, tenant_id: i64) -> Result<i64, Error> {
    Ok(tenant_id)
}

#[idempotent(payload = (amount, &currency[..3]), key = (tenant_id, order_id))]
async fn refund(
    _tx: &mut Tx<'_, Sqlite>,
    tenant_id: i64,
    order_id: i64,
    amount: i64,
    currency: &str,
) -> Result<i64, Error> {
    let _ = currency;
    Ok(tenant_id + order_id + amount)
}

fn main() {}
