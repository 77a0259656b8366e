//! The statements of an operator.

use crate::dialect::PerDialect;

/// The statements of an operator.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OperatorSql {
    /// The open records, the oldest first.
    pub(crate) open: &'static str,
    /// One record, whatever has become of it.
    pub(crate) show: &'static str,
    /// What operators have done to it, in order.
    pub(crate) audit: &'static str,
    /// These two miss when the record is not as it was read, or a lease goes on that must not.
    pub(crate) complete: &'static str,
    pub(crate) release: &'static str,
    pub(crate) enter: &'static str,
}

macro_rules! postgres_records {
    ($which:literal) => {
        concat!(
            "\
SELECT scope, key, status, attempt, owner, begun, fingerprint, result, result_type,
       (EXTRACT(EPOCH FROM clock_timestamp() - created_at) * 1000)::bigint AS age_ms,
       (EXTRACT(EPOCH FROM clock_timestamp() - COALESCE(updated_at, completed_at, created_at)) * 1000)::bigint
         AS unwritten_ms,
       CASE WHEN lease_until > clock_timestamp()
            THEN (EXTRACT(EPOCH FROM lease_until - clock_timestamp()) * 1000)::bigint END AS lease_ms,
       to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') AS created_text,
       to_char(updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') AS updated_text,
       to_char(lease_until AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') AS lease_text
  FROM idem_record
 WHERE ",
            $which
        )
    };
}

macro_rules! mysql_records {
    ($which:literal) => {
        concat!(
            "\
SELECT scope, `key`, status, attempt, owner, begun, fingerprint, result, result_type,
       TIMESTAMPDIFF(MICROSECOND, created_at, UTC_TIMESTAMP(6)) DIV 1000 AS age_ms,
       TIMESTAMPDIFF(MICROSECOND, COALESCE(updated_at, completed_at, created_at), UTC_TIMESTAMP(6)) DIV 1000
         AS unwritten_ms,
       CASE WHEN lease_until > UTC_TIMESTAMP(6)
            THEN TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), lease_until) DIV 1000 END AS lease_ms,
       CAST(created_at AS CHAR) AS created_text,
       CAST(updated_at AS CHAR) AS updated_text,
       CAST(lease_until AS CHAR) AS lease_text
  FROM idem_record
 WHERE ",
            $which
        )
    };
}

macro_rules! sqlite_records {
    ($which:literal) => {
        concat!(
            "\
SELECT scope, key, status, attempt, owner, begun, fingerprint, result, result_type,
       CAST(ROUND((julianday('now') - julianday(created_at)) * 86400000) AS INTEGER) AS age_ms,
       CAST(ROUND((julianday('now') - julianday(COALESCE(updated_at, completed_at, created_at))) * 86400000) AS INTEGER)
         AS unwritten_ms,
       CASE WHEN lease_until > strftime('%Y-%m-%d %H:%M:%f', 'now')
            THEN CAST(ROUND((julianday(lease_until) - julianday('now')) * 86400000) AS INTEGER) END AS lease_ms,
       created_at AS created_text,
       updated_at AS updated_text,
       lease_until AS lease_text
  FROM idem_record
 WHERE ",
            $which
        )
    };
}

pub(crate) const SQL: PerDialect<OperatorSql> = PerDialect {
    postgres: OperatorSql {
        open: postgres_records!(
            "\
(status = 4 OR (status = 1 AND lease_until <= clock_timestamp()))
   AND created_at <= clock_timestamp() - $1::bigint * INTERVAL '1 millisecond'
 ORDER BY created_at, scope, key
 LIMIT 1000"
        ),
        show: postgres_records!("scope = $1 AND key = $2"),
        audit: "\
SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') AS at_text, actor, action, reason, record, result
  FROM idem_audit
 WHERE scope = $1 AND key = $2
 ORDER BY id",
        complete: "\
UPDATE idem_record
   SET status = 2, result = $1, result_type = $2, owner = $3, lease_until = clock_timestamp(),
       updated_at = clock_timestamp(), completed_at = clock_timestamp(), result_until = NULL, key_until = NULL
 WHERE scope = $4 AND key = $5 AND owner = $6 AND attempt = $7 AND status = $8 AND begun IS NOT DISTINCT FROM $9
   AND ($10 OR lease_until <= clock_timestamp())",
        release: "\
DELETE FROM idem_record
 WHERE scope = $1 AND key = $2 AND owner = $3 AND attempt = $4 AND status = $5 AND begun IS NOT DISTINCT FROM $6
   AND ($7 OR lease_until <= clock_timestamp())",
        enter: "\
INSERT INTO idem_audit (at, actor, action, reason, scope, key, record, result)
VALUES (clock_timestamp(), $1, $2, $3, $4, $5, $6, $7)",
    },
    mysql: OperatorSql {
        open: mysql_records!(
            "\
(status = 4 OR (status = 1 AND lease_until <= UTC_TIMESTAMP(6)))
   AND created_at <= UTC_TIMESTAMP(6) - INTERVAL ? * 1000 MICROSECOND
 ORDER BY created_at, scope, `key`
 LIMIT 1000"
        ),
        show: mysql_records!("scope = ? AND `key` = ?"),
        audit: "\
SELECT CAST(at AS CHAR) AS at_text, actor, action, reason, record, result
  FROM idem_audit
 WHERE scope = ? AND `key` = ?
 ORDER BY id",
        complete: "\
UPDATE idem_record
   SET status = 2, result = ?, result_type = ?, owner = ?, lease_until = UTC_TIMESTAMP(6),
       updated_at = UTC_TIMESTAMP(6), completed_at = UTC_TIMESTAMP(6), result_until = NULL, key_until = NULL
 WHERE scope = ? AND `key` = ? AND owner = ? AND attempt = ? AND status = ? AND begun <=> ?
   AND (? OR lease_until <= UTC_TIMESTAMP(6))",
        release: "\
DELETE FROM idem_record
 WHERE scope = ? AND `key` = ? AND owner = ? AND attempt = ? AND status = ? AND begun <=> ?
   AND (? OR lease_until <= UTC_TIMESTAMP(6))",
        enter: "\
INSERT INTO idem_audit (at, actor, action, reason, scope, `key`, record, result)
VALUES (UTC_TIMESTAMP(6), ?, ?, ?, ?, ?, ?, ?)",
    },
    sqlite: OperatorSql {
        open: sqlite_records!(
            "\
(status = 4 OR (status = 1 AND lease_until <= strftime('%Y-%m-%d %H:%M:%f', 'now')))
   AND created_at <= strftime('%Y-%m-%d %H:%M:%f', 'now', -(?1 / 1000.0) || ' seconds')
 ORDER BY created_at, scope, key
 LIMIT 1000"
        ),
        show: sqlite_records!("scope = ?1 AND key = ?2"),
        audit: "\
SELECT at AS at_text, actor, action, reason, record, result
  FROM idem_audit
 WHERE scope = ?1 AND key = ?2
 ORDER BY id",
        complete: "\
UPDATE idem_record
   SET status = 2, result = ?1, result_type = ?2, owner = ?3, lease_until = strftime('%Y-%m-%d %H:%M:%f', 'now'),
       updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), completed_at = strftime('%Y-%m-%d %H:%M:%f', 'now'),
       result_until = NULL, key_until = NULL
 WHERE scope = ?4 AND key = ?5 AND owner = ?6 AND attempt = ?7 AND status = ?8 AND begun IS ?9
   AND (?10 OR lease_until <= strftime('%Y-%m-%d %H:%M:%f', 'now'))",
        release: "\
DELETE FROM idem_record
 WHERE scope = ?1 AND key = ?2 AND owner = ?3 AND attempt = ?4 AND status = ?5 AND begun IS ?6
   AND (?7 OR lease_until <= strftime('%Y-%m-%d %H:%M:%f', 'now'))",
        enter: "\
INSERT INTO idem_audit (at, actor, action, reason, scope, key, record, result)
VALUES (strftime('%Y-%m-%d %H:%M:%f', 'now'), ?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    },
};
