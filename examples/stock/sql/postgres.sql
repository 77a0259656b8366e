-- tables ------------------------------------------------------------------------------------------

CREATE TABLE stock (
  sku VARCHAR(32) NOT NULL PRIMARY KEY,
  counted BIGINT NOT NULL,
  available BIGINT NOT NULL,
  reserved BIGINT NOT NULL DEFAULT 0,
  deducted BIGINT NOT NULL DEFAULT 0
);
CREATE TABLE reservations (
  reservation_id UUID NOT NULL PRIMARY KEY,
  order_id BIGINT NOT NULL,
  line BIGINT NOT NULL,
  sku VARCHAR(32) NOT NULL,
  quantity BIGINT NOT NULL,
  pay_until BIGINT NOT NULL,
  status TEXT NOT NULL DEFAULT 'reserved',
  version BIGINT NOT NULL DEFAULT 0,
  CONSTRAINT reservations_status_check CHECK (status IN ('reserved', 'deducted', 'released')),
  trade_no VARCHAR(64),
  deducted_at TIMESTAMPTZ
);
CREATE TABLE entries (
  reservation_id UUID NOT NULL,
  sku VARCHAR(32) NOT NULL,
  entry VARCHAR(16) NOT NULL,
  quantity BIGINT NOT NULL
);
CREATE TABLE told (
  cause VARCHAR(64) NOT NULL,
  event VARCHAR(16) NOT NULL,
  reservation_id UUID NOT NULL,
  accepted BIGINT NOT NULL
);

-- Reservation -------------------------------------------------------------------------------------

-- deduct: Reserved => Deducted
-- release: Reserved => Released

-- Reservation: columns of the table
--   status TEXT NOT NULL DEFAULT 'reserved',
--   version BIGINT NOT NULL DEFAULT 0,
--   CONSTRAINT reservations_status_check CHECK (status IN ('reserved', 'deducted', 'released'))

-- Reservation: widen
ALTER TABLE reservations
  DROP CONSTRAINT IF EXISTS reservations_status_check,
  ADD CONSTRAINT reservations_status_check CHECK (status IN ('reserved', 'deducted', 'released')) NOT VALID;
ALTER TABLE reservations
  VALIDATE CONSTRAINT reservations_status_check;

-- Reservation: history
CREATE TABLE IF NOT EXISTS reservations_history (
  reservation_id UUID NOT NULL,
  version BIGINT NOT NULL,
  source TEXT NOT NULL,
  target TEXT NOT NULL,
  event TEXT NOT NULL,
  cause TEXT COLLATE "C",
  fingerprint TEXT,
  at TIMESTAMPTZ NOT NULL,
  PRIMARY KEY (reservation_id, version),
  UNIQUE (reservation_id, event, cause)
);
CREATE UNIQUE INDEX IF NOT EXISTS reservations_history_create
    ON reservations_history (cause)
 WHERE event = 'create';

-- Reservation: unique while
ALTER TABLE reservations
  ALTER COLUMN order_id SET NOT NULL,
  ALTER COLUMN line SET NOT NULL;
CREATE UNIQUE INDEX reservations_one_live
    ON reservations (order_id, line)
 WHERE status IN ('reserved', 'deducted');

-- Reservation: unknown values
SELECT status, COUNT(*) AS held
  FROM reservations
 WHERE status NOT IN ('reserved', 'deducted', 'released') OR status IS NULL
 GROUP BY status
 ORDER BY status;

-- Reservation: guard
CREATE OR REPLACE FUNCTION reservations_status_guard() RETURNS trigger LANGUAGE plpgsql AS $idem$
DECLARE
  source text;
  target text;
  moved jsonb;
BEGIN
  IF TG_OP = 'DELETE' THEN
    moved := jsonb_build_object('row', jsonb_build_array('reservations'::text, OLD.reservation_id), 'status', OLD.status::text);
    PERFORM set_config('idem.moved', moved::text, true);
    RETURN NULL;
  END IF;
  target := NEW.status::text;
  IF TG_OP = 'UPDATE' THEN
    source := OLD.status::text;
  ELSE
    moved := NULLIF(current_setting('idem.moved', true), '')::jsonb;
    IF moved -> 'row' = jsonb_build_array('reservations'::text, NEW.reservation_id) THEN
      source := moved ->> 'status';
      PERFORM set_config('idem.moved', '', true);
    END IF;
  END IF;
  IF source = target
     OR source = 'reserved' AND target IN ('reserved', 'deducted', 'released')
     OR source = 'deducted' AND target = 'deducted'
     OR source = 'released' AND target = 'released'
     OR current_setting('idem.repair', true) = txid_current()::text THEN
    RETURN NULL;
  END IF;
  RAISE EXCEPTION USING
    ERRCODE = 'ID001',
    MESSAGE = CASE WHEN source IS NULL AND TG_OP = 'INSERT' THEN 'idem guard reservations_status_guard_fcaada2e: not an initial state' ELSE 'idem guard reservations_status_guard_fcaada2e: undeclared transition' END,
    DETAIL = format('%L to %L', source, target),
    SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, COLUMN = 'status', CONSTRAINT = 'reservations_status_guard_fcaada2e';
END
$idem$;
DROP TRIGGER IF EXISTS reservations_status_guard_update ON reservations;
DROP TRIGGER IF EXISTS reservations_status_guard_insert ON reservations;
DROP TRIGGER IF EXISTS reservations_status_guard_delete ON reservations;
CREATE TRIGGER reservations_status_guard_update AFTER UPDATE ON reservations
  FOR EACH ROW WHEN (OLD.status::text IS DISTINCT FROM NEW.status::text) EXECUTE FUNCTION reservations_status_guard();
CREATE TRIGGER reservations_status_guard_insert AFTER INSERT ON reservations
  FOR EACH ROW WHEN ((NEW.status::text = 'reserved') IS NOT TRUE) EXECUTE FUNCTION reservations_status_guard();
CREATE TRIGGER reservations_status_guard_delete AFTER DELETE ON reservations
  FOR EACH ROW WHEN (OLD.tableoid <> 'reservations'::regclass) EXECUTE FUNCTION reservations_status_guard();

-- Reservation: remove the guard
DROP TRIGGER IF EXISTS reservations_status_guard_update ON reservations;
DROP TRIGGER IF EXISTS reservations_status_guard_insert ON reservations;
DROP TRIGGER IF EXISTS reservations_status_guard_delete ON reservations;
DROP FUNCTION IF EXISTS reservations_status_guard();

-- Reservation: adopt
-- idem: reservations_status_version daccec89
-- Programs that do not know the column go on: a row that they insert begins at 0.
ALTER TABLE "reservations"
  ADD COLUMN "version" BIGINT NOT NULL DEFAULT 0;

-- Reservation: adopt
-- idem: reservations_status_values 57c2a2ae
-- Before the release that adds a value, after the one that removes one. No row may hold another value.
ALTER TABLE reservations
  DROP CONSTRAINT IF EXISTS reservations_status_check,
  ADD CONSTRAINT reservations_status_check CHECK (status IN ('reserved', 'deducted', 'released')) NOT VALID;

-- Reservation: adopt
-- idem: reservations_status_values_validated 57c2a2ae
-- By itself: in one transaction with the step before, nobody could use the table meanwhile.
ALTER TABLE reservations
  VALIDATE CONSTRAINT reservations_status_check;

-- Reservation: adopt
-- idem: reservations_status_not_null 9d4576d9
-- Nothing to do where it is so already. A column that may be NULL keeps everybody waiting while the rows are
-- looked at, unless a valid CHECK (status IS NOT NULL) says so before.
ALTER TABLE "reservations"
  ALTER COLUMN "status" SET NOT NULL;

-- Reservation: which guard
SELECT CASE WHEN COUNT(*) < 3 THEN 'missing'
            WHEN SUM(CASE WHEN strpos(prosrc, '_guard_fcaada2e') > 0 THEN 1 END) = 3 THEN 'installed'
            ELSE 'outdated' END AS guard
  FROM pg_trigger
  JOIN pg_proc ON pg_proc.oid = tgfoid
 WHERE tgrelid = to_regclass('reservations') AND tgenabled IN ('O', 'A') AND tgname IN ('reservations_status_guard_update', 'reservations_status_guard_insert', 'reservations_status_guard_delete');

-- Reservation: repair, lock
SELECT 1 AS one
  FROM reservations
 WHERE reservation_id = $1
   FOR UPDATE;

-- Reservation: repair, read
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.reservation_id = seen.reservation_id THEN 1 ELSE 0 END AS caused_here
  FROM reservations AS seen
  LEFT JOIN reservations_history AS caused
    ON caused.reservation_id = seen.reservation_id AND caused.event = 'repair' AND caused.cause = $2::text
 WHERE seen.reservation_id = $1;

-- Reservation: repair, open
SELECT set_config('idem.repair', txid_current()::text, true);

-- Reservation: repair, enter
INSERT INTO reservations_history (reservation_id, version, source, target, event, cause, fingerprint, at)
SELECT reservation_id, version + 1, COALESCE(status, ''), $1::text, 'repair', $2::text, $3::text, clock_timestamp()
  FROM reservations
 WHERE reservation_id = $4;

-- Reservation: repair, write
UPDATE reservations
   SET status = $1::text, version = version + 1
 WHERE reservation_id = $2;

-- Reservation: repair, close
SELECT set_config('idem.repair', '', true);

-- Reservation: load
SELECT status, version
  FROM reservations
 WHERE reservation_id = $1;

-- Reservation: lock
WITH patience AS MATERIALIZED (
  SELECT current_setting('lock_timeout') AS before, set_config('lock_timeout', $2::text, TRUE) AS now
), locked AS MATERIALIZED (
  SELECT seen.status AS status, seen.version AS version
    FROM patience, reservations AS seen
   WHERE seen.reservation_id = $1
     FOR UPDATE OF seen
)
SELECT locked.status AS status, locked.version AS version,
       set_config('lock_timeout', patience.before, TRUE) AS lock_timeout
  FROM patience
  LEFT JOIN locked ON TRUE;

-- Reservation: lock_now
SELECT status, version
  FROM reservations
 WHERE reservation_id = $1
   FOR UPDATE NOWAIT;

-- Reservation: create, insert
WITH created AS (
  INSERT INTO reservations (reservation_id, order_id, line, sku, quantity, pay_until, status, version)
  VALUES ($1, $2, $3, $4, $5, $6, 'reserved', 0)
  RETURNING reservation_id
)
INSERT INTO reservations_history (reservation_id, version, source, target, event, cause, fingerprint, at)
SELECT reservation_id, 0, '', 'reserved', 'create', $7::text, $8::text, clock_timestamp()
  FROM created;

-- Reservation: create, caused
SELECT made.reservation_id AS id_0, seen.status AS status, seen.version AS version,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM reservations_history AS made
  LEFT JOIN reservations AS seen
    ON seen.reservation_id = made.reservation_id
 WHERE made.event = 'create' AND made.cause = $1::text;

-- Reservation: create, met
SELECT seen.reservation_id AS id_0, seen.status AS status, seen.version AS version,
       CASE WHEN seen.order_id IS NOT DISTINCT FROM $1
             AND seen.line IS NOT DISTINCT FROM $2
             AND seen.sku IS NOT DISTINCT FROM $3
             AND seen.quantity IS NOT DISTINCT FROM $4
             AND seen.pay_until IS NOT DISTINCT FROM $5 THEN 1 ELSE 0 END AS same,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM reservations AS seen
  LEFT JOIN reservations_history AS made
    ON made.reservation_id = seen.reservation_id AND made.event = 'create'
 WHERE seen.reservation_id = $6;

-- Reservation: create, met
SELECT seen.reservation_id AS id_0, seen.status AS status, seen.version AS version,
       CASE WHEN seen.order_id IS NOT DISTINCT FROM $1
             AND seen.line IS NOT DISTINCT FROM $2
             AND seen.sku IS NOT DISTINCT FROM $3
             AND seen.quantity IS NOT DISTINCT FROM $4
             AND seen.pay_until IS NOT DISTINCT FROM $5 THEN 1 ELSE 0 END AS same,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM reservations AS seen
  LEFT JOIN reservations_history AS made
    ON made.reservation_id = seen.reservation_id AND made.event = 'create'
 WHERE seen.order_id = $1 AND seen.line = $2 AND seen.status IN ('reserved', 'deducted');

-- Reservation: deduct, fire
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, 1 AS here
    FROM reservations_history
   WHERE reservation_id = $2 AND event = 'deduct' AND cause = $3::text
), moved AS (
  UPDATE reservations
     SET status = 'deducted', trade_no = $1, deducted_at = clock_timestamp(), version = version + 1
   WHERE reservation_id = $2 AND status = 'reserved' AND NOT EXISTS (SELECT FROM caused)
  RETURNING reservation_id, version
), entered AS (
  INSERT INTO reservations_history (reservation_id, version, source, target, event, cause, fingerprint, at)
  SELECT reservation_id, version, 'reserved', 'deducted', 'deduct', $3::text, $4::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN reservations AS seen ON seen.reservation_id = $2
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- Reservation: deduct, fire_at
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, 1 AS here
    FROM reservations_history
   WHERE reservation_id = $2 AND event = 'deduct' AND cause = $3::text
), moved AS (
  UPDATE reservations
     SET status = 'deducted', trade_no = $1, deducted_at = clock_timestamp(), version = version + 1
   WHERE reservation_id = $2 AND status = 'reserved' AND version = $5 AND NOT EXISTS (SELECT FROM caused)
  RETURNING reservation_id, version
), entered AS (
  INSERT INTO reservations_history (reservation_id, version, source, target, event, cause, fingerprint, at)
  SELECT reservation_id, version, 'reserved', 'deducted', 'deduct', $3::text, $4::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN reservations AS seen ON seen.reservation_id = $2
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- Reservation: deduct, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM reservations AS seen
  LEFT JOIN reservations_history AS caused
    ON caused.reservation_id = $1 AND caused.event = 'deduct' AND caused.cause = $2::text
  LEFT JOIN reservations_history AS latest
    ON latest.reservation_id = $1
   AND latest.version = (SELECT MAX(version) FROM reservations_history WHERE reservation_id = $1)
  LEFT JOIN reservations_history AS passed
    ON passed.reservation_id = $1
   AND passed.version = (SELECT MAX(version) FROM reservations_history WHERE reservation_id = $1 AND target = 'deducted')
 WHERE seen.reservation_id = $1;

-- Reservation: deduct, fire_all
WITH given AS MATERIALIZED (
  SELECT list.nth, id.reservation_id
    FROM json_array_elements($2::text::json) WITH ORDINALITY AS list (it, nth),
         json_populate_record(NULL::reservations, json_build_object('reservation_id', list.it)) AS id
), caused AS MATERIALIZED (
  SELECT given.nth, entry.version, entry.fingerprint
    FROM given
    JOIN reservations_history AS entry ON entry.reservation_id = given.reservation_id
   WHERE entry.event = 'deduct' AND entry.cause = $3::text
), locked AS MATERIALIZED (
  SELECT given.nth, seen.reservation_id, seen.status AS found_status, seen.version AS found_version
    FROM given
    JOIN reservations AS seen ON seen.reservation_id = given.reservation_id
   ORDER BY given.nth
     FOR UPDATE OF seen
), moved AS (
  UPDATE reservations
     SET status = 'deducted', trade_no = $1, deducted_at = clock_timestamp(), version = reservations.version + 1
    FROM locked
   WHERE reservations.reservation_id = locked.reservation_id AND reservations.status = locked.found_status AND reservations.status = 'reserved'
     AND NOT EXISTS (SELECT FROM caused WHERE caused.nth = locked.nth)
  RETURNING locked.nth, reservations.version, reservations.reservation_id, locked.found_status AS source
), entered AS (
  INSERT INTO reservations_history (reservation_id, version, source, target, event, cause, fingerprint, at)
  SELECT reservation_id, version, 'reserved', 'deducted', 'deduct', $3::text, $4::text, clock_timestamp()
    FROM moved
)
SELECT given.nth AS nth, moved.version AS applied, locked.found_status AS status, locked.found_version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM given
  LEFT JOIN locked ON locked.nth = given.nth
  LEFT JOIN moved ON moved.nth = given.nth
  LEFT JOIN caused ON caused.nth = given.nth;

-- Reservation: release, fire
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, 1 AS here
    FROM reservations_history
   WHERE reservation_id = $1 AND event = 'release' AND cause = $2::text
), moved AS (
  UPDATE reservations
     SET status = 'released', version = version + 1
   WHERE reservation_id = $1 AND status = 'reserved' AND NOT EXISTS (SELECT FROM caused)
  RETURNING reservation_id, version
), entered AS (
  INSERT INTO reservations_history (reservation_id, version, source, target, event, cause, fingerprint, at)
  SELECT reservation_id, version, 'reserved', 'released', 'release', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN reservations AS seen ON seen.reservation_id = $1
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- Reservation: release, fire_at
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, 1 AS here
    FROM reservations_history
   WHERE reservation_id = $1 AND event = 'release' AND cause = $2::text
), moved AS (
  UPDATE reservations
     SET status = 'released', version = version + 1
   WHERE reservation_id = $1 AND status = 'reserved' AND version = $4 AND NOT EXISTS (SELECT FROM caused)
  RETURNING reservation_id, version
), entered AS (
  INSERT INTO reservations_history (reservation_id, version, source, target, event, cause, fingerprint, at)
  SELECT reservation_id, version, 'reserved', 'released', 'release', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN reservations AS seen ON seen.reservation_id = $1
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- Reservation: release, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM reservations AS seen
  LEFT JOIN reservations_history AS caused
    ON caused.reservation_id = $1 AND caused.event = 'release' AND caused.cause = $2::text
  LEFT JOIN reservations_history AS latest
    ON latest.reservation_id = $1
   AND latest.version = (SELECT MAX(version) FROM reservations_history WHERE reservation_id = $1)
  LEFT JOIN reservations_history AS passed
    ON passed.reservation_id = $1
   AND passed.version = (SELECT MAX(version) FROM reservations_history WHERE reservation_id = $1 AND target = 'released')
 WHERE seen.reservation_id = $1;

-- Reservation: release, fire_all
WITH given AS MATERIALIZED (
  SELECT list.nth, id.reservation_id
    FROM json_array_elements($1::text::json) WITH ORDINALITY AS list (it, nth),
         json_populate_record(NULL::reservations, json_build_object('reservation_id', list.it)) AS id
), caused AS MATERIALIZED (
  SELECT given.nth, entry.version, entry.fingerprint
    FROM given
    JOIN reservations_history AS entry ON entry.reservation_id = given.reservation_id
   WHERE entry.event = 'release' AND entry.cause = $2::text
), locked AS MATERIALIZED (
  SELECT given.nth, seen.reservation_id, seen.status AS found_status, seen.version AS found_version
    FROM given
    JOIN reservations AS seen ON seen.reservation_id = given.reservation_id
   ORDER BY given.nth
     FOR UPDATE OF seen
), moved AS (
  UPDATE reservations
     SET status = 'released', version = reservations.version + 1
    FROM locked
   WHERE reservations.reservation_id = locked.reservation_id AND reservations.status = locked.found_status AND reservations.status = 'reserved'
     AND NOT EXISTS (SELECT FROM caused WHERE caused.nth = locked.nth)
  RETURNING locked.nth, reservations.version, reservations.reservation_id, locked.found_status AS source
), entered AS (
  INSERT INTO reservations_history (reservation_id, version, source, target, event, cause, fingerprint, at)
  SELECT reservation_id, version, 'reserved', 'released', 'release', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT given.nth AS nth, moved.version AS applied, locked.found_status AS status, locked.found_version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM given
  LEFT JOIN locked ON locked.nth = given.nth
  LEFT JOIN moved ON moved.nth = given.nth
  LEFT JOIN caused ON caused.nth = given.nth;
