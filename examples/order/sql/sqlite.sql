-- tables ------------------------------------------------------------------------------------------

CREATE TABLE orders (
  order_id BIGINT NOT NULL PRIMARY KEY,
  price BIGINT NOT NULL,
  parcels BIGINT NOT NULL,
  sent BIGINT NOT NULL DEFAULT 0,
  refunded BIGINT NOT NULL DEFAULT 0,
  status TEXT NOT NULL DEFAULT 'pending',
  version INTEGER NOT NULL DEFAULT 0,
  trade_no VARCHAR(64),
  paid BIGINT,
  paid_at TEXT,
  carrier VARCHAR(64),
  shipped_at TEXT
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

-- OrderStatus: columns of the table
--   status TEXT NOT NULL DEFAULT 'pending',
--   version INTEGER NOT NULL DEFAULT 0

-- OrderStatus: history
CREATE TABLE IF NOT EXISTS orders_history (
  order_id INTEGER NOT NULL,
  version INTEGER NOT NULL,
  source TEXT NOT NULL,
  target TEXT NOT NULL,
  event TEXT NOT NULL,
  cause TEXT,
  fingerprint TEXT,
  at TEXT NOT NULL,
  PRIMARY KEY (order_id, version),
  UNIQUE (order_id, event, cause)
);

-- OrderStatus: unknown values
SELECT status, COUNT(*) AS held
  FROM orders
 WHERE status NOT IN (
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
 GROUP BY status
 ORDER BY status;

-- OrderStatus: guard
CREATE TABLE IF NOT EXISTS idem_repair (session INTEGER NOT NULL PRIMARY KEY);
DROP TRIGGER IF EXISTS orders_status_guard_update;
DROP TRIGGER IF EXISTS orders_status_guard_insert;
CREATE TRIGGER orders_status_guard_update AFTER UPDATE OF status ON orders
 WHEN OLD.status COLLATE BINARY IS NOT NEW.status COLLATE BINARY
  AND (   OLD.status COLLATE BINARY = 'pending' AND NEW.status COLLATE BINARY IN ('pending', 'paid', 'cancelled')
       OR OLD.status COLLATE BINARY = 'paid' AND NEW.status COLLATE BINARY IN ('paid', 'partly_shipped', 'part_shipped', 'partly_refunded')
       OR OLD.status COLLATE BINARY IN ('partly_shipped', 'part_shipped') AND NEW.status COLLATE BINARY IN ('partly_shipped', 'part_shipped', 'shipped', 'partly_refunded')
       OR OLD.status COLLATE BINARY = 'shipped' AND NEW.status COLLATE BINARY IN ('shipped', 'delivered', 'partly_refunded')
       OR OLD.status COLLATE BINARY = 'delivered' AND NEW.status COLLATE BINARY IN ('delivered', 'partly_refunded')
       OR OLD.status COLLATE BINARY = 'cancelled' AND NEW.status COLLATE BINARY = 'cancelled'
       OR OLD.status COLLATE BINARY = 'partly_refunded' AND NEW.status COLLATE BINARY IN ('partly_refunded', 'refunded')
       OR OLD.status COLLATE BINARY = 'refunded' AND NEW.status COLLATE BINARY = 'refunded') IS NOT TRUE
  AND NOT EXISTS (SELECT 1 FROM idem_repair)
BEGIN
  SELECT RAISE(ABORT, 'idem guard orders_status_guard_e6f23477: undeclared transition');
END;
CREATE TRIGGER orders_status_guard_insert AFTER INSERT ON orders
 WHEN (NEW.status COLLATE BINARY = 'pending') IS NOT TRUE
  AND NOT EXISTS (SELECT 1 FROM idem_repair)
BEGIN
  SELECT RAISE(ABORT, 'idem guard orders_status_guard_e6f23477: not an initial state');
END;

-- OrderStatus: remove the guard
DROP TRIGGER IF EXISTS orders_status_guard_update;
DROP TRIGGER IF EXISTS orders_status_guard_insert;

-- OrderStatus: adopt
-- idem: orders_status_version d1bb2660
-- Programs that do not know the column go on: a row that they insert begins at 0.
ALTER TABLE "orders"
  ADD COLUMN "version" INTEGER NOT NULL DEFAULT 0;

-- OrderStatus: rewrite an alias
UPDATE "orders"
   SET "status" = 'partly_shipped'
 WHERE "status" = 'part_shipped'
   AND ("order_id") IN (SELECT "order_id" FROM "orders" WHERE "status" = 'part_shipped' ORDER BY "order_id" LIMIT 1000);

-- OrderStatus: which guard
SELECT CASE WHEN COUNT(*) < 2 THEN 'missing'
            WHEN SUM(instr(sql, '_guard_e6f23477') > 0) = 2 THEN 'installed'
            ELSE 'outdated' END AS guard
  FROM sqlite_master
 WHERE type = 'trigger' AND name IN ('orders_status_guard_update', 'orders_status_guard_insert');

-- OrderStatus: repair, read
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.order_id = seen.order_id THEN 1 ELSE 0 END AS caused_here
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.order_id = seen.order_id AND caused.event = 'repair' AND caused.cause = ?2
 WHERE seen.order_id = ?1;

-- OrderStatus: repair, open
INSERT INTO idem_repair (session) VALUES (0);

-- OrderStatus: repair, enter
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, COALESCE(status, ''), ?1, 'repair', ?2, ?3, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM orders
 WHERE order_id = ?4;

-- OrderStatus: repair, write
UPDATE orders
   SET status = ?1, version = version + 1
 WHERE order_id = ?2;

-- OrderStatus: repair, close
DELETE FROM idem_repair;

-- OrderStatus: load
SELECT status, version
  FROM orders
 WHERE order_id = ?1;

-- OrderStatus: lock
SELECT status, version
  FROM orders
 WHERE order_id = ?1;

-- OrderStatus: lock_now
SELECT status, version
  FROM orders
 WHERE order_id = ?1;

-- OrderStatus: many rows, read
SELECT given.nth AS nth, seen.status AS status, seen.version AS version
  FROM (SELECT list.key + 1 AS nth, list.value AS order_id FROM json_each(?1) AS list) AS given
  JOIN orders AS seen ON seen.order_id = given.order_id;

-- OrderStatus: many rows, caused
SELECT given.nth AS nth, entry.version AS caused, entry.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM (SELECT list.key + 1 AS nth, list.value AS order_id FROM json_each(?1) AS list) AS given
  JOIN orders_history AS entry ON entry.order_id = given.order_id
 WHERE entry.event = ?2 AND entry.cause = ?3;

-- OrderStatus: many rows, enter
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT seen.order_id, seen.version + 1, CASE seen.status WHEN 'part_shipped' THEN 'partly_shipped' ELSE seen.status END, ?1, ?2, ?3, ?4, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM (SELECT list.key + 1 AS nth, list.value AS order_id FROM json_each(?5) AS list) AS given
  JOIN orders AS seen ON seen.order_id = given.order_id;

-- OrderStatus: pay, enter
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, status, 'paid', 'pay', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM orders
 WHERE order_id = ?3 AND status = 'pending';

-- OrderStatus: pay, enter_at
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, status, 'paid', 'pay', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM orders
 WHERE order_id = ?3 AND status = 'pending' AND version = ?4;

-- OrderStatus: pay, fire
UPDATE orders
   SET status = 'paid', trade_no = ?1, paid = ?2, paid_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), version = version + 1
 WHERE order_id = ?3 AND status = 'pending'
RETURNING version AS applied;

-- OrderStatus: pay, fire_at
UPDATE orders
   SET status = 'paid', trade_no = ?1, paid = ?2, paid_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), version = version + 1
 WHERE order_id = ?3 AND status = 'pending' AND version = ?4
RETURNING version AS applied;

-- OrderStatus: pay, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.order_id = ?1 AND caused.event = 'pay' AND caused.cause = ?2
  LEFT JOIN orders_history AS latest
    ON latest.order_id = ?1
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ?1)
  LEFT JOIN orders_history AS passed
    ON passed.order_id = ?1
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ?1 AND target = 'paid')
 WHERE seen.order_id = ?1;

-- OrderStatus: pay, fire_all
UPDATE orders
   SET status = 'paid', trade_no = ?1, paid = ?2, paid_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), version = orders.version + 1
  FROM (SELECT list.key + 1 AS nth, list.value AS order_id FROM json_each(?3) AS list) AS given
 WHERE orders.order_id = given.order_id AND orders.status = 'pending';

-- OrderStatus: cancel, enter
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, status, 'cancelled', 'cancel', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM orders
 WHERE order_id = ?3 AND status = 'pending';

-- OrderStatus: cancel, enter_at
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, status, 'cancelled', 'cancel', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM orders
 WHERE order_id = ?3 AND status = 'pending' AND version = ?4;

-- OrderStatus: cancel, fire
UPDATE orders
   SET status = 'cancelled', version = version + 1
 WHERE order_id = ?1 AND status = 'pending'
RETURNING version AS applied;

-- OrderStatus: cancel, fire_at
UPDATE orders
   SET status = 'cancelled', version = version + 1
 WHERE order_id = ?1 AND status = 'pending' AND version = ?2
RETURNING version AS applied;

-- OrderStatus: cancel, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.order_id = ?1 AND caused.event = 'cancel' AND caused.cause = ?2
  LEFT JOIN orders_history AS latest
    ON latest.order_id = ?1
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ?1)
  LEFT JOIN orders_history AS passed
    ON passed.order_id = ?1
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ?1 AND target = 'cancelled')
 WHERE seen.order_id = ?1;

-- OrderStatus: cancel, fire_all
UPDATE orders
   SET status = 'cancelled', version = orders.version + 1
  FROM (SELECT list.key + 1 AS nth, list.value AS order_id FROM json_each(?1) AS list) AS given
 WHERE orders.order_id = given.order_id AND orders.status = 'pending';

-- OrderStatus: ship, enter
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, CASE status WHEN 'part_shipped' THEN 'partly_shipped' ELSE status END, 'partly_shipped', 'ship', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM orders
 WHERE order_id = ?3 AND status IN ('paid', 'partly_shipped', 'part_shipped');

-- OrderStatus: ship, enter_at
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, CASE status WHEN 'part_shipped' THEN 'partly_shipped' ELSE status END, 'partly_shipped', 'ship', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM orders
 WHERE order_id = ?3 AND status IN ('paid', 'partly_shipped', 'part_shipped') AND version = ?4;

-- OrderStatus: ship, fire
UPDATE orders
   SET status = 'partly_shipped', carrier = ?1, version = version + 1
 WHERE order_id = ?2 AND status IN ('paid', 'partly_shipped', 'part_shipped')
RETURNING version AS applied;

-- OrderStatus: ship, fire_at
UPDATE orders
   SET status = 'partly_shipped', carrier = ?1, version = version + 1
 WHERE order_id = ?2 AND status IN ('paid', 'partly_shipped', 'part_shipped') AND version = ?3
RETURNING version AS applied;

-- OrderStatus: ship, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.order_id = ?1 AND caused.event = 'ship' AND caused.cause = ?2
  LEFT JOIN orders_history AS latest
    ON latest.order_id = ?1
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ?1)
  LEFT JOIN orders_history AS passed
    ON passed.order_id = ?1
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ?1 AND target IN ('partly_shipped', 'part_shipped'))
 WHERE seen.order_id = ?1;

-- OrderStatus: ship, fire_all
UPDATE orders
   SET status = 'partly_shipped', carrier = ?1, version = orders.version + 1
  FROM (SELECT list.key + 1 AS nth, list.value AS order_id FROM json_each(?2) AS list) AS given
 WHERE orders.order_id = given.order_id AND orders.status IN ('paid', 'partly_shipped', 'part_shipped');

-- OrderStatus: ship_all, enter
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, CASE status WHEN 'part_shipped' THEN 'partly_shipped' ELSE status END, 'shipped', 'ship_all', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM orders
 WHERE order_id = ?3 AND status IN ('partly_shipped', 'part_shipped');

-- OrderStatus: ship_all, enter_at
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, CASE status WHEN 'part_shipped' THEN 'partly_shipped' ELSE status END, 'shipped', 'ship_all', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM orders
 WHERE order_id = ?3 AND status IN ('partly_shipped', 'part_shipped') AND version = ?4;

-- OrderStatus: ship_all, fire
UPDATE orders
   SET status = 'shipped', shipped_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), version = version + 1
 WHERE order_id = ?1 AND status IN ('partly_shipped', 'part_shipped')
RETURNING version AS applied;

-- OrderStatus: ship_all, fire_at
UPDATE orders
   SET status = 'shipped', shipped_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), version = version + 1
 WHERE order_id = ?1 AND status IN ('partly_shipped', 'part_shipped') AND version = ?2
RETURNING version AS applied;

-- OrderStatus: ship_all, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.order_id = ?1 AND caused.event = 'ship_all' AND caused.cause = ?2
  LEFT JOIN orders_history AS latest
    ON latest.order_id = ?1
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ?1)
  LEFT JOIN orders_history AS passed
    ON passed.order_id = ?1
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ?1 AND target = 'shipped')
 WHERE seen.order_id = ?1;

-- OrderStatus: ship_all, fire_all
UPDATE orders
   SET status = 'shipped', shipped_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), version = orders.version + 1
  FROM (SELECT list.key + 1 AS nth, list.value AS order_id FROM json_each(?1) AS list) AS given
 WHERE orders.order_id = given.order_id AND orders.status IN ('partly_shipped', 'part_shipped');

-- OrderStatus: deliver, enter
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, status, 'delivered', 'deliver', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM orders
 WHERE order_id = ?3 AND status = 'shipped';

-- OrderStatus: deliver, enter_at
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, status, 'delivered', 'deliver', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM orders
 WHERE order_id = ?3 AND status = 'shipped' AND version = ?4;

-- OrderStatus: deliver, fire
UPDATE orders
   SET status = 'delivered', version = version + 1
 WHERE order_id = ?1 AND status = 'shipped'
RETURNING version AS applied;

-- OrderStatus: deliver, fire_at
UPDATE orders
   SET status = 'delivered', version = version + 1
 WHERE order_id = ?1 AND status = 'shipped' AND version = ?2
RETURNING version AS applied;

-- OrderStatus: deliver, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.order_id = ?1 AND caused.event = 'deliver' AND caused.cause = ?2
  LEFT JOIN orders_history AS latest
    ON latest.order_id = ?1
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ?1)
  LEFT JOIN orders_history AS passed
    ON passed.order_id = ?1
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ?1 AND target = 'delivered')
 WHERE seen.order_id = ?1;

-- OrderStatus: deliver, fire_all
UPDATE orders
   SET status = 'delivered', version = orders.version + 1
  FROM (SELECT list.key + 1 AS nth, list.value AS order_id FROM json_each(?1) AS list) AS given
 WHERE orders.order_id = given.order_id AND orders.status = 'shipped';

-- OrderStatus: refund, enter
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, CASE status WHEN 'part_shipped' THEN 'partly_shipped' ELSE status END, 'partly_refunded', 'refund', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM orders
 WHERE order_id = ?3 AND status IN ('paid', 'partly_shipped', 'part_shipped', 'shipped', 'delivered', 'partly_refunded');

-- OrderStatus: refund, enter_at
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, CASE status WHEN 'part_shipped' THEN 'partly_shipped' ELSE status END, 'partly_refunded', 'refund', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM orders
 WHERE order_id = ?3 AND status IN ('paid', 'partly_shipped', 'part_shipped', 'shipped', 'delivered', 'partly_refunded') AND version = ?4;

-- OrderStatus: refund, fire
UPDATE orders
   SET status = 'partly_refunded', version = version + 1
 WHERE order_id = ?1 AND status IN ('paid', 'partly_shipped', 'part_shipped', 'shipped', 'delivered', 'partly_refunded')
RETURNING version AS applied;

-- OrderStatus: refund, fire_at
UPDATE orders
   SET status = 'partly_refunded', version = version + 1
 WHERE order_id = ?1 AND status IN ('paid', 'partly_shipped', 'part_shipped', 'shipped', 'delivered', 'partly_refunded') AND version = ?2
RETURNING version AS applied;

-- OrderStatus: refund, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.order_id = ?1 AND caused.event = 'refund' AND caused.cause = ?2
  LEFT JOIN orders_history AS latest
    ON latest.order_id = ?1
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ?1)
  LEFT JOIN orders_history AS passed
    ON passed.order_id = ?1
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ?1 AND target = 'partly_refunded')
 WHERE seen.order_id = ?1;

-- OrderStatus: refund, fire_all
UPDATE orders
   SET status = 'partly_refunded', version = orders.version + 1
  FROM (SELECT list.key + 1 AS nth, list.value AS order_id FROM json_each(?1) AS list) AS given
 WHERE orders.order_id = given.order_id AND orders.status IN ('paid', 'partly_shipped', 'part_shipped', 'shipped', 'delivered', 'partly_refunded');

-- OrderStatus: refund_all, enter
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, status, 'refunded', 'refund_all', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM orders
 WHERE order_id = ?3 AND status = 'partly_refunded';

-- OrderStatus: refund_all, enter_at
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, status, 'refunded', 'refund_all', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM orders
 WHERE order_id = ?3 AND status = 'partly_refunded' AND version = ?4;

-- OrderStatus: refund_all, fire
UPDATE orders
   SET status = 'refunded', version = version + 1
 WHERE order_id = ?1 AND status = 'partly_refunded'
RETURNING version AS applied;

-- OrderStatus: refund_all, fire_at
UPDATE orders
   SET status = 'refunded', version = version + 1
 WHERE order_id = ?1 AND status = 'partly_refunded' AND version = ?2
RETURNING version AS applied;

-- OrderStatus: refund_all, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.order_id = ?1 AND caused.event = 'refund_all' AND caused.cause = ?2
  LEFT JOIN orders_history AS latest
    ON latest.order_id = ?1
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ?1)
  LEFT JOIN orders_history AS passed
    ON passed.order_id = ?1
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ?1 AND target = 'refunded')
 WHERE seen.order_id = ?1;

-- OrderStatus: refund_all, fire_all
UPDATE orders
   SET status = 'refunded', version = orders.version + 1
  FROM (SELECT list.key + 1 AS nth, list.value AS order_id FROM json_each(?1) AS list) AS given
 WHERE orders.order_id = given.order_id AND orders.status = 'partly_refunded';
