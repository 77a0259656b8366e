-- PaymentStatus -----------------------------------------------------------------------------------

-- capture: Waiting => Captured
-- capture: Closed => Captured
-- give_back: Captured => Captured
-- refuse: Captured => SetAside
-- refund: Captured => Refunded
-- refund: SetAside => Refunded
-- close: Waiting => Closed

-- PaymentStatus: columns of the table
--   status TEXT NOT NULL DEFAULT 'waiting',
--   version BIGINT NOT NULL DEFAULT 0,
--   CONSTRAINT payments_status_check CHECK (status IN ('waiting', 'captured', 'set_aside', 'refunded', 'closed'))

-- PaymentStatus: widen
ALTER TABLE payments
  DROP CONSTRAINT IF EXISTS payments_status_check,
  ADD CONSTRAINT payments_status_check CHECK (status IN ('waiting', 'captured', 'set_aside', 'refunded', 'closed')) NOT VALID;
ALTER TABLE payments
  VALIDATE CONSTRAINT payments_status_check;

-- PaymentStatus: history
CREATE TABLE IF NOT EXISTS payments_history (
  trade_no TEXT NOT NULL,
  version BIGINT NOT NULL,
  source TEXT NOT NULL,
  target TEXT NOT NULL,
  event TEXT NOT NULL,
  cause TEXT COLLATE "C",
  fingerprint TEXT,
  at TIMESTAMPTZ NOT NULL,
  PRIMARY KEY (trade_no, version),
  UNIQUE (trade_no, event, cause)
);

-- PaymentStatus: unknown values
SELECT status, COUNT(*) AS held
  FROM payments
 WHERE status NOT IN ('waiting', 'captured', 'set_aside', 'refunded', 'closed') OR status IS NULL
 GROUP BY status
 ORDER BY status;

-- PaymentStatus: guard
CREATE OR REPLACE FUNCTION payments_status_guard() RETURNS trigger LANGUAGE plpgsql AS $idem$
DECLARE
  source text;
  target text;
  moved jsonb;
BEGIN
  IF TG_OP = 'DELETE' THEN
    moved := jsonb_build_object('row', jsonb_build_array('payments'::text, OLD.trade_no), 'status', OLD.status::text);
    PERFORM set_config('idem.moved', moved::text, true);
    RETURN NULL;
  END IF;
  target := NEW.status::text;
  IF TG_OP = 'UPDATE' THEN
    source := OLD.status::text;
  ELSE
    moved := NULLIF(current_setting('idem.moved', true), '')::jsonb;
    IF moved -> 'row' = jsonb_build_array('payments'::text, NEW.trade_no) THEN
      source := moved ->> 'status';
      PERFORM set_config('idem.moved', '', true);
    END IF;
  END IF;
  IF source = target
     OR source = 'waiting' AND target IN ('waiting', 'captured', 'closed')
     OR source = 'captured' AND target IN ('captured', 'set_aside', 'refunded')
     OR source = 'set_aside' AND target IN ('set_aside', 'refunded')
     OR source = 'refunded' AND target = 'refunded'
     OR source = 'closed' AND target IN ('closed', 'captured')
     OR current_setting('idem.repair', true) = txid_current()::text THEN
    RETURN NULL;
  END IF;
  RAISE EXCEPTION USING
    ERRCODE = 'ID001',
    MESSAGE = CASE WHEN source IS NULL AND TG_OP = 'INSERT' THEN 'idem guard payments_status_guard_fa77679b: not an initial state' ELSE 'idem guard payments_status_guard_fa77679b: undeclared transition' END,
    DETAIL = format('%L to %L', source, target),
    SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, COLUMN = 'status', CONSTRAINT = 'payments_status_guard_fa77679b';
END
$idem$;
DROP TRIGGER IF EXISTS payments_status_guard_update ON payments;
DROP TRIGGER IF EXISTS payments_status_guard_insert ON payments;
DROP TRIGGER IF EXISTS payments_status_guard_delete ON payments;
CREATE TRIGGER payments_status_guard_update AFTER UPDATE ON payments
  FOR EACH ROW WHEN (OLD.status::text IS DISTINCT FROM NEW.status::text) EXECUTE FUNCTION payments_status_guard();
CREATE TRIGGER payments_status_guard_insert AFTER INSERT ON payments
  FOR EACH ROW WHEN ((NEW.status::text = 'waiting') IS NOT TRUE) EXECUTE FUNCTION payments_status_guard();
CREATE TRIGGER payments_status_guard_delete AFTER DELETE ON payments
  FOR EACH ROW WHEN (OLD.tableoid <> 'payments'::regclass) EXECUTE FUNCTION payments_status_guard();

-- PaymentStatus: remove the guard
DROP TRIGGER IF EXISTS payments_status_guard_update ON payments;
DROP TRIGGER IF EXISTS payments_status_guard_insert ON payments;
DROP TRIGGER IF EXISTS payments_status_guard_delete ON payments;
DROP FUNCTION IF EXISTS payments_status_guard();

-- PaymentStatus: adopt
-- idem: payments_status_version 51391f4b
-- Programs that do not know the column go on: a row that they insert begins at 0.
ALTER TABLE "payments"
  ADD COLUMN "version" BIGINT NOT NULL DEFAULT 0;

-- PaymentStatus: adopt
-- idem: payments_status_values e0e046c7
-- Before the release that adds a value, after the one that removes one. No row may hold another value.
ALTER TABLE payments
  DROP CONSTRAINT IF EXISTS payments_status_check,
  ADD CONSTRAINT payments_status_check CHECK (status IN ('waiting', 'captured', 'set_aside', 'refunded', 'closed')) NOT VALID;

-- PaymentStatus: adopt
-- idem: payments_status_values_validated e0e046c7
-- By itself: in one transaction with the step before, nobody could use the table meanwhile.
ALTER TABLE payments
  VALIDATE CONSTRAINT payments_status_check;

-- PaymentStatus: adopt
-- idem: payments_status_not_null 0a5e25c2
-- Nothing to do where it is so already. A column that may be NULL keeps everybody waiting while the rows are
-- looked at, unless a valid CHECK (status IS NOT NULL) says so before.
ALTER TABLE "payments"
  ALTER COLUMN "status" SET NOT NULL;

-- PaymentStatus: which guard
SELECT CASE WHEN COUNT(*) < 3 THEN 'missing'
            WHEN SUM(CASE WHEN strpos(prosrc, '_guard_fa77679b') > 0 THEN 1 END) = 3 THEN 'installed'
            ELSE 'outdated' END AS guard
  FROM pg_trigger
  JOIN pg_proc ON pg_proc.oid = tgfoid
 WHERE tgrelid = to_regclass('payments') AND tgenabled IN ('O', 'A') AND tgname IN ('payments_status_guard_update', 'payments_status_guard_insert', 'payments_status_guard_delete');

-- PaymentStatus: repair, lock
SELECT 1 AS one
  FROM payments
 WHERE trade_no = $1
   FOR UPDATE;

-- PaymentStatus: repair, read
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.trade_no = seen.trade_no THEN 1 ELSE 0 END AS caused_here
  FROM payments AS seen
  LEFT JOIN payments_history AS caused
    ON caused.trade_no = seen.trade_no AND caused.event = 'repair' AND caused.cause = $2::text
 WHERE seen.trade_no = $1;

-- PaymentStatus: repair, open
SELECT set_config('idem.repair', txid_current()::text, true);

-- PaymentStatus: repair, enter
INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
SELECT trade_no, version + 1, COALESCE(status, ''), $1::text, 'repair', $2::text, $3::text, clock_timestamp()
  FROM payments
 WHERE trade_no = $4;

-- PaymentStatus: repair, write
UPDATE payments
   SET status = $1::text, version = version + 1
 WHERE trade_no = $2;

-- PaymentStatus: repair, close
SELECT set_config('idem.repair', '', true);

-- PaymentStatus: load
SELECT status, version
  FROM payments
 WHERE trade_no = $1;

-- PaymentStatus: lock
WITH patience AS MATERIALIZED (
  SELECT current_setting('lock_timeout') AS before, set_config('lock_timeout', $2::text, TRUE) AS now
), locked AS MATERIALIZED (
  SELECT seen.status AS status, seen.version AS version
    FROM patience, payments AS seen
   WHERE seen.trade_no = $1
     FOR UPDATE OF seen
)
SELECT locked.status AS status, locked.version AS version,
       set_config('lock_timeout', patience.before, TRUE) AS lock_timeout
  FROM patience
  LEFT JOIN locked ON TRUE;

-- PaymentStatus: lock_now
SELECT status, version
  FROM payments
 WHERE trade_no = $1
   FOR UPDATE NOWAIT;

-- PaymentStatus: capture, fire
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, 1 AS here
    FROM payments_history
   WHERE trade_no = $3 AND event = 'capture' AND cause = $4::text
), locked AS MATERIALIZED (
  SELECT trade_no, status AS source
    FROM payments
   WHERE trade_no = $3 AND status IN ('waiting', 'closed') AND NOT EXISTS (SELECT FROM caused)
     FOR UPDATE
), moved AS (
  UPDATE payments
     SET status = 'captured', out_trade_no = $1, amount = $2, captured_at = clock_timestamp(), version = payments.version + 1
    FROM locked
   WHERE payments.trade_no = locked.trade_no AND payments.status = locked.source
  RETURNING payments.trade_no, payments.version, locked.source AS source
), entered AS (
  INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
  SELECT trade_no, version, source, 'captured', 'capture', $4::text, $5::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN payments AS seen ON seen.trade_no = $3
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- PaymentStatus: capture, fire_at
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, 1 AS here
    FROM payments_history
   WHERE trade_no = $3 AND event = 'capture' AND cause = $4::text
), locked AS MATERIALIZED (
  SELECT trade_no, status AS source
    FROM payments
   WHERE trade_no = $3 AND status IN ('waiting', 'closed') AND version = $6 AND NOT EXISTS (SELECT FROM caused)
     FOR UPDATE
), moved AS (
  UPDATE payments
     SET status = 'captured', out_trade_no = $1, amount = $2, captured_at = clock_timestamp(), version = payments.version + 1
    FROM locked
   WHERE payments.trade_no = locked.trade_no AND payments.status = locked.source AND payments.version = $6
  RETURNING payments.trade_no, payments.version, locked.source AS source
), entered AS (
  INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
  SELECT trade_no, version, source, 'captured', 'capture', $4::text, $5::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN payments AS seen ON seen.trade_no = $3
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- PaymentStatus: capture, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM payments AS seen
  LEFT JOIN payments_history AS caused
    ON caused.trade_no = $1 AND caused.event = 'capture' AND caused.cause = $2::text
  LEFT JOIN payments_history AS latest
    ON latest.trade_no = $1
   AND latest.version = (SELECT MAX(version) FROM payments_history WHERE trade_no = $1)
  LEFT JOIN payments_history AS passed
    ON passed.trade_no = $1
   AND passed.version = (SELECT MAX(version) FROM payments_history WHERE trade_no = $1 AND target = 'captured')
 WHERE seen.trade_no = $1;

-- PaymentStatus: capture, fire_all
WITH given AS MATERIALIZED (
  SELECT list.nth, id.trade_no
    FROM json_array_elements($3::text::json) WITH ORDINALITY AS list (it, nth),
         json_populate_record(NULL::payments, json_build_object('trade_no', list.it)) AS id
), caused AS MATERIALIZED (
  SELECT given.nth, entry.version, entry.fingerprint
    FROM given
    JOIN payments_history AS entry ON entry.trade_no = given.trade_no
   WHERE entry.event = 'capture' AND entry.cause = $4::text
), locked AS MATERIALIZED (
  SELECT given.nth, seen.trade_no, seen.status AS found_status, seen.version AS found_version
    FROM given
    JOIN payments AS seen ON seen.trade_no = given.trade_no
   ORDER BY given.nth
     FOR UPDATE OF seen
), moved AS (
  UPDATE payments
     SET status = 'captured', out_trade_no = $1, amount = $2, captured_at = clock_timestamp(), version = payments.version + 1
    FROM locked
   WHERE payments.trade_no = locked.trade_no AND payments.status = locked.found_status AND payments.status IN ('waiting', 'closed')
     AND NOT EXISTS (SELECT FROM caused WHERE caused.nth = locked.nth)
  RETURNING locked.nth, payments.version, payments.trade_no, locked.found_status AS source
), entered AS (
  INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
  SELECT trade_no, version, source, 'captured', 'capture', $4::text, $5::text, clock_timestamp()
    FROM moved
)
SELECT given.nth AS nth, moved.version AS applied, locked.found_status AS status, locked.found_version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM given
  LEFT JOIN locked ON locked.nth = given.nth
  LEFT JOIN moved ON moved.nth = given.nth
  LEFT JOIN caused ON caused.nth = given.nth;

-- PaymentStatus: give_back, fire
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, 1 AS here
    FROM payments_history
   WHERE trade_no = $2 AND event = 'give_back' AND cause = $3::text
), moved AS (
  UPDATE payments
     SET status = 'captured', refunded = $1, version = version + 1
   WHERE trade_no = $2 AND status = 'captured' AND NOT EXISTS (SELECT FROM caused)
  RETURNING trade_no, version
), entered AS (
  INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
  SELECT trade_no, version, 'captured', 'captured', 'give_back', $3::text, $4::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN payments AS seen ON seen.trade_no = $2
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- PaymentStatus: give_back, fire_at
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, 1 AS here
    FROM payments_history
   WHERE trade_no = $2 AND event = 'give_back' AND cause = $3::text
), moved AS (
  UPDATE payments
     SET status = 'captured', refunded = $1, version = version + 1
   WHERE trade_no = $2 AND status = 'captured' AND version = $5 AND NOT EXISTS (SELECT FROM caused)
  RETURNING trade_no, version
), entered AS (
  INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
  SELECT trade_no, version, 'captured', 'captured', 'give_back', $3::text, $4::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN payments AS seen ON seen.trade_no = $2
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- PaymentStatus: give_back, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM payments AS seen
  LEFT JOIN payments_history AS caused
    ON caused.trade_no = $1 AND caused.event = 'give_back' AND caused.cause = $2::text
  LEFT JOIN payments_history AS latest
    ON latest.trade_no = $1
   AND latest.version = (SELECT MAX(version) FROM payments_history WHERE trade_no = $1)
  LEFT JOIN payments_history AS passed
    ON passed.trade_no = $1
   AND passed.version = (SELECT MAX(version) FROM payments_history WHERE trade_no = $1 AND target = 'captured')
 WHERE seen.trade_no = $1;

-- PaymentStatus: give_back, fire_all
WITH given AS MATERIALIZED (
  SELECT list.nth, id.trade_no
    FROM json_array_elements($2::text::json) WITH ORDINALITY AS list (it, nth),
         json_populate_record(NULL::payments, json_build_object('trade_no', list.it)) AS id
), caused AS MATERIALIZED (
  SELECT given.nth, entry.version, entry.fingerprint
    FROM given
    JOIN payments_history AS entry ON entry.trade_no = given.trade_no
   WHERE entry.event = 'give_back' AND entry.cause = $3::text
), locked AS MATERIALIZED (
  SELECT given.nth, seen.trade_no, seen.status AS found_status, seen.version AS found_version
    FROM given
    JOIN payments AS seen ON seen.trade_no = given.trade_no
   ORDER BY given.nth
     FOR UPDATE OF seen
), moved AS (
  UPDATE payments
     SET status = 'captured', refunded = $1, version = payments.version + 1
    FROM locked
   WHERE payments.trade_no = locked.trade_no AND payments.status = locked.found_status AND payments.status = 'captured'
     AND NOT EXISTS (SELECT FROM caused WHERE caused.nth = locked.nth)
  RETURNING locked.nth, payments.version, payments.trade_no, locked.found_status AS source
), entered AS (
  INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
  SELECT trade_no, version, 'captured', 'captured', 'give_back', $3::text, $4::text, clock_timestamp()
    FROM moved
)
SELECT given.nth AS nth, moved.version AS applied, locked.found_status AS status, locked.found_version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM given
  LEFT JOIN locked ON locked.nth = given.nth
  LEFT JOIN moved ON moved.nth = given.nth
  LEFT JOIN caused ON caused.nth = given.nth;

-- PaymentStatus: refuse, fire
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, 1 AS here
    FROM payments_history
   WHERE trade_no = $2 AND event = 'refuse' AND cause = $3::text
), moved AS (
  UPDATE payments
     SET status = 'set_aside', reason = $1, version = version + 1
   WHERE trade_no = $2 AND status = 'captured' AND NOT EXISTS (SELECT FROM caused)
  RETURNING trade_no, version
), entered AS (
  INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
  SELECT trade_no, version, 'captured', 'set_aside', 'refuse', $3::text, $4::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN payments AS seen ON seen.trade_no = $2
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- PaymentStatus: refuse, fire_at
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, 1 AS here
    FROM payments_history
   WHERE trade_no = $2 AND event = 'refuse' AND cause = $3::text
), moved AS (
  UPDATE payments
     SET status = 'set_aside', reason = $1, version = version + 1
   WHERE trade_no = $2 AND status = 'captured' AND version = $5 AND NOT EXISTS (SELECT FROM caused)
  RETURNING trade_no, version
), entered AS (
  INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
  SELECT trade_no, version, 'captured', 'set_aside', 'refuse', $3::text, $4::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN payments AS seen ON seen.trade_no = $2
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- PaymentStatus: refuse, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM payments AS seen
  LEFT JOIN payments_history AS caused
    ON caused.trade_no = $1 AND caused.event = 'refuse' AND caused.cause = $2::text
  LEFT JOIN payments_history AS latest
    ON latest.trade_no = $1
   AND latest.version = (SELECT MAX(version) FROM payments_history WHERE trade_no = $1)
  LEFT JOIN payments_history AS passed
    ON passed.trade_no = $1
   AND passed.version = (SELECT MAX(version) FROM payments_history WHERE trade_no = $1 AND target = 'set_aside')
 WHERE seen.trade_no = $1;

-- PaymentStatus: refuse, fire_all
WITH given AS MATERIALIZED (
  SELECT list.nth, id.trade_no
    FROM json_array_elements($2::text::json) WITH ORDINALITY AS list (it, nth),
         json_populate_record(NULL::payments, json_build_object('trade_no', list.it)) AS id
), caused AS MATERIALIZED (
  SELECT given.nth, entry.version, entry.fingerprint
    FROM given
    JOIN payments_history AS entry ON entry.trade_no = given.trade_no
   WHERE entry.event = 'refuse' AND entry.cause = $3::text
), locked AS MATERIALIZED (
  SELECT given.nth, seen.trade_no, seen.status AS found_status, seen.version AS found_version
    FROM given
    JOIN payments AS seen ON seen.trade_no = given.trade_no
   ORDER BY given.nth
     FOR UPDATE OF seen
), moved AS (
  UPDATE payments
     SET status = 'set_aside', reason = $1, version = payments.version + 1
    FROM locked
   WHERE payments.trade_no = locked.trade_no AND payments.status = locked.found_status AND payments.status = 'captured'
     AND NOT EXISTS (SELECT FROM caused WHERE caused.nth = locked.nth)
  RETURNING locked.nth, payments.version, payments.trade_no, locked.found_status AS source
), entered AS (
  INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
  SELECT trade_no, version, 'captured', 'set_aside', 'refuse', $3::text, $4::text, clock_timestamp()
    FROM moved
)
SELECT given.nth AS nth, moved.version AS applied, locked.found_status AS status, locked.found_version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM given
  LEFT JOIN locked ON locked.nth = given.nth
  LEFT JOIN moved ON moved.nth = given.nth
  LEFT JOIN caused ON caused.nth = given.nth;

-- PaymentStatus: refund, fire
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, 1 AS here
    FROM payments_history
   WHERE trade_no = $2 AND event = 'refund' AND cause = $3::text
), locked AS MATERIALIZED (
  SELECT trade_no, status AS source
    FROM payments
   WHERE trade_no = $2 AND status IN ('captured', 'set_aside') AND NOT EXISTS (SELECT FROM caused)
     FOR UPDATE
), moved AS (
  UPDATE payments
     SET status = 'refunded', refunded = $1, version = payments.version + 1
    FROM locked
   WHERE payments.trade_no = locked.trade_no AND payments.status = locked.source
  RETURNING payments.trade_no, payments.version, locked.source AS source
), entered AS (
  INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
  SELECT trade_no, version, source, 'refunded', 'refund', $3::text, $4::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN payments AS seen ON seen.trade_no = $2
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- PaymentStatus: refund, fire_at
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, 1 AS here
    FROM payments_history
   WHERE trade_no = $2 AND event = 'refund' AND cause = $3::text
), locked AS MATERIALIZED (
  SELECT trade_no, status AS source
    FROM payments
   WHERE trade_no = $2 AND status IN ('captured', 'set_aside') AND version = $5 AND NOT EXISTS (SELECT FROM caused)
     FOR UPDATE
), moved AS (
  UPDATE payments
     SET status = 'refunded', refunded = $1, version = payments.version + 1
    FROM locked
   WHERE payments.trade_no = locked.trade_no AND payments.status = locked.source AND payments.version = $5
  RETURNING payments.trade_no, payments.version, locked.source AS source
), entered AS (
  INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
  SELECT trade_no, version, source, 'refunded', 'refund', $3::text, $4::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN payments AS seen ON seen.trade_no = $2
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- PaymentStatus: refund, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM payments AS seen
  LEFT JOIN payments_history AS caused
    ON caused.trade_no = $1 AND caused.event = 'refund' AND caused.cause = $2::text
  LEFT JOIN payments_history AS latest
    ON latest.trade_no = $1
   AND latest.version = (SELECT MAX(version) FROM payments_history WHERE trade_no = $1)
  LEFT JOIN payments_history AS passed
    ON passed.trade_no = $1
   AND passed.version = (SELECT MAX(version) FROM payments_history WHERE trade_no = $1 AND target = 'refunded')
 WHERE seen.trade_no = $1;

-- PaymentStatus: refund, fire_all
WITH given AS MATERIALIZED (
  SELECT list.nth, id.trade_no
    FROM json_array_elements($2::text::json) WITH ORDINALITY AS list (it, nth),
         json_populate_record(NULL::payments, json_build_object('trade_no', list.it)) AS id
), caused AS MATERIALIZED (
  SELECT given.nth, entry.version, entry.fingerprint
    FROM given
    JOIN payments_history AS entry ON entry.trade_no = given.trade_no
   WHERE entry.event = 'refund' AND entry.cause = $3::text
), locked AS MATERIALIZED (
  SELECT given.nth, seen.trade_no, seen.status AS found_status, seen.version AS found_version
    FROM given
    JOIN payments AS seen ON seen.trade_no = given.trade_no
   ORDER BY given.nth
     FOR UPDATE OF seen
), moved AS (
  UPDATE payments
     SET status = 'refunded', refunded = $1, version = payments.version + 1
    FROM locked
   WHERE payments.trade_no = locked.trade_no AND payments.status = locked.found_status AND payments.status IN ('captured', 'set_aside')
     AND NOT EXISTS (SELECT FROM caused WHERE caused.nth = locked.nth)
  RETURNING locked.nth, payments.version, payments.trade_no, locked.found_status AS source
), entered AS (
  INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
  SELECT trade_no, version, source, 'refunded', 'refund', $3::text, $4::text, clock_timestamp()
    FROM moved
)
SELECT given.nth AS nth, moved.version AS applied, locked.found_status AS status, locked.found_version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM given
  LEFT JOIN locked ON locked.nth = given.nth
  LEFT JOIN moved ON moved.nth = given.nth
  LEFT JOIN caused ON caused.nth = given.nth;

-- PaymentStatus: close, fire
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, 1 AS here
    FROM payments_history
   WHERE trade_no = $1 AND event = 'close' AND cause = $2::text
), moved AS (
  UPDATE payments
     SET status = 'closed', version = version + 1
   WHERE trade_no = $1 AND status = 'waiting' AND NOT EXISTS (SELECT FROM caused)
  RETURNING trade_no, version
), entered AS (
  INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
  SELECT trade_no, version, 'waiting', 'closed', 'close', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN payments AS seen ON seen.trade_no = $1
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- PaymentStatus: close, fire_at
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, 1 AS here
    FROM payments_history
   WHERE trade_no = $1 AND event = 'close' AND cause = $2::text
), moved AS (
  UPDATE payments
     SET status = 'closed', version = version + 1
   WHERE trade_no = $1 AND status = 'waiting' AND version = $4 AND NOT EXISTS (SELECT FROM caused)
  RETURNING trade_no, version
), entered AS (
  INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
  SELECT trade_no, version, 'waiting', 'closed', 'close', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN payments AS seen ON seen.trade_no = $1
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- PaymentStatus: close, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM payments AS seen
  LEFT JOIN payments_history AS caused
    ON caused.trade_no = $1 AND caused.event = 'close' AND caused.cause = $2::text
  LEFT JOIN payments_history AS latest
    ON latest.trade_no = $1
   AND latest.version = (SELECT MAX(version) FROM payments_history WHERE trade_no = $1)
  LEFT JOIN payments_history AS passed
    ON passed.trade_no = $1
   AND passed.version = (SELECT MAX(version) FROM payments_history WHERE trade_no = $1 AND target = 'closed')
 WHERE seen.trade_no = $1;

-- PaymentStatus: close, fire_all
WITH given AS MATERIALIZED (
  SELECT list.nth, id.trade_no
    FROM json_array_elements($1::text::json) WITH ORDINALITY AS list (it, nth),
         json_populate_record(NULL::payments, json_build_object('trade_no', list.it)) AS id
), caused AS MATERIALIZED (
  SELECT given.nth, entry.version, entry.fingerprint
    FROM given
    JOIN payments_history AS entry ON entry.trade_no = given.trade_no
   WHERE entry.event = 'close' AND entry.cause = $2::text
), locked AS MATERIALIZED (
  SELECT given.nth, seen.trade_no, seen.status AS found_status, seen.version AS found_version
    FROM given
    JOIN payments AS seen ON seen.trade_no = given.trade_no
   ORDER BY given.nth
     FOR UPDATE OF seen
), moved AS (
  UPDATE payments
     SET status = 'closed', version = payments.version + 1
    FROM locked
   WHERE payments.trade_no = locked.trade_no AND payments.status = locked.found_status AND payments.status = 'waiting'
     AND NOT EXISTS (SELECT FROM caused WHERE caused.nth = locked.nth)
  RETURNING locked.nth, payments.version, payments.trade_no, locked.found_status AS source
), entered AS (
  INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
  SELECT trade_no, version, 'waiting', 'closed', 'close', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT given.nth AS nth, moved.version AS applied, locked.found_status AS status, locked.found_version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM given
  LEFT JOIN locked ON locked.nth = given.nth
  LEFT JOIN moved ON moved.nth = given.nth
  LEFT JOIN caused ON caused.nth = given.nth;

-- OrderStatus -------------------------------------------------------------------------------------

-- pay: Pending => Paid
-- ship: Paid => Shipped
-- finish: Shipped => Done
-- cancel: Pending => Cancelled
-- refund: Paid => Refunded
-- refund: Shipped => Refunded

-- OrderStatus: columns of the table
--   status TEXT NOT NULL DEFAULT 'pending',
--   version BIGINT NOT NULL DEFAULT 0,
--   CONSTRAINT orders_status_check CHECK (status IN ('pending', 'paid', 'shipped', 'done', 'cancelled', 'refunded'))

-- OrderStatus: widen
ALTER TABLE orders
  DROP CONSTRAINT IF EXISTS orders_status_check,
  ADD CONSTRAINT orders_status_check CHECK (status IN ('pending', 'paid', 'shipped', 'done', 'cancelled', 'refunded')) NOT VALID;
ALTER TABLE orders
  VALIDATE CONSTRAINT orders_status_check;

-- OrderStatus: history
CREATE TABLE IF NOT EXISTS orders_history (
  out_trade_no TEXT NOT NULL,
  version BIGINT NOT NULL,
  source TEXT NOT NULL,
  target TEXT NOT NULL,
  event TEXT NOT NULL,
  cause TEXT COLLATE "C",
  fingerprint TEXT,
  at TIMESTAMPTZ NOT NULL,
  PRIMARY KEY (out_trade_no, version),
  UNIQUE (event, cause)
);

-- OrderStatus: unknown values
SELECT status, COUNT(*) AS held
  FROM orders
 WHERE status NOT IN ('pending', 'paid', 'shipped', 'done', 'cancelled', 'refunded') OR status IS NULL
 GROUP BY status
 ORDER BY status;

-- OrderStatus: guard
CREATE OR REPLACE FUNCTION orders_status_guard() RETURNS trigger LANGUAGE plpgsql AS $idem$
DECLARE
  source text;
  target text;
  moved jsonb;
BEGIN
  IF TG_OP = 'DELETE' THEN
    moved := jsonb_build_object('row', jsonb_build_array('orders'::text, OLD.out_trade_no), 'status', OLD.status::text);
    PERFORM set_config('idem.moved', moved::text, true);
    RETURN NULL;
  END IF;
  target := NEW.status::text;
  IF TG_OP = 'UPDATE' THEN
    source := OLD.status::text;
  ELSE
    moved := NULLIF(current_setting('idem.moved', true), '')::jsonb;
    IF moved -> 'row' = jsonb_build_array('orders'::text, NEW.out_trade_no) THEN
      source := moved ->> 'status';
      PERFORM set_config('idem.moved', '', true);
    END IF;
  END IF;
  IF source = target
     OR source = 'pending' AND target IN ('pending', 'paid', 'cancelled')
     OR source = 'paid' AND target IN ('paid', 'shipped', 'refunded')
     OR source = 'shipped' AND target IN ('shipped', 'done', 'refunded')
     OR source = 'done' AND target = 'done'
     OR source = 'cancelled' AND target = 'cancelled'
     OR source = 'refunded' AND target = 'refunded'
     OR current_setting('idem.repair', true) = txid_current()::text THEN
    RETURN NULL;
  END IF;
  RAISE EXCEPTION USING
    ERRCODE = 'ID001',
    MESSAGE = CASE WHEN source IS NULL AND TG_OP = 'INSERT' THEN 'idem guard orders_status_guard_cb83f9a5: not an initial state' ELSE 'idem guard orders_status_guard_cb83f9a5: undeclared transition' END,
    DETAIL = format('%L to %L', source, target),
    SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, COLUMN = 'status', CONSTRAINT = 'orders_status_guard_cb83f9a5';
END
$idem$;
DROP TRIGGER IF EXISTS orders_status_guard_update ON orders;
DROP TRIGGER IF EXISTS orders_status_guard_insert ON orders;
DROP TRIGGER IF EXISTS orders_status_guard_delete ON orders;
CREATE TRIGGER orders_status_guard_update AFTER UPDATE ON orders
  FOR EACH ROW WHEN (OLD.status::text IS DISTINCT FROM NEW.status::text) EXECUTE FUNCTION orders_status_guard();
CREATE TRIGGER orders_status_guard_insert AFTER INSERT ON orders
  FOR EACH ROW WHEN ((NEW.status::text = 'pending') IS NOT TRUE) EXECUTE FUNCTION orders_status_guard();
CREATE TRIGGER orders_status_guard_delete AFTER DELETE ON orders
  FOR EACH ROW WHEN (OLD.tableoid <> 'orders'::regclass) EXECUTE FUNCTION orders_status_guard();

-- OrderStatus: remove the guard
DROP TRIGGER IF EXISTS orders_status_guard_update ON orders;
DROP TRIGGER IF EXISTS orders_status_guard_insert ON orders;
DROP TRIGGER IF EXISTS orders_status_guard_delete ON orders;
DROP FUNCTION IF EXISTS orders_status_guard();

-- OrderStatus: adopt
-- idem: orders_status_version 38ff3703
-- Programs that do not know the column go on: a row that they insert begins at 0.
ALTER TABLE "orders"
  ADD COLUMN "version" BIGINT NOT NULL DEFAULT 0;

-- OrderStatus: adopt
-- idem: orders_status_values f0aad7b4
-- Before the release that adds a value, after the one that removes one. No row may hold another value.
ALTER TABLE orders
  DROP CONSTRAINT IF EXISTS orders_status_check,
  ADD CONSTRAINT orders_status_check CHECK (status IN ('pending', 'paid', 'shipped', 'done', 'cancelled', 'refunded')) NOT VALID;

-- OrderStatus: adopt
-- idem: orders_status_values_validated f0aad7b4
-- By itself: in one transaction with the step before, nobody could use the table meanwhile.
ALTER TABLE orders
  VALIDATE CONSTRAINT orders_status_check;

-- OrderStatus: adopt
-- idem: orders_status_not_null f0a24df0
-- Nothing to do where it is so already. A column that may be NULL keeps everybody waiting while the rows are
-- looked at, unless a valid CHECK (status IS NOT NULL) says so before.
ALTER TABLE "orders"
  ALTER COLUMN "status" SET NOT NULL;

-- OrderStatus: which guard
SELECT CASE WHEN COUNT(*) < 3 THEN 'missing'
            WHEN SUM(CASE WHEN strpos(prosrc, '_guard_cb83f9a5') > 0 THEN 1 END) = 3 THEN 'installed'
            ELSE 'outdated' END AS guard
  FROM pg_trigger
  JOIN pg_proc ON pg_proc.oid = tgfoid
 WHERE tgrelid = to_regclass('orders') AND tgenabled IN ('O', 'A') AND tgname IN ('orders_status_guard_update', 'orders_status_guard_insert', 'orders_status_guard_delete');

-- OrderStatus: repair, lock
SELECT 1 AS one
  FROM orders
 WHERE out_trade_no = $1
   FOR UPDATE;

-- OrderStatus: repair, read
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.out_trade_no = seen.out_trade_no THEN 1 ELSE 0 END AS caused_here
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.event = 'repair' AND caused.cause = $2::text
 WHERE seen.out_trade_no = $1;

-- OrderStatus: repair, open
SELECT set_config('idem.repair', txid_current()::text, true);

-- OrderStatus: repair, enter
INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
SELECT out_trade_no, version + 1, COALESCE(status, ''), $1::text, 'repair', $2::text, $3::text, clock_timestamp()
  FROM orders
 WHERE out_trade_no = $4;

-- OrderStatus: repair, write
UPDATE orders
   SET status = $1::text, version = version + 1
 WHERE out_trade_no = $2;

-- OrderStatus: repair, close
SELECT set_config('idem.repair', '', true);

-- OrderStatus: load
SELECT status, version
  FROM orders
 WHERE out_trade_no = $1;

-- OrderStatus: lock
WITH patience AS MATERIALIZED (
  SELECT current_setting('lock_timeout') AS before, set_config('lock_timeout', $2::text, TRUE) AS now
), locked AS MATERIALIZED (
  SELECT seen.status AS status, seen.version AS version
    FROM patience, orders AS seen
   WHERE seen.out_trade_no = $1
     FOR UPDATE OF seen
)
SELECT locked.status AS status, locked.version AS version,
       set_config('lock_timeout', patience.before, TRUE) AS lock_timeout
  FROM patience
  LEFT JOIN locked ON TRUE;

-- OrderStatus: lock_now
SELECT status, version
  FROM orders
 WHERE out_trade_no = $1
   FOR UPDATE NOWAIT;

-- OrderStatus: pay, fire
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, CASE WHEN out_trade_no = $2 THEN 1 ELSE 0 END AS here
    FROM orders_history
   WHERE event = 'pay' AND cause = $3::text
), moved AS (
  UPDATE orders
     SET status = 'paid', trade_no = $1, paid_at = clock_timestamp(), version = version + 1
   WHERE out_trade_no = $2 AND status = 'pending' AND NOT EXISTS (SELECT FROM caused)
  RETURNING out_trade_no, version
), entered AS (
  INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
  SELECT out_trade_no, version, 'pending', 'paid', 'pay', $3::text, $4::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN orders AS seen ON seen.out_trade_no = $2
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- OrderStatus: pay, fire_at
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, CASE WHEN out_trade_no = $2 THEN 1 ELSE 0 END AS here
    FROM orders_history
   WHERE event = 'pay' AND cause = $3::text
), moved AS (
  UPDATE orders
     SET status = 'paid', trade_no = $1, paid_at = clock_timestamp(), version = version + 1
   WHERE out_trade_no = $2 AND status = 'pending' AND version = $5 AND NOT EXISTS (SELECT FROM caused)
  RETURNING out_trade_no, version
), entered AS (
  INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
  SELECT out_trade_no, version, 'pending', 'paid', 'pay', $3::text, $4::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN orders AS seen ON seen.out_trade_no = $2
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- OrderStatus: pay, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.out_trade_no = seen.out_trade_no THEN 1 ELSE 0 END AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.event = 'pay' AND caused.cause = $2::text
  LEFT JOIN orders_history AS latest
    ON latest.out_trade_no = $1
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE out_trade_no = $1)
  LEFT JOIN orders_history AS passed
    ON passed.out_trade_no = $1
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE out_trade_no = $1 AND target = 'paid')
 WHERE seen.out_trade_no = $1;

-- OrderStatus: pay, fire_all
WITH given AS MATERIALIZED (
  SELECT list.nth, id.out_trade_no
    FROM json_array_elements($2::text::json) WITH ORDINALITY AS list (it, nth),
         json_populate_record(NULL::orders, json_build_object('out_trade_no', list.it)) AS id
), caused AS MATERIALIZED (
  SELECT given.nth, entry.version, entry.fingerprint
    FROM given
    JOIN orders_history AS entry ON entry.out_trade_no = given.out_trade_no
   WHERE entry.event = 'pay' AND entry.cause = $3::text
), locked AS MATERIALIZED (
  SELECT given.nth, seen.out_trade_no, seen.status AS found_status, seen.version AS found_version
    FROM given
    JOIN orders AS seen ON seen.out_trade_no = given.out_trade_no
   ORDER BY given.nth
     FOR UPDATE OF seen
), moved AS (
  UPDATE orders
     SET status = 'paid', trade_no = $1, paid_at = clock_timestamp(), version = orders.version + 1
    FROM locked
   WHERE orders.out_trade_no = locked.out_trade_no AND orders.status = locked.found_status AND orders.status = 'pending'
     AND NOT EXISTS (SELECT FROM caused WHERE caused.nth = locked.nth)
  RETURNING locked.nth, orders.version, orders.out_trade_no, locked.found_status AS source
), entered AS (
  INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
  SELECT out_trade_no, version, 'pending', 'paid', 'pay', $3::text, $4::text, clock_timestamp()
    FROM moved
)
SELECT given.nth AS nth, moved.version AS applied, locked.found_status AS status, locked.found_version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM given
  LEFT JOIN locked ON locked.nth = given.nth
  LEFT JOIN moved ON moved.nth = given.nth
  LEFT JOIN caused ON caused.nth = given.nth;

-- OrderStatus: ship, fire
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, CASE WHEN out_trade_no = $1 THEN 1 ELSE 0 END AS here
    FROM orders_history
   WHERE event = 'ship' AND cause = $2::text
), moved AS (
  UPDATE orders
     SET status = 'shipped', shipped_at = clock_timestamp(), version = version + 1
   WHERE out_trade_no = $1 AND status = 'paid' AND NOT EXISTS (SELECT FROM caused)
  RETURNING out_trade_no, version
), entered AS (
  INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
  SELECT out_trade_no, version, 'paid', 'shipped', 'ship', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN orders AS seen ON seen.out_trade_no = $1
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- OrderStatus: ship, fire_at
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, CASE WHEN out_trade_no = $1 THEN 1 ELSE 0 END AS here
    FROM orders_history
   WHERE event = 'ship' AND cause = $2::text
), moved AS (
  UPDATE orders
     SET status = 'shipped', shipped_at = clock_timestamp(), version = version + 1
   WHERE out_trade_no = $1 AND status = 'paid' AND version = $4 AND NOT EXISTS (SELECT FROM caused)
  RETURNING out_trade_no, version
), entered AS (
  INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
  SELECT out_trade_no, version, 'paid', 'shipped', 'ship', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN orders AS seen ON seen.out_trade_no = $1
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- OrderStatus: ship, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.out_trade_no = seen.out_trade_no THEN 1 ELSE 0 END AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.event = 'ship' AND caused.cause = $2::text
  LEFT JOIN orders_history AS latest
    ON latest.out_trade_no = $1
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE out_trade_no = $1)
  LEFT JOIN orders_history AS passed
    ON passed.out_trade_no = $1
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE out_trade_no = $1 AND target = 'shipped')
 WHERE seen.out_trade_no = $1;

-- OrderStatus: ship, fire_all
WITH given AS MATERIALIZED (
  SELECT list.nth, id.out_trade_no
    FROM json_array_elements($1::text::json) WITH ORDINALITY AS list (it, nth),
         json_populate_record(NULL::orders, json_build_object('out_trade_no', list.it)) AS id
), caused AS MATERIALIZED (
  SELECT given.nth, entry.version, entry.fingerprint
    FROM given
    JOIN orders_history AS entry ON entry.out_trade_no = given.out_trade_no
   WHERE entry.event = 'ship' AND entry.cause = $2::text
), locked AS MATERIALIZED (
  SELECT given.nth, seen.out_trade_no, seen.status AS found_status, seen.version AS found_version
    FROM given
    JOIN orders AS seen ON seen.out_trade_no = given.out_trade_no
   ORDER BY given.nth
     FOR UPDATE OF seen
), moved AS (
  UPDATE orders
     SET status = 'shipped', shipped_at = clock_timestamp(), version = orders.version + 1
    FROM locked
   WHERE orders.out_trade_no = locked.out_trade_no AND orders.status = locked.found_status AND orders.status = 'paid'
     AND NOT EXISTS (SELECT FROM caused WHERE caused.nth = locked.nth)
  RETURNING locked.nth, orders.version, orders.out_trade_no, locked.found_status AS source
), entered AS (
  INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
  SELECT out_trade_no, version, 'paid', 'shipped', 'ship', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT given.nth AS nth, moved.version AS applied, locked.found_status AS status, locked.found_version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM given
  LEFT JOIN locked ON locked.nth = given.nth
  LEFT JOIN moved ON moved.nth = given.nth
  LEFT JOIN caused ON caused.nth = given.nth;

-- OrderStatus: finish, fire
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, CASE WHEN out_trade_no = $1 THEN 1 ELSE 0 END AS here
    FROM orders_history
   WHERE event = 'finish' AND cause = $2::text
), moved AS (
  UPDATE orders
     SET status = 'done', version = version + 1
   WHERE out_trade_no = $1 AND status = 'shipped' AND NOT EXISTS (SELECT FROM caused)
  RETURNING out_trade_no, version
), entered AS (
  INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
  SELECT out_trade_no, version, 'shipped', 'done', 'finish', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN orders AS seen ON seen.out_trade_no = $1
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- OrderStatus: finish, fire_at
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, CASE WHEN out_trade_no = $1 THEN 1 ELSE 0 END AS here
    FROM orders_history
   WHERE event = 'finish' AND cause = $2::text
), moved AS (
  UPDATE orders
     SET status = 'done', version = version + 1
   WHERE out_trade_no = $1 AND status = 'shipped' AND version = $4 AND NOT EXISTS (SELECT FROM caused)
  RETURNING out_trade_no, version
), entered AS (
  INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
  SELECT out_trade_no, version, 'shipped', 'done', 'finish', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN orders AS seen ON seen.out_trade_no = $1
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- OrderStatus: finish, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.out_trade_no = seen.out_trade_no THEN 1 ELSE 0 END AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.event = 'finish' AND caused.cause = $2::text
  LEFT JOIN orders_history AS latest
    ON latest.out_trade_no = $1
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE out_trade_no = $1)
  LEFT JOIN orders_history AS passed
    ON passed.out_trade_no = $1
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE out_trade_no = $1 AND target = 'done')
 WHERE seen.out_trade_no = $1;

-- OrderStatus: finish, fire_all
WITH given AS MATERIALIZED (
  SELECT list.nth, id.out_trade_no
    FROM json_array_elements($1::text::json) WITH ORDINALITY AS list (it, nth),
         json_populate_record(NULL::orders, json_build_object('out_trade_no', list.it)) AS id
), caused AS MATERIALIZED (
  SELECT given.nth, entry.version, entry.fingerprint
    FROM given
    JOIN orders_history AS entry ON entry.out_trade_no = given.out_trade_no
   WHERE entry.event = 'finish' AND entry.cause = $2::text
), locked AS MATERIALIZED (
  SELECT given.nth, seen.out_trade_no, seen.status AS found_status, seen.version AS found_version
    FROM given
    JOIN orders AS seen ON seen.out_trade_no = given.out_trade_no
   ORDER BY given.nth
     FOR UPDATE OF seen
), moved AS (
  UPDATE orders
     SET status = 'done', version = orders.version + 1
    FROM locked
   WHERE orders.out_trade_no = locked.out_trade_no AND orders.status = locked.found_status AND orders.status = 'shipped'
     AND NOT EXISTS (SELECT FROM caused WHERE caused.nth = locked.nth)
  RETURNING locked.nth, orders.version, orders.out_trade_no, locked.found_status AS source
), entered AS (
  INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
  SELECT out_trade_no, version, 'shipped', 'done', 'finish', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT given.nth AS nth, moved.version AS applied, locked.found_status AS status, locked.found_version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM given
  LEFT JOIN locked ON locked.nth = given.nth
  LEFT JOIN moved ON moved.nth = given.nth
  LEFT JOIN caused ON caused.nth = given.nth;

-- OrderStatus: cancel, fire
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, CASE WHEN out_trade_no = $1 THEN 1 ELSE 0 END AS here
    FROM orders_history
   WHERE event = 'cancel' AND cause = $2::text
), moved AS (
  UPDATE orders
     SET status = 'cancelled', version = version + 1
   WHERE out_trade_no = $1 AND status = 'pending' AND NOT EXISTS (SELECT FROM caused)
  RETURNING out_trade_no, version
), entered AS (
  INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
  SELECT out_trade_no, version, 'pending', 'cancelled', 'cancel', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN orders AS seen ON seen.out_trade_no = $1
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- OrderStatus: cancel, fire_at
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, CASE WHEN out_trade_no = $1 THEN 1 ELSE 0 END AS here
    FROM orders_history
   WHERE event = 'cancel' AND cause = $2::text
), moved AS (
  UPDATE orders
     SET status = 'cancelled', version = version + 1
   WHERE out_trade_no = $1 AND status = 'pending' AND version = $4 AND NOT EXISTS (SELECT FROM caused)
  RETURNING out_trade_no, version
), entered AS (
  INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
  SELECT out_trade_no, version, 'pending', 'cancelled', 'cancel', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN orders AS seen ON seen.out_trade_no = $1
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- OrderStatus: cancel, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.out_trade_no = seen.out_trade_no THEN 1 ELSE 0 END AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.event = 'cancel' AND caused.cause = $2::text
  LEFT JOIN orders_history AS latest
    ON latest.out_trade_no = $1
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE out_trade_no = $1)
  LEFT JOIN orders_history AS passed
    ON passed.out_trade_no = $1
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE out_trade_no = $1 AND target = 'cancelled')
 WHERE seen.out_trade_no = $1;

-- OrderStatus: cancel, fire_all
WITH given AS MATERIALIZED (
  SELECT list.nth, id.out_trade_no
    FROM json_array_elements($1::text::json) WITH ORDINALITY AS list (it, nth),
         json_populate_record(NULL::orders, json_build_object('out_trade_no', list.it)) AS id
), caused AS MATERIALIZED (
  SELECT given.nth, entry.version, entry.fingerprint
    FROM given
    JOIN orders_history AS entry ON entry.out_trade_no = given.out_trade_no
   WHERE entry.event = 'cancel' AND entry.cause = $2::text
), locked AS MATERIALIZED (
  SELECT given.nth, seen.out_trade_no, seen.status AS found_status, seen.version AS found_version
    FROM given
    JOIN orders AS seen ON seen.out_trade_no = given.out_trade_no
   ORDER BY given.nth
     FOR UPDATE OF seen
), moved AS (
  UPDATE orders
     SET status = 'cancelled', version = orders.version + 1
    FROM locked
   WHERE orders.out_trade_no = locked.out_trade_no AND orders.status = locked.found_status AND orders.status = 'pending'
     AND NOT EXISTS (SELECT FROM caused WHERE caused.nth = locked.nth)
  RETURNING locked.nth, orders.version, orders.out_trade_no, locked.found_status AS source
), entered AS (
  INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
  SELECT out_trade_no, version, 'pending', 'cancelled', 'cancel', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT given.nth AS nth, moved.version AS applied, locked.found_status AS status, locked.found_version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM given
  LEFT JOIN locked ON locked.nth = given.nth
  LEFT JOIN moved ON moved.nth = given.nth
  LEFT JOIN caused ON caused.nth = given.nth;

-- OrderStatus: refund, fire
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, CASE WHEN out_trade_no = $1 THEN 1 ELSE 0 END AS here
    FROM orders_history
   WHERE event = 'refund' AND cause = $2::text
), locked AS MATERIALIZED (
  SELECT out_trade_no, status AS source
    FROM orders
   WHERE out_trade_no = $1 AND status IN ('paid', 'shipped') AND NOT EXISTS (SELECT FROM caused)
     FOR UPDATE
), moved AS (
  UPDATE orders
     SET status = 'refunded', version = orders.version + 1
    FROM locked
   WHERE orders.out_trade_no = locked.out_trade_no AND orders.status = locked.source
  RETURNING orders.out_trade_no, orders.version, locked.source AS source
), entered AS (
  INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
  SELECT out_trade_no, version, source, 'refunded', 'refund', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN orders AS seen ON seen.out_trade_no = $1
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- OrderStatus: refund, fire_at
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, CASE WHEN out_trade_no = $1 THEN 1 ELSE 0 END AS here
    FROM orders_history
   WHERE event = 'refund' AND cause = $2::text
), locked AS MATERIALIZED (
  SELECT out_trade_no, status AS source
    FROM orders
   WHERE out_trade_no = $1 AND status IN ('paid', 'shipped') AND version = $4 AND NOT EXISTS (SELECT FROM caused)
     FOR UPDATE
), moved AS (
  UPDATE orders
     SET status = 'refunded', version = orders.version + 1
    FROM locked
   WHERE orders.out_trade_no = locked.out_trade_no AND orders.status = locked.source AND orders.version = $4
  RETURNING orders.out_trade_no, orders.version, locked.source AS source
), entered AS (
  INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
  SELECT out_trade_no, version, source, 'refunded', 'refund', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN orders AS seen ON seen.out_trade_no = $1
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- OrderStatus: refund, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.out_trade_no = seen.out_trade_no THEN 1 ELSE 0 END AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.event = 'refund' AND caused.cause = $2::text
  LEFT JOIN orders_history AS latest
    ON latest.out_trade_no = $1
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE out_trade_no = $1)
  LEFT JOIN orders_history AS passed
    ON passed.out_trade_no = $1
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE out_trade_no = $1 AND target = 'refunded')
 WHERE seen.out_trade_no = $1;

-- OrderStatus: refund, fire_all
WITH given AS MATERIALIZED (
  SELECT list.nth, id.out_trade_no
    FROM json_array_elements($1::text::json) WITH ORDINALITY AS list (it, nth),
         json_populate_record(NULL::orders, json_build_object('out_trade_no', list.it)) AS id
), caused AS MATERIALIZED (
  SELECT given.nth, entry.version, entry.fingerprint
    FROM given
    JOIN orders_history AS entry ON entry.out_trade_no = given.out_trade_no
   WHERE entry.event = 'refund' AND entry.cause = $2::text
), locked AS MATERIALIZED (
  SELECT given.nth, seen.out_trade_no, seen.status AS found_status, seen.version AS found_version
    FROM given
    JOIN orders AS seen ON seen.out_trade_no = given.out_trade_no
   ORDER BY given.nth
     FOR UPDATE OF seen
), moved AS (
  UPDATE orders
     SET status = 'refunded', version = orders.version + 1
    FROM locked
   WHERE orders.out_trade_no = locked.out_trade_no AND orders.status = locked.found_status AND orders.status IN ('paid', 'shipped')
     AND NOT EXISTS (SELECT FROM caused WHERE caused.nth = locked.nth)
  RETURNING locked.nth, orders.version, orders.out_trade_no, locked.found_status AS source
), entered AS (
  INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
  SELECT out_trade_no, version, source, 'refunded', 'refund', $2::text, $3::text, clock_timestamp()
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

