-- tables ------------------------------------------------------------------------------------------

CREATE TABLE stock (
  sku VARCHAR(32) NOT NULL PRIMARY KEY,
  counted BIGINT NOT NULL,
  available BIGINT NOT NULL,
  reserved BIGINT NOT NULL DEFAULT 0,
  deducted BIGINT NOT NULL DEFAULT 0
);
CREATE TABLE reservations (
  reservation_id BINARY(16) NOT NULL PRIMARY KEY,
  order_id BIGINT NOT NULL,
  line BIGINT NOT NULL,
  sku VARCHAR(32) NOT NULL,
  quantity BIGINT NOT NULL,
  pay_until BIGINT NOT NULL,
  status VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'reserved',
  version BIGINT NOT NULL DEFAULT 0,
  CONSTRAINT reservations_status_check CHECK (status IN ('reserved', 'deducted', 'released')),
  trade_no VARCHAR(64),
  deducted_at DATETIME(6)
);
CREATE TABLE entries (
  reservation_id BINARY(16) NOT NULL,
  sku VARCHAR(32) NOT NULL,
  entry VARCHAR(16) NOT NULL,
  quantity BIGINT NOT NULL
);
CREATE TABLE told (
  cause VARCHAR(64) NOT NULL,
  event VARCHAR(16) NOT NULL,
  reservation_id BINARY(16) NOT NULL,
  accepted BIGINT NOT NULL
);

-- Reservation -------------------------------------------------------------------------------------

-- deduct: Reserved => Deducted
-- release: Reserved => Released

-- Reservation: columns of the table
--   status VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'reserved',
--   version BIGINT NOT NULL DEFAULT 0,
--   CONSTRAINT reservations_status_check CHECK (status IN ('reserved', 'deducted', 'released'))

-- Reservation: widen
ALTER TABLE reservations
  DROP CONSTRAINT reservations_status_check,
  ADD CONSTRAINT reservations_status_check CHECK (status IN ('reserved', 'deducted', 'released'));

-- Reservation: history
CREATE TABLE IF NOT EXISTS reservations_history (
  reservation_id BINARY(16) NOT NULL,
  version BIGINT NOT NULL,
  source VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  target VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  event VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  cause VARBINARY(512),
  fingerprint VARCHAR(80) CHARACTER SET ascii COLLATE ascii_bin,
  at DATETIME(6) NOT NULL,
  create_cause VARBINARY(512) AS (CASE WHEN event = 'create' THEN cause END) STORED,
  PRIMARY KEY (reservation_id, version),
  UNIQUE (reservation_id, event, cause),
  UNIQUE (create_cause)
);

-- Reservation: unique while
ALTER TABLE reservations
  ADD COLUMN one_live TINYINT AS (CASE WHEN status IN ('reserved', 'deducted') THEN 1 END) STORED,
  ADD CONSTRAINT reservations_one_live_key CHECK (order_id IS NOT NULL AND line IS NOT NULL),
  ADD UNIQUE INDEX reservations_one_live (order_id, line, one_live);

-- Reservation: unknown values
SELECT MIN(status) AS status, COUNT(*) AS held
  FROM reservations
 WHERE CAST(status AS BINARY) NOT IN ('reserved', 'deducted', 'released') OR status IS NULL
 GROUP BY CAST(status AS BINARY)
 ORDER BY CAST(status AS BINARY);

-- Reservation: guard
CREATE TABLE IF NOT EXISTS idem_repair (session BIGINT UNSIGNED NOT NULL PRIMARY KEY) ENGINE = InnoDB;
DROP TRIGGER IF EXISTS reservations_status_guard_update;
DROP TRIGGER IF EXISTS reservations_status_guard_insert;
CREATE TRIGGER reservations_status_guard_update AFTER UPDATE ON reservations FOR EACH ROW
BEGIN
  DECLARE source VARBINARY(1024) DEFAULT CAST(CONVERT(OLD.status USING utf8mb4) AS BINARY);
  DECLARE target VARBINARY(1024) DEFAULT CAST(CONVERT(NEW.status USING utf8mb4) AS BINARY);
  IF NOT (source <=> target)
     AND (   source = 'reserved' AND target IN ('reserved', 'deducted', 'released')
          OR source = 'deducted' AND target = 'deducted'
          OR source = 'released' AND target = 'released') IS NOT TRUE
     AND NOT EXISTS (SELECT 1 FROM idem_repair WHERE session = CONNECTION_ID()) THEN
    SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 45001, MESSAGE_TEXT = 'idem guard reservations_status_guard_fcaada2e: undeclared transition';
  END IF;
END;
CREATE TRIGGER reservations_status_guard_insert AFTER INSERT ON reservations FOR EACH ROW
BEGIN
  DECLARE target VARBINARY(1024) DEFAULT CAST(CONVERT(NEW.status USING utf8mb4) AS BINARY);
  IF (target = 'reserved') IS NOT TRUE
     AND NOT EXISTS (SELECT 1 FROM idem_repair WHERE session = CONNECTION_ID()) THEN
    SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 45001, MESSAGE_TEXT = 'idem guard reservations_status_guard_fcaada2e: not an initial state';
  END IF;
END;

-- Reservation: remove the guard
DROP TRIGGER IF EXISTS reservations_status_guard_update;
DROP TRIGGER IF EXISTS reservations_status_guard_insert;

-- Reservation: adopt
-- idem: reservations_status_version a67d0418
-- Programs that do not know the column go on: a row that they insert begins at 0.
ALTER TABLE `reservations`
  ADD COLUMN `version` BIGINT NOT NULL DEFAULT 0;

-- Reservation: adopt
-- idem: reservations_status_values 57c2a2ae
-- Before the release that adds a value, after the one that removes one. No row may hold another value.
ALTER TABLE reservations
  MODIFY status VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'reserved',
  ADD CONSTRAINT reservations_status_check CHECK (status IN ('reserved', 'deducted', 'released'));

-- Reservation: which guard
SELECT CASE WHEN COUNT(*) < 2 THEN 'missing'
            WHEN SUM(LOCATE('_guard_fcaada2e', ACTION_STATEMENT) > 0) = 2 THEN 'installed'
            ELSE 'outdated' END AS guard
  FROM information_schema.TRIGGERS
 WHERE TRIGGER_SCHEMA = DATABASE() AND TRIGGER_NAME IN ('reservations_status_guard_update', 'reservations_status_guard_insert');

-- Reservation: repair, read
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.reservation_id = seen.reservation_id THEN 1 ELSE 0 END AS caused_here
  FROM reservations AS seen
  LEFT JOIN reservations_history AS caused
    ON caused.reservation_id = seen.reservation_id AND caused.event = 'repair' AND caused.cause = ?
 WHERE seen.reservation_id = ?
   FOR UPDATE;

-- Reservation: repair, open
INSERT INTO idem_repair (session) VALUES (CONNECTION_ID());

-- Reservation: repair, enter
INSERT INTO reservations_history (reservation_id, version, source, target, event, cause, fingerprint, at)
SELECT reservation_id, version + 1, COALESCE(status, ''), ?, 'repair', ?, ?, NOW(6)
  FROM reservations
 WHERE reservation_id = ?;

-- Reservation: repair, write
UPDATE reservations
   SET status = ?, version = version + 1
 WHERE reservation_id = ?;

-- Reservation: repair, close
DELETE FROM idem_repair WHERE session = CONNECTION_ID();

-- Reservation: load
SELECT status, version
  FROM reservations
 WHERE reservation_id = ?;

-- Reservation: lock
SELECT status, version
  FROM reservations
 WHERE reservation_id = ?
   FOR UPDATE;

-- Reservation: lock_now
SELECT status, version
  FROM reservations
 WHERE reservation_id = ?
   FOR UPDATE NOWAIT;

-- Reservation: many rows, read
SELECT given.nth AS nth, seen.status AS status, seen.version AS version
  FROM JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, reservation_id CHAR(36) PATH '$')) AS given
  STRAIGHT_JOIN reservations AS seen ON seen.reservation_id = UNHEX(REPLACE(given.reservation_id, '-', ''))
   FOR UPDATE;

-- Reservation: many rows, caused
SELECT given.nth AS nth, entry.version AS caused, entry.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, reservation_id CHAR(36) PATH '$')) AS given
  STRAIGHT_JOIN reservations_history AS entry ON entry.reservation_id = UNHEX(REPLACE(given.reservation_id, '-', ''))
 WHERE entry.event = ? AND entry.cause = ?;

-- Reservation: many rows, enter
INSERT INTO reservations_history (reservation_id, version, source, target, event, cause, fingerprint, at)
SELECT seen.reservation_id, seen.version + 1, seen.status, ?, ?, ?, ?, NOW(6)
  FROM JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, reservation_id CHAR(36) PATH '$')) AS given
  STRAIGHT_JOIN reservations AS seen ON seen.reservation_id = UNHEX(REPLACE(given.reservation_id, '-', ''));

-- Reservation: create, enter
INSERT INTO reservations_history (reservation_id, version, source, target, event, cause, fingerprint, at)
VALUES (?, 0, '', 'reserved', 'create', ?, ?, NOW(6));

-- Reservation: create, insert
INSERT INTO reservations (reservation_id, order_id, line, sku, quantity, pay_until, status, version)
VALUES (?, ?, ?, ?, ?, ?, 'reserved', 0);

-- Reservation: create, caused
SELECT made.reservation_id AS id_0, seen.status AS status, seen.version AS version,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM reservations_history AS made
  LEFT JOIN reservations AS seen
    ON seen.reservation_id = made.reservation_id
 WHERE made.create_cause = ?
   LOCK IN SHARE MODE;

-- Reservation: create, met
SELECT seen.reservation_id AS id_0, seen.status AS status, seen.version AS version,
       CASE WHEN seen.order_id <=> ?
             AND seen.line <=> ?
             AND seen.sku <=> ?
             AND seen.quantity <=> ?
             AND seen.pay_until <=> ? THEN 1 ELSE 0 END AS same,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM reservations AS seen
  LEFT JOIN reservations_history AS made
    ON made.reservation_id = seen.reservation_id AND made.event = 'create'
 WHERE seen.reservation_id = ?
   LOCK IN SHARE MODE;

-- Reservation: create, met
SELECT seen.reservation_id AS id_0, seen.status AS status, seen.version AS version,
       CASE WHEN seen.order_id <=> ?
             AND seen.line <=> ?
             AND seen.sku <=> ?
             AND seen.quantity <=> ?
             AND seen.pay_until <=> ? THEN 1 ELSE 0 END AS same,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM reservations AS seen
  LEFT JOIN reservations_history AS made
    ON made.reservation_id = seen.reservation_id AND made.event = 'create'
 WHERE seen.order_id = ? AND seen.line = ? AND seen.one_live = 1
   LOCK IN SHARE MODE;

-- Reservation: deduct, enter
INSERT INTO reservations_history (reservation_id, version, source, target, event, cause, fingerprint, at)
SELECT reservation_id, version + 1, status, 'deducted', 'deduct', ?, ?, NOW(6)
  FROM reservations
 WHERE reservation_id = ? AND status = 'reserved'
   FOR UPDATE;

-- Reservation: deduct, enter_at
INSERT INTO reservations_history (reservation_id, version, source, target, event, cause, fingerprint, at)
SELECT reservation_id, version + 1, status, 'deducted', 'deduct', ?, ?, NOW(6)
  FROM reservations
 WHERE reservation_id = ? AND status = 'reserved' AND version = ?
   FOR UPDATE;

-- Reservation: deduct, fire
UPDATE reservations
   SET status = 'deducted', trade_no = ?, deducted_at = NOW(6), version = LAST_INSERT_ID(version + 1)
 WHERE reservation_id = ? AND status = 'reserved';

-- Reservation: deduct, fire_at
UPDATE reservations
   SET status = 'deducted', trade_no = ?, deducted_at = NOW(6), version = LAST_INSERT_ID(version + 1)
 WHERE reservation_id = ? AND status = 'reserved' AND version = ?;

-- Reservation: deduct, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, CONVERT(latest.cause USING utf8mb4) AS latest_cause,
       passed.version AS passed, CONVERT(passed.cause USING utf8mb4) AS passed_cause
  FROM reservations AS seen
  LEFT JOIN reservations_history AS caused
    ON caused.reservation_id = ? AND caused.event = 'deduct' AND caused.cause = ?
  LEFT JOIN reservations_history AS latest
    ON latest.reservation_id = ?
   AND latest.version = (SELECT MAX(version) FROM reservations_history WHERE reservation_id = ? FOR UPDATE)
  LEFT JOIN reservations_history AS passed
    ON passed.reservation_id = ?
   AND passed.version = (SELECT MAX(version) FROM reservations_history WHERE reservation_id = ? AND target = 'deducted' FOR UPDATE)
 WHERE seen.reservation_id = ?
   FOR UPDATE;

-- Reservation: deduct, fire_all
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, reservation_id CHAR(36) PATH '$')) AS given
STRAIGHT_JOIN reservations AS seen ON seen.reservation_id = UNHEX(REPLACE(given.reservation_id, '-', ''))
   SET status = 'deducted', trade_no = ?, deducted_at = NOW(6), version = seen.version + 1
 WHERE seen.status = 'reserved';

-- Reservation: release, enter
INSERT INTO reservations_history (reservation_id, version, source, target, event, cause, fingerprint, at)
SELECT reservation_id, version + 1, status, 'released', 'release', ?, ?, NOW(6)
  FROM reservations
 WHERE reservation_id = ? AND status = 'reserved'
   FOR UPDATE;

-- Reservation: release, enter_at
INSERT INTO reservations_history (reservation_id, version, source, target, event, cause, fingerprint, at)
SELECT reservation_id, version + 1, status, 'released', 'release', ?, ?, NOW(6)
  FROM reservations
 WHERE reservation_id = ? AND status = 'reserved' AND version = ?
   FOR UPDATE;

-- Reservation: release, fire
UPDATE reservations
   SET status = 'released', version = LAST_INSERT_ID(version + 1)
 WHERE reservation_id = ? AND status = 'reserved';

-- Reservation: release, fire_at
UPDATE reservations
   SET status = 'released', version = LAST_INSERT_ID(version + 1)
 WHERE reservation_id = ? AND status = 'reserved' AND version = ?;

-- Reservation: release, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, CONVERT(latest.cause USING utf8mb4) AS latest_cause,
       passed.version AS passed, CONVERT(passed.cause USING utf8mb4) AS passed_cause
  FROM reservations AS seen
  LEFT JOIN reservations_history AS caused
    ON caused.reservation_id = ? AND caused.event = 'release' AND caused.cause = ?
  LEFT JOIN reservations_history AS latest
    ON latest.reservation_id = ?
   AND latest.version = (SELECT MAX(version) FROM reservations_history WHERE reservation_id = ? FOR UPDATE)
  LEFT JOIN reservations_history AS passed
    ON passed.reservation_id = ?
   AND passed.version = (SELECT MAX(version) FROM reservations_history WHERE reservation_id = ? AND target = 'released' FOR UPDATE)
 WHERE seen.reservation_id = ?
   FOR UPDATE;

-- Reservation: release, fire_all
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, reservation_id CHAR(36) PATH '$')) AS given
STRAIGHT_JOIN reservations AS seen ON seen.reservation_id = UNHEX(REPLACE(given.reservation_id, '-', ''))
   SET status = 'released', version = seen.version + 1
 WHERE seen.status = 'reserved';
