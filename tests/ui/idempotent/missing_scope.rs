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

fn is_final(_: &Error) -> bool {
    true
}

fn from_text(text: String) -> i64 {
    text.len() as i64
}

#[idempotent(
    upgrade = from_text,
    rerun = 3,
    record_err = is_final,
    retain(result = "7d", key = forever),
    wait = "500ms",
    key = order_id,
    payload = amount,
    crate = idem_runtime
)]
async fn charge(_tx: &mut Tx<'_, Sqlite>, order_id: i64, amount: i64) -> Result<i64, Error> {
    Ok(order_id + amount)
}

fn main() {
    let _ = (is_final, from_text);
}
