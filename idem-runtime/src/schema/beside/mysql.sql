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
