-- tables ------------------------------------------------------------------------------------------

CREATE TABLE accounts (
  user_id BIGINT NOT NULL PRIMARY KEY,
  name VARCHAR(64) NOT NULL,
  points BIGINT NOT NULL DEFAULT 0,
  badges BIGINT NOT NULL DEFAULT 0
);
CREATE TABLE grants (
  number VARCHAR(64) NOT NULL,
  kind VARCHAR(16) NOT NULL,
  activity_id BIGINT NOT NULL,
  user_id BIGINT NOT NULL,
  points BIGINT NOT NULL
);
CREATE TABLE wanted (
  name VARCHAR(64) NOT NULL,
  kind VARCHAR(16) NOT NULL,
  activity_id BIGINT NOT NULL,
  user_id BIGINT NOT NULL
);
CREATE TABLE told (
  number VARCHAR(64) NOT NULL,
  kind VARCHAR(16) NOT NULL,
  activity_id BIGINT NOT NULL,
  user_id BIGINT NOT NULL,
  points BIGINT NOT NULL
);

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
