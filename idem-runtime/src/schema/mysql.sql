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
