CREATE TABLE IF NOT EXISTS carts_history (
  cart_id INTEGER NOT NULL,
  version INTEGER NOT NULL,
  source TEXT NOT NULL,
  target TEXT NOT NULL,
  event TEXT NOT NULL,
  cause TEXT,
  fingerprint TEXT,
  at TEXT NOT NULL,
  PRIMARY KEY (cart_id, version),
  UNIQUE (cart_id, event, cause)
);
CREATE UNIQUE INDEX IF NOT EXISTS carts_history_create
    ON carts_history (cause)
 WHERE event = 'create'

CREATE UNIQUE INDEX carts_one_open
    ON carts (buyer)
 WHERE status IN ('open', 'paying', 'in_payment');
CREATE TRIGGER carts_one_open_insert
BEFORE INSERT ON carts WHEN NEW.buyer IS NULL
BEGIN SELECT RAISE(ABORT, 'a column of the key of one_open is NULL'); END;
CREATE TRIGGER carts_one_open_update
BEFORE UPDATE ON carts WHEN NEW.buyer IS NULL
BEGIN SELECT RAISE(ABORT, 'a column of the key of one_open is NULL'); END;
CREATE UNIQUE INDEX carts_one_paying
    ON carts (buyer)
 WHERE status IN ('paying', 'in_payment');
CREATE TRIGGER carts_one_paying_insert
BEFORE INSERT ON carts WHEN NEW.buyer IS NULL
BEGIN SELECT RAISE(ABORT, 'a column of the key of one_paying is NULL'); END;
CREATE TRIGGER carts_one_paying_update
BEFORE UPDATE ON carts WHEN NEW.buyer IS NULL
BEGIN SELECT RAISE(ABORT, 'a column of the key of one_paying is NULL'); END

-- [Value(0), Cause, Fingerprint, Note]
INSERT INTO carts_history (cart_id, version, source, target, event, cause, fingerprint, at)
VALUES (?1, 0, '', 'open', 'create', ?2, ?3, strftime('%Y-%m-%d %H:%M:%f', 'now'))
-- [Value(0), Value(1), Value(2), Value(3)]
INSERT INTO carts (cart_id, buyer, amount, rate, opened_at, via, status, version)
VALUES (?1, ?2, ?3, ?4, strftime('%Y-%m-%d %H:%M:%f', 'now'), 'web', 'open', 0)
-- [Cause]
SELECT made.cart_id AS id_0, seen.status AS status, seen.version AS version,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM carts_history AS made
  LEFT JOIN carts AS seen
    ON seen.cart_id = made.cart_id
 WHERE made.event = 'create' AND made.cause = ?1
-- [Value(1), Value(2), Value(0)]
SELECT seen.cart_id AS id_0, seen.status AS status, seen.version AS version,
       CASE WHEN seen.buyer IS ?1
             AND seen.amount IS ?2 THEN 1 ELSE 0 END AS same,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM carts AS seen
  LEFT JOIN carts_history AS made
    ON made.cart_id = seen.cart_id AND made.event = 'create'
 WHERE seen.cart_id = ?3
-- [Value(1), Value(2)]
SELECT seen.cart_id AS id_0, seen.status AS status, seen.version AS version,
       CASE WHEN seen.buyer IS ?1
             AND seen.amount IS ?2 THEN 1 ELSE 0 END AS same,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM carts AS seen
  LEFT JOIN carts_history AS made
    ON made.cart_id = seen.cart_id AND made.event = 'create'
 WHERE seen.buyer = ?1 AND seen.status IN ('open', 'paying', 'in_payment')
-- [Id]
SELECT 'one_paying' AS rule
  FROM carts AS seen
  JOIN carts AS other
    ON other.buyer = seen.buyer AND other.status IN ('paying', 'in_payment') AND NOT (other.cart_id = seen.cart_id)
 WHERE seen.cart_id = ?1
-- [Id]
SELECT 'one_open' AS rule
  FROM carts AS seen
  JOIN carts AS other
    ON other.buyer = seen.buyer AND other.status IN ('open', 'paying', 'in_payment') AND NOT (other.cart_id = seen.cart_id)
 WHERE seen.cart_id = ?1
CREATE TABLE IF NOT EXISTS "Shop"."order_State_history" (
  tenant INTEGER NOT NULL,
  type BLOB NOT NULL,
  version INTEGER NOT NULL,
  source TEXT NOT NULL,
  target TEXT NOT NULL,
  event TEXT NOT NULL,
  cause TEXT,
  fingerprint TEXT,
  at TEXT NOT NULL,
  PRIMARY KEY (tenant, type, version),
  UNIQUE (event, cause)
)

CREATE UNIQUE INDEX "Shop".order_by
    ON "order" (tenant)
 WHERE "State" = 1;
CREATE TRIGGER "Shop".order_by_insert
BEFORE INSERT ON "order" WHEN NEW.tenant IS NULL
BEGIN SELECT RAISE(ABORT, 'a column of the key of by is NULL'); END;
CREATE TRIGGER "Shop".order_by_update
BEFORE UPDATE ON "order" WHEN NEW.tenant IS NULL
BEGIN SELECT RAISE(ABORT, 'a column of the key of by is NULL'); END

-- [Value(2), Value(1), Cause, Fingerprint, Note]
INSERT INTO "Shop"."order_State_history" (tenant, type, version, source, target, event, cause, fingerprint, at)
VALUES (?1, ?2, 0, '', '1', 'create', ?3, ?4, strftime('%Y-%m-%d %H:%M:%f', 'now'))
-- [Value(0), Value(1), Value(2)]
INSERT INTO "Shop"."order" ("key", type, tenant, "State", rev)
VALUES (?1, ?2, ?3, 1, 0)
-- [Cause]
SELECT made.tenant AS id_0, made.type AS id_1, CAST(seen."State" AS TEXT) AS status, seen.rev AS version,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM "Shop"."order_State_history" AS made
  LEFT JOIN "Shop"."order" AS seen
    ON seen.tenant = made.tenant AND seen.type = made.type
 WHERE made.event = 'create' AND made.cause = ?1
-- [Value(0), Value(1), Value(2)]
SELECT seen.tenant AS id_0, seen.type AS id_1, CAST(seen."State" AS TEXT) AS status, seen.rev AS version,
       CASE WHEN seen."key" IS ?1
             AND seen.type IS ?2
             AND seen.tenant IS ?3 THEN 1 ELSE 0 END AS same,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM "Shop"."order" AS seen
  LEFT JOIN "Shop"."order_State_history" AS made
    ON made.tenant = seen.tenant AND made.type = seen.type AND made.event = 'create'
 WHERE seen.tenant = ?3 AND seen.type = ?2
-- [Value(0), Value(1), Value(2)]
SELECT seen.tenant AS id_0, seen.type AS id_1, CAST(seen."State" AS TEXT) AS status, seen.rev AS version,
       CASE WHEN seen."key" IS ?1
             AND seen.type IS ?2
             AND seen.tenant IS ?3 THEN 1 ELSE 0 END AS same,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM "Shop"."order" AS seen
  LEFT JOIN "Shop"."order_State_history" AS made
    ON made.tenant = seen.tenant AND made.type = seen.type AND made.event = 'create'
 WHERE seen.tenant = ?3 AND seen."State" = 1
-- [Id]
SELECT 'by' AS rule
  FROM "Shop"."order" AS seen
  JOIN "Shop"."order" AS other
    ON other.tenant = seen.tenant AND other."State" = 1 AND NOT (other.tenant = seen.tenant AND other.type = seen.type)
 WHERE seen.tenant = ?1 AND seen.type = ?2
-- [Value(0)]
INSERT INTO tickets (code, status)
VALUES (?1, 'Open')
-- [Value(0)]
SELECT seen.code AS id_0, seen.status AS status, 0 AS version,
       CASE WHEN seen.code IS ?1 THEN 1 ELSE 0 END AS same
  FROM tickets AS seen
 WHERE seen.code = ?1
