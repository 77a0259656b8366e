-- tables ------------------------------------------------------------------------------------------

CREATE TABLE orders (
  order_id BIGINT NOT NULL PRIMARY KEY,
  price BIGINT NOT NULL,
  parcels BIGINT NOT NULL,
  sent BIGINT NOT NULL DEFAULT 0,
  refunded BIGINT NOT NULL DEFAULT 0,
  status order_status NOT NULL DEFAULT 'pending',
  version BIGINT NOT NULL DEFAULT 0,
  trade_no VARCHAR(64),
  paid BIGINT,
  paid_at TIMESTAMPTZ,
  carrier VARCHAR(64),
  shipped_at TIMESTAMPTZ
);
CREATE TABLE parcels (order_id BIGINT NOT NULL, parcel_no VARCHAR(64) NOT NULL);
CREATE TABLE refunds (order_id BIGINT NOT NULL, refund_no VARCHAR(64) NOT NULL, amount BIGINT NOT NULL);
CREATE TABLE set_aside (order_id BIGINT NOT NULL, trade_no VARCHAR(64) NOT NULL, amount BIGINT NOT NULL);
CREATE TABLE expected (order_id BIGINT NOT NULL PRIMARY KEY, payments BIGINT NOT NULL, repayments BIGINT NOT NULL);

-- OrderStatus -------------------------------------------------------------------------------------

-- pay: Pending => Paid
-- cancel: Pending => Cancelled
-- ship: Paid => PartlyShipped
-- ship: PartlyShipped => PartlyShipped
-- ship_all: PartlyShipped => Shipped
-- deliver: Shipped => Delivered
-- refund: Paid => PartlyRefunded
-- refund: PartlyShipped => PartlyRefunded
-- refund: Shipped => PartlyRefunded
-- refund: Delivered => PartlyRefunded
-- refund: PartlyRefunded => PartlyRefunded
-- refund_all: PartlyRefunded => Refunded

-- OrderStatus: status type
CREATE TYPE order_status AS ENUM (
    'pending',
    'paid',
    'partly_shipped',
    'shipped',
    'delivered',
    'cancelled',
    'partly_refunded',
    'refunded',
    'part_shipped'
  );

-- OrderStatus: columns of the table
--   status order_status NOT NULL DEFAULT 'pending',
--   version BIGINT NOT NULL DEFAULT 0

-- OrderStatus: widen
ALTER TYPE order_status ADD VALUE IF NOT EXISTS 'pending';
ALTER TYPE order_status ADD VALUE IF NOT EXISTS 'paid';
ALTER TYPE order_status ADD VALUE IF NOT EXISTS 'partly_shipped';
ALTER TYPE order_status ADD VALUE IF NOT EXISTS 'part_shipped';
ALTER TYPE order_status ADD VALUE IF NOT EXISTS 'shipped';
ALTER TYPE order_status ADD VALUE IF NOT EXISTS 'delivered';
ALTER TYPE order_status ADD VALUE IF NOT EXISTS 'cancelled';
ALTER TYPE order_status ADD VALUE IF NOT EXISTS 'partly_refunded';
ALTER TYPE order_status ADD VALUE IF NOT EXISTS 'refunded';

-- OrderStatus: history
CREATE TABLE IF NOT EXISTS orders_history (
  order_id BIGINT NOT NULL,
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

-- OrderStatus: unknown values
SELECT status::text AS status, COUNT(*) AS held
  FROM orders
 WHERE status::text NOT IN (
    'pending',
    'paid',
    'partly_shipped',
    'shipped',
    'delivered',
    'cancelled',
    'partly_refunded',
    'refunded',
    'part_shipped'
  ) OR status IS NULL
 GROUP BY status::text
 ORDER BY status::text;

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
     OR source = 'pending' AND target IN ('pending', 'paid', 'cancelled')
     OR source = 'paid' AND target IN ('paid', 'partly_shipped', 'part_shipped', 'partly_refunded')
     OR source IN ('partly_shipped', 'part_shipped') AND target IN ('partly_shipped', 'part_shipped', 'shipped', 'partly_refunded')
     OR source = 'shipped' AND target IN ('shipped', 'delivered', 'partly_refunded')
     OR source = 'delivered' AND target IN ('delivered', 'partly_refunded')
     OR source = 'cancelled' AND target = 'cancelled'
     OR source = 'partly_refunded' AND target IN ('partly_refunded', 'refunded')
     OR source = 'refunded' AND target = 'refunded'
     OR current_setting('idem.repair', true) = txid_current()::text THEN
    RETURN NULL;
  END IF;
  RAISE EXCEPTION USING
    ERRCODE = 'ID001',
    MESSAGE = CASE WHEN source IS NULL AND TG_OP = 'INSERT' THEN 'idem guard orders_status_guard_e6f23477: not an initial state' ELSE 'idem guard orders_status_guard_e6f23477: undeclared transition' END,
    DETAIL = format('%L to %L', source, target),
    SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, COLUMN = 'status', CONSTRAINT = 'orders_status_guard_e6f23477';
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
-- no-transaction
-- idem: orders_status_values 3bb30b91
-- Before the release that adds a value. Not in a transaction: the one that adds a value to an
-- enum type cannot use it. A value is never removed from the type.
ALTER TYPE order_status ADD VALUE IF NOT EXISTS 'pending';
ALTER TYPE order_status ADD VALUE IF NOT EXISTS 'paid';
ALTER TYPE order_status ADD VALUE IF NOT EXISTS 'partly_shipped';
ALTER TYPE order_status ADD VALUE IF NOT EXISTS 'part_shipped';
ALTER TYPE order_status ADD VALUE IF NOT EXISTS 'shipped';
ALTER TYPE order_status ADD VALUE IF NOT EXISTS 'delivered';
ALTER TYPE order_status ADD VALUE IF NOT EXISTS 'cancelled';
ALTER TYPE order_status ADD VALUE IF NOT EXISTS 'partly_refunded';
ALTER TYPE order_status ADD VALUE IF NOT EXISTS 'refunded';

-- OrderStatus: adopt
-- idem: orders_status_not_null f0a24df0
-- Nothing to do where it is so already. A column that may be NULL keeps everybody waiting while the rows are
-- looked at, unless a valid CHECK (status IS NOT NULL) says so before.
ALTER TABLE "orders"
  ALTER COLUMN "status" SET NOT NULL;

-- OrderStatus: rewrite an alias
UPDATE "orders"
   SET "status" = 'partly_shipped'
 WHERE "status" = 'part_shipped'
   AND ("order_id") IN (SELECT "order_id" FROM "orders" WHERE "status" = 'part_shipped' ORDER BY "order_id" LIMIT 1000 FOR UPDATE);

-- OrderStatus: which guard
SELECT CASE WHEN COUNT(*) < 3 THEN 'missing'
            WHEN SUM(CASE WHEN strpos(prosrc, '_guard_e6f23477') > 0 THEN 1 END) = 3 THEN 'installed'
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
SELECT seen.status::text AS status, seen.version AS version,
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
SELECT order_id, version + 1, COALESCE(status::text, ''), $1::text, 'repair', $2::text, $3::text, clock_timestamp()
  FROM orders
 WHERE order_id = $4;

-- OrderStatus: repair, write
UPDATE orders
   SET status = $1::text::order_status, version = version + 1
 WHERE order_id = $2;

-- OrderStatus: repair, close
SELECT set_config('idem.repair', '', true);

-- OrderStatus: load
SELECT status::text AS status, version
  FROM orders
 WHERE order_id = $1;

-- OrderStatus: lock
WITH patience AS MATERIALIZED (
  SELECT current_setting('lock_timeout') AS before, set_config('lock_timeout', $2::text, TRUE) AS now
), locked AS MATERIALIZED (
  SELECT seen.status::text AS status, seen.version AS version
    FROM patience, orders AS seen
   WHERE seen.order_id = $1
     FOR UPDATE OF seen
)
SELECT locked.status AS status, locked.version AS version,
       set_config('lock_timeout', patience.before, TRUE) AS lock_timeout
  FROM patience
  LEFT JOIN locked ON TRUE;

-- OrderStatus: lock_now
SELECT status::text AS status, version
  FROM orders
 WHERE order_id = $1
   FOR UPDATE NOWAIT;

-- OrderStatus: pay, fire
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, 1 AS here
    FROM orders_history
   WHERE order_id = $3 AND event = 'pay' AND cause = $4::text
), moved AS (
  UPDATE orders
     SET status = 'paid', trade_no = $1, paid = $2, paid_at = clock_timestamp(), version = version + 1
   WHERE order_id = $3 AND status = 'pending' AND NOT EXISTS (SELECT FROM caused)
  RETURNING order_id, version
), entered AS (
  INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
  SELECT order_id, version, 'pending', 'paid', 'pay', $4::text, $5::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status::text AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN orders AS seen ON seen.order_id = $3
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- OrderStatus: pay, fire_at
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, 1 AS here
    FROM orders_history
   WHERE order_id = $3 AND event = 'pay' AND cause = $4::text
), moved AS (
  UPDATE orders
     SET status = 'paid', trade_no = $1, paid = $2, paid_at = clock_timestamp(), version = version + 1
   WHERE order_id = $3 AND status = 'pending' AND version = $6 AND NOT EXISTS (SELECT FROM caused)
  RETURNING order_id, version
), entered AS (
  INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
  SELECT order_id, version, 'pending', 'paid', 'pay', $4::text, $5::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status::text AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN orders AS seen ON seen.order_id = $3
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- OrderStatus: pay, explain
SELECT seen.status::text AS status, seen.version AS version,
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
    FROM json_array_elements($3::text::json) WITH ORDINALITY AS list (it, nth),
         json_populate_record(NULL::orders, json_build_object('order_id', list.it)) AS id
), caused AS MATERIALIZED (
  SELECT given.nth, entry.version, entry.fingerprint
    FROM given
    JOIN orders_history AS entry ON entry.order_id = given.order_id
   WHERE entry.event = 'pay' AND entry.cause = $4::text
), locked AS MATERIALIZED (
  SELECT given.nth, seen.order_id, seen.status AS found_status, seen.version AS found_version
    FROM given
    JOIN orders AS seen ON seen.order_id = given.order_id
   ORDER BY given.nth
     FOR UPDATE OF seen
), moved AS (
  UPDATE orders
     SET status = 'paid', trade_no = $1, paid = $2, paid_at = clock_timestamp(), version = orders.version + 1
    FROM locked
   WHERE orders.order_id = locked.order_id AND orders.status = locked.found_status AND orders.status = 'pending'
     AND NOT EXISTS (SELECT FROM caused WHERE caused.nth = locked.nth)
  RETURNING locked.nth, orders.version, orders.order_id, locked.found_status::text AS source
), entered AS (
  INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
  SELECT order_id, version, 'pending', 'paid', 'pay', $4::text, $5::text, clock_timestamp()
    FROM moved
)
SELECT given.nth AS nth, moved.version AS applied, locked.found_status::text AS status, locked.found_version AS version,
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
   WHERE order_id = $1 AND status = 'pending' AND NOT EXISTS (SELECT FROM caused)
  RETURNING order_id, version
), entered AS (
  INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
  SELECT order_id, version, 'pending', 'cancelled', 'cancel', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status::text AS status, seen.version AS version,
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
   WHERE order_id = $1 AND status = 'pending' AND version = $4 AND NOT EXISTS (SELECT FROM caused)
  RETURNING order_id, version
), entered AS (
  INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
  SELECT order_id, version, 'pending', 'cancelled', 'cancel', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status::text AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN orders AS seen ON seen.order_id = $1
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- OrderStatus: cancel, explain
SELECT seen.status::text AS status, seen.version AS version,
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
   WHERE orders.order_id = locked.order_id AND orders.status = locked.found_status AND orders.status = 'pending'
     AND NOT EXISTS (SELECT FROM caused WHERE caused.nth = locked.nth)
  RETURNING locked.nth, orders.version, orders.order_id, locked.found_status::text AS source
), entered AS (
  INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
  SELECT order_id, version, 'pending', 'cancelled', 'cancel', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT given.nth AS nth, moved.version AS applied, locked.found_status::text AS status, locked.found_version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM given
  LEFT JOIN locked ON locked.nth = given.nth
  LEFT JOIN moved ON moved.nth = given.nth
  LEFT JOIN caused ON caused.nth = given.nth;

-- OrderStatus: ship, fire
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, 1 AS here
    FROM orders_history
   WHERE order_id = $2 AND event = 'ship' AND cause = $3::text
), locked AS MATERIALIZED (
  SELECT order_id, status AS source
    FROM orders
   WHERE order_id = $2 AND status IN ('paid', 'partly_shipped', 'part_shipped') AND NOT EXISTS (SELECT FROM caused)
     FOR UPDATE
), moved AS (
  UPDATE orders
     SET status = 'partly_shipped', carrier = $1, version = orders.version + 1
    FROM locked
   WHERE orders.order_id = locked.order_id AND orders.status = locked.source
  RETURNING orders.order_id, orders.version, CASE locked.source::text WHEN 'part_shipped' THEN 'partly_shipped' ELSE locked.source::text END AS source
), entered AS (
  INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
  SELECT order_id, version, source, 'partly_shipped', 'ship', $3::text, $4::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status::text AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN orders AS seen ON seen.order_id = $2
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- OrderStatus: ship, fire_at
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, 1 AS here
    FROM orders_history
   WHERE order_id = $2 AND event = 'ship' AND cause = $3::text
), locked AS MATERIALIZED (
  SELECT order_id, status AS source
    FROM orders
   WHERE order_id = $2 AND status IN ('paid', 'partly_shipped', 'part_shipped') AND version = $5 AND NOT EXISTS (SELECT FROM caused)
     FOR UPDATE
), moved AS (
  UPDATE orders
     SET status = 'partly_shipped', carrier = $1, version = orders.version + 1
    FROM locked
   WHERE orders.order_id = locked.order_id AND orders.status = locked.source AND orders.version = $5
  RETURNING orders.order_id, orders.version, CASE locked.source::text WHEN 'part_shipped' THEN 'partly_shipped' ELSE locked.source::text END AS source
), entered AS (
  INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
  SELECT order_id, version, source, 'partly_shipped', 'ship', $3::text, $4::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status::text AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN orders AS seen ON seen.order_id = $2
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- OrderStatus: ship, explain
SELECT seen.status::text AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.order_id = $1 AND caused.event = 'ship' AND caused.cause = $2::text
  LEFT JOIN orders_history AS latest
    ON latest.order_id = $1
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE order_id = $1)
  LEFT JOIN orders_history AS passed
    ON passed.order_id = $1
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE order_id = $1 AND target IN ('partly_shipped', 'part_shipped'))
 WHERE seen.order_id = $1;

-- OrderStatus: ship, fire_all
WITH given AS MATERIALIZED (
  SELECT list.nth, id.order_id
    FROM json_array_elements($2::text::json) WITH ORDINALITY AS list (it, nth),
         json_populate_record(NULL::orders, json_build_object('order_id', list.it)) AS id
), caused AS MATERIALIZED (
  SELECT given.nth, entry.version, entry.fingerprint
    FROM given
    JOIN orders_history AS entry ON entry.order_id = given.order_id
   WHERE entry.event = 'ship' AND entry.cause = $3::text
), locked AS MATERIALIZED (
  SELECT given.nth, seen.order_id, seen.status AS found_status, seen.version AS found_version
    FROM given
    JOIN orders AS seen ON seen.order_id = given.order_id
   ORDER BY given.nth
     FOR UPDATE OF seen
), moved AS (
  UPDATE orders
     SET status = 'partly_shipped', carrier = $1, version = orders.version + 1
    FROM locked
   WHERE orders.order_id = locked.order_id AND orders.status = locked.found_status AND orders.status IN ('paid', 'partly_shipped', 'part_shipped')
     AND NOT EXISTS (SELECT FROM caused WHERE caused.nth = locked.nth)
  RETURNING locked.nth, orders.version, orders.order_id, CASE locked.found_status::text WHEN 'part_shipped' THEN 'partly_shipped' ELSE locked.found_status::text END AS source
), entered AS (
  INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
  SELECT order_id, version, source, 'partly_shipped', 'ship', $3::text, $4::text, clock_timestamp()
    FROM moved
)
SELECT given.nth AS nth, moved.version AS applied, locked.found_status::text AS status, locked.found_version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM given
  LEFT JOIN locked ON locked.nth = given.nth
  LEFT JOIN moved ON moved.nth = given.nth
  LEFT JOIN caused ON caused.nth = given.nth;

-- OrderStatus: ship_all, fire
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, 1 AS here
    FROM orders_history
   WHERE order_id = $1 AND event = 'ship_all' AND cause = $2::text
), moved AS (
  UPDATE orders
     SET status = 'shipped', shipped_at = clock_timestamp(), version = version + 1
   WHERE order_id = $1 AND status IN ('partly_shipped', 'part_shipped') AND NOT EXISTS (SELECT FROM caused)
  RETURNING order_id, version
), entered AS (
  INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
  SELECT order_id, version, 'partly_shipped', 'shipped', 'ship_all', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status::text AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN orders AS seen ON seen.order_id = $1
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- OrderStatus: ship_all, fire_at
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, 1 AS here
    FROM orders_history
   WHERE order_id = $1 AND event = 'ship_all' AND cause = $2::text
), moved AS (
  UPDATE orders
     SET status = 'shipped', shipped_at = clock_timestamp(), version = version + 1
   WHERE order_id = $1 AND status IN ('partly_shipped', 'part_shipped') AND version = $4 AND NOT EXISTS (SELECT FROM caused)
  RETURNING order_id, version
), entered AS (
  INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
  SELECT order_id, version, 'partly_shipped', 'shipped', 'ship_all', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status::text AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN orders AS seen ON seen.order_id = $1
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- OrderStatus: ship_all, explain
SELECT seen.status::text AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.order_id = $1 AND caused.event = 'ship_all' AND caused.cause = $2::text
  LEFT JOIN orders_history AS latest
    ON latest.order_id = $1
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE order_id = $1)
  LEFT JOIN orders_history AS passed
    ON passed.order_id = $1
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE order_id = $1 AND target = 'shipped')
 WHERE seen.order_id = $1;

-- OrderStatus: ship_all, fire_all
WITH given AS MATERIALIZED (
  SELECT list.nth, id.order_id
    FROM json_array_elements($1::text::json) WITH ORDINALITY AS list (it, nth),
         json_populate_record(NULL::orders, json_build_object('order_id', list.it)) AS id
), caused AS MATERIALIZED (
  SELECT given.nth, entry.version, entry.fingerprint
    FROM given
    JOIN orders_history AS entry ON entry.order_id = given.order_id
   WHERE entry.event = 'ship_all' AND entry.cause = $2::text
), locked AS MATERIALIZED (
  SELECT given.nth, seen.order_id, seen.status AS found_status, seen.version AS found_version
    FROM given
    JOIN orders AS seen ON seen.order_id = given.order_id
   ORDER BY given.nth
     FOR UPDATE OF seen
), moved AS (
  UPDATE orders
     SET status = 'shipped', shipped_at = clock_timestamp(), version = orders.version + 1
    FROM locked
   WHERE orders.order_id = locked.order_id AND orders.status = locked.found_status AND orders.status IN ('partly_shipped', 'part_shipped')
     AND NOT EXISTS (SELECT FROM caused WHERE caused.nth = locked.nth)
  RETURNING locked.nth, orders.version, orders.order_id, CASE locked.found_status::text WHEN 'part_shipped' THEN 'partly_shipped' ELSE locked.found_status::text END AS source
), entered AS (
  INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
  SELECT order_id, version, 'partly_shipped', 'shipped', 'ship_all', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT given.nth AS nth, moved.version AS applied, locked.found_status::text AS status, locked.found_version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM given
  LEFT JOIN locked ON locked.nth = given.nth
  LEFT JOIN moved ON moved.nth = given.nth
  LEFT JOIN caused ON caused.nth = given.nth;

-- OrderStatus: deliver, fire
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, 1 AS here
    FROM orders_history
   WHERE order_id = $1 AND event = 'deliver' AND cause = $2::text
), moved AS (
  UPDATE orders
     SET status = 'delivered', version = version + 1
   WHERE order_id = $1 AND status = 'shipped' AND NOT EXISTS (SELECT FROM caused)
  RETURNING order_id, version
), entered AS (
  INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
  SELECT order_id, version, 'shipped', 'delivered', 'deliver', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status::text AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN orders AS seen ON seen.order_id = $1
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- OrderStatus: deliver, fire_at
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, 1 AS here
    FROM orders_history
   WHERE order_id = $1 AND event = 'deliver' AND cause = $2::text
), moved AS (
  UPDATE orders
     SET status = 'delivered', version = version + 1
   WHERE order_id = $1 AND status = 'shipped' AND version = $4 AND NOT EXISTS (SELECT FROM caused)
  RETURNING order_id, version
), entered AS (
  INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
  SELECT order_id, version, 'shipped', 'delivered', 'deliver', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status::text AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN orders AS seen ON seen.order_id = $1
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- OrderStatus: deliver, explain
SELECT seen.status::text AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.order_id = $1 AND caused.event = 'deliver' AND caused.cause = $2::text
  LEFT JOIN orders_history AS latest
    ON latest.order_id = $1
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE order_id = $1)
  LEFT JOIN orders_history AS passed
    ON passed.order_id = $1
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE order_id = $1 AND target = 'delivered')
 WHERE seen.order_id = $1;

-- OrderStatus: deliver, fire_all
WITH given AS MATERIALIZED (
  SELECT list.nth, id.order_id
    FROM json_array_elements($1::text::json) WITH ORDINALITY AS list (it, nth),
         json_populate_record(NULL::orders, json_build_object('order_id', list.it)) AS id
), caused AS MATERIALIZED (
  SELECT given.nth, entry.version, entry.fingerprint
    FROM given
    JOIN orders_history AS entry ON entry.order_id = given.order_id
   WHERE entry.event = 'deliver' AND entry.cause = $2::text
), locked AS MATERIALIZED (
  SELECT given.nth, seen.order_id, seen.status AS found_status, seen.version AS found_version
    FROM given
    JOIN orders AS seen ON seen.order_id = given.order_id
   ORDER BY given.nth
     FOR UPDATE OF seen
), moved AS (
  UPDATE orders
     SET status = 'delivered', version = orders.version + 1
    FROM locked
   WHERE orders.order_id = locked.order_id AND orders.status = locked.found_status AND orders.status = 'shipped'
     AND NOT EXISTS (SELECT FROM caused WHERE caused.nth = locked.nth)
  RETURNING locked.nth, orders.version, orders.order_id, locked.found_status::text AS source
), entered AS (
  INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
  SELECT order_id, version, 'shipped', 'delivered', 'deliver', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT given.nth AS nth, moved.version AS applied, locked.found_status::text AS status, locked.found_version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM given
  LEFT JOIN locked ON locked.nth = given.nth
  LEFT JOIN moved ON moved.nth = given.nth
  LEFT JOIN caused ON caused.nth = given.nth;

-- OrderStatus: refund, fire
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, 1 AS here
    FROM orders_history
   WHERE order_id = $1 AND event = 'refund' AND cause = $2::text
), locked AS MATERIALIZED (
  SELECT order_id, status AS source
    FROM orders
   WHERE order_id = $1 AND status IN ('paid', 'partly_shipped', 'part_shipped', 'shipped', 'delivered', 'partly_refunded') AND NOT EXISTS (SELECT FROM caused)
     FOR UPDATE
), moved AS (
  UPDATE orders
     SET status = 'partly_refunded', version = orders.version + 1
    FROM locked
   WHERE orders.order_id = locked.order_id AND orders.status = locked.source
  RETURNING orders.order_id, orders.version, CASE locked.source::text WHEN 'part_shipped' THEN 'partly_shipped' ELSE locked.source::text END AS source
), entered AS (
  INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
  SELECT order_id, version, source, 'partly_refunded', 'refund', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status::text AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN orders AS seen ON seen.order_id = $1
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- OrderStatus: refund, fire_at
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, 1 AS here
    FROM orders_history
   WHERE order_id = $1 AND event = 'refund' AND cause = $2::text
), locked AS MATERIALIZED (
  SELECT order_id, status AS source
    FROM orders
   WHERE order_id = $1 AND status IN ('paid', 'partly_shipped', 'part_shipped', 'shipped', 'delivered', 'partly_refunded') AND version = $4 AND NOT EXISTS (SELECT FROM caused)
     FOR UPDATE
), moved AS (
  UPDATE orders
     SET status = 'partly_refunded', version = orders.version + 1
    FROM locked
   WHERE orders.order_id = locked.order_id AND orders.status = locked.source AND orders.version = $4
  RETURNING orders.order_id, orders.version, CASE locked.source::text WHEN 'part_shipped' THEN 'partly_shipped' ELSE locked.source::text END AS source
), entered AS (
  INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
  SELECT order_id, version, source, 'partly_refunded', 'refund', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status::text AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN orders AS seen ON seen.order_id = $1
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- OrderStatus: refund, explain
SELECT seen.status::text AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.order_id = $1 AND caused.event = 'refund' AND caused.cause = $2::text
  LEFT JOIN orders_history AS latest
    ON latest.order_id = $1
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE order_id = $1)
  LEFT JOIN orders_history AS passed
    ON passed.order_id = $1
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE order_id = $1 AND target = 'partly_refunded')
 WHERE seen.order_id = $1;

-- OrderStatus: refund, fire_all
WITH given AS MATERIALIZED (
  SELECT list.nth, id.order_id
    FROM json_array_elements($1::text::json) WITH ORDINALITY AS list (it, nth),
         json_populate_record(NULL::orders, json_build_object('order_id', list.it)) AS id
), caused AS MATERIALIZED (
  SELECT given.nth, entry.version, entry.fingerprint
    FROM given
    JOIN orders_history AS entry ON entry.order_id = given.order_id
   WHERE entry.event = 'refund' AND entry.cause = $2::text
), locked AS MATERIALIZED (
  SELECT given.nth, seen.order_id, seen.status AS found_status, seen.version AS found_version
    FROM given
    JOIN orders AS seen ON seen.order_id = given.order_id
   ORDER BY given.nth
     FOR UPDATE OF seen
), moved AS (
  UPDATE orders
     SET status = 'partly_refunded', version = orders.version + 1
    FROM locked
   WHERE orders.order_id = locked.order_id AND orders.status = locked.found_status AND orders.status IN ('paid', 'partly_shipped', 'part_shipped', 'shipped', 'delivered', 'partly_refunded')
     AND NOT EXISTS (SELECT FROM caused WHERE caused.nth = locked.nth)
  RETURNING locked.nth, orders.version, orders.order_id, CASE locked.found_status::text WHEN 'part_shipped' THEN 'partly_shipped' ELSE locked.found_status::text END AS source
), entered AS (
  INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
  SELECT order_id, version, source, 'partly_refunded', 'refund', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT given.nth AS nth, moved.version AS applied, locked.found_status::text AS status, locked.found_version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM given
  LEFT JOIN locked ON locked.nth = given.nth
  LEFT JOIN moved ON moved.nth = given.nth
  LEFT JOIN caused ON caused.nth = given.nth;

-- OrderStatus: refund_all, fire
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, 1 AS here
    FROM orders_history
   WHERE order_id = $1 AND event = 'refund_all' AND cause = $2::text
), moved AS (
  UPDATE orders
     SET status = 'refunded', version = version + 1
   WHERE order_id = $1 AND status = 'partly_refunded' AND NOT EXISTS (SELECT FROM caused)
  RETURNING order_id, version
), entered AS (
  INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
  SELECT order_id, version, 'partly_refunded', 'refunded', 'refund_all', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status::text AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN orders AS seen ON seen.order_id = $1
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- OrderStatus: refund_all, fire_at
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, 1 AS here
    FROM orders_history
   WHERE order_id = $1 AND event = 'refund_all' AND cause = $2::text
), moved AS (
  UPDATE orders
     SET status = 'refunded', version = version + 1
   WHERE order_id = $1 AND status = 'partly_refunded' AND version = $4 AND NOT EXISTS (SELECT FROM caused)
  RETURNING order_id, version
), entered AS (
  INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
  SELECT order_id, version, 'partly_refunded', 'refunded', 'refund_all', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status::text AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN orders AS seen ON seen.order_id = $1
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;

-- OrderStatus: refund_all, explain
SELECT seen.status::text AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.order_id = $1 AND caused.event = 'refund_all' AND caused.cause = $2::text
  LEFT JOIN orders_history AS latest
    ON latest.order_id = $1
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE order_id = $1)
  LEFT JOIN orders_history AS passed
    ON passed.order_id = $1
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE order_id = $1 AND target = 'refunded')
 WHERE seen.order_id = $1;

-- OrderStatus: refund_all, fire_all
WITH given AS MATERIALIZED (
  SELECT list.nth, id.order_id
    FROM json_array_elements($1::text::json) WITH ORDINALITY AS list (it, nth),
         json_populate_record(NULL::orders, json_build_object('order_id', list.it)) AS id
), caused AS MATERIALIZED (
  SELECT given.nth, entry.version, entry.fingerprint
    FROM given
    JOIN orders_history AS entry ON entry.order_id = given.order_id
   WHERE entry.event = 'refund_all' AND entry.cause = $2::text
), locked AS MATERIALIZED (
  SELECT given.nth, seen.order_id, seen.status AS found_status, seen.version AS found_version
    FROM given
    JOIN orders AS seen ON seen.order_id = given.order_id
   ORDER BY given.nth
     FOR UPDATE OF seen
), moved AS (
  UPDATE orders
     SET status = 'refunded', version = orders.version + 1
    FROM locked
   WHERE orders.order_id = locked.order_id AND orders.status = locked.found_status AND orders.status = 'partly_refunded'
     AND NOT EXISTS (SELECT FROM caused WHERE caused.nth = locked.nth)
  RETURNING locked.nth, orders.version, orders.order_id, locked.found_status::text AS source
), entered AS (
  INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
  SELECT order_id, version, 'partly_refunded', 'refunded', 'refund_all', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT given.nth AS nth, moved.version AS applied, locked.found_status::text AS status, locked.found_version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM given
  LEFT JOIN locked ON locked.nth = given.nth
  LEFT JOIN moved ON moved.nth = given.nth
  LEFT JOIN caused ON caused.nth = given.nth;
