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
    scope        TEXT COLLATE "C" NOT NULL,
    key          TEXT COLLATE "C" NOT NULL,
    status       SMALLINT NOT NULL, -- 1 in progress, 2 completed, 3 failed, 4 in doubt
    fingerprint  TEXT NOT NULL,
    result       TEXT,
    result_type  TEXT, -- the type that the answer was written from
    owner        TEXT NOT NULL,
    created_at   TIMESTAMPTZ NOT NULL,
    completed_at TIMESTAMPTZ,
    result_until TIMESTAMPTZ, -- until when the answer can be replayed, NULL for ever
    key_until    TIMESTAMPTZ, -- until when the row stays, NULL for ever
    attempt      INTEGER NOT NULL DEFAULT 0, -- of a leased call, from 1 on, or 0 where one transaction holds the claim
    lease_until  TIMESTAMPTZ NOT NULL DEFAULT '1970-01-01 00:00:00Z', -- nobody takes it over before
    begun        TEXT, -- its outside calls and its commits, in JSON
    updated_at   TIMESTAMPTZ, -- when an attempt or an operator last wrote it
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
    id           BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at           TIMESTAMPTZ NOT NULL,
    actor        TEXT NOT NULL,
    action       TEXT NOT NULL, -- complete, release
    reason       TEXT NOT NULL,
    scope        TEXT COLLATE "C" NOT NULL,
    key          TEXT COLLATE "C" NOT NULL,
    record       TEXT NOT NULL, -- the record as it was, as JSON
    result       TEXT -- what it was completed with
);
CREATE INDEX IF NOT EXISTS idem_audit_key ON idem_audit (scope, key);
CREATE TABLE IF NOT EXISTS idem_token (
    hash         TEXT COLLATE "C" PRIMARY KEY, -- the SHA-256 of the token, which itself is nowhere
    purpose      TEXT COLLATE "C" NOT NULL,
    subject      TEXT COLLATE "C" NOT NULL, -- whom it was issued to
    created_at   TIMESTAMPTZ NOT NULL,
    expires_at   TIMESTAMPTZ NOT NULL,
    used_at      TIMESTAMPTZ,
    used_by      TEXT COLLATE "C" -- the request that has used it, if it said which it is
);
CREATE TABLE IF NOT EXISTS idem_lease (
    name         TEXT COLLATE "C" PRIMARY KEY,
    owner        TEXT NOT NULL,
    token        BIGINT NOT NULL, -- rises with each owner
    lease_until  TIMESTAMPTZ NOT NULL,
    updated_at   TIMESTAMPTZ NOT NULL
);

-- record: claim
WITH patience AS MATERIALIZED (
  SELECT current_setting('lock_timeout') AS before, set_config('lock_timeout', $5::text, TRUE) AS now
), claimed AS (
  INSERT INTO idem_record (scope, key, status, fingerprint, owner, created_at)
  SELECT $1, $2, 1, $3, $4, clock_timestamp()
    FROM patience
  ON CONFLICT (scope, key) DO NOTHING
  RETURNING 1 AS claimed
)
SELECT claimed.claimed AS claimed, seen.status AS status, seen.fingerprint AS fingerprint, seen.result AS result,
       seen.result_type AS result_type, CASE WHEN seen.result_until <= clock_timestamp() THEN 1 END AS gone,
       CASE WHEN seen.lease_until > clock_timestamp() THEN 1 END AS leased,
       set_config('lock_timeout', patience.before, TRUE) AS lock_timeout
  FROM patience
  LEFT JOIN claimed ON TRUE
  LEFT JOIN idem_record AS seen ON seen.scope = $1 AND seen.key = $2;

-- record: read
SELECT status, fingerprint, result, result_type, CASE WHEN result_until <= clock_timestamp() THEN 1 END AS gone,
       CASE WHEN lease_until > clock_timestamp() THEN 1 END AS leased
  FROM idem_record
 WHERE scope = $1 AND key = $2;

-- record: look
SELECT status, fingerprint, result, result_type, CASE WHEN result_until <= clock_timestamp() THEN 1 END AS gone,
       CASE WHEN lease_until > clock_timestamp() THEN 1 END AS leased
  FROM idem_record
 WHERE scope = $1 AND key = $2;

-- record: end
UPDATE idem_record
   SET status = $1, result = $2, result_type = $3, completed_at = clock_timestamp(),
       result_until = clock_timestamp() + $4::bigint * INTERVAL '1 second',
       key_until = clock_timestamp() + $5::bigint * INTERVAL '1 second'
 WHERE scope = $6 AND key = $7 AND owner = $8 AND status = 1;

-- record: doubt
INSERT INTO idem_record (scope, key, status, fingerprint, owner, created_at)
VALUES ($1, $2, 4, $3, $4, clock_timestamp())
ON CONFLICT (scope, key) DO UPDATE
   SET status = 4, result = NULL, result_type = NULL, completed_at = NULL, result_until = NULL, key_until = NULL
 WHERE idem_record.owner = excluded.owner;

-- record: claim all
WITH patience AS MATERIALIZED (
  SELECT current_setting('lock_timeout') AS before, set_config('lock_timeout', $4::text, TRUE) AS now
), asked AS MATERIALIZED (
  SELECT list.nth AS nth, list.it ->> 0 AS key, list.it ->> 1 AS fingerprint
    FROM patience
   CROSS JOIN json_array_elements($2::text::json) WITH ORDINALITY AS list (it, nth)
), claimed AS (
  INSERT INTO idem_record (scope, key, status, fingerprint, owner, created_at)
  SELECT $1, key, 1, fingerprint, $3, clock_timestamp()
    FROM asked
   ORDER BY nth
  ON CONFLICT (scope, key) DO NOTHING
  RETURNING key
), all_claimed AS MATERIALIZED (
  SELECT COUNT(*) AS number FROM claimed
)
SELECT asked.nth AS nth, CASE WHEN claimed.key IS NOT NULL THEN 1 END AS claimed, seen.status AS status,
       seen.fingerprint AS fingerprint, seen.result AS result, seen.result_type AS result_type,
       CASE WHEN seen.result_until <= clock_timestamp() THEN 1 END AS gone,
       CASE WHEN seen.lease_until > clock_timestamp() THEN 1 END AS leased,
       set_config('lock_timeout', patience.before, TRUE) AS lock_timeout
  FROM patience
 CROSS JOIN all_claimed
 CROSS JOIN asked
  LEFT JOIN claimed ON claimed.key = asked.key
  LEFT JOIN idem_record AS seen ON seen.scope = $1 AND seen.key = asked.key;

-- record: read all
SELECT list.nth AS nth, CASE WHEN seen.owner = $3 THEN 1 END AS claimed, seen.status AS status,
       seen.fingerprint AS fingerprint, seen.result AS result, seen.result_type AS result_type,
       CASE WHEN seen.result_until <= clock_timestamp() THEN 1 END AS gone,
       CASE WHEN seen.lease_until > clock_timestamp() THEN 1 END AS leased
  FROM json_array_elements($2::text::json) WITH ORDINALITY AS list (it, nth)
  JOIN idem_record AS seen ON seen.scope = $1 AND seen.key = list.it ->> 0;

-- record: look all
SELECT list.nth AS nth, CASE WHEN seen.owner = $3 THEN 1 END AS claimed, seen.status AS status,
       seen.fingerprint AS fingerprint, seen.result AS result, seen.result_type AS result_type,
       CASE WHEN seen.result_until <= clock_timestamp() THEN 1 END AS gone,
       CASE WHEN seen.lease_until > clock_timestamp() THEN 1 END AS leased
  FROM json_array_elements($2::text::json) WITH ORDINALITY AS list (it, nth)
  JOIN idem_record AS seen ON seen.scope = $1 AND seen.key = list.it ->> 0;

-- record: end all
UPDATE idem_record
   SET status = 2, result = list.it ->> 1, result_type = $2, completed_at = clock_timestamp(),
       result_until = clock_timestamp() + $3::bigint * INTERVAL '1 second',
       key_until = clock_timestamp() + $4::bigint * INTERVAL '1 second'
  FROM json_array_elements($1::text::json) AS list (it)
 WHERE scope = $5 AND key = list.it ->> 0 AND owner = $6 AND status = 1;
