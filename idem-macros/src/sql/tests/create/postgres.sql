CREATE TABLE IF NOT EXISTS carts_history (
  cart_id BIGINT NOT NULL,
  version BIGINT NOT NULL,
  source TEXT NOT NULL,
  target TEXT NOT NULL,
  event TEXT NOT NULL,
  cause TEXT COLLATE "C",
  fingerprint TEXT,
  at TIMESTAMPTZ NOT NULL,
  PRIMARY KEY (cart_id, version),
  UNIQUE (cart_id, event, cause)
);
CREATE UNIQUE INDEX IF NOT EXISTS carts_history_create
    ON carts_history (cause)
 WHERE event = 'create'

ALTER TABLE carts
  ALTER COLUMN buyer SET NOT NULL;
CREATE UNIQUE INDEX carts_one_open
    ON carts (buyer)
 WHERE status IN ('open', 'paying', 'in_payment');
ALTER TABLE carts
  ALTER COLUMN buyer SET NOT NULL;
CREATE UNIQUE INDEX carts_one_paying
    ON carts (buyer)
 WHERE status IN ('paying', 'in_payment')

-- [Value(0), Value(1), Value(2), Value(3), Cause, Fingerprint, Note]
WITH created AS (
  INSERT INTO carts (cart_id, buyer, amount, rate, opened_at, via, status, version)
  VALUES ($1, $2, $3, $4, clock_timestamp(), 'web', 'open', 0)
  RETURNING cart_id
)
INSERT INTO carts_history (cart_id, version, source, target, event, cause, fingerprint, at)
SELECT cart_id, 0, '', 'open', 'create', $5::text, $6::text, clock_timestamp()
  FROM created
-- [Cause]
SELECT made.cart_id AS id_0, seen.status AS status, seen.version AS version,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM carts_history AS made
  LEFT JOIN carts AS seen
    ON seen.cart_id = made.cart_id
 WHERE made.event = 'create' AND made.cause = $1::text
-- [Value(1), Value(2), Value(0)]
SELECT seen.cart_id AS id_0, seen.status AS status, seen.version AS version,
       CASE WHEN seen.buyer IS NOT DISTINCT FROM $1
             AND seen.amount IS NOT DISTINCT FROM $2 THEN 1 ELSE 0 END AS same,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM carts AS seen
  LEFT JOIN carts_history AS made
    ON made.cart_id = seen.cart_id AND made.event = 'create'
 WHERE seen.cart_id = $3
-- [Value(1), Value(2)]
SELECT seen.cart_id AS id_0, seen.status AS status, seen.version AS version,
       CASE WHEN seen.buyer IS NOT DISTINCT FROM $1
             AND seen.amount IS NOT DISTINCT FROM $2 THEN 1 ELSE 0 END AS same,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM carts AS seen
  LEFT JOIN carts_history AS made
    ON made.cart_id = seen.cart_id AND made.event = 'create'
 WHERE seen.buyer = $1 AND seen.status IN ('open', 'paying', 'in_payment')
-- [Id]
SELECT 'one_paying' AS rule
  FROM carts AS seen
  JOIN carts AS other
    ON other.buyer = seen.buyer AND other.status IN ('paying', 'in_payment') AND NOT (other.cart_id = seen.cart_id)
 WHERE seen.cart_id = $1
-- [Id]
SELECT 'one_open' AS rule
  FROM carts AS seen
  JOIN carts AS other
    ON other.buyer = seen.buyer AND other.status IN ('open', 'paying', 'in_payment') AND NOT (other.cart_id = seen.cart_id)
 WHERE seen.cart_id = $1
CREATE TABLE IF NOT EXISTS "Shop"."order_State_history" (
  tenant BIGINT NOT NULL,
  type UUID NOT NULL,
  version BIGINT NOT NULL,
  source TEXT NOT NULL,
  target TEXT NOT NULL,
  event TEXT NOT NULL,
  cause TEXT COLLATE "C",
  fingerprint TEXT,
  at TIMESTAMPTZ NOT NULL,
  PRIMARY KEY (tenant, type, version),
  UNIQUE (event, cause)
)

CREATE UNIQUE INDEX order_by
    ON "Shop"."order" (tenant)
 WHERE "State" = 1

-- [Value(0), Value(1), Value(2), Cause, Fingerprint, Note]
WITH created AS (
  INSERT INTO "Shop"."order" ("key", type, tenant, "State", rev)
  VALUES ($1, $2, $3, 1, 0)
  RETURNING tenant, type
)
INSERT INTO "Shop"."order_State_history" (tenant, type, version, source, target, event, cause, fingerprint, at)
SELECT tenant, type, 0, '', '1', 'create', $4::text, $5::text, clock_timestamp()
  FROM created
-- [Cause]
SELECT made.tenant AS id_0, made.type AS id_1, seen."State"::text AS status, seen.rev AS version,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM "Shop"."order_State_history" AS made
  LEFT JOIN "Shop"."order" AS seen
    ON seen.tenant = made.tenant AND seen.type = made.type
 WHERE made.event = 'create' AND made.cause = $1::text
-- [Value(0), Value(1), Value(2)]
SELECT seen.tenant AS id_0, seen.type AS id_1, seen."State"::text AS status, seen.rev AS version,
       CASE WHEN seen."key" IS NOT DISTINCT FROM $1
             AND seen.type IS NOT DISTINCT FROM $2
             AND seen.tenant IS NOT DISTINCT FROM $3 THEN 1 ELSE 0 END AS same,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM "Shop"."order" AS seen
  LEFT JOIN "Shop"."order_State_history" AS made
    ON made.tenant = seen.tenant AND made.type = seen.type AND made.event = 'create'
 WHERE seen.tenant = $3 AND seen.type = $2
-- [Value(0), Value(1), Value(2)]
SELECT seen.tenant AS id_0, seen.type AS id_1, seen."State"::text AS status, seen.rev AS version,
       CASE WHEN seen."key" IS NOT DISTINCT FROM $1
             AND seen.type IS NOT DISTINCT FROM $2
             AND seen.tenant IS NOT DISTINCT FROM $3 THEN 1 ELSE 0 END AS same,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM "Shop"."order" AS seen
  LEFT JOIN "Shop"."order_State_history" AS made
    ON made.tenant = seen.tenant AND made.type = seen.type AND made.event = 'create'
 WHERE seen.tenant = $3 AND seen."State" = 1
-- [Id]
SELECT 'by' AS rule
  FROM "Shop"."order" AS seen
  JOIN "Shop"."order" AS other
    ON other.tenant = seen.tenant AND other."State" = 1 AND NOT (other.tenant = seen.tenant AND other.type = seen.type)
 WHERE seen.tenant = $1 AND seen.type = $2
-- [Value(0)]
INSERT INTO tickets (code, status)
VALUES ($1, 'Open')
-- [Value(0)]
SELECT seen.code AS id_0, seen.status AS status, 0 AS version,
       CASE WHEN seen.code IS NOT DISTINCT FROM $1 THEN 1 ELSE 0 END AS same
  FROM tickets AS seen
 WHERE seen.code = $1
