-- tables ------------------------------------------------------------------------------------------

CREATE TABLE stock (
  sku VARCHAR(32) NOT NULL PRIMARY KEY,
  counted BIGINT NOT NULL,
  available BIGINT NOT NULL,
  reserved BIGINT NOT NULL DEFAULT 0,
  deducted BIGINT NOT NULL DEFAULT 0
);
CREATE TABLE reservations (
  reservation_id BLOB NOT NULL PRIMARY KEY,
  order_id BIGINT NOT NULL,
  line BIGINT NOT NULL,
  sku VARCHAR(32) NOT NULL,
  quantity BIGINT NOT NULL,
  pay_until BIGINT NOT NULL,
  status TEXT NOT NULL DEFAULT 'reserved',
  version INTEGER NOT NULL DEFAULT 0,
  trade_no VARCHAR(64),
  deducted_at TEXT
);
CREATE TABLE entries (
  reservation_id BLOB NOT NULL,
  sku VARCHAR(32) NOT NULL,
  entry VARCHAR(16) NOT NULL,
  quantity BIGINT NOT NULL
);
CREATE TABLE told (
  cause VARCHAR(64) NOT NULL,
  event VARCHAR(16) NOT NULL,
  reservation_id BLOB NOT NULL,
  accepted BIGINT NOT NULL
);

-- Reservation -------------------------------------------------------------------------------------

-- deduct: Reserved => Deducted
-- release: Reserved => Released

-- Reservation: columns of the table
--   status TEXT NOT NULL DEFAULT 'reserved',
--   version INTEGER NOT NULL DEFAULT 0

-- Reservation: history
CREATE TABLE IF NOT EXISTS reservations_history (
  reservation_id BLOB NOT NULL,
  version INTEGER NOT NULL,
  source TEXT NOT NULL,
  target TEXT NOT NULL,
  event TEXT NOT NULL,
  cause TEXT,
  fingerprint TEXT,
  at TEXT NOT NULL,
  PRIMARY KEY (reservation_id, version),
  UNIQUE (reservation_id, event, cause)
);
CREATE UNIQUE INDEX IF NOT EXISTS reservations_history_create
    ON reservations_history (cause)
 WHERE event = 'create';

-- Reservation: unique while
CREATE UNIQUE INDEX reservations_one_live
    ON reservations (order_id, line)
 WHERE status IN ('reserved', 'deducted');
CREATE TRIGGER reservations_one_live_insert
BEFORE INSERT ON reservations WHEN NEW.order_id IS NULL OR NEW.line IS NULL
BEGIN SELECT RAISE(ABORT, 'a column of the key of one_live is NULL'); END;
CREATE TRIGGER reservations_one_live_update
BEFORE UPDATE ON reservations WHEN NEW.order_id IS NULL OR NEW.line IS NULL
BEGIN SELECT RAISE(ABORT, 'a column of the key of one_live is NULL'); END;

-- Reservation: unknown values
SELECT status, COUNT(*) AS held
  FROM reservations
 WHERE status NOT IN ('reserved', 'deducted', 'released') OR status IS NULL
 GROUP BY status
 ORDER BY status;

-- Reservation: guard
CREATE TABLE IF NOT EXISTS idem_repair (session INTEGER NOT NULL PRIMARY KEY);
DROP TRIGGER IF EXISTS reservations_status_guard_update;
DROP TRIGGER IF EXISTS reservations_status_guard_insert;
CREATE TRIGGER reservations_status_guard_update AFTER UPDATE OF status ON reservations
 WHEN OLD.status COLLATE BINARY IS NOT NEW.status COLLATE BINARY
  AND (   OLD.status COLLATE BINARY = 'reserved' AND NEW.status COLLATE BINARY IN ('reserved', 'deducted', 'released')
       OR OLD.status COLLATE BINARY = 'deducted' AND NEW.status COLLATE BINARY = 'deducted'
       OR OLD.status COLLATE BINARY = 'released' AND NEW.status COLLATE BINARY = 'released') IS NOT TRUE
  AND NOT EXISTS (SELECT 1 FROM idem_repair)
BEGIN
  SELECT RAISE(ABORT, 'idem guard reservations_status_guard_fcaada2e: undeclared transition');
END;
CREATE TRIGGER reservations_status_guard_insert AFTER INSERT ON reservations
 WHEN (NEW.status COLLATE BINARY = 'reserved') IS NOT TRUE
  AND NOT EXISTS (SELECT 1 FROM idem_repair)
BEGIN
  SELECT RAISE(ABORT, 'idem guard reservations_status_guard_fcaada2e: not an initial state');
END;

-- Reservation: remove the guard
DROP TRIGGER IF EXISTS reservations_status_guard_update;
DROP TRIGGER IF EXISTS reservations_status_guard_insert;

-- Reservation: adopt
-- idem: reservations_status_version 47ba2ca0
-- Programs that do not know the column go on: a row that they insert begins at 0.
ALTER TABLE "reservations"
  ADD COLUMN "version" INTEGER NOT NULL DEFAULT 0;

-- Reservation: which guard
SELECT CASE WHEN COUNT(*) < 2 THEN 'missing'
            WHEN SUM(instr(sql, '_guard_fcaada2e') > 0) = 2 THEN 'installed'
            ELSE 'outdated' END AS guard
  FROM sqlite_master
 WHERE type = 'trigger' AND name IN ('reservations_status_guard_update', 'reservations_status_guard_insert');

-- Reservation: repair, read
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.reservation_id = seen.reservation_id THEN 1 ELSE 0 END AS caused_here
  FROM reservations AS seen
  LEFT JOIN reservations_history AS caused
    ON caused.reservation_id = seen.reservation_id AND caused.event = 'repair' AND caused.cause = ?2
 WHERE seen.reservation_id = ?1;

-- Reservation: repair, open
INSERT INTO idem_repair (session) VALUES (0);

-- Reservation: repair, enter
INSERT INTO reservations_history (reservation_id, version, source, target, event, cause, fingerprint, at)
SELECT reservation_id, version + 1, COALESCE(status, ''), ?1, 'repair', ?2, ?3, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM reservations
 WHERE reservation_id = ?4;

-- Reservation: repair, write
UPDATE reservations
   SET status = ?1, version = version + 1
 WHERE reservation_id = ?2;

-- Reservation: repair, close
DELETE FROM idem_repair;

-- Reservation: load
SELECT status, version
  FROM reservations
 WHERE reservation_id = ?1;

-- Reservation: lock
SELECT status, version
  FROM reservations
 WHERE reservation_id = ?1;

-- Reservation: lock_now
SELECT status, version
  FROM reservations
 WHERE reservation_id = ?1;

-- Reservation: many rows, read
SELECT given.nth AS nth, seen.status AS status, seen.version AS version
  FROM (SELECT list.key + 1 AS nth, list.value AS reservation_id FROM json_each(?1) AS list) AS given
  JOIN reservations AS seen ON seen.reservation_id = unhex(replace(given.reservation_id, '-', ''));

-- Reservation: many rows, caused
SELECT given.nth AS nth, entry.version AS caused, entry.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM (SELECT list.key + 1 AS nth, list.value AS reservation_id FROM json_each(?1) AS list) AS given
  JOIN reservations_history AS entry ON entry.reservation_id = unhex(replace(given.reservation_id, '-', ''))
 WHERE entry.event = ?2 AND entry.cause = ?3;

-- Reservation: many rows, enter
INSERT INTO reservations_history (reservation_id, version, source, target, event, cause, fingerprint, at)
SELECT seen.reservation_id, seen.version + 1, seen.status, ?1, ?2, ?3, ?4, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM (SELECT list.key + 1 AS nth, list.value AS reservation_id FROM json_each(?5) AS list) AS given
  JOIN reservations AS seen ON seen.reservation_id = unhex(replace(given.reservation_id, '-', ''));

-- Reservation: create, enter
INSERT INTO reservations_history (reservation_id, version, source, target, event, cause, fingerprint, at)
VALUES (?1, 0, '', 'reserved', 'create', ?2, ?3, strftime('%Y-%m-%d %H:%M:%f', 'now'));

-- Reservation: create, insert
INSERT INTO reservations (reservation_id, order_id, line, sku, quantity, pay_until, status, version)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'reserved', 0);

-- Reservation: create, caused
SELECT made.reservation_id AS id_0, seen.status AS status, seen.version AS version,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM reservations_history AS made
  LEFT JOIN reservations AS seen
    ON seen.reservation_id = made.reservation_id
 WHERE made.event = 'create' AND made.cause = ?1;

-- Reservation: create, met
SELECT seen.reservation_id AS id_0, seen.status AS status, seen.version AS version,
       CASE WHEN seen.order_id IS ?1
             AND seen.line IS ?2
             AND seen.sku IS ?3
             AND seen.quantity IS ?4
             AND seen.pay_until IS ?5 THEN 1 ELSE 0 END AS same,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM reservations AS seen
  LEFT JOIN reservations_history AS made
    ON made.reservation_id = seen.reservation_id AND made.event = 'create'
 WHERE seen.reservation_id = ?6;

-- Reservation: create, met
SELECT seen.reservation_id AS id_0, seen.status AS status, seen.version AS version,
       CASE WHEN seen.order_id IS ?1
             AND seen.line IS ?2
             AND seen.sku IS ?3
             AND seen.quantity IS ?4
             AND seen.pay_until IS ?5 THEN 1 ELSE 0 END AS same,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM reservations AS seen
  LEFT JOIN reservations_history AS made
    ON made.reservation_id = seen.reservation_id AND made.event = 'create'
 WHERE seen.order_id = ?1 AND seen.line = ?2 AND seen.status IN ('reserved', 'deducted');

-- Reservation: deduct, enter
INSERT INTO reservations_history (reservation_id, version, source, target, event, cause, fingerprint, at)
SELECT reservation_id, version + 1, status, 'deducted', 'deduct', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM reservations
 WHERE reservation_id = ?3 AND status = 'reserved';

-- Reservation: deduct, enter_at
INSERT INTO reservations_history (reservation_id, version, source, target, event, cause, fingerprint, at)
SELECT reservation_id, version + 1, status, 'deducted', 'deduct', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM reservations
 WHERE reservation_id = ?3 AND status = 'reserved' AND version = ?4;

-- Reservation: deduct, fire
UPDATE reservations
   SET status = 'deducted', trade_no = ?1, deducted_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), version = version + 1
 WHERE reservation_id = ?2 AND status = 'reserved'
RETURNING version AS applied;

-- Reservation: deduct, fire_at
UPDATE reservations
   SET status = 'deducted', trade_no = ?1, deducted_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), version = version + 1
 WHERE reservation_id = ?2 AND status = 'reserved' AND version = ?3
RETURNING version AS applied;

-- Reservation: deduct, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM reservations AS seen
  LEFT JOIN reservations_history AS caused
    ON caused.reservation_id = ?1 AND caused.event = 'deduct' AND caused.cause = ?2
  LEFT JOIN reservations_history AS latest
    ON latest.reservation_id = ?1
   AND latest.version = (SELECT MAX(version) FROM reservations_history WHERE reservation_id = ?1)
  LEFT JOIN reservations_history AS passed
    ON passed.reservation_id = ?1
   AND passed.version = (SELECT MAX(version) FROM reservations_history WHERE reservation_id = ?1 AND target = 'deducted')
 WHERE seen.reservation_id = ?1;

-- Reservation: deduct, fire_all
UPDATE reservations
   SET status = 'deducted', trade_no = ?1, deducted_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), version = reservations.version + 1
  FROM (SELECT list.key + 1 AS nth, list.value AS reservation_id FROM json_each(?2) AS list) AS given
 WHERE reservations.reservation_id = unhex(replace(given.reservation_id, '-', '')) AND reservations.status = 'reserved';

-- Reservation: release, enter
INSERT INTO reservations_history (reservation_id, version, source, target, event, cause, fingerprint, at)
SELECT reservation_id, version + 1, status, 'released', 'release', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM reservations
 WHERE reservation_id = ?3 AND status = 'reserved';

-- Reservation: release, enter_at
INSERT INTO reservations_history (reservation_id, version, source, target, event, cause, fingerprint, at)
SELECT reservation_id, version + 1, status, 'released', 'release', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM reservations
 WHERE reservation_id = ?3 AND status = 'reserved' AND version = ?4;

-- Reservation: release, fire
UPDATE reservations
   SET status = 'released', version = version + 1
 WHERE reservation_id = ?1 AND status = 'reserved'
RETURNING version AS applied;

-- Reservation: release, fire_at
UPDATE reservations
   SET status = 'released', version = version + 1
 WHERE reservation_id = ?1 AND status = 'reserved' AND version = ?2
RETURNING version AS applied;

-- Reservation: release, explain
SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       1 AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM reservations AS seen
  LEFT JOIN reservations_history AS caused
    ON caused.reservation_id = ?1 AND caused.event = 'release' AND caused.cause = ?2
  LEFT JOIN reservations_history AS latest
    ON latest.reservation_id = ?1
   AND latest.version = (SELECT MAX(version) FROM reservations_history WHERE reservation_id = ?1)
  LEFT JOIN reservations_history AS passed
    ON passed.reservation_id = ?1
   AND passed.version = (SELECT MAX(version) FROM reservations_history WHERE reservation_id = ?1 AND target = 'released')
 WHERE seen.reservation_id = ?1;

-- Reservation: release, fire_all
UPDATE reservations
   SET status = 'released', version = reservations.version + 1
  FROM (SELECT list.key + 1 AS nth, list.value AS reservation_id FROM json_each(?1) AS list) AS given
 WHERE reservations.reservation_id = unhex(replace(given.reservation_id, '-', '')) AND reservations.status = 'reserved';
