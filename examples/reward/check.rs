//! The checker: plain SQL over the tables.

use sqlx::Pool;

use crate::store::Bank;

/// What a finding counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    Duplicated,
    Lost,
}

/// Statements that find what must not be: numbers of grants, wishes, or accounts.
#[rustfmt::skip]
const CHECKS: [(Count, &str, &str); 7] = [
    (Count::Duplicated, "something that was granted twice",
     "SELECT MIN(number) FROM grants GROUP BY kind, activity_id, user_id HAVING COUNT(*) > 1"),
    (Count::Duplicated, "accounts with more than was granted",
     "SELECT name FROM accounts
       WHERE points > (SELECT COALESCE(SUM(points), 0) FROM grants WHERE grants.user_id = accounts.user_id)
          OR badges > (SELECT COUNT(*) FROM grants WHERE grants.user_id = accounts.user_id AND kind = 'badge')"),
    (Count::Duplicated, "senders that were told of different grants",
     "SELECT MIN(number) FROM told GROUP BY kind, activity_id, user_id HAVING COUNT(DISTINCT number) > 1"),
    (Count::Lost, "something that was asked for and not granted",
     "SELECT name FROM wanted
       WHERE NOT EXISTS (SELECT 1 FROM grants WHERE grants.kind = wanted.kind
                            AND grants.activity_id = wanted.activity_id AND grants.user_id = wanted.user_id)"),
    (Count::Lost, "accounts with less than was granted",
     "SELECT name FROM accounts
       WHERE points < (SELECT COALESCE(SUM(points), 0) FROM grants WHERE grants.user_id = accounts.user_id)
          OR badges < (SELECT COUNT(*) FROM grants WHERE grants.user_id = accounts.user_id AND kind = 'badge')"),
    (Count::Lost, "something of which no sender was told",
     "SELECT name FROM wanted
       WHERE NOT EXISTS (SELECT 1 FROM told WHERE told.kind = wanted.kind
                            AND told.activity_id = wanted.activity_id AND told.user_id = wanted.user_id)"),
    (Count::Lost, "senders that were told of a grant that is not there, or of another one",
     "SELECT number FROM told
       WHERE NOT EXISTS (SELECT 1 FROM grants WHERE grants.number = told.number AND grants.kind = told.kind
                            AND grants.activity_id = told.activity_id AND grants.user_id = told.user_id
                            AND grants.points = told.points)"),
];

/// A check, and what it found.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) counts_as: Count,
    pub(crate) what: &'static str,
    pub(crate) found: Vec<String>,
}

/// Runs every check.
pub(crate) async fn run<DB: Bank>(pool: &Pool<DB>) -> sqlx::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for (counts_as, what, sql) in CHECKS {
        findings.push(Finding { counts_as, what, found: DB::find(pool, sql, &[]).await? });
    }
    Ok(findings)
}
