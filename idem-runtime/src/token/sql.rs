//! The statements on `idem_token`.

use crate::dialect::PerDialect;

/// The statements on `idem_token`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TokenSql {
    pub(crate) issue: &'static str,
    /// Waits for whoever is using the token, and misses if he has.
    pub(crate) consume: &'static str,
    /// Why it missed, as it is now: seen by a transaction whose snapshot is older, too.
    pub(crate) read: &'static str,
}

pub(crate) const SQL: PerDialect<TokenSql> = PerDialect {
    postgres: TokenSql {
        issue: "\
INSERT INTO idem_token (hash, purpose, subject, created_at, expires_at)
VALUES ($1, $2, $3, clock_timestamp(), clock_timestamp() + $4::bigint * INTERVAL '1 millisecond')",
        consume: "\
UPDATE idem_token
   SET used_at = clock_timestamp(), used_by = $1
 WHERE hash = $2 AND purpose = $3 AND subject = $4 AND used_at IS NULL AND expires_at > clock_timestamp()",
        read: "\
SELECT purpose, subject, used_by, CASE WHEN used_at IS NOT NULL THEN 1 END AS used,
       CASE WHEN expires_at <= clock_timestamp() THEN 1 END AS expired
  FROM idem_token
 WHERE hash = $1",
    },
    mysql: TokenSql {
        issue: "\
INSERT INTO idem_token (hash, purpose, subject, created_at, expires_at)
VALUES (?, ?, ?, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) + INTERVAL ? * 1000 MICROSECOND)",
        consume: "\
UPDATE idem_token
   SET used_at = UTC_TIMESTAMP(6), used_by = ?
 WHERE hash = ? AND purpose = ? AND subject = ? AND used_at IS NULL AND expires_at > UTC_TIMESTAMP(6)",
        read: "\
SELECT purpose, subject, used_by, CASE WHEN used_at IS NOT NULL THEN 1 END AS used,
       CASE WHEN expires_at <= UTC_TIMESTAMP(6) THEN 1 END AS expired
  FROM idem_token
 WHERE hash = ?
  LOCK IN SHARE MODE",
    },
    sqlite: TokenSql {
        issue: "\
INSERT INTO idem_token (hash, purpose, subject, created_at, expires_at)
VALUES (?1, ?2, ?3, strftime('%Y-%m-%d %H:%M:%f', 'now'),
        strftime('%Y-%m-%d %H:%M:%f', 'now', (?4 / 1000.0) || ' seconds'))",
        consume: "\
UPDATE idem_token
   SET used_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), used_by = ?1
 WHERE hash = ?2 AND purpose = ?3 AND subject = ?4 AND used_at IS NULL
   AND expires_at > strftime('%Y-%m-%d %H:%M:%f', 'now')",
        read: "\
SELECT purpose, subject, used_by, CASE WHEN used_at IS NOT NULL THEN 1 END AS used,
       CASE WHEN expires_at <= strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 END AS expired
  FROM idem_token
 WHERE hash = ?1",
    },
};
