CREATE TABLE IF NOT EXISTS carts_history (
  cart_id BIGINT NOT NULL,
  version BIGINT NOT NULL,
  source VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  target VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  event VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  cause VARBINARY(512),
  fingerprint VARCHAR(80) CHARACTER SET ascii COLLATE ascii_bin,
  at DATETIME(6) NOT NULL,
  create_cause VARBINARY(512) AS (CASE WHEN event = 'create' THEN cause END) STORED,
  PRIMARY KEY (cart_id, version),
  UNIQUE (cart_id, event, cause),
  UNIQUE (create_cause)
)

ALTER TABLE carts
  ADD COLUMN one_open TINYINT AS (CASE WHEN status IN ('open', 'paying', 'in_payment') THEN 1 END) STORED,
  ADD CONSTRAINT carts_one_open_key CHECK (buyer IS NOT NULL),
  ADD UNIQUE INDEX carts_one_open (buyer, one_open);
ALTER TABLE carts
  ADD COLUMN one_paying TINYINT AS (CASE WHEN status IN ('paying', 'in_payment') THEN 1 END) STORED,
  ADD CONSTRAINT carts_one_paying_key CHECK (buyer IS NOT NULL),
  ADD UNIQUE INDEX carts_one_paying (buyer, one_paying)

-- [Value(0), Cause, Fingerprint, Note]
INSERT INTO carts_history (cart_id, version, source, target, event, cause, fingerprint, at)
VALUES (?, 0, '', 'open', 'create', ?, ?, NOW(6))
-- [Value(0), Value(1), Value(2), Value(3)]
INSERT INTO carts (cart_id, buyer, amount, rate, opened_at, via, status, version)
VALUES (?, ?, ?, ?, NOW(6), 'web', 'open', 0)
-- [Cause]
SELECT made.cart_id AS id_0, seen.status AS status, seen.version AS version,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM carts_history AS made
  LEFT JOIN carts AS seen
    ON seen.cart_id = made.cart_id
 WHERE made.create_cause = ?
   LOCK IN SHARE MODE
-- [Value(1), Value(2), Value(0)]
SELECT seen.cart_id AS id_0, seen.status AS status, seen.version AS version,
       CASE WHEN seen.buyer <=> ?
             AND seen.amount <=> ? THEN 1 ELSE 0 END AS same,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM carts AS seen
  LEFT JOIN carts_history AS made
    ON made.cart_id = seen.cart_id AND made.event = 'create'
 WHERE seen.cart_id = ?
   LOCK IN SHARE MODE
-- [Value(1), Value(2), Value(1)]
SELECT seen.cart_id AS id_0, seen.status AS status, seen.version AS version,
       CASE WHEN seen.buyer <=> ?
             AND seen.amount <=> ? THEN 1 ELSE 0 END AS same,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM carts AS seen
  LEFT JOIN carts_history AS made
    ON made.cart_id = seen.cart_id AND made.event = 'create'
 WHERE seen.buyer = ? AND seen.one_open = 1
   LOCK IN SHARE MODE
-- [Id]
SELECT 'one_paying' AS rule
  FROM carts AS seen
  JOIN carts AS other
    ON other.buyer = seen.buyer AND other.one_paying = 1 AND NOT (other.cart_id = seen.cart_id)
 WHERE seen.cart_id = ?
   LOCK IN SHARE MODE
-- [Id]
SELECT 'one_open' AS rule
  FROM carts AS seen
  JOIN carts AS other
    ON other.buyer = seen.buyer AND other.one_open = 1 AND NOT (other.cart_id = seen.cart_id)
 WHERE seen.cart_id = ?
   LOCK IN SHARE MODE
CREATE TABLE IF NOT EXISTS `Shop`.`order_State_history` (
  tenant BIGINT NOT NULL,
  type BINARY(16) NOT NULL,
  version BIGINT NOT NULL,
  source VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  target VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  event VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  cause VARBINARY(512),
  fingerprint VARCHAR(80) CHARACTER SET ascii COLLATE ascii_bin,
  at DATETIME(6) NOT NULL,
  PRIMARY KEY (tenant, type, version),
  UNIQUE (event, cause)
)

ALTER TABLE `Shop`.`order`
  ADD COLUMN `by` TINYINT AS (CASE WHEN `State` = 1 THEN 1 END) STORED,
  ADD UNIQUE INDEX order_by (tenant, `by`)

-- [Value(2), Value(1), Cause, Fingerprint, Note]
INSERT INTO `Shop`.`order_State_history` (tenant, type, version, source, target, event, cause, fingerprint, at)
VALUES (?, ?, 0, '', '1', 'create', ?, ?, NOW(6))
-- [Value(0), Value(1), Value(2)]
INSERT INTO `Shop`.`order` (`key`, type, tenant, `State`, rev)
VALUES (?, ?, ?, 1, 0)
-- [Cause]
SELECT made.tenant AS id_0, made.type AS id_1, CAST(seen.`State` AS CHAR) AS status, seen.rev AS version,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM `Shop`.`order_State_history` AS made
  LEFT JOIN `Shop`.`order` AS seen
    ON seen.tenant = made.tenant AND seen.type = made.type
 WHERE made.event = 'create' AND made.cause = ?
   LOCK IN SHARE MODE
-- [Value(0), Value(1), Value(2), Value(2), Value(1)]
SELECT seen.tenant AS id_0, seen.type AS id_1, CAST(seen.`State` AS CHAR) AS status, seen.rev AS version,
       CASE WHEN seen.`key` <=> ?
             AND seen.type <=> ?
             AND seen.tenant <=> ? THEN 1 ELSE 0 END AS same,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM `Shop`.`order` AS seen
  LEFT JOIN `Shop`.`order_State_history` AS made
    ON made.tenant = seen.tenant AND made.type = seen.type AND made.event = 'create'
 WHERE seen.tenant = ? AND seen.type = ?
   LOCK IN SHARE MODE
-- [Value(0), Value(1), Value(2), Value(2)]
SELECT seen.tenant AS id_0, seen.type AS id_1, CAST(seen.`State` AS CHAR) AS status, seen.rev AS version,
       CASE WHEN seen.`key` <=> ?
             AND seen.type <=> ?
             AND seen.tenant <=> ? THEN 1 ELSE 0 END AS same,
       made.version AS made, made.fingerprint AS made_fingerprint
  FROM `Shop`.`order` AS seen
  LEFT JOIN `Shop`.`order_State_history` AS made
    ON made.tenant = seen.tenant AND made.type = seen.type AND made.event = 'create'
 WHERE seen.tenant = ? AND seen.`by` = 1
   LOCK IN SHARE MODE
-- [Id]
SELECT 'by' AS rule
  FROM `Shop`.`order` AS seen
  JOIN `Shop`.`order` AS other
    ON other.tenant = seen.tenant AND other.`by` = 1 AND NOT (other.tenant = seen.tenant AND other.type = seen.type)
 WHERE seen.tenant = ? AND seen.type = ?
   LOCK IN SHARE MODE
-- [Value(0)]
INSERT INTO tickets (code, status)
VALUES (?, 'Open')
-- [Value(0), Value(0)]
SELECT seen.code AS id_0, seen.status AS status, 0 AS version,
       CASE WHEN seen.code <=> ? THEN 1 ELSE 0 END AS same
  FROM tickets AS seen
 WHERE seen.code = ?
   LOCK IN SHARE MODE
