-- tables ------------------------------------------------------------------------------------------

CREATE TABLE orders (
  order_id BLOB NOT NULL PRIMARY KEY,
  cart_id BIGINT NOT NULL,
  amount BIGINT NOT NULL,
  status TEXT NOT NULL DEFAULT 'created',
  version INTEGER NOT NULL DEFAULT 0,
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
--   version INTEGER NOT NULL DEFAULT 0

-- OrderStatus: history
CREATE TABLE IF NOT EXISTS orders_history (
  order_id BLOB NOT NULL,
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
CREATE UNIQUE INDEX IF NOT EXISTS orders_history_create
    ON orders_history (cause)
 WHERE event = 'create';

-- OrderStatus: unique while
CREATE UNIQUE INDEX orders_one_order
    ON orders (cart_id)
 WHERE status IN ('created', 'paid');
CREATE TRIGGER orders_one_order_insert
BEFORE INSERT ON orders WHEN NEW.cart_id IS NULL
BEGIN SELECT RAISE(ABORT, 'a column of the key of one_order is NULL'); END;
CREATE TRIGGER orders_one_order_update
BEFORE UPDATE ON orders WHEN NEW.cart_id IS NULL
BEGIN SELECT RAISE(ABORT, 'a column of the key of one_order is NULL'); END;

-- OrderStatus: unknown values
SELECT status, COUNT(*) AS held
  FROM orders
 WHERE status NOT IN ('created', 'paid', 'cancelled') OR status IS NULL
 GROUP BY status
 ORDER BY status;

-- OrderStatus: guard
CREATE TABLE IF NOT EXISTS idem_repair (session INTEGER NOT NULL PRIMARY KEY);
DROP TRIGGER IF EXISTS orders_status_guard_update;
DROP TRIGGER IF EXISTS orders_status_guard_insert;
CREATE TRIGGER orders_status_guard_update AFTER UPDATE OF status ON orders
 WHEN OLD.status COLLATE BINARY IS NOT NEW.status COLLATE BINARY
  AND (   OLD.status COLLATE BINARY = 'created' AND NEW.status COLLATE BINARY IN ('created', 'paid', 'cancelled')
       OR OLD.status COLLATE BINARY = 'paid' AND NEW.status COLLATE BINARY = 'paid'
       OR OLD.status COLLATE BINARY = 'cancelled' AND NEW.status COLLATE BINARY = 'cancelled') IS NOT TRUE
  AND NOT EXISTS (SELECT 1 FROM idem_repair)
BEGIN
  SELECT RAISE(ABORT, 'idem guard orders_status_guard_b685ca5a: undeclared transition');
END;
CREATE TRIGGER orders_status_guard_insert AFTER INSERT ON orders
 WHEN (NEW.status COLLATE BINARY = 'created') IS NOT TRUE
  AND NOT EXISTS (SELECT 1 FROM idem_repair)
BEGIN
  SELECT RAISE(ABORT, 'idem guard orders_status_guard_b685ca5a: not an initial state');
END;

-- OrderStatus: remove the guard
DROP TRIGGER IF EXISTS orders_status_guard_update;
DROP TRIGGER IF EXISTS orders_status_guard_insert;

-- OrderStatus: adopt
-- idem: orders_status_version d1bb2660
-- Programs that do not know the column go on: a row that they insert begins at 0.
ALTER TABLE "orders"
  ADD COLUMN "version" INTEGER NOT NULL DEFAULT 0;

-- OrderStatus: which guard
SELECT CASE WHEN COUNT(*) < 2 THEN 'missing'
            WHEN SUM(instr(sql, '_guard_b685ca5a') > 0) = 2 THEN 'installed'
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
  JOIN orders AS seen ON seen.order_id = unhex(replace(given.order_id, '-', ''));

-- OrderStatus: many rows, caused
SELECT given.nth AS nth, entry.version AS caused, entry.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM (SELECT list.key + 1 AS nth, list.value AS order_id FROM json_each(?1) AS list) AS given
  JOIN orders_history AS entry ON entry.order_id = unhex(replace(given.order_id, '-', ''))
 WHERE entry.event = ?2 AND entry.cause = ?3;

-- OrderStatus: many rows, enter
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT seen.order_id, seen.version + 1, seen.status, ?1, ?2, ?3, ?4, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM (SELECT list.key + 1 AS nth, list.value AS order_id FROM json_each(?5) AS list) AS given
  JOIN orders AS seen ON seen.order_id = unhex(replace(given.order_id, '-', ''));

-- OrderStatus: create, enter
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
VALUES (?1, 0, '', 'created', 'create', ?2, ?3, strftime('%Y-%m-%d %H:%M:%f', 'now'));

-- OrderStatus: create, insert
INSERT INTO orders (order_id, cart_id, amount, status, version)
VALUES (?1, ?2, ?3, 'created', 0);

-- OrderStatus: create, caused
SELECT made.order_id AS id_0, seen.status AS status, seen.version AS version,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM orders_history AS made
  LEFT JOIN orders AS seen
    ON seen.order_id = made.order_id
 WHERE made.event = 'create' AND made.cause = ?1;

-- OrderStatus: create, met
SELECT seen.order_id AS id_0, seen.status AS status, seen.version AS version,
       CASE WHEN seen.cart_id IS ?1
             AND seen.amount IS ?2 THEN 1 ELSE 0 END AS same,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM orders AS seen
  LEFT JOIN orders_history AS made
    ON made.order_id = seen.order_id AND made.event = 'create'
 WHERE seen.order_id = ?3;

-- OrderStatus: create, met
SELECT seen.order_id AS id_0, seen.status AS status, seen.version AS version,
       CASE WHEN seen.cart_id IS ?1
             AND seen.amount IS ?2 THEN 1 ELSE 0 END AS same,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM orders AS seen
  LEFT JOIN orders_history AS made
    ON made.order_id = seen.order_id AND made.event = 'create'
 WHERE seen.cart_id = ?1 AND seen.status IN ('created', 'paid');

-- OrderStatus: pay, enter
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, status, 'paid', 'pay', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM orders
 WHERE order_id = ?3 AND status = 'created';

-- OrderStatus: pay, enter_at
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, status, 'paid', 'pay', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM orders
 WHERE order_id = ?3 AND status = 'created' AND version = ?4;

-- OrderStatus: pay, fire
UPDATE orders
   SET status = 'paid', payment_id = ?1, version = version + 1
 WHERE order_id = ?2 AND status = 'created'
RETURNING version AS applied;

-- OrderStatus: pay, fire_at
UPDATE orders
   SET status = 'paid', payment_id = ?1, version = version + 1
 WHERE order_id = ?2 AND status = 'created' AND version = ?3
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
   SET status = 'paid', payment_id = ?1, version = orders.version + 1
  FROM (SELECT list.key + 1 AS nth, list.value AS order_id FROM json_each(?2) AS list) AS given
 WHERE orders.order_id = unhex(replace(given.order_id, '-', '')) AND orders.status = 'created';

-- OrderStatus: cancel, enter
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, status, 'cancelled', 'cancel', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM orders
 WHERE order_id = ?3 AND status = 'created';

-- OrderStatus: cancel, enter_at
INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
SELECT order_id, version + 1, status, 'cancelled', 'cancel', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM orders
 WHERE order_id = ?3 AND status = 'created' AND version = ?4;

-- OrderStatus: cancel, fire
UPDATE orders
   SET status = 'cancelled', version = version + 1
 WHERE order_id = ?1 AND status = 'created'
RETURNING version AS applied;

-- OrderStatus: cancel, fire_at
UPDATE orders
   SET status = 'cancelled', version = version + 1
 WHERE order_id = ?1 AND status = 'created' AND version = ?2
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
 WHERE orders.order_id = unhex(replace(given.order_id, '-', '')) AND orders.status = 'created';

-- the token ---------------------------------------------------------------------------------------

-- token, issue
INSERT INTO idem_token (hash, purpose, subject, created_at, expires_at)
VALUES (?1, ?2, ?3, strftime('%Y-%m-%d %H:%M:%f', 'now'),
        strftime('%Y-%m-%d %H:%M:%f', 'now', (?4 / 1000.0) || ' seconds'));

-- token, consume
UPDATE idem_token
   SET used_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), used_by = ?1
 WHERE hash = ?2 AND purpose = ?3 AND subject = ?4 AND used_at IS NULL
   AND expires_at > strftime('%Y-%m-%d %H:%M:%f', 'now');

-- token, read
SELECT purpose, subject, used_by, CASE WHEN used_at IS NOT NULL THEN 1 END AS used,
       CASE WHEN expires_at <= strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 END AS expired
  FROM idem_token
 WHERE hash = ?1;
