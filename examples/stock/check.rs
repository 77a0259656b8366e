//! The checker: plain SQL over the tables, and a last try to get past the guard.

use idem_runtime::machine::guard_refusal;
use sqlx::Pool;

use crate::store::Warehouse;

/// What a finding counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    Oversold,
    Lost,
}

/// Statements that find what must not be: articles, or the numbers of requests and trades.
#[rustfmt::skip]
const CHECKS: [(Count, &str, &str); 10] = [
    (Count::Oversold, "a quantity below zero",
     "SELECT sku FROM stock WHERE available < 0 OR reserved < 0 OR deducted < 0"),
    (Count::Oversold, "more promised than there is",
     "SELECT stock.sku FROM stock JOIN reservations ON reservations.sku = stock.sku
       WHERE status <> 'released' GROUP BY stock.sku, counted HAVING SUM(quantity) > counted"),
    (Count::Oversold, "a line that was reserved twice at once",
     "SELECT MIN(sku) FROM reservations WHERE status <> 'released' GROUP BY order_id, line HAVING COUNT(*) > 1"),
    (Count::Oversold, "a request that reserved twice",
     "SELECT cause FROM told WHERE event = 'create' AND accepted = 1
       GROUP BY cause HAVING COUNT(DISTINCT reservation_id) > 1"),
    (Count::Oversold, "a reservation whose quantity was moved twice",
     "SELECT MIN(sku) FROM entries GROUP BY reservation_id, entry HAVING COUNT(*) > 1"),
    (Count::Oversold, "a quantity that was deducted for no reservation",
     "SELECT sku FROM entries WHERE entry = 'deducted' AND NOT EXISTS
       (SELECT 1 FROM reservations WHERE reservations.reservation_id = entries.reservation_id AND status = 'deducted')"),
    (Count::Lost, "articles whose quantities are not what was counted",
     "SELECT sku FROM stock WHERE counted <> available + reserved + deducted"),
    (Count::Lost, "articles whose quantities are not those of the reservations",
     "SELECT sku FROM stock
       WHERE reserved <> (SELECT COALESCE(SUM(quantity), 0) FROM reservations
                           WHERE reservations.sku = stock.sku AND status = 'reserved')
          OR deducted <> (SELECT COALESCE(SUM(quantity), 0) FROM reservations
                           WHERE reservations.sku = stock.sku AND status = 'deducted')"),
    (Count::Lost, "reservations without the entry of their beginning or of their end",
     "SELECT sku FROM reservations
       WHERE NOT EXISTS (SELECT 1 FROM entries
                          WHERE entries.reservation_id = reservations.reservation_id AND entry = 'reserved')
          OR NOT EXISTS (SELECT 1 FROM entries
                          WHERE entries.reservation_id = reservations.reservation_id AND entry = status)"),
    (Count::Lost, "messages that were told yes and are not in the history, or told no and are",
     "SELECT cause FROM told
       WHERE accepted <> (SELECT COUNT(*) FROM reservations_history AS history
                           WHERE history.reservation_id = told.reservation_id
                             AND history.event = told.event AND history.cause = told.cause)"),
];

/// A check, and what it found.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) counts_as: Count,
    pub(crate) what: &'static str,
    pub(crate) found: Vec<String>,
}

/// Runs every check.
pub(crate) async fn run<DB: Warehouse>(pool: &Pool<DB>) -> sqlx::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for (counts_as, what, sql) in CHECKS {
        findings.push(Finding { counts_as, what, found: DB::find(pool, sql).await? });
    }
    let (what, found) = ("deductions that somebody could take back by hand", returnable(pool).await?);
    findings.push(Finding { counts_as: Count::Oversold, what, found });
    Ok(findings)
}

/// The guard refuses an UPDATE that moves reservations along no transition; without it all would be released now.
async fn returnable<DB: Warehouse>(pool: &Pool<DB>) -> sqlx::Result<Vec<String>> {
    match DB::script(pool, "UPDATE reservations SET status = 'released' WHERE status = 'deducted'".to_owned()).await {
        Err(error) if guard_refusal(&error).is_some() => Ok(Vec::new()),
        Err(error) => Err(error),
        Ok(()) => DB::find(pool, "SELECT sku FROM reservations WHERE deducted_at IS NOT NULL").await,
    }
}
