//! The statements on `idem_record`.

use std::time::Duration;

use sqlx::{AssertSqlSafe, SqlSafeStr as _, SqlStr};

use crate::dialect::{Dialect, PerDialect};

/// The statements on `idem_record`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordSql {
    pub(crate) claim: &'static str,
    /// What the claim was refused for, as it is now: seen by a transaction whose snapshot is older, too.
    pub(crate) read: &'static str,
    /// The same by itself; it waits for nobody.
    pub(crate) look: &'static str,
    pub(crate) end: &'static str,
    /// Many at once. `read_all` tells those that are ours from those of others.
    pub(crate) claim_all: &'static str,
    pub(crate) read_all: &'static str,
    /// The same by itself; it waits for nobody.
    pub(crate) look_all: &'static str,
    pub(crate) end_all: &'static str,
    pub(crate) doubt: &'static str,
}

/// How many seconds a claim on MariaDB waits by the texts below, which are static. MariaDB runs what stands inside the
/// comment; on MySQL the wait is the server's `innodb_lock_wait_timeout`.
const WAIT: &str = "innodb_lock_wait_timeout = 2 ";

/// The text of a claim that waits for this long, which on MariaDB stands in it, in whole seconds.
pub(super) fn waiting(dialect: Dialect, claim: &'static str, wait: Duration) -> SqlStr {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    match dialect {
        Dialect::MySql if seconds != 2 => {
            let wait = format!("innodb_lock_wait_timeout = {seconds} ");
            AssertSqlSafe(claim.replacen(WAIT, &wait, 1)).into_sql_str()
        }
        _ => claim.into_sql_str(),
    }
}

const POSTGRES_READ: &str = "\
SELECT status, fingerprint, result, result_type, CASE WHEN result_until <= clock_timestamp() THEN 1 END AS gone,
       CASE WHEN lease_until > clock_timestamp() THEN 1 END AS leased
  FROM idem_record
 WHERE scope = $1 AND key = $2";

const SQLITE_READ: &str = "\
SELECT status, fingerprint, result, result_type,
       CASE WHEN result_until <= strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 END AS gone,
       CASE WHEN lease_until > strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 END AS leased
  FROM idem_record
 WHERE scope = ?1 AND key = ?2";

const POSTGRES_READ_ALL: &str = "\
SELECT list.nth AS nth, CASE WHEN seen.owner = $3 THEN 1 END AS claimed, seen.status AS status,
       seen.fingerprint AS fingerprint, seen.result AS result, seen.result_type AS result_type,
       CASE WHEN seen.result_until <= clock_timestamp() THEN 1 END AS gone,
       CASE WHEN seen.lease_until > clock_timestamp() THEN 1 END AS leased
  FROM json_array_elements($2::text::json) WITH ORDINALITY AS list (it, nth)
  JOIN idem_record AS seen ON seen.scope = $1 AND seen.key = list.it ->> 0";

/// Joined in this order and by the whole key: with few records the server would rather read all of the scope, and lock
/// them.
macro_rules! mysql_look_all {
    () => {
        "\
SELECT list.nth AS nth, CASE WHEN seen.owner = asked.owner THEN 1 END AS claimed, seen.status AS status,
       seen.fingerprint AS fingerprint, seen.result AS result, seen.result_type AS result_type,
       CASE WHEN seen.result_until <= UTC_TIMESTAMP(6) THEN 1 END AS gone,
       CASE WHEN seen.lease_until > UTC_TIMESTAMP(6) THEN 1 END AS leased
  FROM (SELECT ? AS scope, ? AS list, ? AS owner) AS asked
 CROSS JOIN JSON_TABLE(asked.list, '$[*]' COLUMNS (
         nth FOR ORDINALITY,
         k VARCHAR(512) CHARACTER SET utf8mb4 PATH '$[0]')) AS list
  STRAIGHT_JOIN idem_record AS seen FORCE INDEX (PRIMARY)
    ON seen.scope = asked.scope AND seen.`key` = CAST(list.k AS BINARY)"
    };
}

const SQLITE_READ_ALL: &str = "\
SELECT list.key + 1 AS nth, CASE WHEN seen.owner = ?3 THEN 1 END AS claimed, seen.status AS status,
       seen.fingerprint AS fingerprint, seen.result AS result, seen.result_type AS result_type,
       CASE WHEN seen.result_until <= strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 END AS gone,
       CASE WHEN seen.lease_until > strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 END AS leased
  FROM json_each(?2) AS list
  JOIN idem_record AS seen ON seen.scope = ?1 AND seen.key = json_extract(list.value, '$[0]')";

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
       CASE WHEN seen.lease_until > clock_timestamp() THEN 1 END AS leased,
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
        claim_all: "\
WITH patience AS MATERIALIZED (
  SELECT current_setting('lock_timeout') AS before, set_config('lock_timeout', $4::text, TRUE) AS now
), asked AS MATERIALIZED (
  SELECT list.nth AS nth, list.it ->> 0 AS key, list.it ->> 1 AS fingerprint
    FROM patience
   CROSS JOIN json_array_elements($2::text::json) WITH ORDINALITY AS list (it, nth)
), claimed AS (
  INSERT INTO idem_record (scope, key, status, fingerprint, owner, created_at)
  SELECT $1, key, 1, fingerprint, $3, clock_timestamp()
    FROM asked
   ORDER BY nth
  ON CONFLICT (scope, key) DO NOTHING
  RETURNING key
), all_claimed AS MATERIALIZED (
  SELECT COUNT(*) AS number FROM claimed
)
SELECT asked.nth AS nth, CASE WHEN claimed.key IS NOT NULL THEN 1 END AS claimed, seen.status AS status,
       seen.fingerprint AS fingerprint, seen.result AS result, seen.result_type AS result_type,
       CASE WHEN seen.result_until <= clock_timestamp() THEN 1 END AS gone,
       CASE WHEN seen.lease_until > clock_timestamp() THEN 1 END AS leased,
       set_config('lock_timeout', patience.before, TRUE) AS lock_timeout
  FROM patience
 CROSS JOIN all_claimed
 CROSS JOIN asked
  LEFT JOIN claimed ON claimed.key = asked.key
  LEFT JOIN idem_record AS seen ON seen.scope = $1 AND seen.key = asked.key",
        read_all: POSTGRES_READ_ALL,
        look_all: POSTGRES_READ_ALL,
        end_all: "\
UPDATE idem_record
   SET status = 2, result = list.it ->> 1, result_type = $2, completed_at = clock_timestamp(),
       result_until = clock_timestamp() + $3::bigint * INTERVAL '1 second',
       key_until = clock_timestamp() + $4::bigint * INTERVAL '1 second'
  FROM json_array_elements($1::text::json) AS list (it)
 WHERE scope = $5 AND key = list.it ->> 0 AND owner = $6 AND status = 1",
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
VALUES (?, ?, 1, ?, ?, UTC_TIMESTAMP(6))",
        read: "\
SELECT status, fingerprint, result, result_type, CASE WHEN result_until <= UTC_TIMESTAMP(6) THEN 1 END AS gone,
       CASE WHEN lease_until > UTC_TIMESTAMP(6) THEN 1 END AS leased
  FROM idem_record
 WHERE scope = ? AND `key` = ?
  LOCK IN SHARE MODE",
        look: "\
SELECT status, fingerprint, result, result_type, CASE WHEN result_until <= UTC_TIMESTAMP(6) THEN 1 END AS gone,
       CASE WHEN lease_until > UTC_TIMESTAMP(6) THEN 1 END AS leased
  FROM idem_record
 WHERE scope = ? AND `key` = ?",
        end: "\
UPDATE idem_record
   SET status = ?, result = ?, result_type = ?, completed_at = UTC_TIMESTAMP(6),
       result_until = UTC_TIMESTAMP(6) + INTERVAL ? SECOND,
       key_until = UTC_TIMESTAMP(6) + INTERVAL ? SECOND
 WHERE scope = ? AND `key` = ? AND owner = ? AND status = 1",
        // Unlike INSERT IGNORE it hides no other error; what is a duplicate is told by its owner.
        claim_all: "\
/*M! SET STATEMENT innodb_lock_wait_timeout = 2 FOR */
INSERT INTO idem_record (scope, `key`, status, fingerprint, owner, created_at)
SELECT asked.scope, list.k, 1, list.fingerprint, asked.owner, UTC_TIMESTAMP(6)
  FROM (SELECT ? AS scope, ? AS list, ? AS owner) AS asked
 CROSS JOIN JSON_TABLE(asked.list, '$[*]' COLUMNS (
         nth FOR ORDINALITY,
         k VARCHAR(512) CHARACTER SET utf8mb4 PATH '$[0]',
         fingerprint VARCHAR(80) CHARACTER SET ascii PATH '$[1]')) AS list
 ORDER BY list.nth
ON DUPLICATE KEY UPDATE owner = idem_record.owner",
        read_all: concat!(mysql_look_all!(), "\n  LOCK IN SHARE MODE"),
        look_all: mysql_look_all!(),
        end_all: "\
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (
         k VARCHAR(512) CHARACTER SET utf8mb4 PATH '$[0]',
         result LONGTEXT CHARACTER SET utf8mb4 PATH '$[1]')) AS list
 CROSS JOIN (SELECT ? AS result_type, ? AS result_s, ? AS key_s, ? AS scope, ? AS owner) AS given
  STRAIGHT_JOIN idem_record AS record FORCE INDEX (PRIMARY)
    ON record.scope = given.scope AND record.`key` = CAST(list.k AS BINARY)
   SET record.status = 2, record.result = list.result, record.result_type = given.result_type,
       record.completed_at = UTC_TIMESTAMP(6), record.result_until = UTC_TIMESTAMP(6) + INTERVAL given.result_s SECOND,
       record.key_until = UTC_TIMESTAMP(6) + INTERVAL given.key_s SECOND
 WHERE record.owner = given.owner AND record.status = 1",
        // The owner is asked in each assignment: a WHERE cannot be.
        doubt: "\
INSERT INTO idem_record (scope, `key`, status, fingerprint, owner, created_at)
VALUES (?, ?, 4, ?, ?, UTC_TIMESTAMP(6))
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
        claim_all: "\
INSERT INTO idem_record (scope, key, status, fingerprint, owner, created_at)
SELECT ?1, json_extract(list.value, '$[0]'), 1, json_extract(list.value, '$[1]'), ?3,
       strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM json_each(?2) AS list
 WHERE TRUE
 ORDER BY list.key
ON CONFLICT (scope, key) DO NOTHING",
        read_all: SQLITE_READ_ALL,
        look_all: SQLITE_READ_ALL,
        end_all: "\
UPDATE idem_record
   SET status = 2, result = list.result, result_type = ?2, completed_at = strftime('%Y-%m-%d %H:%M:%f', 'now'),
       result_until = strftime('%Y-%m-%d %H:%M:%f', 'now', ?3 || ' seconds'),
       key_until = strftime('%Y-%m-%d %H:%M:%f', 'now', ?4 || ' seconds')
  FROM (SELECT json_extract(value, '$[0]') AS k, json_extract(value, '$[1]') AS result FROM json_each(?1)) AS list
 WHERE scope = ?5 AND key = list.k AND owner = ?6 AND status = 1",
        doubt: "\
INSERT INTO idem_record (scope, key, status, fingerprint, owner, created_at)
VALUES (?1, ?2, 4, ?3, ?4, strftime('%Y-%m-%d %H:%M:%f', 'now'))
ON CONFLICT (scope, key) DO UPDATE
   SET status = 4, result = NULL, result_type = NULL, completed_at = NULL, result_until = NULL, key_until = NULL
 WHERE idem_record.owner = excluded.owner",
    },
};
