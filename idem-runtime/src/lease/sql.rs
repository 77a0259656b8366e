//! The statements on `idem_lease`. Each commits by itself, but `renew` where it fences a transaction. Their times are those of
//! the records' statements.

use crate::dialect::PerDialect;

/// The statements on `idem_lease`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LockSql {
    /// Whether somebody has it, and whether that is us.
    pub(crate) seen: &'static str,
    /// Misses what is let alone.
    pub(crate) take: &'static str,
    /// The first one who takes it at all.
    pub(crate) insert: &'static str,
    /// Misses what is another owner's by now.
    pub(crate) renew: &'static str,
    /// The row stays, since its token has to rise; the new owner is nobody, so that a renewal on its way misses.
    pub(crate) release: &'static str,
}

pub(crate) const SQL: PerDialect<LockSql> = PerDialect {
    postgres: LockSql {
        seen: "\
SELECT token, CASE WHEN owner = $1 THEN 1 END AS ours, CASE WHEN lease_until > clock_timestamp() THEN 1 END AS leased
  FROM idem_lease
 WHERE name = $2",
        take: "\
UPDATE idem_lease
   SET owner = $1, token = token + 1, lease_until = clock_timestamp() + $2::bigint * INTERVAL '1 millisecond',
       updated_at = clock_timestamp()
 WHERE name = $3 AND lease_until <= clock_timestamp()",
        insert: "\
INSERT INTO idem_lease (owner, token, lease_until, name, updated_at)
VALUES ($1, 1, clock_timestamp() + $2::bigint * INTERVAL '1 millisecond', $3, clock_timestamp())
ON CONFLICT (name) DO NOTHING",
        renew: "\
UPDATE idem_lease
   SET lease_until = clock_timestamp() + $1::bigint * INTERVAL '1 millisecond', updated_at = clock_timestamp()
 WHERE name = $2 AND owner = $3",
        release: "\
UPDATE idem_lease
   SET owner = $1, lease_until = clock_timestamp(), updated_at = clock_timestamp()
 WHERE name = $2 AND owner = $3",
    },
    mysql: LockSql {
        seen: "\
SELECT token, CASE WHEN owner = ? THEN 1 END AS ours, CASE WHEN lease_until > UTC_TIMESTAMP(6) THEN 1 END AS leased
  FROM idem_lease
 WHERE name = ?",
        take: "\
UPDATE idem_lease
   SET owner = ?, token = token + 1,
       lease_until = UTC_TIMESTAMP(6) + INTERVAL TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + ? * 1000 MICROSECOND,
       updated_at = UTC_TIMESTAMP(6)
 WHERE name = ? AND lease_until <= UTC_TIMESTAMP(6)",
        insert: "\
INSERT INTO idem_lease (owner, token, lease_until, name, updated_at)
VALUES (?, 1, UTC_TIMESTAMP(6) + INTERVAL TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + ? * 1000 MICROSECOND, ?,
        UTC_TIMESTAMP(6))",
        renew: "\
UPDATE idem_lease
   SET lease_until = UTC_TIMESTAMP(6) + INTERVAL TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + ? * 1000 MICROSECOND,
       updated_at = UTC_TIMESTAMP(6)
 WHERE name = ? AND owner = ?",
        release: "\
UPDATE idem_lease
   SET owner = ?, lease_until = UTC_TIMESTAMP(6), updated_at = UTC_TIMESTAMP(6)
 WHERE name = ? AND owner = ?",
    },
    sqlite: LockSql {
        seen: "\
SELECT token, CASE WHEN owner = ?1 THEN 1 END AS ours,
       CASE WHEN lease_until > strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 END AS leased
  FROM idem_lease
 WHERE name = ?2",
        take: "\
UPDATE idem_lease
   SET owner = ?1, token = token + 1,
       lease_until = strftime('%Y-%m-%d %H:%M:%f', 'now', (?2 / 1000.0) || ' seconds'),
       updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
 WHERE name = ?3 AND lease_until <= strftime('%Y-%m-%d %H:%M:%f', 'now')",
        insert: "\
INSERT INTO idem_lease (owner, token, lease_until, name, updated_at)
VALUES (?1, 1, strftime('%Y-%m-%d %H:%M:%f', 'now', (?2 / 1000.0) || ' seconds'), ?3,
        strftime('%Y-%m-%d %H:%M:%f', 'now'))
ON CONFLICT (name) DO NOTHING",
        renew: "\
UPDATE idem_lease
   SET lease_until = strftime('%Y-%m-%d %H:%M:%f', 'now', (?1 / 1000.0) || ' seconds'),
       updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
 WHERE name = ?2 AND owner = ?3",
        release: "\
UPDATE idem_lease
   SET owner = ?1, lease_until = strftime('%Y-%m-%d %H:%M:%f', 'now'),
       updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
 WHERE name = ?2 AND owner = ?3",
    },
};
