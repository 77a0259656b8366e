-- PaymentStatus -----------------------------------------------------------------------------------

-- capture: Waiting => Captured
-- capture: Closed => Captured
-- give_back: Captured => Captured
-- refuse: Captured => SetAside
-- refund: Captured => Refunded
-- refund: SetAside => Refunded
-- close: Waiting => Closed

-- PaymentStatus: columns of the table
--   status VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'waiting',
--   version BIGINT NOT NULL DEFAULT 0,
--   CONSTRAINT payments_status_check CHECK (status IN ('waiting', 'captured', 'set_aside', 'refunded', 'closed'))

-- PaymentStatus: widen
ALTER TABLE payments
  DROP CONSTRAINT payments_status_check,
  ADD CONSTRAINT payments_status_check CHECK (status IN ('waiting', 'captured', 'set_aside', 'refunded', 'closed'));

-- PaymentStatus: history
CREATE TABLE IF NOT EXISTS payments_history (
  trade_no VARCHAR(191) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  version BIGINT NOT NULL,
  source VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  target VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  event VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  cause VARBINARY(512),
  fingerprint VARCHAR(80) CHARACTER SET ascii COLLATE ascii_bin,
  at DATETIME(6) NOT NULL,
  PRIMARY KEY (trade_no, version),
  UNIQUE (trade_no, event, cause)
);

-- PaymentStatus: unknown values
SELECT MIN(status) AS status, COUNT(*) AS held
  FROM payments
 WHERE CAST(status AS BINARY) NOT IN ('waiting', 'captured', 'set_aside', 'refunded', 'closed') OR status IS NULL
 GROUP BY CAST(status AS BINARY)
 ORDER BY CAST(status AS BINARY);

-- PaymentStatus: guard
CREATE TABLE IF NOT EXISTS idem_repair (session BIGINT UNSIGNED NOT NULL PRIMARY KEY) ENGINE = InnoDB;
DROP TRIGGER IF EXISTS payments_status_guard_update;
DROP TRIGGER IF EXISTS payments_status_guard_insert;
CREATE TRIGGER payments_status_guard_update AFTER UPDATE ON payments FOR EACH ROW
BEGIN
  DECLARE source VARBINARY(1024) DEFAULT CAST(CONVERT(OLD.status USING utf8mb4) AS BINARY);
  DECLARE target VARBINARY(1024) DEFAULT CAST(CONVERT(NEW.status USING utf8mb4) AS BINARY);
  IF NOT (source <=> target)
     AND (   source = 'waiting' AND target IN ('waiting', 'captured', 'closed')
          OR source = 'captured' AND target IN ('captured', 'set_aside', 'refunded')
          OR source = 'set_aside' AND target IN ('set_aside', 'refunded')
          OR source = 'refunded' AND target = 'refunded'
          OR source = 'closed' AND target IN ('closed', 'captured')) IS NOT TRUE
     AND NOT EXISTS (SELECT 1 FROM idem_repair WHERE session = CONNECTION_ID()) THEN
    SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 45001, MESSAGE_TEXT = 'idem guard payments_status_guard_fa77679b: undeclared transition';
  END IF;
END;
CREATE TRIGGER payments_status_guard_insert AFTER INSERT ON payments FOR EACH ROW
BEGIN
  DECLARE target VARBINARY(1024) DEFAULT CAST(CONVERT(NEW.status USING utf8mb4) AS BINARY);
  IF (target = 'waiting') IS NOT TRUE
     AND NOT EXISTS (SELECT 1 FROM idem_repair WHERE session = CONNECTION_ID()) THEN
    SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 45001, MESSAGE_TEXT = 'idem guard payments_status_guard_fa77679b: not an initial state';
  END IF;
END;

-- PaymentStatus: remove the guard
DROP TRIGGER IF EXISTS payments_status_guard_update;
DROP TRIGGER IF EXISTS payments_status_guard_insert;

-- PaymentStatus: adopt
-- idem: payments_status_version 385563e8
-- Programs that do not know the column go on: a row that they insert begins at 0.
ALTER TABLE `payments`
  ADD COLUMN `version` BIGINT NOT NULL DEFAULT 0;

-- PaymentStatus: adopt
-- idem: payments_status_values e0e046c7
-- Before the release that adds a value, after the one that removes one. No row may hold another value.
ALTER TABLE payments
  MODIFY status VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'waiting',
  ADD CONSTRAINT payments_status_check CHECK (status IN ('waiting', 'captured', 'set_aside', 'refunded', 'closed'));

-- PaymentStatus: which guard
SELECT CASE WHEN COUNT(*) < 2 THEN 'missing'
            WHEN SUM(LOCATE('_guard_fa77679b', ACTION_STATEMENT) > 0) = 2 THEN 'installed'
            ELSE 'outdated' END AS guard
  FROM information_schema.TRIGGERS
 WHERE TRIGGER_SCHEMA = DATABASE() AND TRIGGER_NAME IN ('payments_status_guard_update', 'payments_status_guard_insert');

-- PaymentStatus: repair, read
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.trade_no = seen.trade_no THEN 1 ELSE 0 END AS caused_here
  FROM payments AS seen
  LEFT JOIN payments_history AS caused
    ON caused.trade_no = seen.trade_no AND caused.event = 'repair' AND caused.cause = ?
 WHERE seen.trade_no = ?
   FOR UPDATE;

-- PaymentStatus: repair, open
INSERT INTO idem_repair (session) VALUES (CONNECTION_ID());

-- PaymentStatus: repair, enter
INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
SELECT trade_no, version + 1, COALESCE(status, ''), ?, 'repair', ?, ?, NOW(6)
  FROM payments
 WHERE trade_no = ?;

-- PaymentStatus: repair, write
UPDATE payments
   SET status = ?, version = version + 1
 WHERE trade_no = ?;

-- PaymentStatus: repair, close
DELETE FROM idem_repair WHERE session = CONNECTION_ID();

-- PaymentStatus: load
SELECT status, version
  FROM payments
 WHERE trade_no = ?;

-- PaymentStatus: lock
SELECT status, version
  FROM payments
 WHERE trade_no = ?
   FOR UPDATE;

-- PaymentStatus: lock_now
SELECT status, version
  FROM payments
 WHERE trade_no = ?
   FOR UPDATE NOWAIT;

-- PaymentStatus: many rows, read
SELECT given.nth AS nth, seen.status AS status, seen.version AS version
  FROM JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, trade_no VARCHAR(768) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) AS given
  STRAIGHT_JOIN payments AS seen ON seen.trade_no = given.trade_no
   FOR UPDATE;

-- PaymentStatus: many rows, caused
SELECT given.nth AS nth, entry.version AS caused, entry.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, trade_no VARCHAR(768) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) AS given
  STRAIGHT_JOIN payments_history AS entry ON entry.trade_no = given.trade_no
 WHERE entry.event = ? AND entry.cause = ?;

-- PaymentStatus: many rows, enter
INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
SELECT seen.trade_no, seen.version + 1, seen.status, ?, ?, ?, ?, NOW(6)
  FROM JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, trade_no VARCHAR(768) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) AS given
  STRAIGHT_JOIN payments AS seen ON seen.trade_no = given.trade_no;

-- PaymentStatus: capture, enter
INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
SELECT trade_no, version + 1, status, 'captured', 'capture', ?, ?, NOW(6)
  FROM payments
 WHERE trade_no = ? AND status IN ('waiting', 'closed')
   FOR UPDATE;

-- PaymentStatus: capture, enter_at
INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
SELECT trade_no, version + 1, status, 'captured', 'capture', ?, ?, NOW(6)
  FROM payments
 WHERE trade_no = ? AND status IN ('waiting', 'closed') AND version = ?
   FOR UPDATE;

-- PaymentStatus: capture, fire
UPDATE payments
   SET status = 'captured', out_trade_no = ?, amount = ?, captured_at = NOW(6), version = LAST_INSERT_ID(version + 1)
 WHERE trade_no = ? AND status IN ('waiting', 'closed');

-- PaymentStatus: capture, fire_at
UPDATE payments
   SET status = 'captured', out_trade_no = ?, amount = ?, captured_at = NOW(6), version = LAST_INSERT_ID(version + 1)
 WHERE trade_no = ? AND status IN ('waiting', 'closed') AND version = ?;

-- PaymentStatus: capture, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, CONVERT(latest.cause USING utf8mb4) AS latest_cause,
       passed.version AS passed, CONVERT(passed.cause USING utf8mb4) AS passed_cause
  FROM payments AS seen
  LEFT JOIN payments_history AS caused
    ON caused.trade_no = ? AND caused.event = 'capture' AND caused.cause = ?
  LEFT JOIN payments_history AS latest
    ON latest.trade_no = ?
   AND latest.version = (SELECT MAX(version) FROM payments_history WHERE trade_no = ? FOR UPDATE)
  LEFT JOIN payments_history AS passed
    ON passed.trade_no = ?
   AND passed.version = (SELECT MAX(version) FROM payments_history WHERE trade_no = ? AND target = 'captured' FOR UPDATE)
 WHERE seen.trade_no = ?
   FOR UPDATE;

-- PaymentStatus: capture, fire_all
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, trade_no VARCHAR(768) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) AS given
STRAIGHT_JOIN payments AS seen ON seen.trade_no = given.trade_no
   SET status = 'captured', out_trade_no = ?, amount = ?, captured_at = NOW(6), version = seen.version + 1
 WHERE seen.status IN ('waiting', 'closed');

-- PaymentStatus: give_back, enter
INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
SELECT trade_no, version + 1, status, 'captured', 'give_back', ?, ?, NOW(6)
  FROM payments
 WHERE trade_no = ? AND status = 'captured'
   FOR UPDATE;

-- PaymentStatus: give_back, enter_at
INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
SELECT trade_no, version + 1, status, 'captured', 'give_back', ?, ?, NOW(6)
  FROM payments
 WHERE trade_no = ? AND status = 'captured' AND version = ?
   FOR UPDATE;

-- PaymentStatus: give_back, fire
UPDATE payments
   SET status = 'captured', refunded = ?, version = LAST_INSERT_ID(version + 1)
 WHERE trade_no = ? AND status = 'captured';

-- PaymentStatus: give_back, fire_at
UPDATE payments
   SET status = 'captured', refunded = ?, version = LAST_INSERT_ID(version + 1)
 WHERE trade_no = ? AND status = 'captured' AND version = ?;

-- PaymentStatus: give_back, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, CONVERT(latest.cause USING utf8mb4) AS latest_cause,
       passed.version AS passed, CONVERT(passed.cause USING utf8mb4) AS passed_cause
  FROM payments AS seen
  LEFT JOIN payments_history AS caused
    ON caused.trade_no = ? AND caused.event = 'give_back' AND caused.cause = ?
  LEFT JOIN payments_history AS latest
    ON latest.trade_no = ?
   AND latest.version = (SELECT MAX(version) FROM payments_history WHERE trade_no = ? FOR UPDATE)
  LEFT JOIN payments_history AS passed
    ON passed.trade_no = ?
   AND passed.version = (SELECT MAX(version) FROM payments_history WHERE trade_no = ? AND target = 'captured' FOR UPDATE)
 WHERE seen.trade_no = ?
   FOR UPDATE;

-- PaymentStatus: give_back, fire_all
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, trade_no VARCHAR(768) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) AS given
STRAIGHT_JOIN payments AS seen ON seen.trade_no = given.trade_no
   SET status = 'captured', refunded = ?, version = seen.version + 1
 WHERE seen.status = 'captured';

-- PaymentStatus: refuse, enter
INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
SELECT trade_no, version + 1, status, 'set_aside', 'refuse', ?, ?, NOW(6)
  FROM payments
 WHERE trade_no = ? AND status = 'captured'
   FOR UPDATE;

-- PaymentStatus: refuse, enter_at
INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
SELECT trade_no, version + 1, status, 'set_aside', 'refuse', ?, ?, NOW(6)
  FROM payments
 WHERE trade_no = ? AND status = 'captured' AND version = ?
   FOR UPDATE;

-- PaymentStatus: refuse, fire
UPDATE payments
   SET status = 'set_aside', reason = ?, version = LAST_INSERT_ID(version + 1)
 WHERE trade_no = ? AND status = 'captured';

-- PaymentStatus: refuse, fire_at
UPDATE payments
   SET status = 'set_aside', reason = ?, version = LAST_INSERT_ID(version + 1)
 WHERE trade_no = ? AND status = 'captured' AND version = ?;

-- PaymentStatus: refuse, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, CONVERT(latest.cause USING utf8mb4) AS latest_cause,
       passed.version AS passed, CONVERT(passed.cause USING utf8mb4) AS passed_cause
  FROM payments AS seen
  LEFT JOIN payments_history AS caused
    ON caused.trade_no = ? AND caused.event = 'refuse' AND caused.cause = ?
  LEFT JOIN payments_history AS latest
    ON latest.trade_no = ?
   AND latest.version = (SELECT MAX(version) FROM payments_history WHERE trade_no = ? FOR UPDATE)
  LEFT JOIN payments_history AS passed
    ON passed.trade_no = ?
   AND passed.version = (SELECT MAX(version) FROM payments_history WHERE trade_no = ? AND target = 'set_aside' FOR UPDATE)
 WHERE seen.trade_no = ?
   FOR UPDATE;

-- PaymentStatus: refuse, fire_all
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, trade_no VARCHAR(768) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) AS given
STRAIGHT_JOIN payments AS seen ON seen.trade_no = given.trade_no
   SET status = 'set_aside', reason = ?, version = seen.version + 1
 WHERE seen.status = 'captured';

-- PaymentStatus: refund, enter
INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
SELECT trade_no, version + 1, status, 'refunded', 'refund', ?, ?, NOW(6)
  FROM payments
 WHERE trade_no = ? AND status IN ('captured', 'set_aside')
   FOR UPDATE;

-- PaymentStatus: refund, enter_at
INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
SELECT trade_no, version + 1, status, 'refunded', 'refund', ?, ?, NOW(6)
  FROM payments
 WHERE trade_no = ? AND status IN ('captured', 'set_aside') AND version = ?
   FOR UPDATE;

-- PaymentStatus: refund, fire
UPDATE payments
   SET status = 'refunded', refunded = ?, version = LAST_INSERT_ID(version + 1)
 WHERE trade_no = ? AND status IN ('captured', 'set_aside');

-- PaymentStatus: refund, fire_at
UPDATE payments
   SET status = 'refunded', refunded = ?, version = LAST_INSERT_ID(version + 1)
 WHERE trade_no = ? AND status IN ('captured', 'set_aside') AND version = ?;

-- PaymentStatus: refund, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, CONVERT(latest.cause USING utf8mb4) AS latest_cause,
       passed.version AS passed, CONVERT(passed.cause USING utf8mb4) AS passed_cause
  FROM payments AS seen
  LEFT JOIN payments_history AS caused
    ON caused.trade_no = ? AND caused.event = 'refund' AND caused.cause = ?
  LEFT JOIN payments_history AS latest
    ON latest.trade_no = ?
   AND latest.version = (SELECT MAX(version) FROM payments_history WHERE trade_no = ? FOR UPDATE)
  LEFT JOIN payments_history AS passed
    ON passed.trade_no = ?
   AND passed.version = (SELECT MAX(version) FROM payments_history WHERE trade_no = ? AND target = 'refunded' FOR UPDATE)
 WHERE seen.trade_no = ?
   FOR UPDATE;

-- PaymentStatus: refund, fire_all
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, trade_no VARCHAR(768) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) AS given
STRAIGHT_JOIN payments AS seen ON seen.trade_no = given.trade_no
   SET status = 'refunded', refunded = ?, version = seen.version + 1
 WHERE seen.status IN ('captured', 'set_aside');

-- PaymentStatus: close, enter
INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
SELECT trade_no, version + 1, status, 'closed', 'close', ?, ?, NOW(6)
  FROM payments
 WHERE trade_no = ? AND status = 'waiting'
   FOR UPDATE;

-- PaymentStatus: close, enter_at
INSERT INTO payments_history (trade_no, version, source, target, event, cause, fingerprint, at)
SELECT trade_no, version + 1, status, 'closed', 'close', ?, ?, NOW(6)
  FROM payments
 WHERE trade_no = ? AND status = 'waiting' AND version = ?
   FOR UPDATE;

-- PaymentStatus: close, fire
UPDATE payments
   SET status = 'closed', version = LAST_INSERT_ID(version + 1)
 WHERE trade_no = ? AND status = 'waiting';

-- PaymentStatus: close, fire_at
UPDATE payments
   SET status = 'closed', version = LAST_INSERT_ID(version + 1)
 WHERE trade_no = ? AND status = 'waiting' AND version = ?;

-- PaymentStatus: close, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, CONVERT(latest.cause USING utf8mb4) AS latest_cause,
       passed.version AS passed, CONVERT(passed.cause USING utf8mb4) AS passed_cause
  FROM payments AS seen
  LEFT JOIN payments_history AS caused
    ON caused.trade_no = ? AND caused.event = 'close' AND caused.cause = ?
  LEFT JOIN payments_history AS latest
    ON latest.trade_no = ?
   AND latest.version = (SELECT MAX(version) FROM payments_history WHERE trade_no = ? FOR UPDATE)
  LEFT JOIN payments_history AS passed
    ON passed.trade_no = ?
   AND passed.version = (SELECT MAX(version) FROM payments_history WHERE trade_no = ? AND target = 'closed' FOR UPDATE)
 WHERE seen.trade_no = ?
   FOR UPDATE;

-- PaymentStatus: close, fire_all
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, trade_no VARCHAR(768) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) AS given
STRAIGHT_JOIN payments AS seen ON seen.trade_no = given.trade_no
   SET status = 'closed', version = seen.version + 1
 WHERE seen.status = 'waiting';

-- OrderStatus -------------------------------------------------------------------------------------

-- pay: Pending => Paid
-- ship: Paid => Shipped
-- finish: Shipped => Done
-- cancel: Pending => Cancelled
-- refund: Paid => Refunded
-- refund: Shipped => Refunded

-- OrderStatus: columns of the table
--   status VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'pending',
--   version BIGINT NOT NULL DEFAULT 0,
--   CONSTRAINT orders_status_check CHECK (status IN ('pending', 'paid', 'shipped', 'done', 'cancelled', 'refunded'))

-- OrderStatus: widen
ALTER TABLE orders
  DROP CONSTRAINT orders_status_check,
  ADD CONSTRAINT orders_status_check CHECK (status IN ('pending', 'paid', 'shipped', 'done', 'cancelled', 'refunded'));

-- OrderStatus: history
CREATE TABLE IF NOT EXISTS orders_history (
  out_trade_no VARCHAR(191) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  version BIGINT NOT NULL,
  source VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  target VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  event VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  cause VARBINARY(512),
  fingerprint VARCHAR(80) CHARACTER SET ascii COLLATE ascii_bin,
  at DATETIME(6) NOT NULL,
  PRIMARY KEY (out_trade_no, version),
  UNIQUE (event, cause)
);

-- OrderStatus: unknown values
SELECT MIN(status) AS status, COUNT(*) AS held
  FROM orders
 WHERE CAST(status AS BINARY) NOT IN ('pending', 'paid', 'shipped', 'done', 'cancelled', 'refunded') OR status IS NULL
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
          OR source = 'paid' AND target IN ('paid', 'shipped', 'refunded')
          OR source = 'shipped' AND target IN ('shipped', 'done', 'refunded')
          OR source = 'done' AND target = 'done'
          OR source = 'cancelled' AND target = 'cancelled'
          OR source = 'refunded' AND target = 'refunded') IS NOT TRUE
     AND NOT EXISTS (SELECT 1 FROM idem_repair WHERE session = CONNECTION_ID()) THEN
    SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 45001, MESSAGE_TEXT = 'idem guard orders_status_guard_cb83f9a5: undeclared transition';
  END IF;
END;
CREATE TRIGGER orders_status_guard_insert AFTER INSERT ON orders FOR EACH ROW
BEGIN
  DECLARE target VARBINARY(1024) DEFAULT CAST(CONVERT(NEW.status USING utf8mb4) AS BINARY);
  IF (target = 'pending') IS NOT TRUE
     AND NOT EXISTS (SELECT 1 FROM idem_repair WHERE session = CONNECTION_ID()) THEN
    SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 45001, MESSAGE_TEXT = 'idem guard orders_status_guard_cb83f9a5: not an initial state';
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
-- idem: orders_status_values f0aad7b4
-- Before the release that adds a value, after the one that removes one. No row may hold another value.
ALTER TABLE orders
  MODIFY status VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'pending',
  ADD CONSTRAINT orders_status_check CHECK (status IN ('pending', 'paid', 'shipped', 'done', 'cancelled', 'refunded'));

-- OrderStatus: which guard
SELECT CASE WHEN COUNT(*) < 2 THEN 'missing'
            WHEN SUM(LOCATE('_guard_cb83f9a5', ACTION_STATEMENT) > 0) = 2 THEN 'installed'
            ELSE 'outdated' END AS guard
  FROM information_schema.TRIGGERS
 WHERE TRIGGER_SCHEMA = DATABASE() AND TRIGGER_NAME IN ('orders_status_guard_update', 'orders_status_guard_insert');

-- OrderStatus: repair, read
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.out_trade_no = seen.out_trade_no THEN 1 ELSE 0 END AS caused_here
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.event = 'repair' AND caused.cause = ?
 WHERE seen.out_trade_no = ?
   FOR UPDATE;

-- OrderStatus: repair, open
INSERT INTO idem_repair (session) VALUES (CONNECTION_ID());

-- OrderStatus: repair, enter
INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
SELECT out_trade_no, version + 1, COALESCE(status, ''), ?, 'repair', ?, ?, NOW(6)
  FROM orders
 WHERE out_trade_no = ?;

-- OrderStatus: repair, write
UPDATE orders
   SET status = ?, version = version + 1
 WHERE out_trade_no = ?;

-- OrderStatus: repair, close
DELETE FROM idem_repair WHERE session = CONNECTION_ID();

-- OrderStatus: load
SELECT status, version
  FROM orders
 WHERE out_trade_no = ?;

-- OrderStatus: lock
SELECT status, version
  FROM orders
 WHERE out_trade_no = ?
   FOR UPDATE;

-- OrderStatus: lock_now
SELECT status, version
  FROM orders
 WHERE out_trade_no = ?
   FOR UPDATE NOWAIT;

-- OrderStatus: many rows, read
SELECT given.nth AS nth, seen.status AS status, seen.version AS version
  FROM JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, out_trade_no VARCHAR(768) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) AS given
  STRAIGHT_JOIN orders AS seen ON seen.out_trade_no = given.out_trade_no
   FOR UPDATE;

-- OrderStatus: many rows, caused
SELECT given.nth AS nth, entry.version AS caused, entry.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, out_trade_no VARCHAR(768) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) AS given
  STRAIGHT_JOIN orders_history AS entry ON entry.out_trade_no = given.out_trade_no
 WHERE entry.event = ? AND entry.cause = ?;

-- OrderStatus: many rows, enter
INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
SELECT seen.out_trade_no, seen.version + 1, seen.status, ?, ?, ?, ?, NOW(6)
  FROM JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, out_trade_no VARCHAR(768) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) AS given
  STRAIGHT_JOIN orders AS seen ON seen.out_trade_no = given.out_trade_no;

-- OrderStatus: pay, enter
INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
SELECT out_trade_no, version + 1, status, 'paid', 'pay', ?, ?, NOW(6)
  FROM orders
 WHERE out_trade_no = ? AND status = 'pending'
   FOR UPDATE;

-- OrderStatus: pay, enter_at
INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
SELECT out_trade_no, version + 1, status, 'paid', 'pay', ?, ?, NOW(6)
  FROM orders
 WHERE out_trade_no = ? AND status = 'pending' AND version = ?
   FOR UPDATE;

-- OrderStatus: pay, fire
UPDATE orders
   SET status = 'paid', trade_no = ?, paid_at = NOW(6), version = LAST_INSERT_ID(version + 1)
 WHERE out_trade_no = ? AND status = 'pending';

-- OrderStatus: pay, fire_at
UPDATE orders
   SET status = 'paid', trade_no = ?, paid_at = NOW(6), version = LAST_INSERT_ID(version + 1)
 WHERE out_trade_no = ? AND status = 'pending' AND version = ?;

-- OrderStatus: pay, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.out_trade_no = seen.out_trade_no THEN 1 ELSE 0 END AS caused_here,
       latest.target AS latest_target, CONVERT(latest.cause USING utf8mb4) AS latest_cause,
       passed.version AS passed, CONVERT(passed.cause USING utf8mb4) AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.event = 'pay' AND caused.cause = ?
  LEFT JOIN orders_history AS latest
    ON latest.out_trade_no = ?
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE out_trade_no = ? FOR UPDATE)
  LEFT JOIN orders_history AS passed
    ON passed.out_trade_no = ?
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE out_trade_no = ? AND target = 'paid' FOR UPDATE)
 WHERE seen.out_trade_no = ?
   FOR UPDATE;

-- OrderStatus: pay, fire_all
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, out_trade_no VARCHAR(768) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) AS given
STRAIGHT_JOIN orders AS seen ON seen.out_trade_no = given.out_trade_no
   SET status = 'paid', trade_no = ?, paid_at = NOW(6), version = seen.version + 1
 WHERE seen.status = 'pending';

-- OrderStatus: ship, enter
INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
SELECT out_trade_no, version + 1, status, 'shipped', 'ship', ?, ?, NOW(6)
  FROM orders
 WHERE out_trade_no = ? AND status = 'paid'
   FOR UPDATE;

-- OrderStatus: ship, enter_at
INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
SELECT out_trade_no, version + 1, status, 'shipped', 'ship', ?, ?, NOW(6)
  FROM orders
 WHERE out_trade_no = ? AND status = 'paid' AND version = ?
   FOR UPDATE;

-- OrderStatus: ship, fire
UPDATE orders
   SET status = 'shipped', shipped_at = NOW(6), version = LAST_INSERT_ID(version + 1)
 WHERE out_trade_no = ? AND status = 'paid';

-- OrderStatus: ship, fire_at
UPDATE orders
   SET status = 'shipped', shipped_at = NOW(6), version = LAST_INSERT_ID(version + 1)
 WHERE out_trade_no = ? AND status = 'paid' AND version = ?;

-- OrderStatus: ship, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.out_trade_no = seen.out_trade_no THEN 1 ELSE 0 END AS caused_here,
       latest.target AS latest_target, CONVERT(latest.cause USING utf8mb4) AS latest_cause,
       passed.version AS passed, CONVERT(passed.cause USING utf8mb4) AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.event = 'ship' AND caused.cause = ?
  LEFT JOIN orders_history AS latest
    ON latest.out_trade_no = ?
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE out_trade_no = ? FOR UPDATE)
  LEFT JOIN orders_history AS passed
    ON passed.out_trade_no = ?
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE out_trade_no = ? AND target = 'shipped' FOR UPDATE)
 WHERE seen.out_trade_no = ?
   FOR UPDATE;

-- OrderStatus: ship, fire_all
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, out_trade_no VARCHAR(768) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) AS given
STRAIGHT_JOIN orders AS seen ON seen.out_trade_no = given.out_trade_no
   SET status = 'shipped', shipped_at = NOW(6), version = seen.version + 1
 WHERE seen.status = 'paid';

-- OrderStatus: finish, enter
INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
SELECT out_trade_no, version + 1, status, 'done', 'finish', ?, ?, NOW(6)
  FROM orders
 WHERE out_trade_no = ? AND status = 'shipped'
   FOR UPDATE;

-- OrderStatus: finish, enter_at
INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
SELECT out_trade_no, version + 1, status, 'done', 'finish', ?, ?, NOW(6)
  FROM orders
 WHERE out_trade_no = ? AND status = 'shipped' AND version = ?
   FOR UPDATE;

-- OrderStatus: finish, fire
UPDATE orders
   SET status = 'done', version = LAST_INSERT_ID(version + 1)
 WHERE out_trade_no = ? AND status = 'shipped';

-- OrderStatus: finish, fire_at
UPDATE orders
   SET status = 'done', version = LAST_INSERT_ID(version + 1)
 WHERE out_trade_no = ? AND status = 'shipped' AND version = ?;

-- OrderStatus: finish, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.out_trade_no = seen.out_trade_no THEN 1 ELSE 0 END AS caused_here,
       latest.target AS latest_target, CONVERT(latest.cause USING utf8mb4) AS latest_cause,
       passed.version AS passed, CONVERT(passed.cause USING utf8mb4) AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.event = 'finish' AND caused.cause = ?
  LEFT JOIN orders_history AS latest
    ON latest.out_trade_no = ?
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE out_trade_no = ? FOR UPDATE)
  LEFT JOIN orders_history AS passed
    ON passed.out_trade_no = ?
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE out_trade_no = ? AND target = 'done' FOR UPDATE)
 WHERE seen.out_trade_no = ?
   FOR UPDATE;

-- OrderStatus: finish, fire_all
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, out_trade_no VARCHAR(768) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) AS given
STRAIGHT_JOIN orders AS seen ON seen.out_trade_no = given.out_trade_no
   SET status = 'done', version = seen.version + 1
 WHERE seen.status = 'shipped';

-- OrderStatus: cancel, enter
INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
SELECT out_trade_no, version + 1, status, 'cancelled', 'cancel', ?, ?, NOW(6)
  FROM orders
 WHERE out_trade_no = ? AND status = 'pending'
   FOR UPDATE;

-- OrderStatus: cancel, enter_at
INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
SELECT out_trade_no, version + 1, status, 'cancelled', 'cancel', ?, ?, NOW(6)
  FROM orders
 WHERE out_trade_no = ? AND status = 'pending' AND version = ?
   FOR UPDATE;

-- OrderStatus: cancel, fire
UPDATE orders
   SET status = 'cancelled', version = LAST_INSERT_ID(version + 1)
 WHERE out_trade_no = ? AND status = 'pending';

-- OrderStatus: cancel, fire_at
UPDATE orders
   SET status = 'cancelled', version = LAST_INSERT_ID(version + 1)
 WHERE out_trade_no = ? AND status = 'pending' AND version = ?;

-- OrderStatus: cancel, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.out_trade_no = seen.out_trade_no THEN 1 ELSE 0 END AS caused_here,
       latest.target AS latest_target, CONVERT(latest.cause USING utf8mb4) AS latest_cause,
       passed.version AS passed, CONVERT(passed.cause USING utf8mb4) AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.event = 'cancel' AND caused.cause = ?
  LEFT JOIN orders_history AS latest
    ON latest.out_trade_no = ?
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE out_trade_no = ? FOR UPDATE)
  LEFT JOIN orders_history AS passed
    ON passed.out_trade_no = ?
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE out_trade_no = ? AND target = 'cancelled' FOR UPDATE)
 WHERE seen.out_trade_no = ?
   FOR UPDATE;

-- OrderStatus: cancel, fire_all
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, out_trade_no VARCHAR(768) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) AS given
STRAIGHT_JOIN orders AS seen ON seen.out_trade_no = given.out_trade_no
   SET status = 'cancelled', version = seen.version + 1
 WHERE seen.status = 'pending';

-- OrderStatus: refund, enter
INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
SELECT out_trade_no, version + 1, status, 'refunded', 'refund', ?, ?, NOW(6)
  FROM orders
 WHERE out_trade_no = ? AND status IN ('paid', 'shipped')
   FOR UPDATE;

-- OrderStatus: refund, enter_at
INSERT INTO orders_history (out_trade_no, version, source, target, event, cause, fingerprint, at)
SELECT out_trade_no, version + 1, status, 'refunded', 'refund', ?, ?, NOW(6)
  FROM orders
 WHERE out_trade_no = ? AND status IN ('paid', 'shipped') AND version = ?
   FOR UPDATE;

-- OrderStatus: refund, fire
UPDATE orders
   SET status = 'refunded', version = LAST_INSERT_ID(version + 1)
 WHERE out_trade_no = ? AND status IN ('paid', 'shipped');

-- OrderStatus: refund, fire_at
UPDATE orders
   SET status = 'refunded', version = LAST_INSERT_ID(version + 1)
 WHERE out_trade_no = ? AND status IN ('paid', 'shipped') AND version = ?;

-- OrderStatus: refund, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.out_trade_no = seen.out_trade_no THEN 1 ELSE 0 END AS caused_here,
       latest.target AS latest_target, CONVERT(latest.cause USING utf8mb4) AS latest_cause,
       passed.version AS passed, CONVERT(passed.cause USING utf8mb4) AS passed_cause
  FROM orders AS seen
  LEFT JOIN orders_history AS caused
    ON caused.event = 'refund' AND caused.cause = ?
  LEFT JOIN orders_history AS latest
    ON latest.out_trade_no = ?
   AND latest.version = (SELECT MAX(version) FROM orders_history WHERE out_trade_no = ? FOR UPDATE)
  LEFT JOIN orders_history AS passed
    ON passed.out_trade_no = ?
   AND passed.version = (SELECT MAX(version) FROM orders_history WHERE out_trade_no = ? AND target = 'refunded' FOR UPDATE)
 WHERE seen.out_trade_no = ?
   FOR UPDATE;

-- OrderStatus: refund, fire_all
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, out_trade_no VARCHAR(768) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) AS given
STRAIGHT_JOIN orders AS seen ON seen.out_trade_no = given.out_trade_no
   SET status = 'refunded', version = seen.version + 1
 WHERE seen.status IN ('paid', 'shipped');

-- idem's records ----------------------------------------------------------------------------------

CREATE TABLE IF NOT EXISTS idem_record (
    scope        VARBINARY(191) NOT NULL, -- bytes: no collation makes two keys one
    `key`        VARBINARY(512) NOT NULL,
    status       SMALLINT NOT NULL, -- 1 in progress, 2 completed, 3 failed, 4 in doubt
    fingerprint  VARCHAR(80) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    result       LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    result_type  TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, -- the type that the answer was written from
    owner        VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    created_at   DATETIME(6) NOT NULL,
    completed_at DATETIME(6),
    result_until DATETIME(6), -- until when the answer can be replayed, NULL for ever
    key_until    DATETIME(6), -- until when the row stays, NULL for ever
    attempt      INT NOT NULL DEFAULT 0, -- of a leased call, from 1 on, or 0 where one transaction holds the claim
    lease_until  DATETIME(6) NOT NULL DEFAULT '1970-01-01 00:00:00', -- nobody takes it over before
    begun        LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, -- its outside calls and its commits, in JSON
    updated_at   DATETIME(6), -- when an attempt or an operator last wrote it
    begun_writes INT NOT NULL DEFAULT 0, -- how often its owner wrote `begun`: an earlier write that comes late misses
    PRIMARY KEY (scope, `key`),
    CONSTRAINT idem_record_status CHECK (status IN (1, 2, 3, 4)),
    -- A cleanup may take the text of an answer whose time is over: the record stays, so that nothing runs again.
    CONSTRAINT idem_record_answer CHECK (
        (status IN (2, 3)) = (completed_at IS NOT NULL)
        AND (result IS NULL OR status IN (2, 3))
        AND (result IS NOT NULL OR result_until IS NOT NULL OR status IN (1, 4)))
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS idem_audit (
    id           BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    at           DATETIME(6) NOT NULL,
    actor        VARCHAR(191) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    action       VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- complete, release
    reason       TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    scope        VARBINARY(191) NOT NULL,
    `key`        VARBINARY(512) NOT NULL,
    record       LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- the record as it was, as JSON
    result       LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, -- what it was completed with
    KEY idem_audit_key (scope, `key`)
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS idem_token (
    hash         CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY, -- the SHA-256 of the token
    purpose      VARBINARY(191) NOT NULL,
    subject      VARBINARY(512) NOT NULL, -- whom it was issued to
    created_at   DATETIME(6) NOT NULL,
    expires_at   DATETIME(6) NOT NULL,
    used_at      DATETIME(6),
    used_by      VARBINARY(512) -- the request that has used it, if it said which it is
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS idem_lease (
    name         VARBINARY(512) NOT NULL PRIMARY KEY,
    owner        VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    token        BIGINT NOT NULL, -- rises with each owner
    lease_until  DATETIME(6) NOT NULL,
    updated_at   DATETIME(6) NOT NULL
) ENGINE = InnoDB;

-- record: claim
/*M! SET STATEMENT innodb_lock_wait_timeout = 2 FOR */
INSERT INTO idem_record (scope, `key`, status, fingerprint, owner, created_at)
VALUES (?, ?, 1, ?, ?, UTC_TIMESTAMP(6));

-- record: read
SELECT status, fingerprint, result, result_type, CASE WHEN result_until <= UTC_TIMESTAMP(6) THEN 1 END AS gone,
       CASE WHEN lease_until > UTC_TIMESTAMP(6) THEN 1 END AS leased
  FROM idem_record
 WHERE scope = ? AND `key` = ?
  LOCK IN SHARE MODE;

-- record: look
SELECT status, fingerprint, result, result_type, CASE WHEN result_until <= UTC_TIMESTAMP(6) THEN 1 END AS gone,
       CASE WHEN lease_until > UTC_TIMESTAMP(6) THEN 1 END AS leased
  FROM idem_record
 WHERE scope = ? AND `key` = ?;

-- record: end
UPDATE idem_record
   SET status = ?, result = ?, result_type = ?, completed_at = UTC_TIMESTAMP(6),
       result_until = UTC_TIMESTAMP(6) + INTERVAL ? SECOND,
       key_until = UTC_TIMESTAMP(6) + INTERVAL ? SECOND
 WHERE scope = ? AND `key` = ? AND owner = ? AND status = 1;

-- record: doubt
INSERT INTO idem_record (scope, `key`, status, fingerprint, owner, created_at)
VALUES (?, ?, 4, ?, ?, UTC_TIMESTAMP(6))
ON DUPLICATE KEY UPDATE
       status = IF(owner = VALUES(owner), 4, status),
       result = IF(owner = VALUES(owner), NULL, result),
       result_type = IF(owner = VALUES(owner), NULL, result_type),
       completed_at = IF(owner = VALUES(owner), NULL, completed_at),
       result_until = IF(owner = VALUES(owner), NULL, result_until),
       key_until = IF(owner = VALUES(owner), NULL, key_until);

-- record: claim all
/*M! SET STATEMENT innodb_lock_wait_timeout = 2 FOR */
INSERT INTO idem_record (scope, `key`, status, fingerprint, owner, created_at)
SELECT asked.scope, list.k, 1, list.fingerprint, asked.owner, UTC_TIMESTAMP(6)
  FROM (SELECT ? AS scope, ? AS list, ? AS owner) AS asked
 CROSS JOIN JSON_TABLE(asked.list, '$[*]' COLUMNS (
         nth FOR ORDINALITY,
         k VARCHAR(512) CHARACTER SET utf8mb4 PATH '$[0]',
         fingerprint VARCHAR(80) CHARACTER SET ascii PATH '$[1]')) AS list
 ORDER BY list.nth
ON DUPLICATE KEY UPDATE owner = idem_record.owner;

-- record: read all
SELECT list.nth AS nth, CASE WHEN seen.owner = asked.owner THEN 1 END AS claimed, seen.status AS status,
       seen.fingerprint AS fingerprint, seen.result AS result, seen.result_type AS result_type,
       CASE WHEN seen.result_until <= UTC_TIMESTAMP(6) THEN 1 END AS gone,
       CASE WHEN seen.lease_until > UTC_TIMESTAMP(6) THEN 1 END AS leased
  FROM (SELECT ? AS scope, ? AS list, ? AS owner) AS asked
 CROSS JOIN JSON_TABLE(asked.list, '$[*]' COLUMNS (
         nth FOR ORDINALITY,
         k VARCHAR(512) CHARACTER SET utf8mb4 PATH '$[0]')) AS list
  STRAIGHT_JOIN idem_record AS seen FORCE INDEX (PRIMARY)
    ON seen.scope = asked.scope AND seen.`key` = CAST(list.k AS BINARY)
  LOCK IN SHARE MODE;

-- record: look all
SELECT list.nth AS nth, CASE WHEN seen.owner = asked.owner THEN 1 END AS claimed, seen.status AS status,
       seen.fingerprint AS fingerprint, seen.result AS result, seen.result_type AS result_type,
       CASE WHEN seen.result_until <= UTC_TIMESTAMP(6) THEN 1 END AS gone,
       CASE WHEN seen.lease_until > UTC_TIMESTAMP(6) THEN 1 END AS leased
  FROM (SELECT ? AS scope, ? AS list, ? AS owner) AS asked
 CROSS JOIN JSON_TABLE(asked.list, '$[*]' COLUMNS (
         nth FOR ORDINALITY,
         k VARCHAR(512) CHARACTER SET utf8mb4 PATH '$[0]')) AS list
  STRAIGHT_JOIN idem_record AS seen FORCE INDEX (PRIMARY)
    ON seen.scope = asked.scope AND seen.`key` = CAST(list.k AS BINARY);

-- record: end all
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (
         k VARCHAR(512) CHARACTER SET utf8mb4 PATH '$[0]',
         result LONGTEXT CHARACTER SET utf8mb4 PATH '$[1]')) AS list
 CROSS JOIN (SELECT ? AS result_type, ? AS result_s, ? AS key_s, ? AS scope, ? AS owner) AS given
  STRAIGHT_JOIN idem_record AS record FORCE INDEX (PRIMARY)
    ON record.scope = given.scope AND record.`key` = CAST(list.k AS BINARY)
   SET record.status = 2, record.result = list.result, record.result_type = given.result_type,
       record.completed_at = UTC_TIMESTAMP(6), record.result_until = UTC_TIMESTAMP(6) + INTERVAL given.result_s SECOND,
       record.key_until = UTC_TIMESTAMP(6) + INTERVAL given.key_s SECOND
 WHERE record.owner = given.owner AND record.status = 1;

