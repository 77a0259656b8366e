-- tables ------------------------------------------------------------------------------------------

CREATE TABLE transfers (
  transfer_id BIGINT NOT NULL PRIMARY KEY,
  provider VARCHAR(16) NOT NULL,
  amount BIGINT NOT NULL,
  status TEXT NOT NULL DEFAULT 'requested',
  version INTEGER NOT NULL DEFAULT 0,
  number VARCHAR(64)
);

-- TransferStatus ----------------------------------------------------------------------------------

-- book: Requested => Sent

-- TransferStatus: columns of the table
--   status TEXT NOT NULL DEFAULT 'requested',
--   version INTEGER NOT NULL DEFAULT 0

-- TransferStatus: history
CREATE TABLE IF NOT EXISTS transfers_history (
  transfer_id INTEGER NOT NULL,
  version INTEGER NOT NULL,
  source TEXT NOT NULL,
  target TEXT NOT NULL,
  event TEXT NOT NULL,
  cause TEXT,
  fingerprint TEXT,
  at TEXT NOT NULL,
  PRIMARY KEY (transfer_id, version),
  UNIQUE (transfer_id, event, cause)
);

-- TransferStatus: unknown values
SELECT status, COUNT(*) AS held
  FROM transfers
 WHERE status NOT IN ('requested', 'sent') OR status IS NULL
 GROUP BY status
 ORDER BY status;

-- TransferStatus: guard
CREATE TABLE IF NOT EXISTS idem_repair (session INTEGER NOT NULL PRIMARY KEY);
DROP TRIGGER IF EXISTS transfers_status_guard_update;
DROP TRIGGER IF EXISTS transfers_status_guard_insert;
CREATE TRIGGER transfers_status_guard_update AFTER UPDATE OF status ON transfers
 WHEN OLD.status COLLATE BINARY IS NOT NEW.status COLLATE BINARY
  AND (   OLD.status COLLATE BINARY = 'requested' AND NEW.status COLLATE BINARY IN ('requested', 'sent')
       OR OLD.status COLLATE BINARY = 'sent' AND NEW.status COLLATE BINARY = 'sent') IS NOT TRUE
  AND NOT EXISTS (SELECT 1 FROM idem_repair)
BEGIN
  SELECT RAISE(ABORT, 'idem guard transfers_status_guard_04391423: undeclared transition');
END;
CREATE TRIGGER transfers_status_guard_insert AFTER INSERT ON transfers
 WHEN (NEW.status COLLATE BINARY = 'requested') IS NOT TRUE
  AND NOT EXISTS (SELECT 1 FROM idem_repair)
BEGIN
  SELECT RAISE(ABORT, 'idem guard transfers_status_guard_04391423: not an initial state');
END;

-- TransferStatus: remove the guard
DROP TRIGGER IF EXISTS transfers_status_guard_update;
DROP TRIGGER IF EXISTS transfers_status_guard_insert;

-- TransferStatus: adopt
-- idem: transfers_status_version 53ff5709
-- Programs that do not know the column go on: a row that they insert begins at 0.
ALTER TABLE "transfers"
  ADD COLUMN "version" INTEGER NOT NULL DEFAULT 0;

-- TransferStatus: which guard
SELECT CASE WHEN COUNT(*) < 2 THEN 'missing'
            WHEN SUM(instr(sql, '_guard_04391423') > 0) = 2 THEN 'installed'
            ELSE 'outdated' END AS guard
  FROM sqlite_master
 WHERE type = 'trigger' AND name IN ('transfers_status_guard_update', 'transfers_status_guard_insert');

-- TransferStatus: repair, read
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.transfer_id = seen.transfer_id THEN 1 ELSE 0 END AS caused_here
  FROM transfers AS seen
  LEFT JOIN transfers_history AS caused
    ON caused.transfer_id = seen.transfer_id AND caused.event = 'repair' AND caused.cause = ?2
 WHERE seen.transfer_id = ?1;

-- TransferStatus: repair, open
INSERT INTO idem_repair (session) VALUES (0);

-- TransferStatus: repair, enter
INSERT INTO transfers_history (transfer_id, version, source, target, event, cause, fingerprint, at)
SELECT transfer_id, version + 1, COALESCE(status, ''), ?1, 'repair', ?2, ?3, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM transfers
 WHERE transfer_id = ?4;

-- TransferStatus: repair, write
UPDATE transfers
   SET status = ?1, version = version + 1
 WHERE transfer_id = ?2;

-- TransferStatus: repair, close
DELETE FROM idem_repair;

-- TransferStatus: load
SELECT status, version
  FROM transfers
 WHERE transfer_id = ?1;

-- TransferStatus: lock
SELECT status, version
  FROM transfers
 WHERE transfer_id = ?1;

-- TransferStatus: lock_now
SELECT status, version
  FROM transfers
 WHERE transfer_id = ?1;

-- TransferStatus: many rows, read
SELECT given.nth AS nth, seen.status AS status, seen.version AS version
  FROM (SELECT list.key + 1 AS nth, list.value AS transfer_id FROM json_each(?1) AS list) AS given
  JOIN transfers AS seen ON seen.transfer_id = given.transfer_id;

-- TransferStatus: many rows, caused
SELECT given.nth AS nth, entry.version AS caused, entry.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM (SELECT list.key + 1 AS nth, list.value AS transfer_id FROM json_each(?1) AS list) AS given
  JOIN transfers_history AS entry ON entry.transfer_id = given.transfer_id
 WHERE entry.event = ?2 AND entry.cause = ?3;

-- TransferStatus: many rows, enter
INSERT INTO transfers_history (transfer_id, version, source, target, event, cause, fingerprint, at)
SELECT seen.transfer_id, seen.version + 1, seen.status, ?1, ?2, ?3, ?4, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM (SELECT list.key + 1 AS nth, list.value AS transfer_id FROM json_each(?5) AS list) AS given
  JOIN transfers AS seen ON seen.transfer_id = given.transfer_id;

-- TransferStatus: book, enter
INSERT INTO transfers_history (transfer_id, version, source, target, event, cause, fingerprint, at)
SELECT transfer_id, version + 1, status, 'sent', 'book', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM transfers
 WHERE transfer_id = ?3 AND status = 'requested';

-- TransferStatus: book, enter_at
INSERT INTO transfers_history (transfer_id, version, source, target, event, cause, fingerprint, at)
SELECT transfer_id, version + 1, status, 'sent', 'book', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM transfers
 WHERE transfer_id = ?3 AND status = 'requested' AND version = ?4;

-- TransferStatus: book, fire
UPDATE transfers
   SET status = 'sent', number = ?1, version = version + 1
 WHERE transfer_id = ?2 AND status = 'requested'
RETURNING version AS applied;

-- TransferStatus: book, fire_at
UPDATE transfers
   SET status = 'sent', number = ?1, version = version + 1
 WHERE transfer_id = ?2 AND status = 'requested' AND version = ?3
RETURNING version AS applied;

-- TransferStatus: book, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM transfers AS seen
  LEFT JOIN transfers_history AS caused
    ON caused.transfer_id = ?1 AND caused.event = 'book' AND caused.cause = ?2
  LEFT JOIN transfers_history AS latest
    ON latest.transfer_id = ?1
   AND latest.version = (SELECT MAX(version) FROM transfers_history WHERE transfer_id = ?1)
  LEFT JOIN transfers_history AS passed
    ON passed.transfer_id = ?1
   AND passed.version = (SELECT MAX(version) FROM transfers_history WHERE transfer_id = ?1 AND target = 'sent')
 WHERE seen.transfer_id = ?1;

-- TransferStatus: book, fire_all
UPDATE transfers
   SET status = 'sent', number = ?1, version = transfers.version + 1
  FROM (SELECT list.key + 1 AS nth, list.value AS transfer_id FROM json_each(?2) AS list) AS given
 WHERE transfers.transfer_id = given.transfer_id AND transfers.status = 'requested';

-- idem's records ----------------------------------------------------------------------------------

CREATE TABLE IF NOT EXISTS idem_record (
    scope        TEXT NOT NULL,
    key          TEXT NOT NULL,
    status       INTEGER NOT NULL, -- 1 in progress, 2 completed, 3 failed, 4 in doubt
    fingerprint  TEXT NOT NULL,
    result       TEXT,
    result_type  TEXT, -- the type that the answer was written from
    owner        TEXT NOT NULL,
    created_at   TEXT NOT NULL,
    completed_at TEXT,
    result_until TEXT, -- until when the answer can be replayed, NULL for ever
    key_until    TEXT, -- until when the row stays, NULL for ever
    attempt      INTEGER NOT NULL DEFAULT 0, -- of a leased call, from 1 on, or 0 where one transaction holds the claim
    lease_until  TEXT NOT NULL DEFAULT '1970-01-01 00:00:00.000', -- nobody takes it over before
    begun        TEXT, -- its outside calls and its commits, in JSON
    updated_at   TEXT, -- when an attempt or an operator last wrote it
    begun_writes INTEGER NOT NULL DEFAULT 0, -- how often its owner wrote `begun`: an earlier write that comes late misses
    PRIMARY KEY (scope, key),
    CONSTRAINT idem_record_status CHECK (status IN (1, 2, 3, 4)),
    -- A cleanup may take the text of an answer whose time is over: the record stays, so that nothing runs again.
    CONSTRAINT idem_record_answer CHECK (
        (status IN (2, 3)) = (completed_at IS NOT NULL)
        AND (result IS NULL OR status IN (2, 3))
        AND (result IS NOT NULL OR result_until IS NOT NULL OR status IN (1, 4)))
);
CREATE TABLE IF NOT EXISTS idem_audit (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    at           TEXT NOT NULL,
    actor        TEXT NOT NULL,
    action       TEXT NOT NULL, -- complete, release
    reason       TEXT NOT NULL,
    scope        TEXT NOT NULL,
    key          TEXT NOT NULL,
    record       TEXT NOT NULL, -- the record as it was, as JSON
    result       TEXT -- what it was completed with
);
CREATE INDEX IF NOT EXISTS idem_audit_key ON idem_audit (scope, key);
CREATE TABLE IF NOT EXISTS idem_token (
    hash         TEXT NOT NULL PRIMARY KEY, -- the SHA-256 of the token, which itself is nowhere
    purpose      TEXT NOT NULL,
    subject      TEXT NOT NULL, -- whom it was issued to
    created_at   TEXT NOT NULL,
    expires_at   TEXT NOT NULL,
    used_at      TEXT,
    used_by      TEXT -- the request that has used it, if it said which it is
);
CREATE TABLE IF NOT EXISTS idem_lease (
    name         TEXT NOT NULL PRIMARY KEY,
    owner        TEXT NOT NULL,
    token        INTEGER NOT NULL, -- rises with each owner
    lease_until  TEXT NOT NULL,
    updated_at   TEXT NOT NULL
);

-- record: claim
INSERT INTO idem_record (scope, key, status, fingerprint, owner, created_at)
VALUES (?1, ?2, 1, ?3, ?4, strftime('%Y-%m-%d %H:%M:%f', 'now'))
ON CONFLICT (scope, key) DO NOTHING
RETURNING 1 AS claimed;

-- record: read
SELECT status, fingerprint, result, result_type,
       CASE WHEN result_until <= strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 END AS gone,
       CASE WHEN lease_until > strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 END AS leased
  FROM idem_record
 WHERE scope = ?1 AND key = ?2;

-- record: look
SELECT status, fingerprint, result, result_type,
       CASE WHEN result_until <= strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 END AS gone,
       CASE WHEN lease_until > strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 END AS leased
  FROM idem_record
 WHERE scope = ?1 AND key = ?2;

-- record: end
UPDATE idem_record
   SET status = ?1, result = ?2, result_type = ?3, completed_at = strftime('%Y-%m-%d %H:%M:%f', 'now'),
       result_until = strftime('%Y-%m-%d %H:%M:%f', 'now', ?4 || ' seconds'),
       key_until = strftime('%Y-%m-%d %H:%M:%f', 'now', ?5 || ' seconds')
 WHERE scope = ?6 AND key = ?7 AND owner = ?8 AND status = 1;

-- record: doubt
INSERT INTO idem_record (scope, key, status, fingerprint, owner, created_at)
VALUES (?1, ?2, 4, ?3, ?4, strftime('%Y-%m-%d %H:%M:%f', 'now'))
ON CONFLICT (scope, key) DO UPDATE
   SET status = 4, result = NULL, result_type = NULL, completed_at = NULL, result_until = NULL, key_until = NULL
 WHERE idem_record.owner = excluded.owner;

-- record: claim all
INSERT INTO idem_record (scope, key, status, fingerprint, owner, created_at)
SELECT ?1, json_extract(list.value, '$[0]'), 1, json_extract(list.value, '$[1]'), ?3,
       strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM json_each(?2) AS list
 WHERE TRUE
 ORDER BY list.key
ON CONFLICT (scope, key) DO NOTHING;

-- record: read all
SELECT list.key + 1 AS nth, CASE WHEN seen.owner = ?3 THEN 1 END AS claimed, seen.status AS status,
       seen.fingerprint AS fingerprint, seen.result AS result, seen.result_type AS result_type,
       CASE WHEN seen.result_until <= strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 END AS gone,
       CASE WHEN seen.lease_until > strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 END AS leased
  FROM json_each(?2) AS list
  JOIN idem_record AS seen ON seen.scope = ?1 AND seen.key = json_extract(list.value, '$[0]');

-- record: look all
SELECT list.key + 1 AS nth, CASE WHEN seen.owner = ?3 THEN 1 END AS claimed, seen.status AS status,
       seen.fingerprint AS fingerprint, seen.result AS result, seen.result_type AS result_type,
       CASE WHEN seen.result_until <= strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 END AS gone,
       CASE WHEN seen.lease_until > strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 END AS leased
  FROM json_each(?2) AS list
  JOIN idem_record AS seen ON seen.scope = ?1 AND seen.key = json_extract(list.value, '$[0]');

-- record: end all
UPDATE idem_record
   SET status = 2, result = list.result, result_type = ?2, completed_at = strftime('%Y-%m-%d %H:%M:%f', 'now'),
       result_until = strftime('%Y-%m-%d %H:%M:%f', 'now', ?3 || ' seconds'),
       key_until = strftime('%Y-%m-%d %H:%M:%f', 'now', ?4 || ' seconds')
  FROM (SELECT json_extract(value, '$[0]') AS k, json_extract(value, '$[1]') AS result FROM json_each(?1)) AS list
 WHERE scope = ?5 AND key = list.k AND owner = ?6 AND status = 1;

-- record: lease
INSERT INTO idem_record (scope, key, status, fingerprint, owner, attempt, lease_until, created_at, updated_at)
VALUES (?1, ?2, 1, ?3, ?4, 1, strftime('%Y-%m-%d %H:%M:%f', 'now', (?5 / 1000.0) || ' seconds'),
        strftime('%Y-%m-%d %H:%M:%f', 'now'), strftime('%Y-%m-%d %H:%M:%f', 'now'))
ON CONFLICT (scope, key) DO NOTHING;

-- record: seen
SELECT status, fingerprint, result, result_type,
       CASE WHEN result_until <= strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 END AS gone,
       CASE WHEN lease_until > strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 END AS leased, owner, attempt, begun
  FROM idem_record
 WHERE scope = ?1 AND key = ?2;

-- record: take over
UPDATE idem_record
   SET owner = ?1, attempt = attempt + 1, begun_writes = 0,
       lease_until = strftime('%Y-%m-%d %H:%M:%f', 'now', (?2 / 1000.0) || ' seconds'),
       updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
 WHERE scope = ?3 AND key = ?4 AND owner = ?5 AND status = ?6 AND attempt = ?7 AND attempt > 0
   AND begun IS ?8 AND lease_until <= strftime('%Y-%m-%d %H:%M:%f', 'now');

-- record: mark
UPDATE idem_record
   SET status = ?1, begun = ?2, begun_writes = ?3,
       lease_until = strftime('%Y-%m-%d %H:%M:%f', 'now', (?4 / 1000.0) || ' seconds'),
       updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
 WHERE scope = ?5 AND key = ?6 AND owner = ?7 AND begun_writes <= ?8 AND status IN (1, 4);

-- record: renew
UPDATE idem_record
   SET lease_until = strftime('%Y-%m-%d %H:%M:%f', 'now', (list.lease_ms / 1000.0) || ' seconds'),
       updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM (SELECT json_extract(value, '$[0]') AS scope, json_extract(value, '$[1]') AS k,
               json_extract(value, '$[2]') AS owner, json_extract(value, '$[3]') AS lease_ms
          FROM json_each(?1)) AS list
 WHERE idem_record.scope = list.scope AND idem_record.key = list.k AND idem_record.owner = list.owner
   AND status IN (1, 4);

-- record: complete
UPDATE idem_record
   SET status = ?1, result = ?2, result_type = ?3, completed_at = strftime('%Y-%m-%d %H:%M:%f', 'now'),
       updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now'),
       result_until = strftime('%Y-%m-%d %H:%M:%f', 'now', ?4 || ' seconds'),
       key_until = strftime('%Y-%m-%d %H:%M:%f', 'now', ?5 || ' seconds')
 WHERE scope = ?6 AND key = ?7 AND owner = ?8 AND status IN (1, 4);

-- record: release
DELETE FROM idem_record
 WHERE scope = ?1 AND key = ?2 AND owner = ?3 AND status IN (1, 4);

-- record: let go
UPDATE idem_record
   SET status = 4, begun = ?1, owner = ?2, lease_until = strftime('%Y-%m-%d %H:%M:%f', 'now'),
       updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
 WHERE scope = ?3 AND key = ?4 AND owner = ?5 AND status IN (1, 4);

-- record: operator, open
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
 WHERE (status = 4 OR (status = 1 AND lease_until <= strftime('%Y-%m-%d %H:%M:%f', 'now')))
   AND created_at <= strftime('%Y-%m-%d %H:%M:%f', 'now', -(?1 / 1000.0) || ' seconds')
 ORDER BY created_at, scope, key
 LIMIT 1000;

-- record: operator, show
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
 WHERE scope = ?1 AND key = ?2;

-- record: operator, audit
SELECT at AS at_text, actor, action, reason, record, result
  FROM idem_audit
 WHERE scope = ?1 AND key = ?2
 ORDER BY id;

-- record: operator, complete
UPDATE idem_record
   SET status = 2, result = ?1, result_type = ?2, owner = ?3, lease_until = strftime('%Y-%m-%d %H:%M:%f', 'now'),
       updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), completed_at = strftime('%Y-%m-%d %H:%M:%f', 'now'),
       result_until = NULL, key_until = NULL
 WHERE scope = ?4 AND key = ?5 AND owner = ?6 AND attempt = ?7 AND status = ?8 AND begun IS ?9
   AND (?10 OR lease_until <= strftime('%Y-%m-%d %H:%M:%f', 'now'));

-- record: operator, release
DELETE FROM idem_record
 WHERE scope = ?1 AND key = ?2 AND owner = ?3 AND attempt = ?4 AND status = ?5 AND begun IS ?6
   AND (?7 OR lease_until <= strftime('%Y-%m-%d %H:%M:%f', 'now'));

-- record: operator, enter
INSERT INTO idem_audit (at, actor, action, reason, scope, key, record, result)
VALUES (strftime('%Y-%m-%d %H:%M:%f', 'now'), ?1, ?2, ?3, ?4, ?5, ?6, ?7);

-- record: token, issue
INSERT INTO idem_token (hash, purpose, subject, created_at, expires_at)
VALUES (?1, ?2, ?3, strftime('%Y-%m-%d %H:%M:%f', 'now'),
        strftime('%Y-%m-%d %H:%M:%f', 'now', (?4 / 1000.0) || ' seconds'));

-- record: token, consume
UPDATE idem_token
   SET used_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), used_by = ?1
 WHERE hash = ?2 AND purpose = ?3 AND subject = ?4 AND used_at IS NULL
   AND expires_at > strftime('%Y-%m-%d %H:%M:%f', 'now');

-- record: token, read
SELECT purpose, subject, used_by, CASE WHEN used_at IS NOT NULL THEN 1 END AS used,
       CASE WHEN expires_at <= strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 END AS expired
  FROM idem_token
 WHERE hash = ?1;

-- record: lease, seen
SELECT token, CASE WHEN owner = ?1 THEN 1 END AS ours,
       CASE WHEN lease_until > strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 END AS leased
  FROM idem_lease
 WHERE name = ?2;

-- record: lease, take
UPDATE idem_lease
   SET owner = ?1, token = token + 1,
       lease_until = strftime('%Y-%m-%d %H:%M:%f', 'now', (?2 / 1000.0) || ' seconds'),
       updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
 WHERE name = ?3 AND lease_until <= strftime('%Y-%m-%d %H:%M:%f', 'now');

-- record: lease, insert
INSERT INTO idem_lease (owner, token, lease_until, name, updated_at)
VALUES (?1, 1, strftime('%Y-%m-%d %H:%M:%f', 'now', (?2 / 1000.0) || ' seconds'), ?3,
        strftime('%Y-%m-%d %H:%M:%f', 'now'))
ON CONFLICT (name) DO NOTHING;

-- record: lease, renew
UPDATE idem_lease
   SET lease_until = strftime('%Y-%m-%d %H:%M:%f', 'now', (?1 / 1000.0) || ' seconds'),
       updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
 WHERE name = ?2 AND owner = ?3;

-- record: lease, release
UPDATE idem_lease
   SET owner = ?1, lease_until = strftime('%Y-%m-%d %H:%M:%f', 'now'),
       updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
 WHERE name = ?2 AND owner = ?3;
