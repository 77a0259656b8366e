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
--   version INTEGER NOT NULL DEFAULT 0

-- PaymentStatus: history
CREATE TABLE IF NOT EXISTS payments_history (
  trade_no TEXT NOT NULL,
  version INTEGER NOT NULL,
  source TEXT NOT NULL,
  target TEXT NOT NULL,
  event TEXT NOT NULL,
  cause TEXT,
  fingerprint TEXT,
  at TEXT NOT NULL,
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
CREATE TABLE IF NOT EXISTS idem_repair (session INTEGER NOT NULL PRIMARY KEY);
DROP TRIGGER IF EXISTS payments_status_guard_update;
DROP TRIGGER IF EXISTS payments_status_guard_insert;
CREATE TRIGGER payments_status_guard_update AFTER UPDATE OF status ON payments
 WHEN OLD.status COLLATE BINARY IS NOT NEW.status COLLATE BINARY
  AND (   OLD.status COLLATE BINARY = 'waiting' AND NEW.status COLLATE BINARY IN ('waiting', 'captured', 'closed')
       OR OLD.status COLLATE BINARY = 'captured' AND NEW.status COLLATE BINARY IN ('captured', 'set_aside', 'refunded')
       OR OLD.status COLLATE BINARY = 'set_aside' AND NEW.status COLLATE BINARY IN ('set_aside', 'refunded')
       OR OLD.status COLLATE BINARY = 'refunded' AND NEW.status COLLATE BINARY = 'refunded'
       OR OLD.status COLLATE BINARY = 'closed' AND NEW.status COLLATE BINARY IN ('closed', 'captured')) IS NOT TRUE
  AND NOT EXISTS (SELECT 1 FROM idem_repair)
BEGIN
  SELECT RAISE(ABORT, 'idem guard payments_status_guard_fa77679b: undeclared transition');
END;
CREATE TRIGGER payments_status_guard_insert AFTER INSERT ON payments
 WHEN (NEW.status COLLATE BINARY = 'waiting') IS NOT TRUE
  AND NOT EXISTS (SELECT 1 FROM idem_repair)
BEGIN
  SELECT RAISE(ABORT, 'idem guard payments_status_guard_fa77679b: not an initial state');
END;

-- PaymentStatus: remove the guard
DROP TRIGGER IF EXISTS payments_status_guard_update;
DROP TRIGGER IF EXISTS payments_status_guard_insert;

-- PaymentStatus: adopt
-- idem: payments_status_version 67336ff5
-- Programs that do not know the column go on: a row that they insert begins at 0.
ALTER TABLE "payments"
  ADD COLUMN "version" INTEGER NOT NULL DEFAULT 0;

-- PaymentStatus: which guard
SELECT CASE WHEN COUNT(*) < 2 THEN 'missing'
            WHEN SUM(instr(sql, '_guard_fa77679b') > 0) = 2 THEN 'installed'
            ELSE 'outdated' END AS guard
  FROM sqlite_master
 WHERE type = 'trigger' AND name IN ('payments_status_guard_update', 'payments_status_guard_insert');

-- PaymentStatus: repair, read
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.trade_no = seen.trade_no THEN 1 ELSE 0 END AS caused_here
  FROM payments AS seen
  LEFT JOIN payments_history AS caused
    ON caused.trade_no = seen.trade_no AND caused.event = 'repair' AND caused.cause = ?2
 WHERE seen.trade_no = ?1;

-- PaymentStatus: repair, open
INSERT INTO idem_repair (session) VALUES (0);

-- PaymentStatus: repair, enter
INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
SELECT trade_no, version + 1, COALESCE(status, ''), ?1, 'repair', ?2, ?3, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM payments
 WHERE trade_no = ?4;

-- PaymentStatus: repair, write
UPDATE payments
   SET status = ?1, version = version + 1
 WHERE trade_no = ?2;

-- PaymentStatus: repair, close
DELETE FROM idem_repair;

-- PaymentStatus: load
SELECT status, version
  FROM payments
 WHERE trade_no = ?1;

-- PaymentStatus: lock
SELECT status, version
  FROM payments
 WHERE trade_no = ?1;

-- PaymentStatus: lock_now
SELECT status, version
  FROM payments
 WHERE trade_no = ?1;

-- PaymentStatus: many rows, read
SELECT given.nth AS nth, seen.status AS status, seen.version AS version
  FROM (SELECT list.key + 1 AS nth, list.value AS trade_no FROM json_each(?1) AS list) AS given
  JOIN payments AS seen ON seen.trade_no = given.trade_no;

-- PaymentStatus: many rows, caused
SELECT given.nth AS nth, entry.version AS caused, entry.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM (SELECT list.key + 1 AS nth, list.value AS trade_no FROM json_each(?1) AS list) AS given
  JOIN payments_history AS entry ON entry.trade_no = given.trade_no
 WHERE entry.event = ?2 AND entry.cause = ?3;

-- PaymentStatus: many rows, enter
INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
SELECT seen.trade_no, seen.version + 1, seen.status, ?1, ?2, ?3, ?4, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM (SELECT list.key + 1 AS nth, list.value AS trade_no FROM json_each(?5) AS list) AS given
  JOIN payments AS seen ON seen.trade_no = given.trade_no;

-- PaymentStatus: capture, enter
INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
SELECT trade_no, version + 1, status, 'captured', 'capture', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM payments
 WHERE trade_no = ?3 AND status IN ('waiting', 'closed');

-- PaymentStatus: capture, enter_at
INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
SELECT trade_no, version + 1, status, 'captured', 'capture', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM payments
 WHERE trade_no = ?3 AND status IN ('waiting', 'closed') AND version = ?4;

-- PaymentStatus: capture, fire
UPDATE payments
   SET status = 'captured', out_trade_no = ?1, amount = ?2, captured_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), version = version + 1
 WHERE trade_no = ?3 AND status IN ('waiting', 'closed')
RETURNING version AS applied;

-- PaymentStatus: capture, fire_at
UPDATE payments
   SET status = 'captured', out_trade_no = ?1, amount = ?2, captured_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), version = version + 1
 WHERE trade_no = ?3 AND status IN ('waiting', 'closed') AND version = ?4
RETURNING version AS applied;

-- PaymentStatus: capture, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM payments AS seen
  LEFT JOIN payments_history AS caused
    ON caused.trade_no = ?1 AND caused.event = 'capture' AND caused.cause = ?2
  LEFT JOIN payments_history AS latest
    ON latest.trade_no = ?1
   AND latest.version = (SELECT MAX(version) FROM payments_history WHERE trade_no = ?1)
  LEFT JOIN payments_history AS passed
    ON passed.trade_no = ?1
   AND passed.version = (SELECT MAX(version) FROM payments_history WHERE trade_no = ?1 AND target = 'captured')
 WHERE seen.trade_no = ?1;

-- PaymentStatus: capture, fire_all
UPDATE payments
   SET status = 'captured', out_trade_no = ?1, amount = ?2, captured_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), version = payments.version + 1
  FROM (SELECT list.key + 1 AS nth, list.value AS trade_no FROM json_each(?3) AS list) AS given
 WHERE payments.trade_no = given.trade_no AND payments.status IN ('waiting', 'closed');

-- PaymentStatus: give_back, enter
INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
SELECT trade_no, version + 1, status, 'captured', 'give_back', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM payments
 WHERE trade_no = ?3 AND status = 'captured';

-- PaymentStatus: give_back, enter_at
INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
SELECT trade_no, version + 1, status, 'captured', 'give_back', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM payments
 WHERE trade_no = ?3 AND status = 'captured' AND version = ?4;

-- PaymentStatus: give_back, fire
UPDATE payments
   SET status = 'captured', refunded = ?1, version = version + 1
 WHERE trade_no = ?2 AND status = 'captured'
RETURNING version AS applied;

-- PaymentStatus: give_back, fire_at
UPDATE payments
   SET status = 'captured', refunded = ?1, version = version + 1
 WHERE trade_no = ?2 AND status = 'captured' AND version = ?3
RETURNING version AS applied;

-- PaymentStatus: give_back, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM payments AS seen
  LEFT JOIN payments_history AS caused
    ON caused.trade_no = ?1 AND caused.event = 'give_back' AND caused.cause = ?2
  LEFT JOIN payments_history AS latest
    ON latest.trade_no = ?1
   AND latest.version = (SELECT MAX(version) FROM payments_history WHERE trade_no = ?1)
  LEFT JOIN payments_history AS passed
    ON passed.trade_no = ?1
   AND passed.version = (SELECT MAX(version) FROM payments_history WHERE trade_no = ?1 AND target = 'captured')
 WHERE seen.trade_no = ?1;

-- PaymentStatus: give_back, fire_all
UPDATE payments
   SET status = 'captured', refunded = ?1, version = payments.version + 1
  FROM (SELECT list.key + 1 AS nth, list.value AS trade_no FROM json_each(?2) AS list) AS given
 WHERE payments.trade_no = given.trade_no AND payments.status = 'captured';

-- PaymentStatus: refuse, enter
INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
SELECT trade_no, version + 1, status, 'set_aside', 'refuse', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM payments
 WHERE trade_no = ?3 AND status = 'captured';

-- PaymentStatus: refuse, enter_at
INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
SELECT trade_no, version + 1, status, 'set_aside', 'refuse', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM payments
 WHERE trade_no = ?3 AND status = 'captured' AND version = ?4;

-- PaymentStatus: refuse, fire
UPDATE payments
   SET status = 'set_aside', reason = ?1, version = version + 1
 WHERE trade_no = ?2 AND status = 'captured'
RETURNING version AS applied;

-- PaymentStatus: refuse, fire_at
UPDATE payments
   SET status = 'set_aside', reason = ?1, version = version + 1
 WHERE trade_no = ?2 AND status = 'captured' AND version = ?3
RETURNING version AS applied;

-- PaymentStatus: refuse, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM payments AS seen
  LEFT JOIN payments_history AS caused
    ON caused.trade_no = ?1 AND caused.event = 'refuse' AND caused.cause = ?2
  LEFT JOIN payments_history AS latest
    ON latest.trade_no = ?1
   AND latest.version = (SELECT MAX(version) FROM payments_history WHERE trade_no = ?1)
  LEFT JOIN payments_history AS passed
    ON passed.trade_no = ?1
   AND passed.version = (SELECT MAX(version) FROM payments_history WHERE trade_no = ?1 AND target = 'set_aside')
 WHERE seen.trade_no = ?1;

-- PaymentStatus: refuse, fire_all
UPDATE payments
   SET status = 'set_aside', reason = ?1, version = payments.version + 1
  FROM (SELECT list.key + 1 AS nth, list.value AS trade_no FROM json_each(?2) AS list) AS given
 WHERE payments.trade_no = given.trade_no AND payments.status = 'captured';

-- PaymentStatus: refund, enter
INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
SELECT trade_no, version + 1, status, 'refunded', 'refund', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM payments
 WHERE trade_no = ?3 AND status IN ('captured', 'set_aside');

-- PaymentStatus: refund, enter_at
INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
SELECT trade_no, version + 1, status, 'refunded', 'refund', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM payments
 WHERE trade_no = ?3 AND status IN ('captured', 'set_aside') AND version = ?4;

-- PaymentStatus: refund, fire
UPDATE payments
   SET status = 'refunded', refunded = ?1, version = version + 1
 WHERE trade_no = ?2 AND status IN ('captured', 'set_aside')
RETURNING version AS applied;

-- PaymentStatus: refund, fire_at
UPDATE payments
   SET status = 'refunded', refunded = ?1, version = version + 1
 WHERE trade_no = ?2 AND status IN ('captured', 'set_aside') AND version = ?3
RETURNING version AS applied;

-- PaymentStatus: refund, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM payments AS seen
  LEFT JOIN payments_history AS caused
    ON caused.trade_no = ?1 AND caused.event = 'refund' AND caused.cause = ?2
  LEFT JOIN payments_history AS latest
    ON latest.trade_no = ?1
   AND latest.version = (SELECT MAX(version) FROM payments_history WHERE trade_no = ?1)
  LEFT JOIN payments_history AS passed
    ON passed.trade_no = ?1
   AND passed.version = (SELECT MAX(version) FROM payments_history WHERE trade_no = ?1 AND target = 'refunded')
 WHERE seen.trade_no = ?1;

-- PaymentStatus: refund, fire_all
UPDATE payments
   SET status = 'refunded', refunded = ?1, version = payments.version + 1
  FROM (SELECT list.key + 1 AS nth, list.value AS trade_no FROM json_each(?2) AS list) AS given
 WHERE payments.trade_no = given.trade_no AND payments.status IN ('captured', 'set_aside');

-- PaymentStatus: close, enter
INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
SELECT trade_no, version + 1, status, 'closed', 'close', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM payments
 WHERE trade_no = ?3 AND status = 'waiting';

-- PaymentStatus: close, enter_at
INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
SELECT trade_no, version + 1, status, 'closed', 'close', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM payments
 WHERE trade_no = ?3 AND status = 'waiting' AND version = ?4;

-- PaymentStatus: close, fire
UPDATE payments
   SET status = 'closed', version = version + 1
 WHERE trade_no = ?1 AND status = 'waiting'
RETURNING version AS applied;

-- PaymentStatus: close, fire_at
UPDATE payments
   SET status = 'closed', version = version + 1
 WHERE trade_no = ?1 AND status = 'waiting' AND version = ?2
RETURNING version AS applied;

-- PaymentStatus: close, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM payments AS seen
  LEFT JOIN payments_history AS caused
    ON caused.trade_no = ?1 AND caused.event = 'close' AND caused.cause = ?2
  LEFT JOIN payments_history AS latest
    ON latest.trade_no = ?1
   AND latest.version = (SELECT MAX(version) FROM payments_history WHERE trade_no = ?1)
  LEFT JOIN payments_history AS passed
    ON passed.trade_no = ?1
   AND passed.version = (SELECT MAX(version) FROM payments_history WHERE trade_no = ?1 AND target = 'closed')
 WHERE seen.trade_no = ?1;

-- PaymentStatus: close, fire_all
UPDATE payments
   SET status = 'closed', version = payments.version + 1
  FROM (SELECT list.key + 1 AS nth, list.value AS trade_no FROM json_each(?1) AS list) AS given
 WHERE payments.trade_no = given.trade_no AND payments.status = 'waiting';

-- OrderStatus -------------------------------------------------------------------------------------

-- pay: Pending => Paid
-- ship: Paid => Shipped
-- finish: Shipped => Done
-- cancel: Pending => Cancelled
-- refund: Paid => Refunded
-- refund: Shipped => Refunded

-- OrderStatus: columns of the table
--   status TEXT NOT NULL DEFAULT 'pending',
--   version INTEGER NOT NULL DEFAULT 0

-- OrderStatus: history
CREATE TABLE IF NOT EXISTS orders_history (
  out_trade_no TEXT NOT NULL,
  version INTEGER NOT NULL,
  source TEXT NOT NULL,
  target TEXT NOT NULL,
  event TEXT NOT NULL,
  cause TEXT,
  fingerprint TEXT,
  at TEXT NOT NULL,
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
CREATE TABLE IF NOT EXISTS idem_repair (session INTEGER NOT NULL PRIMARY KEY);
DROP TRIGGER IF EXISTS orders_status_guard_update;
DROP TRIGGER IF EXISTS orders_status_guard_insert;
CREATE TRIGGER orders_status_guard_update AFTER UPDATE OF status ON orders
 WHEN OLD.status COLLATE BINARY IS NOT NEW.status COLLATE BINARY
  AND (   OLD.status COLLATE BINARY = 'pending' AND NEW.status COLLATE BINARY IN ('pending', 'paid', 'cancelled')
       OR OLD.status COLLATE BINARY = 'paid' AND NEW.status COLLATE BINARY IN ('paid', 'shipped', 'refunded')
       OR OLD.status COLLATE BINARY = 'shipped' AND NEW.status COLLATE BINARY IN ('shipped', 'done', 'refunded')
       OR OLD.status COLLATE BINARY = 'done' AND NEW.status COLLATE BINARY = 'done'
       OR OLD.status COLLATE BINARY = 'cancelled' AND NEW.status COLLATE BINARY = 'cancelled'
       OR OLD.status COLLATE BINARY = 'refunded' AND NEW.status COLLATE BINARY = 'refunded') IS NOT TRUE
  AND NOT EXISTS (SELECT 1 FROM idem_repair)
BEGIN
  SELECT RAISE(ABORT, 'idem guard orders_status_guard_cb83f9a5: undeclared transition');
END;
CREATE TRIGGER orders_status_guard_insert AFTER INSERT ON orders
 WHEN (NEW.status COLLATE BINARY = 'pending') IS NOT TRUE
  AND NOT EXISTS (SELECT 1 FROM idem_repair)
BEGIN
  SELECT RAISE(ABORT, 'idem guard orders_status_guard_cb83f9a5: not an initial state');
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
            WHEN SUM(instr(sql, '_guard_cb83f9a5') > 0) = 2 THEN 'installed'
            ELSE 'outdated' END AS guard
  FROM sqlite_master
 WHERE type = 'trigger' AND name IN ('orders_status_guard_update', 'orders_status_guard_insert');

-- OrderStatus: repair, read
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.out_trade_no = seen.out_trade_no THEN 1 ELSE 0 END AS caused_here
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.event = 'repair' AND caused.cause = ?2
 WHERE seen.out_trade_no = ?1;

-- OrderStatus: repair, open
INSERT INTO idem_repair (session) VALUES (0);

-- OrderStatus: repair, enter
INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
SELECT out_trade_no, version + 1, COALESCE(status, ''), ?1, 'repair', ?2, ?3, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM orders
 WHERE out_trade_no = ?4;

-- OrderStatus: repair, write
UPDATE orders
   SET status = ?1, version = version + 1
 WHERE out_trade_no = ?2;

-- OrderStatus: repair, close
DELETE FROM idem_repair;

-- OrderStatus: load
SELECT status, version
  FROM orders
 WHERE out_trade_no = ?1;

-- OrderStatus: lock
SELECT status, version
  FROM orders
 WHERE out_trade_no = ?1;

-- OrderStatus: lock_now
SELECT status, version
  FROM orders
 WHERE out_trade_no = ?1;

-- OrderStatus: many rows, read
SELECT given.nth AS nth, seen.status AS status, seen.version AS version
  FROM (SELECT list.key + 1 AS nth, list.value AS out_trade_no FROM json_each(?1) AS list) AS given
  JOIN orders AS seen ON seen.out_trade_no = given.out_trade_no;

-- OrderStatus: many rows, caused
SELECT given.nth AS nth, entry.version AS caused, entry.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM (SELECT list.key + 1 AS nth, list.value AS out_trade_no FROM json_each(?1) AS list) AS given
  JOIN orders_history AS entry ON entry.out_trade_no = given.out_trade_no
 WHERE entry.event = ?2 AND entry.cause = ?3;

-- OrderStatus: many rows, enter
INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
SELECT seen.out_trade_no, seen.version + 1, seen.status, ?1, ?2, ?3, ?4, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM (SELECT list.key + 1 AS nth, list.value AS out_trade_no FROM json_each(?5) AS list) AS given
  JOIN orders AS seen ON seen.out_trade_no = given.out_trade_no;

-- OrderStatus: pay, enter
INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
SELECT out_trade_no, version + 1, status, 'paid', 'pay', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM orders
 WHERE out_trade_no = ?3 AND status = 'pending';

-- OrderStatus: pay, enter_at
INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
SELECT out_trade_no, version + 1, status, 'paid', 'pay', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM orders
 WHERE out_trade_no = ?3 AND status = 'pending' AND version = ?4;

-- OrderStatus: pay, fire
UPDATE orders
   SET status = 'paid', trade_no = ?1, paid_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), version = version + 1
 WHERE out_trade_no = ?2 AND status = 'pending'
RETURNING version AS applied;

-- OrderStatus: pay, fire_at
UPDATE orders
   SET status = 'paid', trade_no = ?1, paid_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), version = version + 1
 WHERE out_trade_no = ?2 AND status = 'pending' AND version = ?3
RETURNING version AS applied;

-- OrderStatus: pay, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.out_trade_no = seen.out_trade_no THEN 1 ELSE 0 END AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.event = 'pay' AND caused.cause = ?2
  LEFT JOIN orders_history AS latest
    ON latest.out_trade_no = ?1
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE out_trade_no = ?1)
  LEFT JOIN orders_history AS passed
    ON passed.out_trade_no = ?1
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE out_trade_no = ?1 AND target = 'paid')
 WHERE seen.out_trade_no = ?1;

-- OrderStatus: pay, fire_all
UPDATE orders
   SET status = 'paid', trade_no = ?1, paid_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), version = orders.version + 1
  FROM (SELECT list.key + 1 AS nth, list.value AS out_trade_no FROM json_each(?2) AS list) AS given
 WHERE orders.out_trade_no = given.out_trade_no AND orders.status = 'pending';

-- OrderStatus: ship, enter
INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
SELECT out_trade_no, version + 1, status, 'shipped', 'ship', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM orders
 WHERE out_trade_no = ?3 AND status = 'paid';

-- OrderStatus: ship, enter_at
INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
SELECT out_trade_no, version + 1, status, 'shipped', 'ship', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM orders
 WHERE out_trade_no = ?3 AND status = 'paid' AND version = ?4;

-- OrderStatus: ship, fire
UPDATE orders
   SET status = 'shipped', shipped_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), version = version + 1
 WHERE out_trade_no = ?1 AND status = 'paid'
RETURNING version AS applied;

-- OrderStatus: ship, fire_at
UPDATE orders
   SET status = 'shipped', shipped_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), version = version + 1
 WHERE out_trade_no = ?1 AND status = 'paid' AND version = ?2
RETURNING version AS applied;

-- OrderStatus: ship, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.out_trade_no = seen.out_trade_no THEN 1 ELSE 0 END AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.event = 'ship' AND caused.cause = ?2
  LEFT JOIN orders_history AS latest
    ON latest.out_trade_no = ?1
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE out_trade_no = ?1)
  LEFT JOIN orders_history AS passed
    ON passed.out_trade_no = ?1
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE out_trade_no = ?1 AND target = 'shipped')
 WHERE seen.out_trade_no = ?1;

-- OrderStatus: ship, fire_all
UPDATE orders
   SET status = 'shipped', shipped_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), version = orders.version + 1
  FROM (SELECT list.key + 1 AS nth, list.value AS out_trade_no FROM json_each(?1) AS list) AS given
 WHERE orders.out_trade_no = given.out_trade_no AND orders.status = 'paid';

-- OrderStatus: finish, enter
INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
SELECT out_trade_no, version + 1, status, 'done', 'finish', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM orders
 WHERE out_trade_no = ?3 AND status = 'shipped';

-- OrderStatus: finish, enter_at
INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
SELECT out_trade_no, version + 1, status, 'done', 'finish', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM orders
 WHERE out_trade_no = ?3 AND status = 'shipped' AND version = ?4;

-- OrderStatus: finish, fire
UPDATE orders
   SET status = 'done', version = version + 1
 WHERE out_trade_no = ?1 AND status = 'shipped'
RETURNING version AS applied;

-- OrderStatus: finish, fire_at
UPDATE orders
   SET status = 'done', version = version + 1
 WHERE out_trade_no = ?1 AND status = 'shipped' AND version = ?2
RETURNING version AS applied;

-- OrderStatus: finish, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.out_trade_no = seen.out_trade_no THEN 1 ELSE 0 END AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.event = 'finish' AND caused.cause = ?2
  LEFT JOIN orders_history AS latest
    ON latest.out_trade_no = ?1
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE out_trade_no = ?1)
  LEFT JOIN orders_history AS passed
    ON passed.out_trade_no = ?1
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE out_trade_no = ?1 AND target = 'done')
 WHERE seen.out_trade_no = ?1;

-- OrderStatus: finish, fire_all
UPDATE orders
   SET status = 'done', version = orders.version + 1
  FROM (SELECT list.key + 1 AS nth, list.value AS out_trade_no FROM json_each(?1) AS list) AS given
 WHERE orders.out_trade_no = given.out_trade_no AND orders.status = 'shipped';

-- OrderStatus: cancel, enter
INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
SELECT out_trade_no, version + 1, status, 'cancelled', 'cancel', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM orders
 WHERE out_trade_no = ?3 AND status = 'pending';

-- OrderStatus: cancel, enter_at
INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
SELECT out_trade_no, version + 1, status, 'cancelled', 'cancel', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM orders
 WHERE out_trade_no = ?3 AND status = 'pending' AND version = ?4;

-- OrderStatus: cancel, fire
UPDATE orders
   SET status = 'cancelled', version = version + 1
 WHERE out_trade_no = ?1 AND status = 'pending'
RETURNING version AS applied;

-- OrderStatus: cancel, fire_at
UPDATE orders
   SET status = 'cancelled', version = version + 1
 WHERE out_trade_no = ?1 AND status = 'pending' AND version = ?2
RETURNING version AS applied;

-- OrderStatus: cancel, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.out_trade_no = seen.out_trade_no THEN 1 ELSE 0 END AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.event = 'cancel' AND caused.cause = ?2
  LEFT JOIN orders_history AS latest
    ON latest.out_trade_no = ?1
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE out_trade_no = ?1)
  LEFT JOIN orders_history AS passed
    ON passed.out_trade_no = ?1
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE out_trade_no = ?1 AND target = 'cancelled')
 WHERE seen.out_trade_no = ?1;

-- OrderStatus: cancel, fire_all
UPDATE orders
   SET status = 'cancelled', version = orders.version + 1
  FROM (SELECT list.key + 1 AS nth, list.value AS out_trade_no FROM json_each(?1) AS list) AS given
 WHERE orders.out_trade_no = given.out_trade_no AND orders.status = 'pending';

-- OrderStatus: refund, enter
INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
SELECT out_trade_no, version + 1, status, 'refunded', 'refund', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM orders
 WHERE out_trade_no = ?3 AND status IN ('paid', 'shipped');

-- OrderStatus: refund, enter_at
INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
SELECT out_trade_no, version + 1, status, 'refunded', 'refund', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM orders
 WHERE out_trade_no = ?3 AND status IN ('paid', 'shipped') AND version = ?4;

-- OrderStatus: refund, fire
UPDATE orders
   SET status = 'refunded', version = version + 1
 WHERE out_trade_no = ?1 AND status IN ('paid', 'shipped')
RETURNING version AS applied;

-- OrderStatus: refund, fire_at
UPDATE orders
   SET status = 'refunded', version = version + 1
 WHERE out_trade_no = ?1 AND status IN ('paid', 'shipped') AND version = ?2
RETURNING version AS applied;

-- OrderStatus: refund, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.out_trade_no = seen.out_trade_no THEN 1 ELSE 0 END AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.event = 'refund' AND caused.cause = ?2
  LEFT JOIN orders_history AS latest
    ON latest.out_trade_no = ?1
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE out_trade_no = ?1)
  LEFT JOIN orders_history AS passed
    ON passed.out_trade_no = ?1
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE out_trade_no = ?1 AND target = 'refunded')
 WHERE seen.out_trade_no = ?1;

-- OrderStatus: refund, fire_all
UPDATE orders
   SET status = 'refunded', version = orders.version + 1
  FROM (SELECT list.key + 1 AS nth, list.value AS out_trade_no FROM json_each(?1) AS list) AS given
 WHERE orders.out_trade_no = given.out_trade_no AND orders.status IN ('paid', 'shipped');

-- idem's records ----------------------------------------------------------------------------------

CREATE TABLE IF NOT EXISTS idem_record (
    scope        TEXT NOT NULL,
    key          TEXT NOT NULL,
    status       INTEGER NOT NULL, -- 1 in progress, 2 completed, 3 failed, 4 in doubt
    fingerprint  TEXT NOT NULL,
    result       TEXT,
    result_type  TEXT, -- the type that the answer was written from
    owner        TEXT NOT NULL,
    created_at   TEXT NOT NULL,
    completed_at TEXT,
    result_until TEXT, -- until when the answer can be replayed, NULL for ever
    key_until    TEXT, -- until when the row stays, NULL for ever
    attempt      INTEGER NOT NULL DEFAULT 0, -- of a leased call, from 1 on, or 0 where one transaction holds the claim
    lease_until  TEXT NOT NULL DEFAULT '1970-01-01 00:00:00.000', -- nobody takes it over before
    begun        TEXT, -- its outside calls and its commits, in JSON
    updated_at   TEXT, -- when an attempt or an operator last wrote it
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
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    at           TEXT NOT NULL,
    actor        TEXT NOT NULL,
    action       TEXT NOT NULL, -- complete, release
    reason       TEXT NOT NULL,
    scope        TEXT NOT NULL,
    key          TEXT NOT NULL,
    record       TEXT NOT NULL, -- the record as it was, as JSON
    result       TEXT -- what it was completed with
);
CREATE INDEX IF NOT EXISTS idem_audit_key ON idem_audit (scope, key);
CREATE TABLE IF NOT EXISTS idem_token (
    hash         TEXT NOT NULL PRIMARY KEY, -- the SHA-256 of the token, which itself is nowhere
    purpose      TEXT NOT NULL,
    subject      TEXT NOT NULL, -- whom it was issued to
    created_at   TEXT NOT NULL,
    expires_at   TEXT NOT NULL,
    used_at      TEXT,
    used_by      TEXT -- the request that has used it, if it said which it is
);
CREATE TABLE IF NOT EXISTS idem_lease (
    name         TEXT NOT NULL PRIMARY KEY,
    owner        TEXT NOT NULL,
    token        INTEGER NOT NULL, -- rises with each owner
    lease_until  TEXT NOT NULL,
    updated_at   TEXT NOT NULL
);

-- record: claim
INSERT INTO idem_record (scope, key, status, fingerprint, owner, created_at)
VALUES (?1, ?2, 1, ?3, ?4, strftime('%Y-%m-%d %H:%M:%f', 'now'))
ON CONFLICT (scope, key) DO NOTHING
RETURNING 1 AS claimed;

-- record: read
SELECT status, fingerprint, result, result_type,
       CASE WHEN result_until <= strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 END AS gone,
       CASE WHEN lease_until > strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 END AS leased
  FROM idem_record
 WHERE scope = ?1 AND key = ?2;

-- record: look
SELECT status, fingerprint, result, result_type,
       CASE WHEN result_until <= strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 END AS gone,
       CASE WHEN lease_until > strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 END AS leased
  FROM idem_record
 WHERE scope = ?1 AND key = ?2;

-- record: end
UPDATE idem_record
   SET status = ?1, result = ?2, result_type = ?3, completed_at = strftime('%Y-%m-%d %H:%M:%f', 'now'),
       result_until = strftime('%Y-%m-%d %H:%M:%f', 'now', ?4 || ' seconds'),
       key_until = strftime('%Y-%m-%d %H:%M:%f', 'now', ?5 || ' seconds')
 WHERE scope = ?6 AND key = ?7 AND owner = ?8 AND status = 1;

-- record: doubt
INSERT INTO idem_record (scope, key, status, fingerprint, owner, created_at)
VALUES (?1, ?2, 4, ?3, ?4, strftime('%Y-%m-%d %H:%M:%f', 'now'))
ON CONFLICT (scope, key) DO UPDATE
   SET status = 4, result = NULL, result_type = NULL, completed_at = NULL, result_until = NULL, key_until = NULL
 WHERE idem_record.owner = excluded.owner;

-- record: claim all
INSERT INTO idem_record (scope, key, status, fingerprint, owner, created_at)
SELECT ?1, json_extract(list.value, '$[0]'), 1, json_extract(list.value, '$[1]'), ?3,
       strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM json_each(?2) AS list
 WHERE TRUE
 ORDER BY list.key
ON CONFLICT (scope, key) DO NOTHING;

-- record: read all
SELECT list.key + 1 AS nth, CASE WHEN seen.owner = ?3 THEN 1 END AS claimed, seen.status AS status,
       seen.fingerprint AS fingerprint, seen.result AS result, seen.result_type AS result_type,
       CASE WHEN seen.result_until <= strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 END AS gone,
       CASE WHEN seen.lease_until > strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 END AS leased
  FROM json_each(?2) AS list
  JOIN idem_record AS seen ON seen.scope = ?1 AND seen.key = json_extract(list.value, '$[0]');

-- record: look all
SELECT list.key + 1 AS nth, CASE WHEN seen.owner = ?3 THEN 1 END AS claimed, seen.status AS status,
       seen.fingerprint AS fingerprint, seen.result AS result, seen.result_type AS result_type,
       CASE WHEN seen.result_until <= strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 END AS gone,
       CASE WHEN seen.lease_until > strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 END AS leased
  FROM json_each(?2) AS list
  JOIN idem_record AS seen ON seen.scope = ?1 AND seen.key = json_extract(list.value, '$[0]');

-- record: end all
UPDATE idem_record
   SET status = 2, result = list.result, result_type = ?2, completed_at = strftime('%Y-%m-%d %H:%M:%f', 'now'),
       result_until = strftime('%Y-%m-%d %H:%M:%f', 'now', ?3 || ' seconds'),
       key_until = strftime('%Y-%m-%d %H:%M:%f', 'now', ?4 || ' seconds')
  FROM (SELECT json_extract(value, '$[0]') AS k, json_extract(value, '$[1]') AS result FROM json_each(?1)) AS list
 WHERE scope = ?5 AND key = list.k AND owner = ?6 AND status = 1;

