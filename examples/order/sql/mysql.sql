-- tables ------------------------------------------------------------------------------------------

CREATE TABLE orders (
  order_id BIGINT NOT NULL PRIMARY KEY,
  price BIGINT NOT NULL,
  parcels BIGINT NOT NULL,
  sent BIGINT NOT NULL DEFAULT 0,
  refunded BIGINT NOT NULL DEFAULT 0,
  status ENUM (
    'pending',
    'paid',
    'partly_shipped',
    'shipped',
    'delivered',
    'cancelled',
    'partly_refunded',
    'refunded',
    'part_shipped'
  ) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'pending',
  version BIGINT NOT NULL DEFAULT 0,
  trade_no VARCHAR(64),
  paid BIGINT,
  paid_at DATETIME(6),
  carrier VARCHAR(64),
  shipped_at DATETIME(6)
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
--   status ENUM (
--     'pending',
--     'paid',
--     'partly_shipped',
--     'shipped',
--     'delivered',
--     'cancelled',
--     'partly_refunded',
--     'refunded',
--     'part_shipped'
--   ) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'pending',
--   version BIGINT NOT NULL DEFAULT 0

-- OrderStatus: widen
ALTER TABLE orders
  MODIFY status ENUM (
    'pending',
    'paid',
    'partly_shipped',
    'shipped',
    'delivered',
    'cancelled',
    'partly_refunded',
    'refunded',
    'part_shipped'
  ) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'pending';

-- OrderStatus: history
CREATE TABLE IF NOT EXISTS orders_history (
  order_id BIGINT NOT NULL,
  version BIGINT NOT NULL,
  source VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  target VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  event VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  cause VARBINARY(512),
  fingerprint VARCHAR(80) CHARACTER SET ascii COLLATE ascii_bin,
  at DATETIME(6) NOT NULL,
  PRIMARY KEY (order_id, version),
  UNIQUE (order_id, event, cause)
);

-- OrderStatus: unknown values
SELECT MIN(status) AS status, COUNT(*) AS held
  FROM orders
 WHERE CAST(status AS BINARY) NOT IN (
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
 GROUP BY CAST(status AS BINARY)
 ORDER BY CAST(status AS BINARY);

-- OrderStatus: guard
CREATE TABLE IF NOT EXISTS idem_repair (session BIGINT UNSIGNED NOT NULL PRIMARY KEY) ENGINE = InnoDB;
DROP TRIGGER IF EXISTS orders_status_guard_update;
DROP TRIGGER IF EXISTS orders_status_guard_insert;
CREATE TRIGGER orders_status_guard_update AFTER UPDATE ON orders FOR EACH ROW
BEGIN
  DECLARE source VARBINARY(1024) DEFAULT CAST(CONVERT(OLD.status USING utf8mb4) AS BINARY);
  DECLARE target VARBINARY(1024) DEFAULT CAST(CONVERT(NEW.status USING utf8mb4) AS BINARY);
  IF NOT (source <=> target)
     AND (   source = 'pending' AND target IN ('pending', 'paid', 'cancelled')
          OR source = 'paid' AND target IN ('paid', 'partly_shipped', 'part_shipped', 'partly_refunded')
          OR source IN ('partly_shipped', 'part_shipped') AND target IN ('partly_shipped', 'part_shipped', 'shipped', 'partly_refunded')
          OR source = 'shipped' AND target IN ('shipped', 'delivered', 'partly_refunded')
          OR source = 'delivered' AND target IN ('delivered', 'partly_refunded')
          OR source = 'cancelled' AND target = 'cancelled'
          OR source = 'partly_refunded' AND target IN ('partly_refunded', 'refunded')
          OR source = 'refunded' AND target = 'refunded') IS NOT TRUE
     AND NOT EXISTS (SELECT 1 FROM idem_repair WHERE session = CONNECTION_ID()) THEN
    SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 45001, MESSAGE_TEXT = 'idem guard orders_status_guard_e6f23477: undeclared transition';
  END IF;
END;
CREATE TRIGGER orders_status_guard_insert AFTER INSERT ON orders FOR EACH ROW
BEGIN
  DECLARE target VARBINARY(1024) DEFAULT CAST(CONVERT(NEW.status USING utf8mb4) AS BINARY);
  IF (target = 'pending') IS NOT TRUE
     AND NOT EXISTS (SELECT 1 FROM idem_repair WHERE session = CONNECTION_ID()) THEN
    SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 45001, MESSAGE_TEXT = 'idem guard orders_status_guard_e6f23477: not an initial state';
  END IF;
END;

-- OrderStatus: remove the guard
DROP TRIGGER IF EXISTS orders_status_guard_update;
DROP TRIGGER IF EXISTS orders_status_guard_insert;

-- OrderStatus: adopt
-- idem: orders_status_version c24f3665
-- Programs that do not know the column go on: a row that they insert begins at 0.
ALTER TABLE `orders`
  ADD COLUMN `version` BIGINT NOT NULL DEFAULT 0;

-- OrderStatus: adopt
-- idem: orders_status_values 3bb30b91
-- Before the release that adds a value, after the one that removes one. No row may hold another value.
ALTER TABLE orders
  MODIFY status ENUM (
    'pending',
    'paid',
    'partly_shipped',
    'shipped',
    'delivered',
    'cancelled',
    'partly_refunded',
    'refunded',
    'part_shipped'
  ) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'pending';

-- OrderStatus: rewrite an alias
UPDATE `orders`
   SET `status` = 'partly_shipped'
 WHERE `status` = 'part_shipped'
 ORDER BY `order_id`
 LIMIT 1000;

-- OrderStatus: which guard
SELECT CASE WHEN COUNT(*) < 2 THEN 'missing'
            WHEN SUM(LOCATE('_guard_e6f23477', ACTION_STATEMENT) > 0) = 2 THEN 'installed'
            ELSE 'outdated' END AS guard
  FROM information_schema.TRIGGERS
 WHERE TRIGGER_SCHEMA = DATABASE() AND TRIGGER_NAME IN ('orders_status_guard_update', 'orders_status_guard_insert');

-- OrderStatus: repair, read
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.order_id = seen.order_id THEN 1 ELSE 0 END AS caused_here
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.order_id = seen.order_id AND caused.event = 'repair' AND caused.cause = ?
 WHERE seen.order_id = ?
   FOR UPDATE;

-- OrderStatus: repair, open
INSERT INTO idem_repair (session) VALUES (CONNECTION_ID());

-- OrderStatus: repair, enter
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, COALESCE(status, ''), ?, 'repair', ?, ?, NOW(6)
  FROM orders
 WHERE order_id = ?;

-- OrderStatus: repair, write
UPDATE orders
   SET status = ?, version = version + 1
 WHERE order_id = ?;

-- OrderStatus: repair, close
DELETE FROM idem_repair WHERE session = CONNECTION_ID();

-- OrderStatus: load
SELECT status, version
  FROM orders
 WHERE order_id = ?;

-- OrderStatus: lock
SELECT status, version
  FROM orders
 WHERE order_id = ?
   FOR UPDATE;

-- OrderStatus: lock_now
SELECT status, version
  FROM orders
 WHERE order_id = ?
   FOR UPDATE NOWAIT;

-- OrderStatus: many rows, read
SELECT given.nth AS nth, seen.status AS status, seen.version AS version
  FROM JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, order_id BIGINT PATH '$')) AS given
  STRAIGHT_JOIN orders AS seen ON seen.order_id = given.order_id
   FOR UPDATE;

-- OrderStatus: many rows, caused
SELECT given.nth AS nth, entry.version AS caused, entry.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, order_id BIGINT PATH '$')) AS given
  STRAIGHT_JOIN orders_history AS entry ON entry.order_id = given.order_id
 WHERE entry.event = ? AND entry.cause = ?;

-- OrderStatus: many rows, enter
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT seen.order_id, seen.version + 1, CASE seen.status WHEN 'part_shipped' THEN 'partly_shipped' ELSE seen.status END, ?, ?, ?, ?, NOW(6)
  FROM JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, order_id BIGINT PATH '$')) AS given
  STRAIGHT_JOIN orders AS seen ON seen.order_id = given.order_id;

-- OrderStatus: pay, enter
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, status, 'paid', 'pay', ?, ?, NOW(6)
  FROM orders
 WHERE order_id = ? AND status = 'pending'
   FOR UPDATE;

-- OrderStatus: pay, enter_at
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, status, 'paid', 'pay', ?, ?, NOW(6)
  FROM orders
 WHERE order_id = ? AND status = 'pending' AND version = ?
   FOR UPDATE;

-- OrderStatus: pay, fire
UPDATE orders
   SET status = 'paid', trade_no = ?, paid = ?, paid_at = NOW(6), version = LAST_INSERT_ID(version + 1)
 WHERE order_id = ? AND status = 'pending';

-- OrderStatus: pay, fire_at
UPDATE orders
   SET status = 'paid', trade_no = ?, paid = ?, paid_at = NOW(6), version = LAST_INSERT_ID(version + 1)
 WHERE order_id = ? AND status = 'pending' AND version = ?;

-- OrderStatus: pay, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, CONVERT(latest.cause USING utf8mb4) AS latest_cause,
       passed.version AS passed, CONVERT(passed.cause USING utf8mb4) AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.order_id = ? AND caused.event = 'pay' AND caused.cause = ?
  LEFT JOIN orders_history AS latest
    ON latest.order_id = ?
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ? FOR UPDATE)
  LEFT JOIN orders_history AS passed
    ON passed.order_id = ?
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ? AND target = 'paid' FOR UPDATE)
 WHERE seen.order_id = ?
   FOR UPDATE;

-- OrderStatus: pay, fire_all
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, order_id BIGINT PATH '$')) AS given
STRAIGHT_JOIN orders AS seen ON seen.order_id = given.order_id
   SET status = 'paid', trade_no = ?, paid = ?, paid_at = NOW(6), version = seen.version + 1
 WHERE seen.status = 'pending';

-- OrderStatus: cancel, enter
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, status, 'cancelled', 'cancel', ?, ?, NOW(6)
  FROM orders
 WHERE order_id = ? AND status = 'pending'
   FOR UPDATE;

-- OrderStatus: cancel, enter_at
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, status, 'cancelled', 'cancel', ?, ?, NOW(6)
  FROM orders
 WHERE order_id = ? AND status = 'pending' AND version = ?
   FOR UPDATE;

-- OrderStatus: cancel, fire
UPDATE orders
   SET status = 'cancelled', version = LAST_INSERT_ID(version + 1)
 WHERE order_id = ? AND status = 'pending';

-- OrderStatus: cancel, fire_at
UPDATE orders
   SET status = 'cancelled', version = LAST_INSERT_ID(version + 1)
 WHERE order_id = ? AND status = 'pending' AND version = ?;

-- OrderStatus: cancel, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, CONVERT(latest.cause USING utf8mb4) AS latest_cause,
       passed.version AS passed, CONVERT(passed.cause USING utf8mb4) AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.order_id = ? AND caused.event = 'cancel' AND caused.cause = ?
  LEFT JOIN orders_history AS latest
    ON latest.order_id = ?
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ? FOR UPDATE)
  LEFT JOIN orders_history AS passed
    ON passed.order_id = ?
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ? AND target = 'cancelled' FOR UPDATE)
 WHERE seen.order_id = ?
   FOR UPDATE;

-- OrderStatus: cancel, fire_all
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, order_id BIGINT PATH '$')) AS given
STRAIGHT_JOIN orders AS seen ON seen.order_id = given.order_id
   SET status = 'cancelled', version = seen.version + 1
 WHERE seen.status = 'pending';

-- OrderStatus: ship, enter
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, CASE status WHEN 'part_shipped' THEN 'partly_shipped' ELSE status END, 'partly_shipped', 'ship', ?, ?, NOW(6)
  FROM orders
 WHERE order_id = ? AND status IN ('paid', 'partly_shipped', 'part_shipped')
   FOR UPDATE;

-- OrderStatus: ship, enter_at
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, CASE status WHEN 'part_shipped' THEN 'partly_shipped' ELSE status END, 'partly_shipped', 'ship', ?, ?, NOW(6)
  FROM orders
 WHERE order_id = ? AND status IN ('paid', 'partly_shipped', 'part_shipped') AND version = ?
   FOR UPDATE;

-- OrderStatus: ship, fire
UPDATE orders
   SET status = 'partly_shipped', carrier = ?, version = LAST_INSERT_ID(version + 1)
 WHERE order_id = ? AND status IN ('paid', 'partly_shipped', 'part_shipped');

-- OrderStatus: ship, fire_at
UPDATE orders
   SET status = 'partly_shipped', carrier = ?, version = LAST_INSERT_ID(version + 1)
 WHERE order_id = ? AND status IN ('paid', 'partly_shipped', 'part_shipped') AND version = ?;

-- OrderStatus: ship, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, CONVERT(latest.cause USING utf8mb4) AS latest_cause,
       passed.version AS passed, CONVERT(passed.cause USING utf8mb4) AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.order_id = ? AND caused.event = 'ship' AND caused.cause = ?
  LEFT JOIN orders_history AS latest
    ON latest.order_id = ?
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ? FOR UPDATE)
  LEFT JOIN orders_history AS passed
    ON passed.order_id = ?
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ? AND target IN ('partly_shipped', 'part_shipped') FOR UPDATE)
 WHERE seen.order_id = ?
   FOR UPDATE;

-- OrderStatus: ship, fire_all
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, order_id BIGINT PATH '$')) AS given
STRAIGHT_JOIN orders AS seen ON seen.order_id = given.order_id
   SET status = 'partly_shipped', carrier = ?, version = seen.version + 1
 WHERE seen.status IN ('paid', 'partly_shipped', 'part_shipped');

-- OrderStatus: ship_all, enter
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, CASE status WHEN 'part_shipped' THEN 'partly_shipped' ELSE status END, 'shipped', 'ship_all', ?, ?, NOW(6)
  FROM orders
 WHERE order_id = ? AND status IN ('partly_shipped', 'part_shipped')
   FOR UPDATE;

-- OrderStatus: ship_all, enter_at
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, CASE status WHEN 'part_shipped' THEN 'partly_shipped' ELSE status END, 'shipped', 'ship_all', ?, ?, NOW(6)
  FROM orders
 WHERE order_id = ? AND status IN ('partly_shipped', 'part_shipped') AND version = ?
   FOR UPDATE;

-- OrderStatus: ship_all, fire
UPDATE orders
   SET status = 'shipped', shipped_at = NOW(6), version = LAST_INSERT_ID(version + 1)
 WHERE order_id = ? AND status IN ('partly_shipped', 'part_shipped');

-- OrderStatus: ship_all, fire_at
UPDATE orders
   SET status = 'shipped', shipped_at = NOW(6), version = LAST_INSERT_ID(version + 1)
 WHERE order_id = ? AND status IN ('partly_shipped', 'part_shipped') AND version = ?;

-- OrderStatus: ship_all, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, CONVERT(latest.cause USING utf8mb4) AS latest_cause,
       passed.version AS passed, CONVERT(passed.cause USING utf8mb4) AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.order_id = ? AND caused.event = 'ship_all' AND caused.cause = ?
  LEFT JOIN orders_history AS latest
    ON latest.order_id = ?
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ? FOR UPDATE)
  LEFT JOIN orders_history AS passed
    ON passed.order_id = ?
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ? AND target = 'shipped' FOR UPDATE)
 WHERE seen.order_id = ?
   FOR UPDATE;

-- OrderStatus: ship_all, fire_all
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, order_id BIGINT PATH '$')) AS given
STRAIGHT_JOIN orders AS seen ON seen.order_id = given.order_id
   SET status = 'shipped', shipped_at = NOW(6), version = seen.version + 1
 WHERE seen.status IN ('partly_shipped', 'part_shipped');

-- OrderStatus: deliver, enter
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, status, 'delivered', 'deliver', ?, ?, NOW(6)
  FROM orders
 WHERE order_id = ? AND status = 'shipped'
   FOR UPDATE;

-- OrderStatus: deliver, enter_at
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, status, 'delivered', 'deliver', ?, ?, NOW(6)
  FROM orders
 WHERE order_id = ? AND status = 'shipped' AND version = ?
   FOR UPDATE;

-- OrderStatus: deliver, fire
UPDATE orders
   SET status = 'delivered', version = LAST_INSERT_ID(version + 1)
 WHERE order_id = ? AND status = 'shipped';

-- OrderStatus: deliver, fire_at
UPDATE orders
   SET status = 'delivered', version = LAST_INSERT_ID(version + 1)
 WHERE order_id = ? AND status = 'shipped' AND version = ?;

-- OrderStatus: deliver, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, CONVERT(latest.cause USING utf8mb4) AS latest_cause,
       passed.version AS passed, CONVERT(passed.cause USING utf8mb4) AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.order_id = ? AND caused.event = 'deliver' AND caused.cause = ?
  LEFT JOIN orders_history AS latest
    ON latest.order_id = ?
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ? FOR UPDATE)
  LEFT JOIN orders_history AS passed
    ON passed.order_id = ?
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ? AND target = 'delivered' FOR UPDATE)
 WHERE seen.order_id = ?
   FOR UPDATE;

-- OrderStatus: deliver, fire_all
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, order_id BIGINT PATH '$')) AS given
STRAIGHT_JOIN orders AS seen ON seen.order_id = given.order_id
   SET status = 'delivered', version = seen.version + 1
 WHERE seen.status = 'shipped';

-- OrderStatus: refund, enter
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, CASE status WHEN 'part_shipped' THEN 'partly_shipped' ELSE status END, 'partly_refunded', 'refund', ?, ?, NOW(6)
  FROM orders
 WHERE order_id = ? AND status IN ('paid', 'partly_shipped', 'part_shipped', 'shipped', 'delivered', 'partly_refunded')
   FOR UPDATE;

-- OrderStatus: refund, enter_at
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, CASE status WHEN 'part_shipped' THEN 'partly_shipped' ELSE status END, 'partly_refunded', 'refund', ?, ?, NOW(6)
  FROM orders
 WHERE order_id = ? AND status IN ('paid', 'partly_shipped', 'part_shipped', 'shipped', 'delivered', 'partly_refunded') AND version = ?
   FOR UPDATE;

-- OrderStatus: refund, fire
UPDATE orders
   SET status = 'partly_refunded', version = LAST_INSERT_ID(version + 1)
 WHERE order_id = ? AND status IN ('paid', 'partly_shipped', 'part_shipped', 'shipped', 'delivered', 'partly_refunded');

-- OrderStatus: refund, fire_at
UPDATE orders
   SET status = 'partly_refunded', version = LAST_INSERT_ID(version + 1)
 WHERE order_id = ? AND status IN ('paid', 'partly_shipped', 'part_shipped', 'shipped', 'delivered', 'partly_refunded') AND version = ?;

-- OrderStatus: refund, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, CONVERT(latest.cause USING utf8mb4) AS latest_cause,
       passed.version AS passed, CONVERT(passed.cause USING utf8mb4) AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.order_id = ? AND caused.event = 'refund' AND caused.cause = ?
  LEFT JOIN orders_history AS latest
    ON latest.order_id = ?
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ? FOR UPDATE)
  LEFT JOIN orders_history AS passed
    ON passed.order_id = ?
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ? AND target = 'partly_refunded' FOR UPDATE)
 WHERE seen.order_id = ?
   FOR UPDATE;

-- OrderStatus: refund, fire_all
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, order_id BIGINT PATH '$')) AS given
STRAIGHT_JOIN orders AS seen ON seen.order_id = given.order_id
   SET status = 'partly_refunded', version = seen.version + 1
 WHERE seen.status IN ('paid', 'partly_shipped', 'part_shipped', 'shipped', 'delivered', 'partly_refunded');

-- OrderStatus: refund_all, enter
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, status, 'refunded', 'refund_all', ?, ?, NOW(6)
  FROM orders
 WHERE order_id = ? AND status = 'partly_refunded'
   FOR UPDATE;

-- OrderStatus: refund_all, enter_at
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, status, 'refunded', 'refund_all', ?, ?, NOW(6)
  FROM orders
 WHERE order_id = ? AND status = 'partly_refunded' AND version = ?
   FOR UPDATE;

-- OrderStatus: refund_all, fire
UPDATE orders
   SET status = 'refunded', version = LAST_INSERT_ID(version + 1)
 WHERE order_id = ? AND status = 'partly_refunded';

-- OrderStatus: refund_all, fire_at
UPDATE orders
   SET status = 'refunded', version = LAST_INSERT_ID(version + 1)
 WHERE order_id = ? AND status = 'partly_refunded' AND version = ?;

-- OrderStatus: refund_all, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, CONVERT(latest.cause USING utf8mb4) AS latest_cause,
       passed.version AS passed, CONVERT(passed.cause USING utf8mb4) AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.order_id = ? AND caused.event = 'refund_all' AND caused.cause = ?
  LEFT JOIN orders_history AS latest
    ON latest.order_id = ?
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ? FOR UPDATE)
  LEFT JOIN orders_history AS passed
    ON passed.order_id = ?
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ? AND target = 'refunded' FOR UPDATE)
 WHERE seen.order_id = ?
   FOR UPDATE;

-- OrderStatus: refund_all, fire_all
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, order_id BIGINT PATH '$')) AS given
STRAIGHT_JOIN orders AS seen ON seen.order_id = given.order_id
   SET status = 'refunded', version = seen.version + 1
 WHERE seen.status = 'partly_refunded';
