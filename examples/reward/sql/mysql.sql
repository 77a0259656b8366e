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
    result_type  TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, -- the name of the type that the answer was written from
    owner        VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    created_at   DATETIME(6) NOT NULL,
    completed_at DATETIME(6),
    result_until DATETIME(6), -- until when the answer can be replayed, NULL for ever
    key_until    DATETIME(6), -- until when the row stays, NULL for ever
    PRIMARY KEY (scope, `key`),
    CONSTRAINT idem_record_status CHECK (status IN (1, 2, 3, 4)),
    -- A cleanup may take the text of an answer whose time is over: the record stays, so that nothing runs again.
    CONSTRAINT idem_record_answer CHECK (
        (status IN (2, 3)) = (completed_at IS NOT NULL)
        AND (result IS NULL OR status IN (2, 3))
        AND (result IS NOT NULL OR result_until IS NOT NULL OR status IN (1, 4)))
) ENGINE = InnoDB;

-- record: claim
/*M! SET STATEMENT innodb_lock_wait_timeout = 2 FOR */
INSERT INTO idem_record (scope, `key`, status, fingerprint, owner, created_at)
VALUES (?, ?, 1, ?, ?, NOW(6));

-- record: read
SELECT status, fingerprint, result, result_type, CASE WHEN result_until <= NOW(6) THEN 1 END AS gone
  FROM idem_record
 WHERE scope = ? AND `key` = ?
  LOCK IN SHARE MODE;

-- record: look
SELECT status, fingerprint, result, result_type, CASE WHEN result_until <= NOW(6) THEN 1 END AS gone
  FROM idem_record
 WHERE scope = ? AND `key` = ?;

-- record: end
UPDATE idem_record
   SET status = ?, result = ?, result_type = ?, completed_at = NOW(6),
       result_until = NOW(6) + INTERVAL ? SECOND,
       key_until = NOW(6) + INTERVAL ? SECOND
 WHERE scope = ? AND `key` = ? AND owner = ? AND status = 1;

-- record: doubt
INSERT INTO idem_record (scope, `key`, status, fingerprint, owner, created_at)
VALUES (?, ?, 4, ?, ?, NOW(6))
ON DUPLICATE KEY UPDATE
       status = IF(owner = VALUES(owner), 4, status),
       result = IF(owner = VALUES(owner), NULL, result),
       result_type = IF(owner = VALUES(owner), NULL, result_type),
       completed_at = IF(owner = VALUES(owner), NULL, completed_at),
       result_until = IF(owner = VALUES(owner), NULL, result_until),
       key_until = IF(owner = VALUES(owner), NULL, key_until);
