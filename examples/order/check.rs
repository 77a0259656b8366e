//! The checker: plain SQL over the tables, and each entry of the history against the transition table.

use std::collections::HashMap;

use idem_runtime::machine::guard_refusal;
use idem_runtime::prelude::*;
use sqlx::Pool;

use crate::machine::OrderStatus;
use crate::store::{Entry, Shop};

/// What a finding counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    Double,
    Lost,
}

/// Statements that find what must not be, an order a row.
#[rustfmt::skip]
const CHECKS: [(Count, &str, &str); 7] = [
    (Count::Double, "a parcel counted twice",
     "SELECT order_id FROM parcels GROUP BY order_id, parcel_no HAVING COUNT(*) > 1"),
    (Count::Double, "a refund paid twice",
     "SELECT order_id FROM refunds GROUP BY order_id, refund_no HAVING COUNT(*) > 1"),
    (Count::Double, "more given back than was paid",
     "SELECT orders.order_id FROM orders JOIN refunds ON refunds.order_id = orders.order_id
       GROUP BY orders.order_id, paid HAVING SUM(amount) > paid"),
    (Count::Lost, "parcels that the order has not counted",
     "SELECT order_id FROM orders
       WHERE sent <> (SELECT COUNT(*) FROM parcels WHERE parcels.order_id = orders.order_id)"),
    (Count::Lost, "parcels that are missing though no money went back",
     "SELECT orders.order_id FROM orders JOIN expected ON expected.order_id = orders.order_id
       WHERE repayments = 0 AND sent < parcels"),
    (Count::Lost, "payments that were not taken or set aside once",
     "SELECT order_id FROM expected
       WHERE payments <> (SELECT COUNT(*) FROM orders_history AS history
                           WHERE history.order_id = expected.order_id AND event = 'pay')
                       + (SELECT COUNT(*) FROM set_aside WHERE set_aside.order_id = expected.order_id)"),
    (Count::Lost, "refunds that are missing",
     "SELECT order_id FROM expected
       WHERE repayments > (SELECT COUNT(*) FROM refunds WHERE refunds.order_id = expected.order_id)
                        + (SELECT COUNT(*) FROM set_aside WHERE set_aside.order_id = expected.order_id)"),
];

/// A check, and the orders that it found.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) counts_as: Count,
    pub(crate) what: &'static str,
    pub(crate) found: Vec<i64>,
}

/// Runs every check.
pub(crate) async fn run<DB: Shop>(pool: &Pool<DB>) -> sqlx::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for (counts_as, what, sql) in CHECKS {
        findings.push(Finding { counts_as, what, found: DB::find(pool, sql).await? });
    }
    let entries = DB::history(pool).await?;
    let mut find = |what, found| findings.push(Finding { counts_as: Count::Lost, what, found });
    find("history entries that are no declared transition", undeclared(&entries));
    find("history entries that start elsewhere than the last one ended", torn(&entries));
    find("orders that are elsewhere than their last history entry", strayed(&entries));
    find("orders that somebody could move by hand along no transition", movable(pool).await?);
    Ok(findings)
}

/// The guard refuses an UPDATE that moves orders along no transition; without it all would be delivered now.
async fn movable<DB: Shop>(pool: &Pool<DB>) -> sqlx::Result<Vec<i64>> {
    match DB::script(pool, "UPDATE orders SET status = 'delivered'".to_owned()).await {
        Err(error) if guard_refusal(&error).is_some() => Ok(Vec::new()),
        Err(error) => Err(error),
        Ok(()) => DB::find(pool, "SELECT order_id FROM orders").await,
    }
}

fn undeclared(entries: &[Entry]) -> Vec<i64> {
    let is_declared = |(_, _, event, source, target): &&Entry| {
        OrderStatus::TRANSITIONS.iter().any(|it| it.event == event && it.source == *source && it.target == *target)
    };
    entries.iter().filter(|entry| !is_declared(entry)).map(|entry| entry.0).collect()
}

fn torn(entries: &[Entry]) -> Vec<i64> {
    let pairs = entries.windows(2).filter(|pair| pair[0].0 == pair[1].0);
    pairs.filter(|pair| pair[0].4 != pair[1].3).map(|pair| pair[0].0).collect()
}

fn strayed(entries: &[Entry]) -> Vec<i64> {
    let last: HashMap<i64, &Entry> = entries.iter().map(|entry| (entry.0, entry)).collect();
    last.into_values().filter(|entry| entry.1 != entry.4).map(|entry| entry.0).collect()
}
