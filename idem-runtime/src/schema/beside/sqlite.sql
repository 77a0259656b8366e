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
