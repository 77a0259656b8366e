-- These fail on a table that has them, before anything is taken away.
ALTER TABLE idem_record ADD COLUMN result_type TEXT;
ALTER TABLE idem_record ADD COLUMN result_until TEXT;
ALTER TABLE idem_record ADD COLUMN key_until TEXT;
-- The rows move out and back: a table that is renamed into the place of another one fails where a view names that one.
CREATE TABLE idem_record_former AS SELECT * FROM idem_record;
DROP TABLE idem_record;
CREATE TABLE idem_record (
    scope        TEXT NOT NULL,
    key          TEXT NOT NULL,
    status       INTEGER NOT NULL, -- 1 in progress, 2 completed, 3 failed, 4 in doubt
    fingerprint  TEXT NOT NULL,
    result       TEXT,
    result_type  TEXT, -- the name of the type that the answer was written from
    owner        TEXT NOT NULL,
    created_at   TEXT NOT NULL,
    completed_at TEXT,
    result_until TEXT, -- until when the answer can be replayed, NULL for ever
    key_until    TEXT, -- until when the row stays, NULL for ever
    PRIMARY KEY (scope, key),
    CONSTRAINT idem_record_status CHECK (status IN (1, 2, 3, 4)),
    -- A cleanup may take the text of an answer whose time is over: the record stays, so that nothing runs again.
    CONSTRAINT idem_record_answer CHECK (
        (status IN (2, 3)) = (completed_at IS NOT NULL)
        AND (result IS NULL OR status IN (2, 3))
        AND (result IS NOT NULL OR result_until IS NOT NULL OR status IN (1, 4)))
);
INSERT INTO idem_record (scope, key, status, fingerprint, result, result_type, owner, created_at, completed_at,
                         result_until, key_until)
SELECT scope, key, status, fingerprint, result, result_type, owner, created_at, completed_at, result_until, key_until
  FROM idem_record_former;
DROP TABLE idem_record_former;
