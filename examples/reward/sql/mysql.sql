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
