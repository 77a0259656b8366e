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

-- record: end all
UPDATE idem_record
   SET status = 2, result = list.it ->> 1, result_type = $2, completed_at = clock_timestamp(),
       result_until = clock_timestamp() + $3::bigint * INTERVAL '1 second',
       key_until = clock_timestamp() + $4::bigint * INTERVAL '1 second'
  FROM json_array_elements($1::text::json) AS list (it)
 WHERE scope = $5 AND key = list.it ->> 0 AND owner = $6 AND status = 1;

-- record: lease
INSERT INTO idem_record (scope, key, status, fingerprint, owner, attempt, lease_until, created_at, updated_at)
VALUES ($1, $2, 1, $3, $4, 1, clock_timestamp() + $5::bigint * INTERVAL '1 millisecond',
        clock_timestamp(), clock_timestamp())
ON CONFLICT (scope, key) DO NOTHING;

-- record: seen
SELECT status, fingerprint, result, result_type, CASE WHEN result_until <= clock_timestamp() THEN 1 END AS gone,
       CASE WHEN lease_until > clock_timestamp() THEN 1 END AS leased, owner, attempt, begun
  FROM idem_record
 WHERE scope = $1 AND key = $2;

-- record: take over
UPDATE idem_record
   SET owner = $1, attempt = attempt + 1, lease_until = clock_timestamp() + $2::bigint * INTERVAL '1 millisecond',
       updated_at = clock_timestamp()
 WHERE scope = $3 AND key = $4 AND owner = $5 AND status = $6 AND attempt = $7 AND attempt > 0
   AND begun IS NOT DISTINCT FROM $8 AND lease_until <= clock_timestamp();

-- record: mark
UPDATE idem_record
   SET status = $1, begun = $2, lease_until = clock_timestamp() + $3::bigint * INTERVAL '1 millisecond',
       updated_at = clock_timestamp()
 WHERE scope = $4 AND key = $5 AND owner = $6 AND status IN (1, 4);

-- record: renew
WITH held AS MATERIALIZED (
  SELECT record.scope AS scope, record.key AS key, (list.it ->> 3)::bigint AS lease_ms
    FROM json_array_elements($1::text::json) AS list (it)
    JOIN idem_record AS record ON record.scope = list.it ->> 0 AND record.key = list.it ->> 1
   WHERE record.owner = list.it ->> 2 AND record.status IN (1, 4)
     FOR UPDATE OF record SKIP LOCKED
)
UPDATE idem_record
   SET lease_until = clock_timestamp() + held.lease_ms * INTERVAL '1 millisecond', updated_at = clock_timestamp()
  FROM held
 WHERE idem_record.scope = held.scope AND idem_record.key = held.key;

-- record: complete
UPDATE idem_record
   SET status = $1, result = $2, result_type = $3, completed_at = clock_timestamp(), updated_at = clock_timestamp(),
       result_until = clock_timestamp() + $4::bigint * INTERVAL '1 second',
       key_until = clock_timestamp() + $5::bigint * INTERVAL '1 second'
 WHERE scope = $6 AND key = $7 AND owner = $8 AND status IN (1, 4);

-- record: release
DELETE FROM idem_record
 WHERE scope = $1 AND key = $2 AND owner = $3 AND status IN (1, 4);

-- record: let go
UPDATE idem_record
   SET status = 4, begun = $1, owner = $2, lease_until = clock_timestamp(), updated_at = clock_timestamp()
 WHERE scope = $3 AND key = $4 AND owner = $5 AND status IN (1, 4);

-- record: operator, open
SELECT scope, key, status, attempt, owner, begun, fingerprint, result, result_type,
       (EXTRACT(EPOCH FROM clock_timestamp() - created_at) * 1000)::bigint AS age_ms,
       (EXTRACT(EPOCH FROM clock_timestamp() - COALESCE(updated_at, completed_at, created_at)) * 1000)::bigint
         AS unwritten_ms,
       CASE WHEN lease_until > clock_timestamp()
            THEN (EXTRACT(EPOCH FROM lease_until - clock_timestamp()) * 1000)::bigint END AS lease_ms,
       to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') AS created_text,
       to_char(updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') AS updated_text,
       to_char(lease_until AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') AS lease_text
  FROM idem_record
 WHERE (status = 4 OR (status = 1 AND lease_until <= clock_timestamp()))
   AND created_at <= clock_timestamp() - $1::bigint * INTERVAL '1 millisecond'
 ORDER BY created_at, scope, key
 LIMIT 1000;

-- record: operator, show
SELECT scope, key, status, attempt, owner, begun, fingerprint, result, result_type,
       (EXTRACT(EPOCH FROM clock_timestamp() - created_at) * 1000)::bigint AS age_ms,
       (EXTRACT(EPOCH FROM clock_timestamp() - COALESCE(updated_at, completed_at, created_at)) * 1000)::bigint
         AS unwritten_ms,
       CASE WHEN lease_until > clock_timestamp()
            THEN (EXTRACT(EPOCH FROM lease_until - clock_timestamp()) * 1000)::bigint END AS lease_ms,
       to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') AS created_text,
       to_char(updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') AS updated_text,
       to_char(lease_until AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') AS lease_text
  FROM idem_record
 WHERE scope = $1 AND key = $2;

-- record: operator, audit
SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') AS at_text, actor, action, reason, record, result
  FROM idem_audit
 WHERE scope = $1 AND key = $2
 ORDER BY id;

-- record: operator, complete
UPDATE idem_record
   SET status = 2, result = $1, result_type = $2, owner = $3, lease_until = clock_timestamp(),
       updated_at = clock_timestamp(), completed_at = clock_timestamp(), result_until = NULL, key_until = NULL
 WHERE scope = $4 AND key = $5 AND owner = $6 AND attempt = $7 AND status = $8 AND begun IS NOT DISTINCT FROM $9
   AND ($10 OR lease_until <= clock_timestamp());

-- record: operator, release
DELETE FROM idem_record
 WHERE scope = $1 AND key = $2 AND owner = $3 AND attempt = $4 AND status = $5 AND begun IS NOT DISTINCT FROM $6
   AND ($7 OR lease_until <= clock_timestamp());

-- record: operator, enter
INSERT INTO idem_audit (at, actor, action, reason, scope, key, record, result)
VALUES (clock_timestamp(), $1, $2, $3, $4, $5, $6, $7);

-- record: token, issue
INSERT INTO idem_token (hash, purpose, subject, created_at, expires_at)
VALUES ($1, $2, $3, clock_timestamp(), clock_timestamp() + $4::bigint * INTERVAL '1 millisecond');

-- record: token, consume
UPDATE idem_token
   SET used_at = clock_timestamp(), used_by = $1
 WHERE hash = $2 AND purpose = $3 AND subject = $4 AND used_at IS NULL AND expires_at > clock_timestamp();

-- record: token, read
SELECT purpose, subject, used_by, CASE WHEN used_at IS NOT NULL THEN 1 END AS used,
       CASE WHEN expires_at <= clock_timestamp() THEN 1 END AS expired
  FROM idem_token
 WHERE hash = $1;

-- record: lease, seen
SELECT token, CASE WHEN owner = $1 THEN 1 END AS ours, CASE WHEN lease_until > clock_timestamp() THEN 1 END AS leased
  FROM idem_lease
 WHERE name = $2;

-- record: lease, take
UPDATE idem_lease
   SET owner = $1, token = token + 1, lease_until = clock_timestamp() + $2::bigint * INTERVAL '1 millisecond',
       updated_at = clock_timestamp()
 WHERE name = $3 AND lease_until <= clock_timestamp();

-- record: lease, insert
INSERT INTO idem_lease (owner, token, lease_until, name, updated_at)
VALUES ($1, 1, clock_timestamp() + $2::bigint * INTERVAL '1 millisecond', $3, clock_timestamp())
ON CONFLICT (name) DO NOTHING;

-- record: lease, renew
UPDATE idem_lease
   SET lease_until = clock_timestamp() + $1::bigint * INTERVAL '1 millisecond', updated_at = clock_timestamp()
 WHERE name = $2 AND owner = $3;

-- record: lease, release
UPDATE idem_lease
   SET owner = $1, lease_until = clock_timestamp(), updated_at = clock_timestamp()
 WHERE name = $2 AND owner = $3;
