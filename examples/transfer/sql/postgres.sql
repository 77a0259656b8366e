-- tables ------------------------------------------------------------------------------------------

CREATE TABLE transfers (
  transfer_id BIGINT NOT NULL PRIMARY KEY,
  provider VARCHAR(16) NOT NULL,
  amount BIGINT NOT NULL,
  status TEXT NOT NULL DEFAULT 'requested',
  version BIGINT NOT NULL DEFAULT 0,
  CONSTRAINT transfers_status_check CHECK (status IN ('requested', 'sent')),
  number VARCHAR(64)
);

-- TransferStatus ----------------------------------------------------------------------------------

-- book: Requested => Sent

-- TransferStatus: columns of the table
--   status TEXT NOT NULL DEFAULT 'requested',
--   version BIGINT NOT NULL DEFAULT 0,
--   CONSTRAINT transfers_status_check CHECK (status IN ('requested', 'sent'))

-- TransferStatus: widen
ALTER TABLE transfers
  DROP CONSTRAINT IF EXISTS transfers_status_check,
  ADD CONSTRAINT transfers_status_check CHECK (status IN ('requested', 'sent')) NOT VALID;
ALTER TABLE transfers
  VALIDATE CONSTRAINT transfers_status_check;

-- TransferStatus: history
CREATE TABLE IF NOT EXISTS transfers_history (
  transfer_id BIGINT NOT NULL,
  version BIGINT NOT NULL,
  source TEXT NOT NULL,
  target TEXT NOT NULL,
  event TEXT NOT NULL,
  cause TEXT COLLATE "C",
  fingerprint TEXT,
  at TIMESTAMPTZ NOT NULL,
  PRIMARY KEY (transfer_id, version),
  UNIQUE (transfer_id, event, cause)
);

-- TransferStatus: unknown values
SELECT status, COUNT(*) AS held
  FROM transfers
 WHERE status NOT IN ('requested', 'sent') OR status IS NULL
 GROUP BY status
 ORDER BY status;

-- TransferStatus: guard
CREATE OR REPLACE FUNCTION transfers_status_guard() RETURNS trigger LANGUAGE plpgsql AS $idem$
DECLARE
  source text;
  target text;
  moved jsonb;
BEGIN
  IF TG_OP = 'DELETE' THEN
    moved := jsonb_build_object('row', jsonb_build_array('transfers'::text, OLD.transfer_id), 'status', OLD.status::text);
    PERFORM set_config('idem.moved', moved::text, true);
    RETURN NULL;
  END IF;
  target := NEW.status::text;
  IF TG_OP = 'UPDATE' THEN
    source := OLD.status::text;
  ELSE
    moved := NULLIF(current_setting('idem.moved', true), '')::jsonb;
    IF moved -> 'row' = jsonb_build_array('transfers'::text, NEW.transfer_id) THEN
      source := moved ->> 'status';
      PERFORM set_config('idem.moved', '', true);
    END IF;
  END IF;
  IF source = target
     OR source = 'requested' AND target IN ('requested', 'sent')
     OR source = 'sent' AND target = 'sent'
     OR current_setting('idem.repair', true) = txid_current()::text THEN
    RETURN NULL;
  END IF;
  RAISE EXCEPTION USING
    ERRCODE = 'ID001',
    MESSAGE = CASE WHEN source IS NULL AND TG_OP = 'INSERT' THEN 'idem guard transfers_status_guard_04391423: not an initial state' ELSE 'idem guard transfers_status_guard_04391423: undeclared transition' END,
    DETAIL = format('%L to %L', source, target),
    SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, COLUMN = 'status', CONSTRAINT = 'transfers_status_guard_04391423';
END
$idem$;
DROP TRIGGER IF EXISTS transfers_status_guard_update ON transfers;
DROP TRIGGER IF EXISTS transfers_status_guard_insert ON transfers;
DROP TRIGGER IF EXISTS transfers_status_guard_delete ON transfers;
CREATE TRIGGER transfers_status_guard_update AFTER UPDATE ON transfers
  FOR EACH ROW WHEN (OLD.status::text IS DISTINCT FROM NEW.status::text) EXECUTE FUNCTION transfers_status_guard();
CREATE TRIGGER transfers_status_guard_insert AFTER INSERT ON transfers
  FOR EACH ROW WHEN ((NEW.status::text = 'requested') IS NOT TRUE) EXECUTE FUNCTION transfers_status_guard();
CREATE TRIGGER transfers_status_guard_delete AFTER DELETE ON transfers
  FOR EACH ROW WHEN (OLD.tableoid <> 'transfers'::regclass) EXECUTE FUNCTION transfers_status_guard();

-- TransferStatus: remove the guard
DROP TRIGGER IF EXISTS transfers_status_guard_update ON transfers;
DROP TRIGGER IF EXISTS transfers_status_guard_insert ON transfers;
DROP TRIGGER IF EXISTS transfers_status_guard_delete ON transfers;
DROP FUNCTION IF EXISTS transfers_status_guard();

-- TransferStatus: adopt
-- idem: transfers_status_version c81ad7ba
-- Programs that do not know the column go on: a row that they insert begins at 0.
ALTER TABLE "transfers"
  ADD COLUMN "version" BIGINT NOT NULL DEFAULT 0;

-- TransferStatus: adopt
-- idem: transfers_status_values dedb8ce0
-- Before the release that adds a value, after the one that removes one. No row may hold another value.
ALTER TABLE transfers
  DROP CONSTRAINT IF EXISTS transfers_status_check,
  ADD CONSTRAINT transfers_status_check CHECK (status IN ('requested', 'sent')) NOT VALID;

-- TransferStatus: adopt
-- idem: transfers_status_values_validated dedb8ce0
-- By itself: in one transaction with the step before, nobody could use the table meanwhile.
ALTER TABLE transfers
  VALIDATE CONSTRAINT transfers_status_check;

-- TransferStatus: adopt
-- idem: transfers_status_not_null a5f72199
-- Nothing to do where it is so already. A column that may be NULL keeps everybody waiting while the rows are
-- looked at, unless a valid CHECK (status IS NOT NULL) says so before.
ALTER TABLE "transfers"
  ALTER COLUMN "status" SET NOT NULL;

-- TransferStatus: which guard
SELECT CASE WHEN COUNT(*) < 3 THEN 'missing'
            WHEN SUM(CASE WHEN strpos(prosrc, '_guard_04391423') > 0 THEN 1 END) = 3 THEN 'installed'
            ELSE 'outdated' END AS guard
  FROM pg_trigger
  JOIN pg_proc ON pg_proc.oid = tgfoid
 WHERE tgrelid = to_regclass('transfers') AND tgenabled IN ('O', 'A') AND tgname IN ('transfers_status_guard_update', 'transfers_status_guard_insert', 'transfers_status_guard_delete');

-- TransferStatus: repair, lock
SELECT 1 AS one
  FROM transfers
 WHERE transfer_id = $1
   FOR UPDATE;

-- TransferStatus: repair, read
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.transfer_id = seen.transfer_id THEN 1 ELSE 0 END AS caused_here
  FROM transfers AS seen
  LEFT JOIN transfers_history AS caused
    ON caused.transfer_id = seen.transfer_id AND caused.event = 'repair' AND caused.cause = $2::text
 WHERE seen.transfer_id = $1;

-- TransferStatus: repair, open
SELECT set_config('idem.repair', txid_current()::text, true);

-- TransferStatus: repair, enter
INSERT INTO transfers_history (transfer_id, version, source, target, event, cause, fingerprint, at)
SELECT transfer_id, version + 1, COALESCE(status, ''), $1::text, 'repair', $2::text, $3::text, clock_timestamp()
  FROM transfers
 WHERE transfer_id = $4;

-- TransferStatus: repair, write
UPDATE transfers
   SET status = $1::text, version = version + 1
 WHERE transfer_id = $2;

-- TransferStatus: repair, close
SELECT set_config('idem.repair', '', true);

-- TransferStatus: load
SELECT status, version
  FROM transfers
 WHERE transfer_id = $1;

-- TransferStatus: lock
WITH patience AS MATERIALIZED (
  SELECT current_setting('lock_timeout') AS before, set_config('lock_timeout', $2::text, TRUE) AS now
), locked AS MATERIALIZED (
  SELECT seen.status AS status, seen.version AS version
    FROM patience, transfers AS seen
   WHERE seen.transfer_id = $1
     FOR UPDATE OF seen
)
SELECT locked.status AS status, locked.version AS version,
       set_config('lock_timeout', patience.before, TRUE) AS lock_timeout
  FROM patience
  LEFT JOIN locked ON TRUE;

-- TransferStatus: lock_now
SELECT status, version
  FROM transfers
 WHERE transfer_id = $1
   FOR UPDATE NOWAIT;

-- TransferStatus: book, fire
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, 1 AS here
    FROM transfers_history
   WHERE transfer_id = $2 AND event = 'book' AND cause = $3::text
), moved AS (
  UPDATE transfers
     SET status = 'sent', number = $1, version = version + 1
   WHERE transfer_id = $2 AND status = 'requested' AND NOT EXISTS (SELECT FROM caused)
  RETURNING transfer_id, version
), entered AS (
  INSERT INTO transfers_history (transfer_id, version, source, target, event, cause, fingerprint, at)
  SELECT transfer_id, version, 'requested', 'sent', 'book', $3::text, $4::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN transfers AS seen ON seen.transfer_id = $2
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- TransferStatus: book, fire_at
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, 1 AS here
    FROM transfers_history
   WHERE transfer_id = $2 AND event = 'book' AND cause = $3::text
), moved AS (
  UPDATE transfers
     SET status = 'sent', number = $1, version = version + 1
   WHERE transfer_id = $2 AND status = 'requested' AND version = $5 AND NOT EXISTS (SELECT FROM caused)
  RETURNING transfer_id, version
), entered AS (
  INSERT INTO transfers_history (transfer_id, version, source, target, event, cause, fingerprint, at)
  SELECT transfer_id, version, 'requested', 'sent', 'book', $3::text, $4::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN transfers AS seen ON seen.transfer_id = $2
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- TransferStatus: book, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM transfers AS seen
  LEFT JOIN transfers_history AS caused
    ON caused.transfer_id = $1 AND caused.event = 'book' AND caused.cause = $2::text
  LEFT JOIN transfers_history AS latest
    ON latest.transfer_id = $1
   AND latest.version = (SELECT MAX(version) FROM transfers_history WHERE transfer_id = $1)
  LEFT JOIN transfers_history AS passed
    ON passed.transfer_id = $1
   AND passed.version = (SELECT MAX(version) FROM transfers_history WHERE transfer_id = $1 AND target = 'sent')
 WHERE seen.transfer_id = $1;

-- TransferStatus: book, fire_all
WITH given AS MATERIALIZED (
  SELECT list.nth, id.transfer_id
    FROM json_array_elements($2::text::json) WITH ORDINALITY AS list (it, nth),
         json_populate_record(NULL::transfers, json_build_object('transfer_id', list.it)) AS id
), caused AS MATERIALIZED (
  SELECT given.nth, entry.version, entry.fingerprint
    FROM given
    JOIN transfers_history AS entry ON entry.transfer_id = given.transfer_id
   WHERE entry.event = 'book' AND entry.cause = $3::text
), locked AS MATERIALIZED (
  SELECT given.nth, seen.transfer_id, seen.status AS found_status, seen.version AS found_version
    FROM given
    JOIN transfers AS seen ON seen.transfer_id = given.transfer_id
   ORDER BY given.nth
     FOR UPDATE OF seen
), moved AS (
  UPDATE transfers
     SET status = 'sent', number = $1, version = transfers.version + 1
    FROM locked
   WHERE transfers.transfer_id = locked.transfer_id AND transfers.status = locked.found_status AND transfers.status = 'requested'
     AND NOT EXISTS (SELECT FROM caused WHERE caused.nth = locked.nth)
  RETURNING locked.nth, transfers.version, transfers.transfer_id, locked.found_status AS source
), entered AS (
  INSERT INTO transfers_history (transfer_id, version, source, target, event, cause, fingerprint, at)
  SELECT transfer_id, version, 'requested', 'sent', 'book', $3::text, $4::text, clock_timestamp()
    FROM moved
)
SELECT given.nth AS nth, moved.version AS applied, locked.found_status AS status, locked.found_version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM given
  LEFT JOIN locked ON locked.nth = given.nth
  LEFT JOIN moved ON moved.nth = given.nth
  LEFT JOIN caused ON caused.nth = given.nth;

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
       begun_writes = 0, updated_at = clock_timestamp()
 WHERE scope = $3 AND key = $4 AND owner = $5 AND status = $6 AND attempt = $7 AND attempt > 0
   AND begun IS NOT DISTINCT FROM $8 AND lease_until <= clock_timestamp();

-- record: mark
UPDATE idem_record
   SET status = $1, begun = $2, begun_writes = $3, lease_until = clock_timestamp() + $4::bigint * INTERVAL '1 millisecond',
       updated_at = clock_timestamp()
 WHERE scope = $5 AND key = $6 AND owner = $7 AND begun_writes <= $8 AND status IN (1, 4);

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
