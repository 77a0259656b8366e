//! Key and payload are made of the arguments, so that a duplicate has the same ones.

use idem_runtime::{Error, Tx, idempotent};
use sqlx::Sqlite;

struct Order {
    id: i64,
}

const REGION: i64 = 7;

fn bucket(id: i64) -> i64 {
    id % 8
}

#[idempotent(scope = "nearest", key = (tenant_id, ordr.id), payload = amout)]
async fn nearest(_tx: &mut Tx<'_, Sqlite>, tenant_id: i64, order: &Order, amount: i64) -> Result<i64, Error> {
    Ok(tenant_id + order.id + amount)
}

#[idempotent(scope = "list", key = request)]
async fn list(_tx: &mut Tx<'_, Sqlite>, tenant_id: i64, Order { id }: Order) -> Result<i64, Error> {
    Ok(tenant_id + id)
}

#[idempotent(scope = "receiver", key = self.id)]
async fn no_receiver(_tx: &mut Tx<'_, Sqlite>) -> Result<i64, Error> {
    Ok(1)
}

#[idempotent(scope = "others", key = (REGION, bucket(order.id), lines.iter().map(|line| line + 1).sum::<i64>()))]
async fn other_names_are_fine(_tx: &mut Tx<'_, Sqlite>, order: &Order, lines: &[i64]) -> Result<i64, Error> {
    Ok(order.id + lines[0])
}

fn main() {}
