-- tables ------------------------------------------------------------------------------------------

CREATE TABLE transfers (
  transfer_id BIGINT NOT NULL PRIMARY KEY,
  provider VARCHAR(16) NOT NULL,
  amount BIGINT NOT NULL,
  status VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'requested',
  version BIGINT NOT NULL DEFAULT 0,
  CONSTRAINT transfers_status_check CHECK (status IN ('requested', 'sent')),
  number VARCHAR(64)
);

-- TransferStatus ----------------------------------------------------------------------------------

-- book: Requested => Sent

-- TransferStatus: columns of the table
--   status VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'requested',
--   version BIGINT NOT NULL DEFAULT 0,
--   CONSTRAINT transfers_status_check CHECK (status IN ('requested', 'sent'))

-- TransferStatus: widen
ALTER TABLE transfers
  DROP CONSTRAINT transfers_status_check,
  ADD CONSTRAINT transfers_status_check CHECK (status IN ('requested', 'sent'));

-- TransferStatus: history
CREATE TABLE IF NOT EXISTS transfers_history (
  transfer_id BIGINT NOT NULL,
  version BIGINT NOT NULL,
  source VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  target VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  event VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  cause VARBINARY(512),
  fingerprint VARCHAR(80) CHARACTER SET ascii COLLATE ascii_bin,
  at DATETIME(6) NOT NULL,
  PRIMARY KEY (transfer_id, version),
  UNIQUE (transfer_id, event, cause)
);

-- TransferStatus: unknown values
SELECT MIN(status) AS status, COUNT(*) AS held
  FROM transfers
 WHERE CAST(status AS BINARY) NOT IN ('requested', 'sent') OR status IS NULL
 GROUP BY CAST(status AS BINARY)
 ORDER BY CAST(status AS BINARY);

-- TransferStatus: guard
CREATE TABLE IF NOT EXISTS idem_repair (session BIGINT UNSIGNED NOT NULL PRIMARY KEY) ENGINE = InnoDB;
DROP TRIGGER IF EXISTS transfers_status_guard_update;
DROP TRIGGER IF EXISTS transfers_status_guard_insert;
CREATE TRIGGER transfers_status_guard_update AFTER UPDATE ON transfers FOR EACH ROW
BEGIN
  DECLARE source VARBINARY(1024) DEFAULT CAST(CONVERT(OLD.status USING utf8mb4) AS BINARY);
  DECLARE target VARBINARY(1024) DEFAULT CAST(CONVERT(NEW.status USING utf8mb4) AS BINARY);
  IF NOT (source <=> target)
     AND (   source = 'requested' AND target IN ('requested', 'sent')
          OR source = 'sent' AND target = 'sent') IS NOT TRUE
     AND NOT EXISTS (SELECT 1 FROM idem_repair WHERE session = CONNECTION_ID()) THEN
    SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 45001, MESSAGE_TEXT = 'idem guard transfers_status_guard_04391423: undeclared transition';
  END IF;
END;
CREATE TRIGGER transfers_status_guard_insert AFTER INSERT ON transfers FOR EACH ROW
BEGIN
  DECLARE target VARBINARY(1024) DEFAULT CAST(CONVERT(NEW.status USING utf8mb4) AS BINARY);
  IF (target = 'requested') IS NOT TRUE
     AND NOT EXISTS (SELECT 1 FROM idem_repair WHERE session = CONNECTION_ID()) THEN
    SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 45001, MESSAGE_TEXT = 'idem guard transfers_status_guard_04391423: not an initial state';
  END IF;
END;

-- TransferStatus: remove the guard
DROP TRIGGER IF EXISTS transfers_status_guard_update;
DROP TRIGGER IF EXISTS transfers_status_guard_insert;

-- TransferStatus: adopt
-- idem: transfers_status_version d41db60a
-- Programs that do not know the column go on: a row that they insert begins at 0.
ALTER TABLE `transfers`
  ADD COLUMN `version` BIGINT NOT NULL DEFAULT 0;

-- TransferStatus: adopt
-- idem: transfers_status_values dedb8ce0
-- Before the release that adds a value, after the one that removes one. No row may hold another value.
ALTER TABLE transfers
  MODIFY status VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'requested',
  ADD CONSTRAINT transfers_status_check CHECK (status IN ('requested', 'sent'));

-- TransferStatus: which guard
SELECT CASE WHEN COUNT(*) < 2 THEN 'missing'
            WHEN SUM(LOCATE('_guard_04391423', ACTION_STATEMENT) > 0) = 2 THEN 'installed'
            ELSE 'outdated' END AS guard
  FROM information_schema.TRIGGERS
 WHERE TRIGGER_SCHEMA = DATABASE() AND TRIGGER_NAME IN ('transfers_status_guard_update', 'transfers_status_guard_insert');

-- TransferStatus: repair, read
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.transfer_id = seen.transfer_id THEN 1 ELSE 0 END AS caused_here
  FROM transfers AS seen
  LEFT JOIN transfers_history AS caused
    ON caused.transfer_id = seen.transfer_id AND caused.event = 'repair' AND caused.cause = ?
 WHERE seen.transfer_id = ?
   FOR UPDATE;

-- TransferStatus: repair, open
INSERT INTO idem_repair (session) VALUES (CONNECTION_ID());

-- TransferStatus: repair, enter
INSERT INTO transfers_history (transfer_id, version, source, target, event, cause, fingerprint, at)
SELECT transfer_id, version + 1, COALESCE(status, ''), ?, 'repair', ?, ?, NOW(6)
  FROM transfers
 WHERE transfer_id = ?;

-- TransferStatus: repair, write
UPDATE transfers
   SET status = ?, version = version + 1
 WHERE transfer_id = ?;

-- TransferStatus: repair, close
DELETE FROM idem_repair WHERE session = CONNECTION_ID();

-- TransferStatus: load
SELECT status, version
  FROM transfers
 WHERE transfer_id = ?;

-- TransferStatus: lock
SELECT status, version
  FROM transfers
 WHERE transfer_id = ?
   FOR UPDATE;

-- TransferStatus: lock_now
SELECT status, version
  FROM transfers
 WHERE transfer_id = ?
   FOR UPDATE NOWAIT;

-- TransferStatus: many rows, read
SELECT given.nth AS nth, seen.status AS status, seen.version AS version
  FROM JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, transfer_id BIGINT PATH '$')) AS given
  STRAIGHT_JOIN transfers AS seen ON seen.transfer_id = given.transfer_id
   FOR UPDATE;

-- TransferStatus: many rows, caused
SELECT given.nth AS nth, entry.version AS caused, entry.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, transfer_id BIGINT PATH '$')) AS given
  STRAIGHT_JOIN transfers_history AS entry ON entry.transfer_id = given.transfer_id
 WHERE entry.event = ? AND entry.cause = ?;

-- TransferStatus: many rows, enter
INSERT INTO transfers_history (transfer_id, version, source, target, event, cause, fingerprint, at)
SELECT seen.transfer_id, seen.version + 1, seen.status, ?, ?, ?, ?, NOW(6)
  FROM JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, transfer_id BIGINT PATH '$')) AS given
  STRAIGHT_JOIN transfers AS seen ON seen.transfer_id = given.transfer_id;

-- TransferStatus: book, enter
INSERT INTO transfers_history (transfer_id, version, source, target, event, cause, fingerprint, at)
SELECT transfer_id, version + 1, status, 'sent', 'book', ?, ?, NOW(6)
  FROM transfers
 WHERE transfer_id = ? AND status = 'requested'
   FOR UPDATE;

-- TransferStatus: book, enter_at
INSERT INTO transfers_history (transfer_id, version, source, target, event, cause, fingerprint, at)
SELECT transfer_id, version + 1, status, 'sent', 'book', ?, ?, NOW(6)
  FROM transfers
 WHERE transfer_id = ? AND status = 'requested' AND version = ?
   FOR UPDATE;

-- TransferStatus: book, fire
UPDATE transfers
   SET status = 'sent', number = ?, version = LAST_INSERT_ID(version + 1)
 WHERE transfer_id = ? AND status = 'requested';

-- TransferStatus: book, fire_at
UPDATE transfers
   SET status = 'sent', number = ?, version = LAST_INSERT_ID(version + 1)
 WHERE transfer_id = ? AND status = 'requested' AND version = ?;

-- TransferStatus: book, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, CONVERT(latest.cause USING utf8mb4) AS latest_cause,
       passed.version AS passed, CONVERT(passed.cause USING utf8mb4) AS passed_cause
  FROM transfers AS seen
  LEFT JOIN transfers_history AS caused
    ON caused.transfer_id = ? AND caused.event = 'book' AND caused.cause = ?
  LEFT JOIN transfers_history AS latest
    ON latest.transfer_id = ?
   AND latest.version = (SELECT MAX(version) FROM transfers_history WHERE transfer_id = ? FOR UPDATE)
  LEFT JOIN transfers_history AS passed
    ON passed.transfer_id = ?
   AND passed.version = (SELECT MAX(version) FROM transfers_history WHERE transfer_id = ? AND target = 'sent' FOR UPDATE)
 WHERE seen.transfer_id = ?
   FOR UPDATE;

-- TransferStatus: book, fire_all
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, transfer_id BIGINT PATH '$')) AS given
STRAIGHT_JOIN transfers AS seen ON seen.transfer_id = given.transfer_id
   SET status = 'sent', number = ?, version = seen.version + 1
 WHERE seen.status = 'requested';

-- idem's records ----------------------------------------------------------------------------------

CREATE TABLE IF NOT EXISTS idem_record (
    scope        VARBINARY(191) NOT NULL, -- bytes: no collation makes two keys one
    `key`        VARBINARY(512) NOT NULL,
    status       SMALLINT NOT NULL, -- 1 in progress, 2 completed, 3 failed, 4 in doubt
    fingerprint  VARCHAR(80) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    result       LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    result_type  TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, -- the type that the answer was written from
    owner        VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    created_at   DATETIME(6) NOT NULL,
    completed_at DATETIME(6),
    result_until DATETIME(6), -- until when the answer can be replayed, NULL for ever
    key_until    DATETIME(6), -- until when the row stays, NULL for ever
    attempt      INT NOT NULL DEFAULT 0, -- of a leased call, from 1 on, or 0 where one transaction holds the claim
    lease_until  DATETIME(6) NOT NULL DEFAULT '1970-01-01 00:00:00', -- nobody takes it over before
    begun        LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, -- its outside calls and its commits, in JSON
    updated_at   DATETIME(6), -- when an attempt or an operator last wrote it
    begun_writes INT NOT NULL DEFAULT 0, -- how often its owner wrote `begun`: an earlier write that comes late misses
    PRIMARY KEY (scope, `key`),
    CONSTRAINT idem_record_status CHECK (status IN (1, 2, 3, 4)),
    -- A cleanup may take the text of an answer whose time is over: the record stays, so that nothing runs again.
    CONSTRAINT idem_record_answer CHECK (
        (status IN (2, 3)) = (completed_at IS NOT NULL)
        AND (result IS NULL OR status IN (2, 3))
        AND (result IS NOT NULL OR result_until IS NOT NULL OR status IN (1, 4)))
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS idem_audit (
    id           BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    at           DATETIME(6) NOT NULL,
    actor        VARCHAR(191) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    action       VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- complete, release
    reason       TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    scope        VARBINARY(191) NOT NULL,
    `key`        VARBINARY(512) NOT NULL,
    record       LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- the record as it was, as JSON
    result       LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, -- what it was completed with
    KEY idem_audit_key (scope, `key`)
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS idem_token (
    hash         CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY, -- the SHA-256 of the token
    purpose      VARBINARY(191) NOT NULL,
    subject      VARBINARY(512) NOT NULL, -- whom it was issued to
    created_at   DATETIME(6) NOT NULL,
    expires_at   DATETIME(6) NOT NULL,
    used_at      DATETIME(6),
    used_by      VARBINARY(512) -- the request that has used it, if it said which it is
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS idem_lease (
    name         VARBINARY(512) NOT NULL PRIMARY KEY,
    owner        VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    token        BIGINT NOT NULL, -- rises with each owner
    lease_until  DATETIME(6) NOT NULL,
    updated_at   DATETIME(6) NOT NULL
) ENGINE = InnoDB;

-- record: claim
/*M! SET STATEMENT innodb_lock_wait_timeout = 2 FOR */
INSERT INTO idem_record (scope, `key`, status, fingerprint, owner, created_at)
VALUES (?, ?, 1, ?, ?, UTC_TIMESTAMP(6));

-- record: read
SELECT status, fingerprint, result, result_type, CASE WHEN result_until <= UTC_TIMESTAMP(6) THEN 1 END AS gone,
       CASE WHEN lease_until > UTC_TIMESTAMP(6) THEN 1 END AS leased
  FROM idem_record
 WHERE scope = ? AND `key` = ?
  LOCK IN SHARE MODE;

-- record: look
SELECT status, fingerprint, result, result_type, CASE WHEN result_until <= UTC_TIMESTAMP(6) THEN 1 END AS gone,
       CASE WHEN lease_until > UTC_TIMESTAMP(6) THEN 1 END AS leased
  FROM idem_record
 WHERE scope = ? AND `key` = ?;

-- record: end
UPDATE idem_record
   SET status = ?, result = ?, result_type = ?, completed_at = UTC_TIMESTAMP(6),
       result_until = UTC_TIMESTAMP(6) + INTERVAL ? SECOND,
       key_until = UTC_TIMESTAMP(6) + INTERVAL ? SECOND
 WHERE scope = ? AND `key` = ? AND owner = ? AND status = 1;

-- record: doubt
INSERT INTO idem_record (scope, `key`, status, fingerprint, owner, created_at)
VALUES (?, ?, 4, ?, ?, UTC_TIMESTAMP(6))
ON DUPLICATE KEY UPDATE
       status = IF(owner = VALUES(owner), 4, status),
       result = IF(owner = VALUES(owner), NULL, result),
       result_type = IF(owner = VALUES(owner), NULL, result_type),
       completed_at = IF(owner = VALUES(owner), NULL, completed_at),
       result_until = IF(owner = VALUES(owner), NULL, result_until),
       key_until = IF(owner = VALUES(owner), NULL, key_until);

-- record: claim all
/*M! SET STATEMENT innodb_lock_wait_timeout = 2 FOR */
INSERT INTO idem_record (scope, `key`, status, fingerprint, owner, created_at)
SELECT asked.scope, list.k, 1, list.fingerprint, asked.owner, UTC_TIMESTAMP(6)
  FROM (SELECT ? AS scope, ? AS list, ? AS owner) AS asked
 CROSS JOIN JSON_TABLE(asked.list, '$[*]' COLUMNS (
         nth FOR ORDINALITY,
         k VARCHAR(512) CHARACTER SET utf8mb4 PATH '$[0]',
         fingerprint VARCHAR(80) CHARACTER SET ascii PATH '$[1]')) AS list
 ORDER BY list.nth
ON DUPLICATE KEY UPDATE owner = idem_record.owner;

-- record: read all
SELECT list.nth AS nth, CASE WHEN seen.owner = asked.owner THEN 1 END AS claimed, seen.status AS status,
       seen.fingerprint AS fingerprint, seen.result AS result, seen.result_type AS result_type,
       CASE WHEN seen.result_until <= UTC_TIMESTAMP(6) THEN 1 END AS gone,
       CASE WHEN seen.lease_until > UTC_TIMESTAMP(6) THEN 1 END AS leased
  FROM (SELECT ? AS scope, ? AS list, ? AS owner) AS asked
 CROSS JOIN JSON_TABLE(asked.list, '$[*]' COLUMNS (
         nth FOR ORDINALITY,
         k VARCHAR(512) CHARACTER SET utf8mb4 PATH '$[0]')) AS list
  STRAIGHT_JOIN idem_record AS seen FORCE INDEX (PRIMARY)
    ON seen.scope = asked.scope AND seen.`key` = CAST(list.k AS BINARY)
  LOCK IN SHARE MODE;

-- record: look all
SELECT list.nth AS nth, CASE WHEN seen.owner = asked.owner THEN 1 END AS claimed, seen.status AS status,
       seen.fingerprint AS fingerprint, seen.result AS result, seen.result_type AS result_type,
       CASE WHEN seen.result_until <= UTC_TIMESTAMP(6) THEN 1 END AS gone,
       CASE WHEN seen.lease_until > UTC_TIMESTAMP(6) THEN 1 END AS leased
  FROM (SELECT ? AS scope, ? AS list, ? AS owner) AS asked
 CROSS JOIN JSON_TABLE(asked.list, '$[*]' COLUMNS (
         nth FOR ORDINALITY,
         k VARCHAR(512) CHARACTER SET utf8mb4 PATH '$[0]')) AS list
  STRAIGHT_JOIN idem_record AS seen FORCE INDEX (PRIMARY)
    ON seen.scope = asked.scope AND seen.`key` = CAST(list.k AS BINARY);

-- record: end all
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (
         k VARCHAR(512) CHARACTER SET utf8mb4 PATH '$[0]',
         result LONGTEXT CHARACTER SET utf8mb4 PATH '$[1]')) AS list
 CROSS JOIN (SELECT ? AS result_type, ? AS result_s, ? AS key_s, ? AS scope, ? AS owner) AS given
  STRAIGHT_JOIN idem_record AS record FORCE INDEX (PRIMARY)
    ON record.scope = given.scope AND record.`key` = CAST(list.k AS BINARY)
   SET record.status = 2, record.result = list.result, record.result_type = given.result_type,
       record.completed_at = UTC_TIMESTAMP(6), record.result_until = UTC_TIMESTAMP(6) + INTERVAL given.result_s SECOND,
       record.key_until = UTC_TIMESTAMP(6) + INTERVAL given.key_s SECOND
 WHERE record.owner = given.owner AND record.status = 1;

-- record: lease
/*M! SET STATEMENT innodb_lock_wait_timeout = 2 FOR */
INSERT INTO idem_record (scope, `key`, status, fingerprint, owner, attempt, lease_until, created_at, updated_at)
VALUES (?, ?, 1, ?, ?, 1,
        UTC_TIMESTAMP(6) + INTERVAL TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + ? * 1000 MICROSECOND,
        UTC_TIMESTAMP(6), UTC_TIMESTAMP(6));

-- record: seen
SELECT status, fingerprint, result, result_type, CASE WHEN result_until <= UTC_TIMESTAMP(6) THEN 1 END AS gone,
       CASE WHEN lease_until > UTC_TIMESTAMP(6) THEN 1 END AS leased, owner, attempt, begun
  FROM idem_record
 WHERE scope = ? AND `key` = ?;

-- record: take over
/*M! SET STATEMENT innodb_lock_wait_timeout = 2 FOR */
UPDATE idem_record
   SET owner = ?, attempt = attempt + 1, begun_writes = 0,
       lease_until = UTC_TIMESTAMP(6) + INTERVAL TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + ? * 1000 MICROSECOND,
       updated_at = UTC_TIMESTAMP(6)
 WHERE scope = ? AND `key` = ? AND owner = ? AND status = ? AND attempt = ? AND attempt > 0
   AND begun <=> ? AND lease_until <= UTC_TIMESTAMP(6);

-- record: mark
UPDATE idem_record
   SET status = ?, begun = ?, begun_writes = ?,
       lease_until = UTC_TIMESTAMP(6) + INTERVAL TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + ? * 1000 MICROSECOND,
       updated_at = UTC_TIMESTAMP(6)
 WHERE scope = ? AND `key` = ? AND owner = ? AND begun_writes <= ? AND status IN (1, 4);

-- record: renew
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
 WHERE record.owner = list.owner AND record.status IN (1, 4);

-- record: complete
UPDATE idem_record
   SET status = ?, result = ?, result_type = ?, completed_at = UTC_TIMESTAMP(6), updated_at = UTC_TIMESTAMP(6),
       result_until = UTC_TIMESTAMP(6) + INTERVAL ? SECOND,
       key_until = UTC_TIMESTAMP(6) + INTERVAL ? SECOND
 WHERE scope = ? AND `key` = ? AND owner = ? AND status IN (1, 4);

-- record: release
DELETE FROM idem_record
 WHERE scope = ? AND `key` = ? AND owner = ? AND status IN (1, 4);

-- record: let go
UPDATE idem_record
   SET status = 4, begun = ?, owner = ?, lease_until = UTC_TIMESTAMP(6), updated_at = UTC_TIMESTAMP(6)
 WHERE scope = ? AND `key` = ? AND owner = ? AND status IN (1, 4);

-- record: operator, open
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
 WHERE (status = 4 OR (status = 1 AND lease_until <= UTC_TIMESTAMP(6)))
   AND created_at <= UTC_TIMESTAMP(6) - INTERVAL ? * 1000 MICROSECOND
 ORDER BY created_at, scope, `key`
 LIMIT 1000;

-- record: operator, show
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
 WHERE scope = ? AND `key` = ?;

-- record: operator, audit
SELECT CAST(at AS CHAR) AS at_text, actor, action, reason, record, result
  FROM idem_audit
 WHERE scope = ? AND `key` = ?
 ORDER BY id;

-- record: operator, complete
UPDATE idem_record
   SET status = 2, result = ?, result_type = ?, owner = ?, lease_until = UTC_TIMESTAMP(6),
       updated_at = UTC_TIMESTAMP(6), completed_at = UTC_TIMESTAMP(6), result_until = NULL, key_until = NULL
 WHERE scope = ? AND `key` = ? AND owner = ? AND attempt = ? AND status = ? AND begun <=> ?
   AND (? OR lease_until <= UTC_TIMESTAMP(6));

-- record: operator, release
DELETE FROM idem_record
 WHERE scope = ? AND `key` = ? AND owner = ? AND attempt = ? AND status = ? AND begun <=> ?
   AND (? OR lease_until <= UTC_TIMESTAMP(6));

-- record: operator, enter
INSERT INTO idem_audit (at, actor, action, reason, scope, `key`, record, result)
VALUES (UTC_TIMESTAMP(6), ?, ?, ?, ?, ?, ?, ?);

-- record: token, issue
INSERT INTO idem_token (hash, purpose, subject, created_at, expires_at)
VALUES (?, ?, ?, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) + INTERVAL ? * 1000 MICROSECOND);

-- record: token, consume
UPDATE idem_token
   SET used_at = UTC_TIMESTAMP(6), used_by = ?
 WHERE hash = ? AND purpose = ? AND subject = ? AND used_at IS NULL AND expires_at > UTC_TIMESTAMP(6);

-- record: token, read
SELECT purpose, subject, used_by, CASE WHEN used_at IS NOT NULL THEN 1 END AS used,
       CASE WHEN expires_at <= UTC_TIMESTAMP(6) THEN 1 END AS expired
  FROM idem_token
 WHERE hash = ?
  LOCK IN SHARE MODE;

-- record: lease, seen
SELECT token, CASE WHEN owner = ? THEN 1 END AS ours, CASE WHEN lease_until > UTC_TIMESTAMP(6) THEN 1 END AS leased
  FROM idem_lease
 WHERE name = ?;

-- record: lease, take
UPDATE idem_lease
   SET owner = ?, token = token + 1,
       lease_until = UTC_TIMESTAMP(6) + INTERVAL TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + ? * 1000 MICROSECOND,
       updated_at = UTC_TIMESTAMP(6)
 WHERE name = ? AND lease_until <= UTC_TIMESTAMP(6);

-- record: lease, insert
INSERT INTO idem_lease (owner, token, lease_until, name, updated_at)
VALUES (?, 1, UTC_TIMESTAMP(6) + INTERVAL TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + ? * 1000 MICROSECOND, ?,
        UTC_TIMESTAMP(6));

-- record: lease, renew
UPDATE idem_lease
   SET lease_until = UTC_TIMESTAMP(6) + INTERVAL TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + ? * 1000 MICROSECOND,
       updated_at = UTC_TIMESTAMP(6)
 WHERE name = ? AND owner = ?;

-- record: lease, release
UPDATE idem_lease
   SET owner = ?, lease_until = UTC_TIMESTAMP(6), updated_at = UTC_TIMESTAMP(6)
 WHERE name = ? AND owner = ?;
