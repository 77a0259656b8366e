//! The statements on `idem_record`.

use crate::dialect::PerDialect;

/// The statements on `idem_record`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordSql {
    pub(crate) claim: &'static str,
    /// What the claim was refused for, as it is now: seen by a transaction whose snapshot is older, too.
    pub(crate) read: &'static str,
    /// The same by itself; it waits for nobody.
    pub(crate) look: &'static str,
    pub(crate) end: &'static str,
    pub(crate) doubt: &'static str,
}

/// How many seconds the claim on MySQL and MariaDB waits.
pub(crate) const MYSQL_WAIT_S: u64 = 2;

/// The claim on MySQL and MariaDB with another wait than that of the text in [`SQL`], which is static. MariaDB runs what stands
/// inside the comment; on MySQL the wait is the server's `innodb_lock_wait_timeout`.
pub(crate) fn mysql_claim(seconds: u64) -> String {
    let wait = format!("innodb_lock_wait_timeout = {seconds} ");
    SQL.mysql.claim.replacen("innodb_lock_wait_timeout = 2 ", &wait, 1)
}

const POSTGRES_READ: &str = "\
SELECT status, fingerprint, result, result_type, CASE WHEN result_until <= clock_timestamp() THEN 1 END AS gone
  FROM idem_record
 WHERE scope = $1 AND key = $2";

const SQLITE_READ: &str = "\
SELECT status, fingerprint, result, result_type,
       CASE WHEN result_until <= strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 END AS gone
  FROM idem_record
 WHERE scope = ?1 AND key = ?2";

pub(crate) const SQL: PerDialect<RecordSql> = PerDialect {
    // The lock timeout holds for the claim only and not for the body. A record that a rival committed while this
    // statement waited is not in its snapshot: then it gives neither a claim nor a record.
    postgres: RecordSql {
        claim: "\
WITH patience AS MATERIALIZED (
  SELECT current_setting('lock_timeout') AS before, set_config('lock_timeout', $5::text, TRUE) AS now
), claimed AS (
  INSERT INTO idem_record (scope, key, status, fingerprint, owner, created_at)
  SELECT $1, $2, 1, $3, $4, clock_timestamp()
    FROM patience
  ON CONFLICT (scope, key) DO NOTHING
  RETURNING 1 AS claimed
)
SELECT claimed.claimed AS claimed, seen.status AS status, seen.fingerprint AS fingerprint, seen.result AS result,
       seen.result_type AS result_type, CASE WHEN seen.result_until <= clock_timestamp() THEN 1 END AS gone,
       set_config('lock_timeout', patience.before, TRUE) AS lock_timeout
  FROM patience
  LEFT JOIN claimed ON TRUE
  LEFT JOIN idem_record AS seen ON seen.scope = $1 AND seen.key = $2",
        read: POSTGRES_READ,
        look: POSTGRES_READ,
        end: "\
UPDATE idem_record
   SET status = $1, result = $2, result_type = $3, completed_at = clock_timestamp(),
       result_until = clock_timestamp() + $4::bigint * INTERVAL '1 second',
       key_until = clock_timestamp() + $5::bigint * INTERVAL '1 second'
 WHERE scope = $6 AND key = $7 AND owner = $8 AND status = 1",
        doubt: "\
INSERT INTO idem_record (scope, key, status, fingerprint, owner, created_at)
VALUES ($1, $2, 4, $3, $4, clock_timestamp())
ON CONFLICT (scope, key) DO UPDATE
   SET status = 4, result = NULL, result_type = NULL, completed_at = NULL, result_until = NULL, key_until = NULL
 WHERE idem_record.owner = excluded.owner",
    },
    mysql: RecordSql {
        claim: "\
/*M! SET STATEMENT innodb_lock_wait_timeout = 2 FOR */
INSERT INTO idem_record (scope, `key`, status, fingerprint, owner, created_at)
VALUES (?, ?, 1, ?, ?, NOW(6))",
        read: "\
SELECT status, fingerprint, result, result_type, CASE WHEN result_until <= NOW(6) THEN 1 END AS gone
  FROM idem_record
 WHERE scope = ? AND `key` = ?
  LOCK IN SHARE MODE",
        look: "\
SELECT status, fingerprint, result, result_type, CASE WHEN result_until <= NOW(6) THEN 1 END AS gone
  FROM idem_record
 WHERE scope = ? AND `key` = ?",
        end: "\
UPDATE idem_record
   SET status = ?, result = ?, result_type = ?, completed_at = NOW(6),
       result_until = NOW(6) + INTERVAL ? SECOND,
       key_until = NOW(6) + INTERVAL ? SECOND
 WHERE scope = ? AND `key` = ? AND owner = ? AND status = 1",
        // The owner is asked in each assignment: a WHERE cannot be.
        doubt: "\
INSERT INTO idem_record (scope, `key`, status, fingerprint, owner, created_at)
VALUES (?, ?, 4, ?, ?, NOW(6))
ON DUPLICATE KEY UPDATE
       status = IF(owner = VALUES(owner), 4, status),
       result = IF(owner = VALUES(owner), NULL, result),
       result_type = IF(owner = VALUES(owner), NULL, result_type),
       completed_at = IF(owner = VALUES(owner), NULL, completed_at),
       result_until = IF(owner = VALUES(owner), NULL, result_until),
       key_until = IF(owner = VALUES(owner), NULL, key_until)",
    },
    sqlite: RecordSql {
        claim: "\
INSERT INTO idem_record (scope, key, status, fingerprint, owner, created_at)
VALUES (?1, ?2, 1, ?3, ?4, strftime('%Y-%m-%d %H:%M:%f', 'now'))
ON CONFLICT (scope, key) DO NOTHING
RETURNING 1 AS claimed",
        read: SQLITE_READ,
        look: SQLITE_READ,
        end: "\
UPDATE idem_record
   SET status = ?1, result = ?2, result_type = ?3, completed_at = strftime('%Y-%m-%d %H:%M:%f', 'now'),
       result_until = strftime('%Y-%m-%d %H:%M:%f', 'now', ?4 || ' seconds'),
       key_until = strftime('%Y-%m-%d %H:%M:%f', 'now', ?5 || ' seconds')
 WHERE scope = ?6 AND key = ?7 AND owner = ?8 AND status = 1",
        doubt: "\
INSERT INTO idem_record (scope, key, status, fingerprint, owner, created_at)
VALUES (?1, ?2, 4, ?3, ?4, strftime('%Y-%m-%d %H:%M:%f', 'now'))
ON CONFLICT (scope, key) DO UPDATE
   SET status = 4, result = NULL, result_type = NULL, completed_at = NULL, result_until = NULL, key_until = NULL
 WHERE idem_record.owner = excluded.owner",
    },
};
