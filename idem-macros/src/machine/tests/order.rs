///The states and events of `OrderStatus`.
/**
```mermaid
stateDiagram-v2
    [*] --> Pending
    Pending --> Paid: pay
    Paid --> Refunded: refund
    Refunded --> [*]
```
*/
#[allow(
    dead_code,
    missing_copy_implementations,
    missing_debug_implementations,
    non_camel_case_types,
    non_snake_case,
    clippy::pedantic,
)]
#[allow(deprecated)]
pub mod order {
    #[allow(unused_imports)]
    use super::*;
    use ::idem_runtime as _idem;
    ///State `Pending` of `OrderStatus`, stored as `pending`.
    ///
    /// Nobody has paid.
    pub struct Pending;
    ///State `Paid` of `OrderStatus`, stored as `paid`.
    #[deprecated]
    pub struct Paid;
    ///State `Refunded` of `OrderStatus`, stored as `refunded`.
    pub struct Refunded;
    ///A row of `OrderStatus` by its state: `match` on `row.by_state()`.
    pub enum ByState<__Machine: _idem::__private::StateMachine> {
        ///The row is in state `Pending`.
        Pending(_idem::__private::Row<__Machine, Pending>),
        ///The row is in state `Paid`.
        Paid(_idem::__private::Row<__Machine, Paid>),
        ///The row is in state `Refunded`.
        Refunded(_idem::__private::Row<__Machine, Refunded>),
    }
    ///Event `pay`: `Pending => Paid`.
    /**
PostgreSQL:

```sql
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, CASE WHEN tenant_id = $2 AND order_id = $3 THEN 1 ELSE 0 END AS here
    FROM shop.orders_history
   WHERE event = 'pay' AND cause = $4::text
), moved AS (
  UPDATE shop.orders
     SET status = 'paid', paid_at = clock_timestamp(), trade_no = $1, version = version + 1
   WHERE tenant_id = $2 AND order_id = $3 AND status IN ('pending', 'new') AND NOT EXISTS (SELECT FROM caused)
  RETURNING tenant_id, order_id, version
), entered AS (
  INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)
  SELECT tenant_id, order_id, version, 'pending', 'paid', 'pay', $4::text, $5::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status::text AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN shop.orders AS seen ON seen.tenant_id = $2 AND seen.order_id = $3
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;
```

MySQL:

```sql
INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)
SELECT tenant_id, order_id, version + 1, CASE status WHEN 'new' THEN 'pending' ELSE status END, 'paid', 'pay', ?, ?, NOW(6)
  FROM shop.orders
 WHERE tenant_id = ? AND order_id = ? AND status IN ('pending', 'new')
   FOR UPDATE;
UPDATE shop.orders
   SET status = 'paid', paid_at = NOW(6), trade_no = ?, version = LAST_INSERT_ID(version + 1)
 WHERE tenant_id = ? AND order_id = ? AND status IN ('pending', 'new');
```

SQLite:

```sql
INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)
SELECT tenant_id, order_id, version + 1, CASE status WHEN 'new' THEN 'pending' ELSE status END, 'paid', 'pay', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM shop.orders
 WHERE tenant_id = ?3 AND order_id = ?4 AND status IN ('pending', 'new');
UPDATE shop.orders
   SET status = 'paid', paid_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), trade_no = ?1, version = version + 1
 WHERE tenant_id = ?2 AND order_id = ?3 AND status IN ('pending', 'new')
RETURNING version AS applied;
```
*/
    #[derive(::core::fmt::Debug, ::core::clone::Clone)]
    pub struct Pay {
        ///Written to `trade_no`.
        pub trade_no: String,
    }
    ///Event `refund`: `Paid => Refunded`.
    /**
PostgreSQL:

```sql
WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, CASE WHEN tenant_id = $1 AND order_id = $2 THEN 1 ELSE 0 END AS here
    FROM shop.orders_history
   WHERE event = 'refund' AND cause = $3::text
), moved AS (
  UPDATE shop.orders
     SET status = 'refunded', version = version + 1
   WHERE tenant_id = $1 AND order_id = $2 AND status = 'paid' AND NOT EXISTS (SELECT FROM caused)
  RETURNING tenant_id, order_id, version
), entered AS (
  INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)
  SELECT tenant_id, order_id, version, 'paid', 'refunded', 'refund', $3::text, $4::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status::text AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN shop.orders AS seen ON seen.tenant_id = $1 AND seen.order_id = $2
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE;
```

MySQL:

```sql
INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)
SELECT tenant_id, order_id, version + 1, status, 'refunded', 'refund', ?, ?, NOW(6)
  FROM shop.orders
 WHERE tenant_id = ? AND order_id = ? AND status = 'paid'
   FOR UPDATE;
UPDATE shop.orders
   SET status = 'refunded', version = LAST_INSERT_ID(version + 1)
 WHERE tenant_id = ? AND order_id = ? AND status = 'paid';
```

SQLite:

```sql
INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)
SELECT tenant_id, order_id, version + 1, status, 'refunded', 'refund', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM shop.orders
 WHERE tenant_id = ?3 AND order_id = ?4 AND status = 'paid';
UPDATE shop.orders
   SET status = 'refunded', version = version + 1
 WHERE tenant_id = ?1 AND order_id = ?2 AND status = 'paid'
RETURNING version AS applied;
```
*/
    pub struct Refund;
}
#[allow(deprecated)]
const _: () = {
    use ::idem_runtime as _idem;
    const __GRAPH: _idem::__private::Graph<3usize> = _idem::__private::Graph::new(
        &[(0usize, 1usize), (1usize, 2usize)],
    );
    const fn __index(state: &OrderStatus) -> usize {
        match state {
            OrderStatus::Pending => 0usize,
            OrderStatus::Paid => 1usize,
            OrderStatus::Refunded => 2usize,
        }
    }
    #[automatically_derived]
    #[allow(dead_code, non_snake_case)]
    impl OrderStatus {
        /// Names a row by its identifier; nothing is loaded.
        pub fn row(tenant_id: i64, order_id: i64) -> _idem::__private::Handle<Self> {
            _idem::__private::Handle::new((tenant_id, order_id))
        }
        /// Whether a transition leads from `from` to `to`.
        #[must_use]
        pub const fn allows(from: Self, to: Self) -> bool {
            __GRAPH.allows(__index(&from), __index(&to))
        }
    }
    #[automatically_derived]
    impl _idem::__private::StateMachine for OrderStatus {
        type Id = (i64, i64);
        type ByState = order::ByState<Self>;
        const SPEC: &'static _idem::__private::MachineSpec<Self> = &_idem::__private::MachineSpec {
            name: "OrderStatus",
            table: "shop.orders",
            states: &[Self::Pending, Self::Paid, Self::Refunded],
            names: &["Pending", "Paid", "Refunded"],
            stored: &["pending", "paid", "refunded"],
            labels: &["pending", "paid", "refunded"],
            repr: _idem::__private::Repr::Native("order_status"),
            aliases: &[("new", Self::Pending)],
            transitions: &[
                _idem::__private::Transition {
                    event: "pay",
                    source: Self::Pending,
                    target: Self::Paid,
                },
                _idem::__private::Transition {
                    event: "refund",
                    source: Self::Paid,
                    target: Self::Refunded,
                },
            ],
            mermaid: r"stateDiagram-v2
    [*] --> Pending
    Pending --> Paid: pay
    Paid --> Refunded: refund
    Refunded --> [*]
",
            dot: r#"digraph "OrderStatus" {
    rankdir = LR;
    "" [shape = point];
    "Refunded" [peripheries = 2];
    "" -> "Pending";
    "Pending" -> "Paid" [label = "pay"];
    "Paid" -> "Refunded" [label = "refund"];
}
"#,
            sql: _idem::__private::MachineSql {
                load: _idem::__private::PerDialect {
                    postgres: _idem::__private::Statement {
                        sql: r"SELECT status::text AS status, version
  FROM shop.orders
 WHERE tenant_id = $1 AND order_id = $2",
                        binds: &[_idem::__private::Bind::Id],
                    },
                    mysql: _idem::__private::Statement {
                        sql: r"SELECT status, version
  FROM shop.orders
 WHERE tenant_id = ? AND order_id = ?",
                        binds: &[_idem::__private::Bind::Id],
                    },
                    sqlite: _idem::__private::Statement {
                        sql: r"SELECT status, version
  FROM shop.orders
 WHERE tenant_id = ?1 AND order_id = ?2",
                        binds: &[_idem::__private::Bind::Id],
                    },
                },
                lock: _idem::__private::PerDialect {
                    postgres: _idem::__private::Statement {
                        sql: r"WITH patience AS MATERIALIZED (
  SELECT current_setting('lock_timeout') AS before, set_config('lock_timeout', $3::text, TRUE) AS now
), locked AS MATERIALIZED (
  SELECT seen.status::text AS status, seen.version AS version
    FROM patience, shop.orders AS seen
   WHERE seen.tenant_id = $1 AND seen.order_id = $2
     FOR UPDATE OF seen
)
SELECT locked.status AS status, locked.version AS version,
       set_config('lock_timeout', patience.before, TRUE) AS lock_timeout
  FROM patience
  LEFT JOIN locked ON TRUE",
                        binds: &[
                            _idem::__private::Bind::Id,
                            _idem::__private::Bind::Wait,
                        ],
                    },
                    mysql: _idem::__private::Statement {
                        sql: r"SELECT status, version
  FROM shop.orders
 WHERE tenant_id = ? AND order_id = ?
   FOR UPDATE",
                        binds: &[_idem::__private::Bind::Id],
                    },
                    sqlite: _idem::__private::Statement {
                        sql: r"SELECT status, version
  FROM shop.orders
 WHERE tenant_id = ?1 AND order_id = ?2",
                        binds: &[_idem::__private::Bind::Id],
                    },
                },
                lock_now: _idem::__private::PerDialect {
                    postgres: _idem::__private::Statement {
                        sql: r"SELECT status::text AS status, version
  FROM shop.orders
 WHERE tenant_id = $1 AND order_id = $2
   FOR UPDATE NOWAIT",
                        binds: &[_idem::__private::Bind::Id],
                    },
                    mysql: _idem::__private::Statement {
                        sql: r"SELECT status, version
  FROM shop.orders
 WHERE tenant_id = ? AND order_id = ?
   FOR UPDATE NOWAIT",
                        binds: &[_idem::__private::Bind::Id],
                    },
                    sqlite: _idem::__private::Statement {
                        sql: r"SELECT status, version
  FROM shop.orders
 WHERE tenant_id = ?1 AND order_id = ?2",
                        binds: &[_idem::__private::Bind::Id],
                    },
                },
                history: ::core::option::Option::Some(_idem::__private::PerDialect {
                    postgres: r#"CREATE TABLE IF NOT EXISTS shop.orders_history (
  tenant_id BIGINT NOT NULL,
  order_id BIGINT NOT NULL,
  version BIGINT NOT NULL,
  source TEXT NOT NULL,
  target TEXT NOT NULL,
  event TEXT NOT NULL,
  cause TEXT COLLATE "C",
  fingerprint TEXT,
  at TIMESTAMPTZ NOT NULL,
  PRIMARY KEY (tenant_id, order_id, version),
  UNIQUE (event, cause)
)"#,
                    mysql: r"CREATE TABLE IF NOT EXISTS shop.orders_history (
  tenant_id BIGINT NOT NULL,
  order_id BIGINT NOT NULL,
  version BIGINT NOT NULL,
  source VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  target VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  event VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  cause VARBINARY(512),
  fingerprint VARCHAR(80) CHARACTER SET ascii COLLATE ascii_bin,
  at DATETIME(6) NOT NULL,
  PRIMARY KEY (tenant_id, order_id, version),
  UNIQUE (event, cause)
)",
                    sqlite: r"CREATE TABLE IF NOT EXISTS shop.orders_history (
  tenant_id INTEGER NOT NULL,
  order_id INTEGER NOT NULL,
  version INTEGER NOT NULL,
  source TEXT NOT NULL,
  target TEXT NOT NULL,
  event TEXT NOT NULL,
  cause TEXT,
  fingerprint TEXT,
  at TEXT NOT NULL,
  PRIMARY KEY (tenant_id, order_id, version),
  UNIQUE (event, cause)
)",
                }),
                once: true,
                versions: true,
                status_type: _idem::__private::PerDialect {
                    postgres: ::core::option::Option::Some(
                        r"CREATE TYPE order_status AS ENUM ('pending', 'paid', 'refunded', 'new')",
                    ),
                    mysql: ::core::option::Option::None,
                    sqlite: ::core::option::Option::None,
                },
                columns: _idem::__private::PerDialect {
                    postgres: r"status order_status NOT NULL DEFAULT 'pending',
  version BIGINT NOT NULL DEFAULT 0",
                    mysql: r"status ENUM ('pending', 'paid', 'refunded', 'new') CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'pending',
  version BIGINT NOT NULL DEFAULT 0",
                    sqlite: r"status TEXT NOT NULL DEFAULT 'pending',
  version INTEGER NOT NULL DEFAULT 0",
                },
                widen: _idem::__private::PerDialect {
                    postgres: ::core::option::Option::Some(
                        r"ALTER TYPE order_status ADD VALUE IF NOT EXISTS 'pending';
ALTER TYPE order_status ADD VALUE IF NOT EXISTS 'new';
ALTER TYPE order_status ADD VALUE IF NOT EXISTS 'paid';
ALTER TYPE order_status ADD VALUE IF NOT EXISTS 'refunded'",
                    ),
                    mysql: ::core::option::Option::Some(
                        r"ALTER TABLE shop.orders
  MODIFY status ENUM ('pending', 'paid', 'refunded', 'new') CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'pending'",
                    ),
                    sqlite: ::core::option::Option::None,
                },
                unknown_values: _idem::__private::PerDialect {
                    postgres: r"SELECT status::text AS status, COUNT(*) AS held
  FROM shop.orders
 WHERE status::text NOT IN ('pending', 'paid', 'refunded', 'new') OR status IS NULL
 GROUP BY status::text
 ORDER BY status::text",
                    mysql: r"SELECT MIN(status) AS status, COUNT(*) AS held
  FROM shop.orders
 WHERE CAST(status AS BINARY) NOT IN ('pending', 'paid', 'refunded', 'new') OR status IS NULL
 GROUP BY CAST(status AS BINARY)
 ORDER BY CAST(status AS BINARY)",
                    sqlite: r"SELECT status, COUNT(*) AS held
  FROM shop.orders
 WHERE status NOT IN ('pending', 'paid', 'refunded', 'new') OR status IS NULL
 GROUP BY status
 ORDER BY status",
                },
                create: ::core::option::Option::None,
                unique_while: ::core::option::Option::None,
                bulk: _idem::__private::BulkSql::new(
                    ::core::option::Option::Some((
                        r"SELECT given.nth AS nth, seen.status AS status, seen.version AS version
  FROM JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, tenant_id BIGINT PATH '$[0]', order_id BIGINT PATH '$[1]')) AS given
  STRAIGHT_JOIN shop.orders AS seen ON seen.tenant_id = given.tenant_id AND seen.order_id = given.order_id
   FOR UPDATE",
                        ::core::option::Option::Some([
                            r"SELECT given.nth AS nth, entry.version AS caused, entry.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, tenant_id BIGINT PATH '$[0]', order_id BIGINT PATH '$[1]')) AS given
  STRAIGHT_JOIN shop.orders_history AS entry ON entry.tenant_id = given.tenant_id AND entry.order_id = given.order_id
 WHERE entry.event = ? AND entry.cause = ?",
                            r"INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)
SELECT seen.tenant_id, seen.order_id, seen.version + 1, CASE seen.status WHEN 'new' THEN 'pending' ELSE seen.status END, ?, ?, ?, ?, NOW(6)
  FROM JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, tenant_id BIGINT PATH '$[0]', order_id BIGINT PATH '$[1]')) AS given
  STRAIGHT_JOIN shop.orders AS seen ON seen.tenant_id = given.tenant_id AND seen.order_id = given.order_id",
                        ]),
                    )),
                    ::core::option::Option::Some((
                        r"SELECT given.nth AS nth, seen.status AS status, seen.version AS version
  FROM (SELECT list.key + 1 AS nth, json_extract(list.value, '$[0]') AS tenant_id, json_extract(list.value, '$[1]') AS order_id FROM json_each(?1) AS list) AS given
  JOIN shop.orders AS seen ON seen.tenant_id = given.tenant_id AND seen.order_id = given.order_id",
                        ::core::option::Option::Some([
                            r"SELECT given.nth AS nth, entry.version AS caused, entry.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM (SELECT list.key + 1 AS nth, json_extract(list.value, '$[0]') AS tenant_id, json_extract(list.value, '$[1]') AS order_id FROM json_each(?1) AS list) AS given
  JOIN shop.orders_history AS entry ON entry.tenant_id = given.tenant_id AND entry.order_id = given.order_id
 WHERE entry.event = ?2 AND entry.cause = ?3",
                            r"INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)
SELECT seen.tenant_id, seen.order_id, seen.version + 1, CASE seen.status WHEN 'new' THEN 'pending' ELSE seen.status END, ?1, ?2, ?3, ?4, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM (SELECT list.key + 1 AS nth, json_extract(list.value, '$[0]') AS tenant_id, json_extract(list.value, '$[1]') AS order_id FROM json_each(?5) AS list) AS given
  JOIN shop.orders AS seen ON seen.tenant_id = given.tenant_id AND seen.order_id = given.order_id",
                        ]),
                    )),
                ),
                guard: _idem::__private::PerDialect {
                    postgres: _idem::__private::GuardSql {
                        name: "orders_status_guard_92b731b7",
                        install: "CREATE OR REPLACE FUNCTION shop.orders_status_guard() RETURNS trigger LANGUAGE plpgsql AS $idem$\nDECLARE\n  source text;\n  target text;\n  moved jsonb;\nBEGIN\n  IF TG_OP = 'DELETE' THEN\n    moved := jsonb_build_object('row', jsonb_build_array('shop.orders'::text, OLD.tenant_id, OLD.order_id), 'status', OLD.status::text);\n    PERFORM set_config('idem.moved', moved::text, true);\n    RETURN NULL;\n  END IF;\n  target := NEW.status::text;\n  IF TG_OP = 'UPDATE' THEN\n    source := OLD.status::text;\n  ELSE\n    moved := NULLIF(current_setting('idem.moved', true), '')::jsonb;\n    IF moved -> 'row' = jsonb_build_array('shop.orders'::text, NEW.tenant_id, NEW.order_id) THEN\n      source := moved ->> 'status';\n      PERFORM set_config('idem.moved', '', true);\n    END IF;\n  END IF;\n  IF source = target\n     OR source IN ('pending', 'new') AND target IN ('pending', 'new', 'paid')\n     OR source = 'paid' AND target IN ('paid', 'refunded')\n     OR source = 'refunded' AND target = 'refunded'\n     OR current_setting('idem.repair', true) = txid_current()::text THEN\n    RETURN NULL;\n  END IF;\n  RAISE EXCEPTION USING\n    ERRCODE = 'ID001',\n    MESSAGE = CASE WHEN source IS NULL AND TG_OP = 'INSERT' THEN 'idem guard orders_status_guard_92b731b7: not an initial state' ELSE 'idem guard orders_status_guard_92b731b7: undeclared transition' END,\n    DETAIL = format('%L to %L', source, target),\n    SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, COLUMN = 'status', CONSTRAINT = 'orders_status_guard_92b731b7';\nEND\n$idem$;\nDROP TRIGGER IF EXISTS orders_status_guard_update ON shop.orders;\nDROP TRIGGER IF EXISTS orders_status_guard_insert ON shop.orders;\nDROP TRIGGER IF EXISTS orders_status_guard_delete ON shop.orders;\nCREATE TRIGGER orders_status_guard_update AFTER UPDATE ON shop.orders\n  FOR EACH ROW WHEN (OLD.status::text IS DISTINCT FROM NEW.status::text) EXECUTE FUNCTION shop.orders_status_guard();\nCREATE TRIGGER orders_status_guard_insert AFTER INSERT ON shop.orders\n  FOR EACH ROW WHEN ((NEW.status::text IN ('pending', 'new')) IS NOT TRUE) EXECUTE FUNCTION shop.orders_status_guard();\nCREATE TRIGGER orders_status_guard_delete AFTER DELETE ON shop.orders\n  FOR EACH ROW WHEN (OLD.tableoid <> 'shop.orders'::regclass) EXECUTE FUNCTION shop.orders_status_guard()",
                        remove: "DROP TRIGGER IF EXISTS orders_status_guard_update ON shop.orders;\nDROP TRIGGER IF EXISTS orders_status_guard_insert ON shop.orders;\nDROP TRIGGER IF EXISTS orders_status_guard_delete ON shop.orders;\nDROP FUNCTION IF EXISTS shop.orders_status_guard()",
                        find: "SELECT CASE WHEN COUNT(*) < 3 THEN 'missing'\n            WHEN SUM(CASE WHEN strpos(prosrc, '_guard_92b731b7') > 0 THEN 1 END) = 3 THEN 'installed'\n            ELSE 'outdated' END AS guard\n  FROM pg_trigger\n  JOIN pg_proc ON pg_proc.oid = tgfoid\n WHERE tgrelid = to_regclass('shop.orders') AND tgenabled IN ('O', 'A') AND tgname IN ('orders_status_guard_update', 'orders_status_guard_insert', 'orders_status_guard_delete')",
                    },
                    mysql: _idem::__private::GuardSql {
                        name: "orders_status_guard_92b731b7",
                        install: "CREATE TABLE IF NOT EXISTS shop.idem_repair (session BIGINT UNSIGNED NOT NULL PRIMARY KEY) ENGINE = InnoDB;\nDROP TRIGGER IF EXISTS shop.orders_status_guard_update;\nDROP TRIGGER IF EXISTS shop.orders_status_guard_insert;\nCREATE TRIGGER shop.orders_status_guard_update AFTER UPDATE ON shop.orders FOR EACH ROW\nBEGIN\n  DECLARE source VARBINARY(1024) DEFAULT CAST(CONVERT(OLD.status USING utf8mb4) AS BINARY);\n  DECLARE target VARBINARY(1024) DEFAULT CAST(CONVERT(NEW.status USING utf8mb4) AS BINARY);\n  IF NOT (source <=> target)\n     AND (   source IN ('pending', 'new') AND target IN ('pending', 'new', 'paid')\n          OR source = 'paid' AND target IN ('paid', 'refunded')\n          OR source = 'refunded' AND target = 'refunded') IS NOT TRUE\n     AND NOT EXISTS (SELECT 1 FROM idem_repair WHERE session = CONNECTION_ID()) THEN\n    SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 45001, MESSAGE_TEXT = 'idem guard orders_status_guard_92b731b7: undeclared transition';\n  END IF;\nEND;\nCREATE TRIGGER shop.orders_status_guard_insert AFTER INSERT ON shop.orders FOR EACH ROW\nBEGIN\n  DECLARE target VARBINARY(1024) DEFAULT CAST(CONVERT(NEW.status USING utf8mb4) AS BINARY);\n  IF (target IN ('pending', 'new')) IS NOT TRUE\n     AND NOT EXISTS (SELECT 1 FROM idem_repair WHERE session = CONNECTION_ID()) THEN\n    SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 45001, MESSAGE_TEXT = 'idem guard orders_status_guard_92b731b7: not an initial state';\n  END IF;\nEND",
                        remove: "DROP TRIGGER IF EXISTS shop.orders_status_guard_update;\nDROP TRIGGER IF EXISTS shop.orders_status_guard_insert",
                        find: "SELECT CASE WHEN COUNT(*) < 2 THEN 'missing'\n            WHEN SUM(LOCATE('_guard_92b731b7', ACTION_STATEMENT) > 0) = 2 THEN 'installed'\n            ELSE 'outdated' END AS guard\n  FROM information_schema.TRIGGERS\n WHERE TRIGGER_SCHEMA = 'shop' AND TRIGGER_NAME IN ('orders_status_guard_update', 'orders_status_guard_insert')",
                    },
                    sqlite: _idem::__private::GuardSql {
                        name: "orders_status_guard_92b731b7",
                        install: "CREATE TABLE IF NOT EXISTS shop.idem_repair (session INTEGER NOT NULL PRIMARY KEY);\nDROP TRIGGER IF EXISTS shop.orders_status_guard_update;\nDROP TRIGGER IF EXISTS shop.orders_status_guard_insert;\nCREATE TRIGGER shop.orders_status_guard_update AFTER UPDATE OF status ON orders\n WHEN OLD.status COLLATE BINARY IS NOT NEW.status COLLATE BINARY\n  AND (   OLD.status COLLATE BINARY IN ('pending', 'new') AND NEW.status COLLATE BINARY IN ('pending', 'new', 'paid')\n       OR OLD.status COLLATE BINARY = 'paid' AND NEW.status COLLATE BINARY IN ('paid', 'refunded')\n       OR OLD.status COLLATE BINARY = 'refunded' AND NEW.status COLLATE BINARY = 'refunded') IS NOT TRUE\n  AND NOT EXISTS (SELECT 1 FROM idem_repair)\nBEGIN\n  SELECT RAISE(ABORT, 'idem guard orders_status_guard_92b731b7: undeclared transition');\nEND;\nCREATE TRIGGER shop.orders_status_guard_insert AFTER INSERT ON orders\n WHEN (NEW.status COLLATE BINARY IN ('pending', 'new')) IS NOT TRUE\n  AND NOT EXISTS (SELECT 1 FROM idem_repair)\nBEGIN\n  SELECT RAISE(ABORT, 'idem guard orders_status_guard_92b731b7: not an initial state');\nEND",
                        remove: "DROP TRIGGER IF EXISTS shop.orders_status_guard_update;\nDROP TRIGGER IF EXISTS shop.orders_status_guard_insert",
                        find: "SELECT CASE WHEN COUNT(*) < 2 THEN 'missing'\n            WHEN SUM(instr(sql, '_guard_92b731b7') > 0) = 2 THEN 'installed'\n            ELSE 'outdated' END AS guard\n  FROM shop.sqlite_master\n WHERE type = 'trigger' AND name IN ('orders_status_guard_update', 'orders_status_guard_insert')",
                    },
                },
                repair: ::core::option::Option::Some(_idem::__private::PerDialect {
                    postgres: _idem::__private::RepairSql {
                        lock: ::core::option::Option::Some(_idem::__private::Statement {
                            sql: r"SELECT 1 AS one
  FROM shop.orders
 WHERE tenant_id = $1 AND order_id = $2
   FOR UPDATE",
                            binds: &[_idem::__private::Bind::Id],
                        }),
                        read: _idem::__private::Statement {
                            sql: r"SELECT seen.status::text AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.tenant_id = seen.tenant_id AND caused.order_id = seen.order_id THEN 1 ELSE 0 END AS caused_here
  FROM shop.orders AS seen
  LEFT JOIN shop.orders_history AS caused
    ON caused.event = 'repair' AND caused.cause = $3::text
 WHERE seen.tenant_id = $1 AND seen.order_id = $2",
                            binds: &[
                                _idem::__private::Bind::Id,
                                _idem::__private::Bind::Cause,
                            ],
                        },
                        open: "SELECT set_config('idem.repair', txid_current()::text, true)",
                        enter: _idem::__private::Statement {
                            sql: r"INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)
SELECT tenant_id, order_id, version + 1, COALESCE(status::text, ''), $1::text, 'repair', $2::text, $3::text, clock_timestamp()
  FROM shop.orders
 WHERE tenant_id = $4 AND order_id = $5",
                            binds: &[
                                _idem::__private::Bind::Fields,
                                _idem::__private::Bind::Cause,
                                _idem::__private::Bind::Fingerprint,
                                _idem::__private::Bind::Note,
                                _idem::__private::Bind::Id,
                            ],
                        },
                        write: _idem::__private::Statement {
                            sql: r"UPDATE shop.orders
   SET status = $1::text::order_status, version = version + 1
 WHERE tenant_id = $2 AND order_id = $3",
                            binds: &[
                                _idem::__private::Bind::Fields,
                                _idem::__private::Bind::Id,
                            ],
                        },
                        close: "SELECT set_config('idem.repair', '', true)",
                    },
                    mysql: _idem::__private::RepairSql {
                        lock: ::core::option::Option::None,
                        read: _idem::__private::Statement {
                            sql: r"SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.tenant_id = seen.tenant_id AND caused.order_id = seen.order_id THEN 1 ELSE 0 END AS caused_here
  FROM shop.orders AS seen
  LEFT JOIN shop.orders_history AS caused
    ON caused.event = 'repair' AND caused.cause = ?
 WHERE seen.tenant_id = ? AND seen.order_id = ?
   FOR UPDATE",
                            binds: &[
                                _idem::__private::Bind::Cause,
                                _idem::__private::Bind::Id,
                            ],
                        },
                        open: "INSERT INTO shop.idem_repair (session) VALUES (CONNECTION_ID())",
                        enter: _idem::__private::Statement {
                            sql: r"INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)
SELECT tenant_id, order_id, version + 1, COALESCE(status, ''), ?, 'repair', ?, ?, NOW(6)
  FROM shop.orders
 WHERE tenant_id = ? AND order_id = ?",
                            binds: &[
                                _idem::__private::Bind::Fields,
                                _idem::__private::Bind::Cause,
                                _idem::__private::Bind::Fingerprint,
                                _idem::__private::Bind::Note,
                                _idem::__private::Bind::Id,
                            ],
                        },
                        write: _idem::__private::Statement {
                            sql: r"UPDATE shop.orders
   SET status = ?, version = version + 1
 WHERE tenant_id = ? AND order_id = ?",
                            binds: &[
                                _idem::__private::Bind::Fields,
                                _idem::__private::Bind::Id,
                            ],
                        },
                        close: "DELETE FROM shop.idem_repair WHERE session = CONNECTION_ID()",
                    },
                    sqlite: _idem::__private::RepairSql {
                        lock: ::core::option::Option::None,
                        read: _idem::__private::Statement {
                            sql: r"SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.tenant_id = seen.tenant_id AND caused.order_id = seen.order_id THEN 1 ELSE 0 END AS caused_here
  FROM shop.orders AS seen
  LEFT JOIN shop.orders_history AS caused
    ON caused.event = 'repair' AND caused.cause = ?3
 WHERE seen.tenant_id = ?1 AND seen.order_id = ?2",
                            binds: &[
                                _idem::__private::Bind::Id,
                                _idem::__private::Bind::Cause,
                            ],
                        },
                        open: "INSERT INTO shop.idem_repair (session) VALUES (0)",
                        enter: _idem::__private::Statement {
                            sql: r"INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)
SELECT tenant_id, order_id, version + 1, COALESCE(status, ''), ?1, 'repair', ?2, ?3, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM shop.orders
 WHERE tenant_id = ?4 AND order_id = ?5",
                            binds: &[
                                _idem::__private::Bind::Fields,
                                _idem::__private::Bind::Cause,
                                _idem::__private::Bind::Fingerprint,
                                _idem::__private::Bind::Note,
                                _idem::__private::Bind::Id,
                            ],
                        },
                        write: _idem::__private::Statement {
                            sql: r"UPDATE shop.orders
   SET status = ?1, version = version + 1
 WHERE tenant_id = ?2 AND order_id = ?3",
                            binds: &[
                                _idem::__private::Bind::Fields,
                                _idem::__private::Bind::Id,
                            ],
                        },
                        close: "DELETE FROM shop.idem_repair",
                    },
                }),
            },
            events: &[
                (
                    "pay",
                    &_idem::__private::EventSql::with_history(
                        true,
                        [
                            r"WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, CASE WHEN tenant_id = $2 AND order_id = $3 THEN 1 ELSE 0 END AS here
    FROM shop.orders_history
   WHERE event = 'pay' AND cause = $4::text
), moved AS (
  UPDATE shop.orders
     SET status = 'paid', paid_at = clock_timestamp(), trade_no = $1, version = version + 1
   WHERE tenant_id = $2 AND order_id = $3 AND status IN ('pending', 'new') AND NOT EXISTS (SELECT FROM caused)
  RETURNING tenant_id, order_id, version
), entered AS (
  INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)
  SELECT tenant_id, order_id, version, 'pending', 'paid', 'pay', $4::text, $5::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status::text AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN shop.orders AS seen ON seen.tenant_id = $2 AND seen.order_id = $3
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE",
                            r"WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, CASE WHEN tenant_id = $2 AND order_id = $3 THEN 1 ELSE 0 END AS here
    FROM shop.orders_history
   WHERE event = 'pay' AND cause = $4::text
), moved AS (
  UPDATE shop.orders
     SET status = 'paid', paid_at = clock_timestamp(), trade_no = $1, version = version + 1
   WHERE tenant_id = $2 AND order_id = $3 AND status IN ('pending', 'new') AND version = $6 AND NOT EXISTS (SELECT FROM caused)
  RETURNING tenant_id, order_id, version
), entered AS (
  INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)
  SELECT tenant_id, order_id, version, 'pending', 'paid', 'pay', $4::text, $5::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status::text AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN shop.orders AS seen ON seen.tenant_id = $2 AND seen.order_id = $3
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE",
                            r"SELECT seen.status::text AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.tenant_id = seen.tenant_id AND caused.order_id = seen.order_id THEN 1 ELSE 0 END AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM shop.orders AS seen
  LEFT JOIN shop.orders_history AS caused
    ON caused.event = 'pay' AND caused.cause = $3::text
  LEFT JOIN shop.orders_history AS latest
    ON latest.tenant_id = $1 AND latest.order_id = $2
   AND latest.version = (SELECT MAX(version) FROM shop.orders_history WHERE tenant_id = $1 AND order_id = $2)
  LEFT JOIN shop.orders_history AS passed
    ON passed.tenant_id = $1 AND passed.order_id = $2
   AND passed.version = (SELECT MAX(version) FROM shop.orders_history WHERE tenant_id = $1 AND order_id = $2 AND target = 'paid')
 WHERE seen.tenant_id = $1 AND seen.order_id = $2",
                            r"WITH given AS MATERIALIZED (
  SELECT list.nth, id.tenant_id, id.order_id
    FROM json_array_elements($2::text::json) WITH ORDINALITY AS list (it, nth),
         json_populate_record(NULL::shop.orders, json_build_object('tenant_id', list.it -> 0, 'order_id', list.it -> 1)) AS id
), caused AS MATERIALIZED (
  SELECT given.nth, entry.version, entry.fingerprint
    FROM given
    JOIN shop.orders_history AS entry ON entry.tenant_id = given.tenant_id AND entry.order_id = given.order_id
   WHERE entry.event = 'pay' AND entry.cause = $3::text
), locked AS MATERIALIZED (
  SELECT given.nth, seen.tenant_id, seen.order_id, seen.status AS found_status, seen.version AS found_version
    FROM given
    JOIN shop.orders AS seen ON seen.tenant_id = given.tenant_id AND seen.order_id = given.order_id
   ORDER BY given.nth
     FOR UPDATE OF seen
), moved AS (
  UPDATE shop.orders
     SET status = 'paid', paid_at = clock_timestamp(), trade_no = $1, version = orders.version + 1
    FROM locked
   WHERE orders.tenant_id = locked.tenant_id AND orders.order_id = locked.order_id AND orders.status = locked.found_status AND orders.status IN ('pending', 'new')
     AND NOT EXISTS (SELECT FROM caused WHERE caused.nth = locked.nth)
  RETURNING locked.nth, orders.version, orders.tenant_id, orders.order_id, CASE locked.found_status::text WHEN 'new' THEN 'pending' ELSE locked.found_status::text END AS source
), entered AS (
  INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)
  SELECT tenant_id, order_id, version, 'pending', 'paid', 'pay', $3::text, $4::text, clock_timestamp()
    FROM moved
)
SELECT given.nth AS nth, moved.version AS applied, locked.found_status::text AS status, locked.found_version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM given
  LEFT JOIN locked ON locked.nth = given.nth
  LEFT JOIN moved ON moved.nth = given.nth
  LEFT JOIN caused ON caused.nth = given.nth",
                        ],
                        [
                            r"UPDATE shop.orders
   SET status = 'paid', paid_at = NOW(6), trade_no = ?, version = LAST_INSERT_ID(version + 1)
 WHERE tenant_id = ? AND order_id = ? AND status IN ('pending', 'new')",
                            r"UPDATE shop.orders
   SET status = 'paid', paid_at = NOW(6), trade_no = ?, version = LAST_INSERT_ID(version + 1)
 WHERE tenant_id = ? AND order_id = ? AND status IN ('pending', 'new') AND version = ?",
                            r"SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.tenant_id = seen.tenant_id AND caused.order_id = seen.order_id THEN 1 ELSE 0 END AS caused_here,
       latest.target AS latest_target, CONVERT(latest.cause USING utf8mb4) AS latest_cause,
       passed.version AS passed, CONVERT(passed.cause USING utf8mb4) AS passed_cause
  FROM shop.orders AS seen
  LEFT JOIN shop.orders_history AS caused
    ON caused.event = 'pay' AND caused.cause = ?
  LEFT JOIN shop.orders_history AS latest
    ON latest.tenant_id = ? AND latest.order_id = ?
   AND latest.version = (SELECT MAX(version) FROM shop.orders_history WHERE tenant_id = ? AND order_id = ? FOR UPDATE)
  LEFT JOIN shop.orders_history AS passed
    ON passed.tenant_id = ? AND passed.order_id = ?
   AND passed.version = (SELECT MAX(version) FROM shop.orders_history WHERE tenant_id = ? AND order_id = ? AND target = 'paid' FOR UPDATE)
 WHERE seen.tenant_id = ? AND seen.order_id = ?
   FOR UPDATE",
                            r"UPDATE JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, tenant_id BIGINT PATH '$[0]', order_id BIGINT PATH '$[1]')) AS given
STRAIGHT_JOIN shop.orders AS seen ON seen.tenant_id = given.tenant_id AND seen.order_id = given.order_id
   SET status = 'paid', paid_at = NOW(6), trade_no = ?, version = seen.version + 1
 WHERE seen.status IN ('pending', 'new')",
                            r"INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)
SELECT tenant_id, order_id, version + 1, CASE status WHEN 'new' THEN 'pending' ELSE status END, 'paid', 'pay', ?, ?, NOW(6)
  FROM shop.orders
 WHERE tenant_id = ? AND order_id = ? AND status IN ('pending', 'new')
   FOR UPDATE",
                            r"INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)
SELECT tenant_id, order_id, version + 1, CASE status WHEN 'new' THEN 'pending' ELSE status END, 'paid', 'pay', ?, ?, NOW(6)
  FROM shop.orders
 WHERE tenant_id = ? AND order_id = ? AND status IN ('pending', 'new') AND version = ?
   FOR UPDATE",
                        ],
                        [
                            r"UPDATE shop.orders
   SET status = 'paid', paid_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), trade_no = ?1, version = version + 1
 WHERE tenant_id = ?2 AND order_id = ?3 AND status IN ('pending', 'new')
RETURNING version AS applied",
                            r"UPDATE shop.orders
   SET status = 'paid', paid_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), trade_no = ?1, version = version + 1
 WHERE tenant_id = ?2 AND order_id = ?3 AND status IN ('pending', 'new') AND version = ?4
RETURNING version AS applied",
                            r"SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.tenant_id = seen.tenant_id AND caused.order_id = seen.order_id THEN 1 ELSE 0 END AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM shop.orders AS seen
  LEFT JOIN shop.orders_history AS caused
    ON caused.event = 'pay' AND caused.cause = ?3
  LEFT JOIN shop.orders_history AS latest
    ON latest.tenant_id = ?1 AND latest.order_id = ?2
   AND latest.version = (SELECT MAX(version) FROM shop.orders_history WHERE tenant_id = ?1 AND order_id = ?2)
  LEFT JOIN shop.orders_history AS passed
    ON passed.tenant_id = ?1 AND passed.order_id = ?2
   AND passed.version = (SELECT MAX(version) FROM shop.orders_history WHERE tenant_id = ?1 AND order_id = ?2 AND target = 'paid')
 WHERE seen.tenant_id = ?1 AND seen.order_id = ?2",
                            r"UPDATE shop.orders
   SET status = 'paid', paid_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), trade_no = ?1, version = orders.version + 1
  FROM (SELECT list.key + 1 AS nth, json_extract(list.value, '$[0]') AS tenant_id, json_extract(list.value, '$[1]') AS order_id FROM json_each(?2) AS list) AS given
 WHERE orders.tenant_id = given.tenant_id AND orders.order_id = given.order_id AND orders.status IN ('pending', 'new')",
                            r"INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)
SELECT tenant_id, order_id, version + 1, CASE status WHEN 'new' THEN 'pending' ELSE status END, 'paid', 'pay', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM shop.orders
 WHERE tenant_id = ?3 AND order_id = ?4 AND status IN ('pending', 'new')",
                            r"INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)
SELECT tenant_id, order_id, version + 1, CASE status WHEN 'new' THEN 'pending' ELSE status END, 'paid', 'pay', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM shop.orders
 WHERE tenant_id = ?3 AND order_id = ?4 AND status IN ('pending', 'new') AND version = ?5",
                        ],
                    ),
                ),
                (
                    "refund",
                    &_idem::__private::EventSql::with_history(
                        true,
                        [
                            r"WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, CASE WHEN tenant_id = $1 AND order_id = $2 THEN 1 ELSE 0 END AS here
    FROM shop.orders_history
   WHERE event = 'refund' AND cause = $3::text
), moved AS (
  UPDATE shop.orders
     SET status = 'refunded', version = version + 1
   WHERE tenant_id = $1 AND order_id = $2 AND status = 'paid' AND NOT EXISTS (SELECT FROM caused)
  RETURNING tenant_id, order_id, version
), entered AS (
  INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)
  SELECT tenant_id, order_id, version, 'paid', 'refunded', 'refund', $3::text, $4::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status::text AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN shop.orders AS seen ON seen.tenant_id = $1 AND seen.order_id = $2
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE",
                            r"WITH caused AS MATERIALIZED (
  SELECT version, fingerprint, CASE WHEN tenant_id = $1 AND order_id = $2 THEN 1 ELSE 0 END AS here
    FROM shop.orders_history
   WHERE event = 'refund' AND cause = $3::text
), moved AS (
  UPDATE shop.orders
     SET status = 'refunded', version = version + 1
   WHERE tenant_id = $1 AND order_id = $2 AND status = 'paid' AND version = $5 AND NOT EXISTS (SELECT FROM caused)
  RETURNING tenant_id, order_id, version
), entered AS (
  INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)
  SELECT tenant_id, order_id, version, 'paid', 'refunded', 'refund', $3::text, $4::text, clock_timestamp()
    FROM moved
)
SELECT moved.version AS applied, seen.status::text AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
  FROM (SELECT 1) AS one
  LEFT JOIN shop.orders AS seen ON seen.tenant_id = $1 AND seen.order_id = $2
  LEFT JOIN caused ON TRUE
  LEFT JOIN moved ON TRUE",
                            r"SELECT seen.status::text AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.tenant_id = seen.tenant_id AND caused.order_id = seen.order_id THEN 1 ELSE 0 END AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM shop.orders AS seen
  LEFT JOIN shop.orders_history AS caused
    ON caused.event = 'refund' AND caused.cause = $3::text
  LEFT JOIN shop.orders_history AS latest
    ON latest.tenant_id = $1 AND latest.order_id = $2
   AND latest.version = (SELECT MAX(version) FROM shop.orders_history WHERE tenant_id = $1 AND order_id = $2)
  LEFT JOIN shop.orders_history AS passed
    ON passed.tenant_id = $1 AND passed.order_id = $2
   AND passed.version = (SELECT MAX(version) FROM shop.orders_history WHERE tenant_id = $1 AND order_id = $2 AND target = 'refunded')
 WHERE seen.tenant_id = $1 AND seen.order_id = $2",
                            r"WITH given AS MATERIALIZED (
  SELECT list.nth, id.tenant_id, id.order_id
    FROM json_array_elements($1::text::json) WITH ORDINALITY AS list (it, nth),
         json_populate_record(NULL::shop.orders, json_build_object('tenant_id', list.it -> 0, 'order_id', list.it -> 1)) AS id
), caused AS MATERIALIZED (
  SELECT given.nth, entry.version, entry.fingerprint
    FROM given
    JOIN shop.orders_history AS entry ON entry.tenant_id = given.tenant_id AND entry.order_id = given.order_id
   WHERE entry.event = 'refund' AND entry.cause = $2::text
), locked AS MATERIALIZED (
  SELECT given.nth, seen.tenant_id, seen.order_id, seen.status AS found_status, seen.version AS found_version
    FROM given
    JOIN shop.orders AS seen ON seen.tenant_id = given.tenant_id AND seen.order_id = given.order_id
   ORDER BY given.nth
     FOR UPDATE OF seen
), moved AS (
  UPDATE shop.orders
     SET status = 'refunded', version = orders.version + 1
    FROM locked
   WHERE orders.tenant_id = locked.tenant_id AND orders.order_id = locked.order_id AND orders.status = locked.found_status AND orders.status = 'paid'
     AND NOT EXISTS (SELECT FROM caused WHERE caused.nth = locked.nth)
  RETURNING locked.nth, orders.version, orders.tenant_id, orders.order_id, locked.found_status::text AS source
), entered AS (
  INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)
  SELECT tenant_id, order_id, version, 'paid', 'refunded', 'refund', $2::text, $3::text, clock_timestamp()
    FROM moved
)
SELECT given.nth AS nth, moved.version AS applied, locked.found_status::text AS status, locked.found_version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint, 1 AS caused_here
  FROM given
  LEFT JOIN locked ON locked.nth = given.nth
  LEFT JOIN moved ON moved.nth = given.nth
  LEFT JOIN caused ON caused.nth = given.nth",
                        ],
                        [
                            r"UPDATE shop.orders
   SET status = 'refunded', version = LAST_INSERT_ID(version + 1)
 WHERE tenant_id = ? AND order_id = ? AND status = 'paid'",
                            r"UPDATE shop.orders
   SET status = 'refunded', version = LAST_INSERT_ID(version + 1)
 WHERE tenant_id = ? AND order_id = ? AND status = 'paid' AND version = ?",
                            r"SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.tenant_id = seen.tenant_id AND caused.order_id = seen.order_id THEN 1 ELSE 0 END AS caused_here,
       latest.target AS latest_target, CONVERT(latest.cause USING utf8mb4) AS latest_cause,
       passed.version AS passed, CONVERT(passed.cause USING utf8mb4) AS passed_cause
  FROM shop.orders AS seen
  LEFT JOIN shop.orders_history AS caused
    ON caused.event = 'refund' AND caused.cause = ?
  LEFT JOIN shop.orders_history AS latest
    ON latest.tenant_id = ? AND latest.order_id = ?
   AND latest.version = (SELECT MAX(version) FROM shop.orders_history WHERE tenant_id = ? AND order_id = ? FOR UPDATE)
  LEFT JOIN shop.orders_history AS passed
    ON passed.tenant_id = ? AND passed.order_id = ?
   AND passed.version = (SELECT MAX(version) FROM shop.orders_history WHERE tenant_id = ? AND order_id = ? AND target = 'refunded' FOR UPDATE)
 WHERE seen.tenant_id = ? AND seen.order_id = ?
   FOR UPDATE",
                            r"UPDATE JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, tenant_id BIGINT PATH '$[0]', order_id BIGINT PATH '$[1]')) AS given
STRAIGHT_JOIN shop.orders AS seen ON seen.tenant_id = given.tenant_id AND seen.order_id = given.order_id
   SET status = 'refunded', version = seen.version + 1
 WHERE seen.status = 'paid'",
                            r"INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)
SELECT tenant_id, order_id, version + 1, status, 'refunded', 'refund', ?, ?, NOW(6)
  FROM shop.orders
 WHERE tenant_id = ? AND order_id = ? AND status = 'paid'
   FOR UPDATE",
                            r"INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)
SELECT tenant_id, order_id, version + 1, status, 'refunded', 'refund', ?, ?, NOW(6)
  FROM shop.orders
 WHERE tenant_id = ? AND order_id = ? AND status = 'paid' AND version = ?
   FOR UPDATE",
                        ],
                        [
                            r"UPDATE shop.orders
   SET status = 'refunded', version = version + 1
 WHERE tenant_id = ?1 AND order_id = ?2 AND status = 'paid'
RETURNING version AS applied",
                            r"UPDATE shop.orders
   SET status = 'refunded', version = version + 1
 WHERE tenant_id = ?1 AND order_id = ?2 AND status = 'paid' AND version = ?3
RETURNING version AS applied",
                            r"SELECT seen.status AS status, seen.version AS version,
       caused.version AS caused, caused.fingerprint AS caused_fingerprint,
       CASE WHEN caused.tenant_id = seen.tenant_id AND caused.order_id = seen.order_id THEN 1 ELSE 0 END AS caused_here,
       latest.target AS latest_target, latest.cause AS latest_cause,
       passed.version AS passed, passed.cause AS passed_cause
  FROM shop.orders AS seen
  LEFT JOIN shop.orders_history AS caused
    ON caused.event = 'refund' AND caused.cause = ?3
  LEFT JOIN shop.orders_history AS latest
    ON latest.tenant_id = ?1 AND latest.order_id = ?2
   AND latest.version = (SELECT MAX(version) FROM shop.orders_history WHERE tenant_id = ?1 AND order_id = ?2)
  LEFT JOIN shop.orders_history AS passed
    ON passed.tenant_id = ?1 AND passed.order_id = ?2
   AND passed.version = (SELECT MAX(version) FROM shop.orders_history WHERE tenant_id = ?1 AND order_id = ?2 AND target = 'refunded')
 WHERE seen.tenant_id = ?1 AND seen.order_id = ?2",
                            r"UPDATE shop.orders
   SET status = 'refunded', version = orders.version + 1
  FROM (SELECT list.key + 1 AS nth, json_extract(list.value, '$[0]') AS tenant_id, json_extract(list.value, '$[1]') AS order_id FROM json_each(?1) AS list) AS given
 WHERE orders.tenant_id = given.tenant_id AND orders.order_id = given.order_id AND orders.status = 'paid'",
                            r"INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)
SELECT tenant_id, order_id, version + 1, status, 'refunded', 'refund', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM shop.orders
 WHERE tenant_id = ?3 AND order_id = ?4 AND status = 'paid'",
                            r"INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)
SELECT tenant_id, order_id, version + 1, status, 'refunded', 'refund', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
  FROM shop.orders
 WHERE tenant_id = ?3 AND order_id = ?4 AND status = 'paid' AND version = ?5",
                        ],
                    ),
                ),
            ],
            columns: _idem::__private::Columns {
                id: &[("tenant_id", "i64"), ("order_id", "i64")],
                status: "status",
                version: ::core::option::Option::Some("version"),
                history: ::core::option::Option::Some("shop.orders_history"),
                notes: &[],
                set: &[
                    &[
                        ("paid_at", ::core::option::Option::None),
                        ("trade_no", ::core::option::Option::Some("String")),
                    ],
                    &[],
                ],
                new: &[],
            },
        };
        const INITIAL: Self = Self::Pending;
        fn index(&self) -> ::core::primitive::usize {
            __index(self)
        }
        fn copied(&self) -> Self {
            match self {
                Self::Pending => Self::Pending,
                Self::Paid => Self::Paid,
                Self::Refunded => Self::Refunded,
            }
        }
        fn by_state(__row: _idem::__private::Row<Self>) -> Self::ByState {
            match __row.state() {
                Self::Pending => {
                    order::ByState::Pending(_idem::__private::in_known_state(__row))
                }
                Self::Paid => {
                    order::ByState::Paid(_idem::__private::in_known_state(__row))
                }
                Self::Refunded => {
                    order::ByState::Refunded(_idem::__private::in_known_state(__row))
                }
            }
        }
    }
    impl<__DB> _idem::__private::MachineOn<__DB> for OrderStatus
    where
        __DB: _idem::__private::sqlx::Database + _idem::__private::Binds<i64>,
    {
        fn bind_id(
            __id: &Self::Id,
            __arguments: &mut __DB::Arguments,
        ) -> ::core::result::Result<(), _idem::__private::BoxDynError> {
            <__DB as _idem::__private::Binds<i64>>::bind(__arguments, &__id.0)?;
            <__DB as _idem::__private::Binds<i64>>::bind(__arguments, &__id.1)
        }
    }
    #[automatically_derived]
    impl _idem::__private::HasHistory for OrderStatus {}
    #[automatically_derived]
    impl _idem::__private::HasVersion for OrderStatus {}
    #[automatically_derived]
    impl _idem::__private::State<OrderStatus> for order::Pending {
        const STATE: OrderStatus = OrderStatus::Pending;
    }
    #[automatically_derived]
    impl _idem::__private::State<OrderStatus> for order::Paid {
        const STATE: OrderStatus = OrderStatus::Paid;
    }
    #[automatically_derived]
    impl _idem::__private::State<OrderStatus> for order::Refunded {
        const STATE: OrderStatus = OrderStatus::Refunded;
    }
    #[automatically_derived]
    impl<__DB: _idem::__private::SqlDialect> _idem::__private::sqlx::Type<__DB>
    for OrderStatus {
        fn type_info() -> __DB::TypeInfo {
            _idem::__private::status_type::<Self, __DB>()
        }
        fn compatible(__column: &__DB::TypeInfo) -> ::core::primitive::bool {
            _idem::__private::reads_status::<Self, __DB>(__column)
        }
    }
    #[automatically_derived]
    impl<
        '__q,
        __DB: _idem::__private::SqlDialect,
    > _idem::__private::sqlx::Encode<'__q, __DB> for OrderStatus {
        fn encode_by_ref(
            &self,
            __buffer: &mut <__DB as _idem::__private::sqlx::Database>::ArgumentBuffer,
        ) -> ::core::result::Result<
            _idem::__private::sqlx::encode::IsNull,
            _idem::__private::BoxDynError,
        > {
            _idem::__private::encode_status::<Self, __DB>(self, __buffer)
        }
    }
    #[automatically_derived]
    impl<
        '__r,
        __DB: _idem::__private::SqlDialect,
    > _idem::__private::sqlx::Decode<'__r, __DB> for OrderStatus {
        fn decode(
            __value: <__DB as _idem::__private::sqlx::Database>::ValueRef<'__r>,
        ) -> ::core::result::Result<Self, _idem::__private::BoxDynError> {
            _idem::__private::decode_status::<Self, __DB>(__value)
        }
    }
    #[automatically_derived]
    impl ::core::fmt::Display for OrderStatus {
        fn fmt(
            &self,
            __formatter: &mut ::core::fmt::Formatter<'_>,
        ) -> ::core::fmt::Result {
            __formatter.pad(_idem::__private::StateMachine::label(self))
        }
    }
    #[automatically_derived]
    impl ::core::str::FromStr for OrderStatus {
        type Err = _idem::__private::UnknownState;
        fn from_str(
            __label: &::core::primitive::str,
        ) -> ::core::result::Result<Self, _idem::__private::UnknownState> {
            _idem::__private::from_label(__label)
        }
    }
    #[automatically_derived]
    impl _idem::__private::EventOf<OrderStatus> for order::Pay {
        type Target = order::Paid;
        type Fire = _idem::__private::Fire<OrderStatus, Self>;
        type FireAt = _idem::__private::Fire<OrderStatus, Self>;
        const SPEC: &'static _idem::__private::EventSpec<OrderStatus> = &_idem::__private::EventSpec {
            index: 0usize,
            sources: &[OrderStatus::Pending],
            repeats: false,
        };
        fn fingerprint(&self) -> ::core::option::Option<_idem::__private::Fingerprint> {
            ::core::option::Option::Some(
                _idem::__private::Fingerprint::new().part(&self.trade_no),
            )
        }
    }
    #[automatically_derived]
    impl _idem::__private::Event<order::Pending, OrderStatus> for order::Pay {}
    impl<__DB> _idem::__private::Fields<__DB> for order::Pay
    where
        __DB: _idem::__private::sqlx::Database + _idem::__private::Binds<String>,
    {
        fn bind(
            &self,
            __arguments: &mut __DB::Arguments,
        ) -> ::core::result::Result<(), _idem::__private::BoxDynError> {
            <__DB as _idem::__private::Binds<String>>::bind(__arguments, &self.trade_no)
        }
    }
    #[automatically_derived]
    impl _idem::__private::EventOf<OrderStatus> for order::Refund {
        type Target = order::Refunded;
        type Fire = _idem::__private::Fire<OrderStatus, Self>;
        type FireAt = _idem::__private::Fire<OrderStatus, Self>;
        const SPEC: &'static _idem::__private::EventSpec<OrderStatus> = &_idem::__private::EventSpec {
            index: 1usize,
            sources: &[OrderStatus::Paid],
            repeats: false,
        };
    }
    #[automatically_derived]
    impl _idem::__private::Event<order::Paid, OrderStatus> for order::Refund {}
    impl<__DB> _idem::__private::Fields<__DB> for order::Refund
    where
        __DB: _idem::__private::sqlx::Database,
    {}
    #[automatically_derived]
    impl ::core::fmt::Debug for order::Refund {
        fn fmt(
            &self,
            __formatter: &mut ::core::fmt::Formatter<'_>,
        ) -> ::core::fmt::Result {
            __formatter.write_str("Refund")
        }
    }
    #[automatically_derived]
    impl ::core::clone::Clone for order::Refund {
        fn clone(&self) -> Self {
            Self
        }
    }
};
