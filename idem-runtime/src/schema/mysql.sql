CREATE TABLE IF NOT EXISTS idem_record (
    scope        VARBINARY(191) NOT NULL, -- bytes: no collation makes two keys one
    `key`        VARBINARY(512) NOT NULL,
    status       SMALLINT NOT NULL, -- 1 in progress, 2 completed, 3 failed, 4 in doubt
    fingerprint  VARCHAR(80) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    result       LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    result_type  TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, -- the name of the type that the answer was written from
    owner        VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    attempt      INT NOT NULL DEFAULT 0, -- of a leased call, from 1 on; 0 where one transaction holds the claim
    lease_until  DATETIME(6) NOT NULL DEFAULT '1970-01-01 00:00:00', -- until when the attempt is let alone; in the past, there is no lease
    begun        TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, -- what the attempt may have done already, a list in JSON: its outside calls, 'tx' for a commit
    created_at   DATETIME(6) NOT NULL,
    updated_at   DATETIME(6), -- when an attempt or an operator last wrote it
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
CREATE TABLE IF NOT EXISTS idem_audit (
    id           BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    at           DATETIME(6) NOT NULL,
    actor        VARCHAR(191) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    action       VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- complete, release
    reason       TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    scope        VARBINARY(191) NOT NULL,
    `key`        VARBINARY(512) NOT NULL,
    record       TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- the record as it was, as JSON
    result       LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, -- what it was completed with
    KEY idem_audit_key (scope, `key`)
) ENGINE = InnoDB;
