CREATE TABLE IF NOT EXISTS idem_record (
    scope        TEXT NOT NULL,
    key          TEXT NOT NULL,
    status       INTEGER NOT NULL CHECK (status IN (1, 2, 4)), -- 1 in progress, 2 completed, 4 in doubt
    fingerprint  TEXT NOT NULL,
    result       TEXT,
    owner        TEXT NOT NULL,
    created_at   TEXT NOT NULL,
    completed_at TEXT,
    PRIMARY KEY (scope, key),
    CHECK ((status = 2) = (result IS NOT NULL AND completed_at IS NOT NULL))
);
