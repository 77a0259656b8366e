-- tables ------------------------------------------------------------------------------------------

CREATE TABLE orders (
  order_id UUID NOT NULL PRIMARY KEY,
  cart_id BIGINT NOT NULL,
  amount BIGINT NOT NULL,
  status TEXT NOT NULL DEFAULT 'created',
  version BIGINT NOT NULL DEFAULT 0,
  CONSTRAINT orders_status_check CHECK (status IN ('created', 'paid', 'cancelled')),
  payment_id VARCHAR(64)
);
CREATE TABLE charges (
  delivery_id BIGINT NOT NULL,
  cart_id BIGINT NOT NULL,
  amount BIGINT NOT NULL
);
CREATE INDEX orders_cart ON orders (cart_id);

-- OrderStatus -------------------------------------------------------------------------------------

-- pay: Created => Paid
-- cancel: Created => Cancelled

-- OrderStatus: columns of the table
--   status TEXT NOT NULL DEFAULT 'created',
--   version BIGINT NOT NULL DEFAULT 0,
--   CONSTRAINT orders_status_check CHECK (status IN ('created', 'paid', 'cancelled'))

-- OrderStatus: widen
ALTER TABLE orders
  DROP CONSTRAINT IF EXISTS orders_status_check,
  ADD CONSTRAINT orders_status_check CHECK (status IN ('created', 'paid', 'cancelled')) NOT VALID;
ALTER TABLE orders
  VALIDATE CONSTRAINT orders_status_check;

-- OrderStatus: history
CREATE TABLE IF NOT EXISTS orders_history (
  order_id UUID NOT NULL,
  version BIGINT NOT NULL,
  source TEXT NOT NULL,
  target TEXT NOT NULL,
  event TEXT NOT NULL,
  cause TEXT COLLATE "C",
  fingerprint TEXT,
  at TIMESTAMPTZ NOT NULL,
  PRIMARY KEY (order_id, version),
  UNIQUE (order_id, event, cause)
);
CREATE UNIQUE INDEX IF NOT EXISTS orders_history_create
    ON orders_history (cause)
 WHERE event = 'create';

-- OrderStatus: unique while
ALTER TABLE orders
  ALTER COLUMN cart_id SET NOT NULL;
CREATE UNIQUE INDEX orders_one_order
    ON orders (cart_id)
 WHERE status IN ('created', 'paid');

-- OrderStatus: unknown values
SELECT status, COUNT(*) AS held
  FROM orders
 WHERE status NOT IN ('created', 'paid', 'cancelled') OR status IS NULL
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
    moved := jsonb_build_object('row', jsonb_build_array('orders'::text, OLD.order_id), 'status', OLD.status::text);
    PERFORM set_config('idem.moved', moved::text, true);
    RETURN NULL;
  END IF;
  target := NEW.status::text;
  IF TG_OP = 'UPDATE' THEN
    source := OLD.status::text;
  ELSE
    moved := NULLIF(current_setting('idem.moved', true), '')::jsonb;
    IF moved -> 'row' = jsonb_build_array('orders'::text, NEW.order_id) THEN
      source := moved ->> 'status';
      PERFORM set_config('idem.moved', '', true);
    END IF;
  END IF;
  IF source = target
     OR source = 'created' AND target IN ('created', 'paid', 'cancelled')
     OR source = 'paid' AND target = 'paid'
     OR source = 'cancelled' AND target = 'cancelled'
     OR current_setting('idem.repair', true) = txid_current()::text THEN
    RETURN NULL;
  END IF;
  RAISE EXCEPTION USING
    ERRCODE = 'ID001',
    MESSAGE = CASE WHEN source IS NULL AND TG_OP = 'INSERT' THEN 'idem guard orders_status_guard_b685ca5a: not an initial state' ELSE 'idem guard orders_status_guard_b685ca5a: undeclared transition' END,
    DETAIL = format('%L to %L', source, target),
    SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, COLUMN = 'status', CONSTRAINT = 'orders_status_guard_b685ca5a';
END
$idem$;
DROP TRIGGER IF EXISTS orders_status_guard_update ON orders;
DROP TRIGGER IF EXISTS orders_status_guard_insert ON orders;
DROP TRIGGER IF EXISTS orders_status_guard_delete ON orders;
CREATE TRIGGER orders_status_guard_update AFTER UPDATE ON orders
  FOR EACH ROW WHEN (OLD.status::text IS DISTINCT FROM NEW.status::text) EXECUTE FUNCTION orders_status_guard();
CREATE TRIGGER orders_status_guard_insert AFTER INSERT ON orders
  FOR EACH ROW WHEN ((NEW.status::text = 'created') IS NOT TRUE) EXECUTE FUNCTION orders_status_guard();
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
-- idem: orders_status_values cf907021
-- Before the release that adds a value, after the one that removes one. No row may hold another value.
ALTER TABLE orders
  DROP CONSTRAINT IF EXISTS orders_status_check,
  ADD CONSTRAINT orders_status_check CHECK (status IN ('created', 'paid', 'cancelled')) NOT VALID;

-- OrderStatus: adopt
-- idem: orders_status_values_validated cf907021
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
            WHEN SUM(CASE WHEN strpos(prosrc, '_guard_b685ca5a') > 0 THEN 1 END) = 3 THEN 'installed'
            ELSE 'outdated' END AS guard
  FROM pg_trigger
  JOIN pg_proc ON pg_proc.oid = tgfoid
 WHERE tgrelid = to_regclass('orders') AND tgenabled IN ('O', 'A') AND tgname IN ('orders_status_guard_update', 'orders_status_guard_insert', 'orders_status_guard_delete');

-- OrderStatus: repair, lock
SELECT 1 AS one
  FROM orders
 WHERE order_id = $1
   FOR UPDATE;

-- OrderStatus: repair, read
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.order_id = seen.order_id THEN 1 ELSE 0 END AS caused_here
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.order_id = seen.order_id AND caused.event = 'repair' AND caused.cause = $2::text
 WHERE seen.order_id = $1;

-- OrderStatus: repair, open
SELECT set_config('idem.repair', txid_current()::text, true);

-- OrderStatus: repair, enter
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, COALESCE(status, ''), $1::text, 'repair', $2::text, $3::text, clock_timestamp()
  FROM orders
 WHERE order_id = $4;

-- OrderStatus: repair, write
UPDATE orders
   SET status = $1::text, version = version + 1
 WHERE order_id = $2;

-- OrderStatus: repair, close
SELECT set_config('idem.repair', '', true);

-- OrderStatus: load
SELECT status, version
  FROM orders
 WHERE order_id = $1;

-- OrderStatus: lock
WITH patience AS MATERIALIZED (
  SELECT current_setting('lock_timeout') AS before, set_config('lock_timeout', $2::text, TRUE) AS now
), locked AS MATERIALIZED (
  SELECT seen.status AS status, seen.version AS version
    FROM patience, orders AS seen
   WHERE seen.order_id = $1
     FOR UPDATE OF seen
)
SELECT locked.status AS status, locked.version AS version,
       set_config('lock_timeout', patience.before, TRUE) AS lock_timeout
  FROM patience
  LEFT JOIN locked ON TRUE;

-- OrderStatus: lock_now
SELECT status, version
  FROM orders
 WHERE order_id = $1
   FOR UPDATE NOWAIT;

-- OrderStatus: create, insert
WITH created AS (
  INSERT INTO orders (order_id, cart_id, amount, status, version)
  VALUES ($1, $2, $3, 'created', 0)
  RETURNING order_id
)
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, 0, '', 'created', 'create', $4::text, $5::text, clock_timestamp()
  FROM created;

-- OrderStatus: create, caused
SELECT made.order_id AS id_0, seen.status AS status, seen.version AS version,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM orders_history AS made
  LEFT JOIN orders AS seen
    ON seen.order_id = made.order_id
 WHERE made.event = 'create' AND made.cause = $1::text;

-- OrderStatus: create, met
SELECT seen.order_id AS id_0, seen.status AS status, seen.version AS version,
       CASE WHEN seen.cart_id IS NOT DISTINCT FROM $1
             AND seen.amount IS NOT DISTINCT FROM $2 THEN 1 ELSE 0 END AS same,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM orders AS seen
  LEFT JOIN orders_history AS made
    ON made.order_id = seen.order_id AND made.event = 'create'
 WHERE seen.order_id = $3;

-- OrderStatus: create, met
SELECT seen.order_id AS id_0, seen.status AS status, seen.version AS version,
       CASE WHEN seen.cart_id IS NOT DISTINCT FROM $1
             AND seen.amount IS NOT DISTINCT FROM $2 THEN 1 ELSE 0 END AS same,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM orders AS seen
  LEFT JOIN orders_history AS made
    ON made.order_id = seen.order_id AND made.event = 'create'
 WHERE seen.cart_id = $1 AND seen.status IN ('created', 'paid');

-- OrderStatus: pay, fire
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, 1 AS here
    FROM orders_history
   WHERE order_id = $2 AND event = 'pay' AND cause = $3::text
), moved AS (
  UPDATE orders
     SET status = 'paid', payment_id = $1, version = version + 1
   WHERE order_id = $2 AND status = 'created' AND NOT EXISTS (SELECT FROM caused)
  RETURNING order_id, version
), entered AS (
  INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
  SELECT order_id, version, 'created', 'paid', 'pay', $3::text, $4::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN orders AS seen ON seen.order_id = $2
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- OrderStatus: pay, fire_at
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, 1 AS here
    FROM orders_history
   WHERE order_id = $2 AND event = 'pay' AND cause = $3::text
), moved AS (
  UPDATE orders
     SET status = 'paid', payment_id = $1, version = version + 1
   WHERE order_id = $2 AND status = 'created' AND version = $5 AND NOT EXISTS (SELECT FROM caused)
  RETURNING order_id, version
), entered AS (
  INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
  SELECT order_id, version, 'created', 'paid', 'pay', $3::text, $4::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN orders AS seen ON seen.order_id = $2
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- OrderStatus: pay, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.order_id = $1 AND caused.event = 'pay' AND caused.cause = $2::text
  LEFT JOIN orders_history AS latest
    ON latest.order_id = $1
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE order_id = $1)
  LEFT JOIN orders_history AS passed
    ON passed.order_id = $1
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE order_id = $1 AND target = 'paid')
 WHERE seen.order_id = $1;

-- OrderStatus: pay, fire_all
WITH given AS MATERIALIZED (
  SELECT list.nth, id.order_id
    FROM json_array_elements($2::text::json) WITH ORDINALITY AS list (it, nth),
         json_populate_record(NULL::orders, json_build_object('order_id', list.it)) AS id
), caused AS MATERIALIZED (
  SELECT given.nth, entry.version, entry.fingerprint
    FROM given
    JOIN orders_history AS entry ON entry.order_id = given.order_id
   WHERE entry.event = 'pay' AND entry.cause = $3::text
), locked AS MATERIALIZED (
  SELECT given.nth, seen.order_id, seen.status AS found_status, seen.version AS found_version
    FROM given
    JOIN orders AS seen ON seen.order_id = given.order_id
   ORDER BY given.nth
     FOR UPDATE OF seen
), moved AS (
  UPDATE orders
     SET status = 'paid', payment_id = $1, version = orders.version + 1
    FROM locked
   WHERE orders.order_id = locked.order_id AND orders.status = locked.found_status AND orders.status = 'created'
     AND NOT EXISTS (SELECT FROM caused WHERE caused.nth = locked.nth)
  RETURNING locked.nth, orders.version, orders.order_id, locked.found_status AS source
), entered AS (
  INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
  SELECT order_id, version, 'created', 'paid', 'pay', $3::text, $4::text, clock_timestamp()
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
  SELECT version, fingerprint, 1 AS here
    FROM orders_history
   WHERE order_id = $1 AND event = 'cancel' AND cause = $2::text
), moved AS (
  UPDATE orders
     SET status = 'cancelled', version = version + 1
   WHERE order_id = $1 AND status = 'created' AND NOT EXISTS (SELECT FROM caused)
  RETURNING order_id, version
), entered AS (
  INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
  SELECT order_id, version, 'created', 'cancelled', 'cancel', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN orders AS seen ON seen.order_id = $1
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- OrderStatus: cancel, fire_at
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, 1 AS here
    FROM orders_history
   WHERE order_id = $1 AND event = 'cancel' AND cause = $2::text
), moved AS (
  UPDATE orders
     SET status = 'cancelled', version = version + 1
   WHERE order_id = $1 AND status = 'created' AND version = $4 AND NOT EXISTS (SELECT FROM caused)
  RETURNING order_id, version
), entered AS (
  INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
  SELECT order_id, version, 'created', 'cancelled', 'cancel', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN orders AS seen ON seen.order_id = $1
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- OrderStatus: cancel, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.order_id = $1 AND caused.event = 'cancel' AND caused.cause = $2::text
  LEFT JOIN orders_history AS latest
    ON latest.order_id = $1
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE order_id = $1)
  LEFT JOIN orders_history AS passed
    ON passed.order_id = $1
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE order_id = $1 AND target = 'cancelled')
 WHERE seen.order_id = $1;

-- OrderStatus: cancel, fire_all
WITH given AS MATERIALIZED (
  SELECT list.nth, id.order_id
    FROM json_array_elements($1::text::json) WITH ORDINALITY AS list (it, nth),
         json_populate_record(NULL::orders, json_build_object('order_id', list.it)) AS id
), caused AS MATERIALIZED (
  SELECT given.nth, entry.version, entry.fingerprint
    FROM given
    JOIN orders_history AS entry ON entry.order_id = given.order_id
   WHERE entry.event = 'cancel' AND entry.cause = $2::text
), locked AS MATERIALIZED (
  SELECT given.nth, seen.order_id, seen.status AS found_status, seen.version AS found_version
    FROM given
    JOIN orders AS seen ON seen.order_id = given.order_id
   ORDER BY given.nth
     FOR UPDATE OF seen
), moved AS (
  UPDATE orders
     SET status = 'cancelled', version = orders.version + 1
    FROM locked
   WHERE orders.order_id = locked.order_id AND orders.status = locked.found_status AND orders.status = 'created'
     AND NOT EXISTS (SELECT FROM caused WHERE caused.nth = locked.nth)
  RETURNING locked.nth, orders.version, orders.order_id, locked.found_status AS source
), entered AS (
  INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
  SELECT order_id, version, 'created', 'cancelled', 'cancel', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT given.nth AS nth, moved.version AS applied, locked.found_status AS status, locked.found_version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM given
  LEFT JOIN locked ON locked.nth = given.nth
  LEFT JOIN moved ON moved.nth = given.nth
  LEFT JOIN caused ON caused.nth = given.nth;

-- the token ---------------------------------------------------------------------------------------

-- token, issue
INSERT INTO idem_token (hash, purpose, subject, created_at, expires_at)
VALUES ($1, $2, $3, clock_timestamp(), clock_timestamp() + $4::bigint * INTERVAL '1 millisecond');

-- token, consume
UPDATE idem_token
   SET used_at = clock_timestamp(), used_by = $1
 WHERE hash = $2 AND purpose = $3 AND subject = $4 AND used_at IS NULL AND expires_at > clock_timestamp();

-- token, read
SELECT purpose, subject, used_by, CASE WHEN used_at IS NOT NULL THEN 1 END AS used,
       CASE WHEN expires_at <= clock_timestamp() THEN 1 END AS expired
  FROM idem_token
 WHERE hash = $1;
