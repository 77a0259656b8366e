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
