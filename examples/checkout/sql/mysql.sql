-- tables ------------------------------------------------------------------------------------------

CREATE TABLE orders (
  order_id BINARY(16) NOT NULL PRIMARY KEY,
  cart_id BIGINT NOT NULL,
  amount BIGINT NOT NULL,
  status VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'created',
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
--   status VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'created',
--   version BIGINT NOT NULL DEFAULT 0,
--   CONSTRAINT orders_status_check CHECK (status IN ('created', 'paid', 'cancelled'))

-- OrderStatus: widen
ALTER TABLE orders
  DROP CONSTRAINT orders_status_check,
  ADD CONSTRAINT orders_status_check CHECK (status IN ('created', 'paid', 'cancelled'));

-- OrderStatus: history
CREATE TABLE IF NOT EXISTS orders_history (
  order_id BINARY(16) NOT NULL,
  version BIGINT NOT NULL,
  source VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  target VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  event VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  cause VARBINARY(512),
  fingerprint VARCHAR(80) CHARACTER SET ascii COLLATE ascii_bin,
  at DATETIME(6) NOT NULL,
  create_cause VARBINARY(512) AS (CASE WHEN event = 'create' THEN cause END) STORED,
  PRIMARY KEY (order_id, version),
  UNIQUE (order_id, event, cause),
  UNIQUE (create_cause)
);

-- OrderStatus: unique while
ALTER TABLE orders
  ADD COLUMN one_order TINYINT AS (CASE WHEN status IN ('created', 'paid') THEN 1 END) STORED,
  ADD CONSTRAINT orders_one_order_key CHECK (cart_id IS NOT NULL),
  ADD UNIQUE INDEX orders_one_order (cart_id, one_order);

-- OrderStatus: unknown values
SELECT MIN(status) AS status, COUNT(*) AS held
  FROM orders
 WHERE CAST(status AS BINARY) NOT IN ('created', 'paid', 'cancelled') OR status IS NULL
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
     AND (   source = 'created' AND target IN ('created', 'paid', 'cancelled')
          OR source = 'paid' AND target = 'paid'
          OR source = 'cancelled' AND target = 'cancelled') IS NOT TRUE
     AND NOT EXISTS (SELECT 1 FROM idem_repair WHERE session = CONNECTION_ID()) THEN
    SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 45001, MESSAGE_TEXT = 'idem guard orders_status_guard_b685ca5a: undeclared transition';
  END IF;
END;
CREATE TRIGGER orders_status_guard_insert AFTER INSERT ON orders FOR EACH ROW
BEGIN
  DECLARE target VARBINARY(1024) DEFAULT CAST(CONVERT(NEW.status USING utf8mb4) AS BINARY);
  IF (target = 'created') IS NOT TRUE
     AND NOT EXISTS (SELECT 1 FROM idem_repair WHERE session = CONNECTION_ID()) THEN
    SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 45001, MESSAGE_TEXT = 'idem guard orders_status_guard_b685ca5a: not an initial state';
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
-- idem: orders_status_values cf907021
-- Before the release that adds a value, after the one that removes one. No row may hold another value.
ALTER TABLE orders
  MODIFY status VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'created',
  ADD CONSTRAINT orders_status_check CHECK (status IN ('created', 'paid', 'cancelled'));

-- OrderStatus: which guard
SELECT CASE WHEN COUNT(*) < 2 THEN 'missing'
            WHEN SUM(LOCATE('_guard_b685ca5a', ACTION_STATEMENT) > 0) = 2 THEN 'installed'
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
  FROM JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, order_id CHAR(36) PATH '$')) AS given
  STRAIGHT_JOIN orders AS seen ON seen.order_id = UNHEX(REPLACE(given.order_id, '-', ''))
   FOR UPDATE;

-- OrderStatus: many rows, caused
SELECT given.nth AS nth, entry.version AS caused, entry.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, order_id CHAR(36) PATH '$')) AS given
  STRAIGHT_JOIN orders_history AS entry ON entry.order_id = UNHEX(REPLACE(given.order_id, '-', ''))
 WHERE entry.event = ? AND entry.cause = ?;

-- OrderStatus: many rows, enter
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT seen.order_id, seen.version + 1, seen.status, ?, ?, ?, ?, NOW(6)
  FROM JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, order_id CHAR(36) PATH '$')) AS given
  STRAIGHT_JOIN orders AS seen ON seen.order_id = UNHEX(REPLACE(given.order_id, '-', ''));

-- OrderStatus: create, enter
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
VALUES (?, 0, '', 'created', 'create', ?, ?, NOW(6));

-- OrderStatus: create, insert
INSERT INTO orders (order_id, cart_id, amount, status, version)
VALUES (?, ?, ?, 'created', 0);

-- OrderStatus: create, caused
SELECT made.order_id AS id_0, seen.status AS status, seen.version AS version,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM orders_history AS made
  LEFT JOIN orders AS seen
    ON seen.order_id = made.order_id
 WHERE made.create_cause = ?
   LOCK IN SHARE MODE;

-- OrderStatus: create, met
SELECT seen.order_id AS id_0, seen.status AS status, seen.version AS version,
       CASE WHEN seen.cart_id <=> ?
             AND seen.amount <=> ? THEN 1 ELSE 0 END AS same,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM orders AS seen
  LEFT JOIN orders_history AS made
    ON made.order_id = seen.order_id AND made.event = 'create'
 WHERE seen.order_id = ?
   LOCK IN SHARE MODE;

-- OrderStatus: create, met
SELECT seen.order_id AS id_0, seen.status AS status, seen.version AS version,
       CASE WHEN seen.cart_id <=> ?
             AND seen.amount <=> ? THEN 1 ELSE 0 END AS same,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM orders AS seen
  LEFT JOIN orders_history AS made
    ON made.order_id = seen.order_id AND made.event = 'create'
 WHERE seen.cart_id = ? AND seen.one_order = 1
   LOCK IN SHARE MODE;

-- OrderStatus: pay, enter
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, status, 'paid', 'pay', ?, ?, NOW(6)
  FROM orders
 WHERE order_id = ? AND status = 'created'
   FOR UPDATE;

-- OrderStatus: pay, enter_at
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, status, 'paid', 'pay', ?, ?, NOW(6)
  FROM orders
 WHERE order_id = ? AND status = 'created' AND version = ?
   FOR UPDATE;

-- OrderStatus: pay, fire
UPDATE orders
   SET status = 'paid', payment_id = ?, version = LAST_INSERT_ID(version + 1)
 WHERE order_id = ? AND status = 'created';

-- OrderStatus: pay, fire_at
UPDATE orders
   SET status = 'paid', payment_id = ?, version = LAST_INSERT_ID(version + 1)
 WHERE order_id = ? AND status = 'created' AND version = ?;

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
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, order_id CHAR(36) PATH '$')) AS given
STRAIGHT_JOIN orders AS seen ON seen.order_id = UNHEX(REPLACE(given.order_id, '-', ''))
   SET status = 'paid', payment_id = ?, version = seen.version + 1
 WHERE seen.status = 'created';

-- OrderStatus: cancel, enter
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, status, 'cancelled', 'cancel', ?, ?, NOW(6)
  FROM orders
 WHERE order_id = ? AND status = 'created'
   FOR UPDATE;

-- OrderStatus: cancel, enter_at
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, status, 'cancelled', 'cancel', ?, ?, NOW(6)
  FROM orders
 WHERE order_id = ? AND status = 'created' AND version = ?
   FOR UPDATE;

-- OrderStatus: cancel, fire
UPDATE orders
   SET status = 'cancelled', version = LAST_INSERT_ID(version + 1)
 WHERE order_id = ? AND status = 'created';

-- OrderStatus: cancel, fire_at
UPDATE orders
   SET status = 'cancelled', version = LAST_INSERT_ID(version + 1)
 WHERE order_id = ? AND status = 'created' AND version = ?;

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
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, order_id CHAR(36) PATH '$')) AS given
STRAIGHT_JOIN orders AS seen ON seen.order_id = UNHEX(REPLACE(given.order_id, '-', ''))
   SET status = 'cancelled', version = seen.version + 1
 WHERE seen.status = 'created';

-- the token ---------------------------------------------------------------------------------------

-- token, issue
INSERT INTO idem_token (hash, purpose, subject, created_at, expires_at)
VALUES (?, ?, ?, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) + INTERVAL ? * 1000 MICROSECOND);

-- token, consume
UPDATE idem_token
   SET used_at = UTC_TIMESTAMP(6), used_by = ?
 WHERE hash = ? AND purpose = ? AND subject = ? AND used_at IS NULL AND expires_at > UTC_TIMESTAMP(6);

-- token, read
SELECT purpose, subject, used_by, CASE WHEN used_at IS NOT NULL THEN 1 END AS used,
       CASE WHEN expires_at <= UTC_TIMESTAMP(6) THEN 1 END AS expired
  FROM idem_token
 WHERE hash = ?
  LOCK IN SHARE MODE;
