//! The statements on `idem_record` of a call that holds a lease. Each commits by itself, but `mark` where it fences a
//! transaction.

use crate::dialect::PerDialect;

/// The statements of a leased call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeaseSql {
    pub(crate) lease: &'static str,
    pub(crate) seen: &'static str,
    /// Misses what was not seen as it is, or whose lease was renewed meanwhile.
    pub(crate) take_over: &'static str,
    /// What has begun, committed before it does; in a transaction of the attempt, its last statement. One that comes late,
    /// after another of the same owner, misses.
    pub(crate) mark: &'static str,
    pub(crate) renew: &'static str,
    pub(crate) complete: &'static str,
    /// Nothing has begun.
    pub(crate) release: &'static str,
    /// Something has begun, and nobody goes on with it: the new owner is nobody, so that a renewal on its way misses.
    pub(crate) let_go: &'static str,
}

// MySQL's `UTC_TIMESTAMP` and `NOW` are the moment at which a statement began: written after a wait for a lock, a lease
// would be over. `SYSDATE` is the moment at which it is asked, in the session's time zone, which its distance from `NOW` is
// not in. `clock_timestamp` is that moment too, and so is, once the writer's lock is there, SQLite's 'now'.
pub(crate) const SQL: PerDialect<LeaseSql> = PerDialect {
    postgres: LeaseSql {
        lease: "\
INSERT INTO idem_record (scope, key, status, fingerprint, owner, attempt, lease_until, created_at, updated_at)
VALUES ($1, $2, 1, $3, $4, 1, clock_timestamp() + $5::bigint * INTERVAL '1 millisecond',
        clock_timestamp(), clock_timestamp())
ON CONFLICT (scope, key) DO NOTHING",
        seen: "\
SELECT status, fingerprint, result, result_type, CASE WHEN result_until <= clock_timestamp() THEN 1 END AS gone,
       CASE WHEN lease_until > clock_timestamp() THEN 1 END AS leased, owner, attempt, begun
  FROM idem_record
 WHERE scope = $1 AND key = $2",
        take_over: "\
UPDATE idem_record
   SET owner = $1, attempt = attempt + 1, lease_until = clock_timestamp() + $2::bigint * INTERVAL '1 millisecond',
       begun_writes = 0, updated_at = clock_timestamp()
 WHERE scope = $3 AND key = $4 AND owner = $5 AND status = $6 AND attempt = $7 AND attempt > 0
   AND begun IS NOT DISTINCT FROM $8 AND lease_until <= clock_timestamp()",
        mark: "\
UPDATE idem_record
   SET status = $1, begun = $2, begun_writes = $3, lease_until = clock_timestamp() + $4::bigint * INTERVAL '1 millisecond',
       updated_at = clock_timestamp()
 WHERE scope = $5 AND key = $6 AND owner = $7 AND begun_writes <= $8 AND status IN (1, 4)",
        // A record that is locked is being written by its owner, who renews the lease with it.
        renew: "\
WITH held AS MATERIALIZED (
  SELECT record.scope AS scope, record.key AS key, (list.it ->> 3)::bigint AS lease_ms
    FROM json_array_elements($1::text::json) AS list (it)
    JOIN idem_record AS record ON record.scope = list.it ->> 0 AND record.key = list.it ->> 1
   WHERE record.owner = list.it ->> 2 AND record.status IN (1, 4)
     FOR UPDATE OF record SKIP LOCKED
)
UPDATE idem_record
   SET lease_until = clock_timestamp() + held.lease_ms * INTERVAL '1 millisecond', updated_at = clock_timestamp()
  FROM held
 WHERE idem_record.scope = held.scope AND idem_record.key = held.key",
        complete: "\
UPDATE idem_record
   SET status = $1, result = $2, result_type = $3, completed_at = clock_timestamp(), updated_at = clock_timestamp(),
       result_until = clock_timestamp() + $4::bigint * INTERVAL '1 second',
       key_until = clock_timestamp() + $5::bigint * INTERVAL '1 second'
 WHERE scope = $6 AND key = $7 AND owner = $8 AND status IN (1, 4)",
        release: "\
DELETE FROM idem_record
 WHERE scope = $1 AND key = $2 AND owner = $3 AND status IN (1, 4)",
        let_go: "\
UPDATE idem_record
   SET status = 4, begun = $1, owner = $2, lease_until = clock_timestamp(), updated_at = clock_timestamp()
 WHERE scope = $3 AND key = $4 AND owner = $5 AND status IN (1, 4)",
    },
    mysql: LeaseSql {
        lease: "\
/*M! SET STATEMENT innodb_lock_wait_timeout = 2 FOR */
INSERT INTO idem_record (scope, `key`, status, fingerprint, owner, attempt, lease_until, created_at, updated_at)
VALUES (?, ?, 1, ?, ?, 1,
        UTC_TIMESTAMP(6) + INTERVAL TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + ? * 1000 MICROSECOND,
        UTC_TIMESTAMP(6), UTC_TIMESTAMP(6))",
        seen: "\
SELECT status, fingerprint, result, result_type, CASE WHEN result_until <= UTC_TIMESTAMP(6) THEN 1 END AS gone,
       CASE WHEN lease_until > UTC_TIMESTAMP(6) THEN 1 END AS leased, owner, attempt, begun
  FROM idem_record
 WHERE scope = ? AND `key` = ?",
        take_over: "\
/*M! SET STATEMENT innodb_lock_wait_timeout = 2 FOR */
UPDATE idem_record
   SET owner = ?, attempt = attempt + 1, begun_writes = 0,
       lease_until = UTC_TIMESTAMP(6) + INTERVAL TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + ? * 1000 MICROSECOND,
       updated_at = UTC_TIMESTAMP(6)
 WHERE scope = ? AND `key` = ? AND owner = ? AND status = ? AND attempt = ? AND attempt > 0
   AND begun <=> ? AND lease_until <= UTC_TIMESTAMP(6)",
        mark: "\
UPDATE idem_record
   SET status = ?, begun = ?, begun_writes = ?,
       lease_until = UTC_TIMESTAMP(6) + INTERVAL TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + ? * 1000 MICROSECOND,
       updated_at = UTC_TIMESTAMP(6)
 WHERE scope = ? AND `key` = ? AND owner = ? AND begun_writes <= ? AND status IN (1, 4)",
        // Without waiting for a record that is locked, on MariaDB: each is then renewed by itself.
        renew: "\
/*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (
         scope VARCHAR(191) CHARACTER SET utf8mb4 PATH '$[0]',
         k VARCHAR(512) CHARACTER SET utf8mb4 PATH '$[1]',
         owner VARCHAR(36) CHARACTER SET ascii PATH '$[2]',
         lease_ms BIGINT PATH '$[3]')) AS list
  STRAIGHT_JOIN idem_record AS record FORCE INDEX (PRIMARY)
    ON record.scope = CAST(list.scope AS BINARY) AND record.`key` = CAST(list.k AS BINARY)
   SET record.lease_until = UTC_TIMESTAMP(6)
         + INTERVAL TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + list.lease_ms * 1000 MICROSECOND,
       record.updated_at = UTC_TIMESTAMP(6)
 WHERE record.owner = list.owner AND record.status IN (1, 4)",
        complete: "\
UPDATE idem_record
   SET status = ?, result = ?, result_type = ?, completed_at = UTC_TIMESTAMP(6), updated_at = UTC_TIMESTAMP(6),
       result_until = UTC_TIMESTAMP(6) + INTERVAL ? SECOND,
       key_until = UTC_TIMESTAMP(6) + INTERVAL ? SECOND
 WHERE scope = ? AND `key` = ? AND owner = ? AND status IN (1, 4)",
        release: "\
DELETE FROM idem_record
 WHERE scope = ? AND `key` = ? AND owner = ? AND status IN (1, 4)",
        let_go: "\
UPDATE idem_record
   SET status = 4, begun = ?, owner = ?, lease_until = UTC_TIMESTAMP(6), updated_at = UTC_TIMESTAMP(6)
 WHERE scope = ? AND `key` = ? AND owner = ? AND status IN (1, 4)",
    },
    sqlite: LeaseSql {
        lease: "\
INSERT INTO idem_record (scope, key, status, fingerprint, owner, attempt, lease_until, created_at, updated_at)
VALUES (?1, ?2, 1, ?3, ?4, 1, strftime('%Y-%m-%d %H:%M:%f', 'now', (?5 / 1000.0) || ' seconds'),
        strftime('%Y-%m-%d %H:%M:%f', 'now'), strftime('%Y-%m-%d %H:%M:%f', 'now'))
ON CONFLICT (scope, key) DO NOTHING",
        seen: "\
SELECT status, fingerprint, result, result_type,
       CASE WHEN result_until <= strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 END AS gone,
       CASE WHEN lease_until > strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 END AS leased, owner, attempt, begun
  FROM idem_record
 WHERE scope = ?1 AND key = ?2",
        take_over: "\
UPDATE idem_record
   SET owner = ?1, attempt = attempt + 1, begun_writes = 0,
       lease_until = strftime('%Y-%m-%d %H:%M:%f', 'now', (?2 / 1000.0) || ' seconds'),
       updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
 WHERE scope = ?3 AND key = ?4 AND owner = ?5 AND status = ?6 AND attempt = ?7 AND attempt > 0
   AND begun IS ?8 AND lease_until <= strftime('%Y-%m-%d %H:%M:%f', 'now')",
        mark: "\
UPDATE idem_record
   SET status = ?1, begun = ?2, begun_writes = ?3,
       lease_until = strftime('%Y-%m-%d %H:%M:%f', 'now', (?4 / 1000.0) || ' seconds'),
       updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
 WHERE scope = ?5 AND key = ?6 AND owner = ?7 AND begun_writes <= ?8 AND status IN (1, 4)",
        renew: "\
UPDATE idem_record
   SET lease_until = strftime('%Y-%m-%d %H:%M:%f', 'now', (list.lease_ms / 1000.0) || ' seconds'),
       updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM (SELECT json_extract(value, '$[0]') AS scope, json_extract(value, '$[1]') AS k,
               json_extract(value, '$[2]') AS owner, json_extract(value, '$[3]') AS lease_ms
          FROM json_each(?1)) AS list
 WHERE idem_record.scope = list.scope AND idem_record.key = list.k AND idem_record.owner = list.owner
   AND status IN (1, 4)",
        complete: "\
UPDATE idem_record
   SET status = ?1, result = ?2, result_type = ?3, completed_at = strftime('%Y-%m-%d %H:%M:%f', 'now'),
       updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now'),
       result_until = strftime('%Y-%m-%d %H:%M:%f', 'now', ?4 || ' seconds'),
       key_until = strftime('%Y-%m-%d %H:%M:%f', 'now', ?5 || ' seconds')
 WHERE scope = ?6 AND key = ?7 AND owner = ?8 AND status IN (1, 4)",
        release: "\
DELETE FROM idem_record
 WHERE scope = ?1 AND key = ?2 AND owner = ?3 AND status IN (1, 4)",
        let_go: "\
UPDATE idem_record
   SET status = 4, begun = ?1, owner = ?2, lease_until = strftime('%Y-%m-%d %H:%M:%f', 'now'),
       updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
 WHERE scope = ?3 AND key = ?4 AND owner = ?5 AND status IN (1, 4)",
    },
};
