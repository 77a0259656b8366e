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
            mermaid: "stateDiagram-v2\n    [*] --> Pending\n    Pending --> Paid: pay\n    Paid --> Refunded: refund\n    Refunded --> [*]\n",
            dot: "digraph \"OrderStatus\" {\n    rankdir = LR;\n    \"\" [shape = point];\n    \"Refunded\" [peripheries = 2];\n    \"\" -> \"Pending\";\n    \"Pending\" -> \"Paid\" [label = \"pay\"];\n    \"Paid\" -> \"Refunded\" [label = \"refund\"];\n}\n",
            sql: _idem::__private::MachineSql {
                load: _idem::__private::PerDialect {
                    postgres: _idem::__private::Statement {
                        sql: "SELECT status::text AS status, version\n  FROM shop.orders\n WHERE tenant_id = $1 AND order_id = $2",
                        binds: &[_idem::__private::Bind::Id],
                    },
                    mysql: _idem::__private::Statement {
                        sql: "SELECT status, version\n  FROM shop.orders\n WHERE tenant_id = ? AND order_id = ?",
                        binds: &[_idem::__private::Bind::Id],
                    },
                    sqlite: _idem::__private::Statement {
                        sql: "SELECT status, version\n  FROM shop.orders\n WHERE tenant_id = ?1 AND order_id = ?2",
                        binds: &[_idem::__private::Bind::Id],
                    },
                },
                history: ::core::option::Option::Some(_idem::__private::PerDialect {
                    postgres: "CREATE TABLE IF NOT EXISTS shop.orders_history (\n  tenant_id BIGINT NOT NULL,\n  order_id BIGINT NOT NULL,\n  version BIGINT NOT NULL,\n  source TEXT NOT NULL,\n  target TEXT NOT NULL,\n  event TEXT NOT NULL,\n  cause TEXT COLLATE \"C\",\n  fingerprint TEXT,\n  at TIMESTAMPTZ NOT NULL,\n  PRIMARY KEY (tenant_id, order_id, version),\n  UNIQUE (event, cause)\n)",
                    mysql: "CREATE TABLE IF NOT EXISTS shop.orders_history (\n  tenant_id BIGINT NOT NULL,\n  order_id BIGINT NOT NULL,\n  version BIGINT NOT NULL,\n  source VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,\n  target VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,\n  event VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,\n  cause VARBINARY(512),\n  fingerprint VARCHAR(80) CHARACTER SET ascii COLLATE ascii_bin,\n  at DATETIME(6) NOT NULL,\n  PRIMARY KEY (tenant_id, order_id, version),\n  UNIQUE (event, cause)\n)",
                    sqlite: "CREATE TABLE IF NOT EXISTS shop.orders_history (\n  tenant_id INTEGER NOT NULL,\n  order_id INTEGER NOT NULL,\n  version INTEGER NOT NULL,\n  source TEXT NOT NULL,\n  target TEXT NOT NULL,\n  event TEXT NOT NULL,\n  cause TEXT,\n  fingerprint TEXT,\n  at TEXT NOT NULL,\n  PRIMARY KEY (tenant_id, order_id, version),\n  UNIQUE (event, cause)\n)",
                }),
                once: true,
                versions: true,
                status_type: _idem::__private::PerDialect {
                    postgres: ::core::option::Option::Some(
                        "CREATE TYPE order_status AS ENUM ('pending', 'paid', 'refunded', 'new')",
                    ),
                    mysql: ::core::option::Option::None,
                    sqlite: ::core::option::Option::None,
                },
                columns: _idem::__private::PerDialect {
                    postgres: "status order_status NOT NULL DEFAULT 'pending',\n  version BIGINT NOT NULL DEFAULT 0",
                    mysql: "status ENUM ('pending', 'paid', 'refunded', 'new') CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'pending',\n  version BIGINT NOT NULL DEFAULT 0",
                    sqlite: "status TEXT NOT NULL DEFAULT 'pending',\n  version INTEGER NOT NULL DEFAULT 0",
                },
                widen: _idem::__private::PerDialect {
                    postgres: ::core::option::Option::Some(
                        "ALTER TYPE order_status ADD VALUE IF NOT EXISTS 'pending';\nALTER TYPE order_status ADD VALUE IF NOT EXISTS 'new';\nALTER TYPE order_status ADD VALUE IF NOT EXISTS 'paid';\nALTER TYPE order_status ADD VALUE IF NOT EXISTS 'refunded'",
                    ),
                    mysql: ::core::option::Option::Some(
                        "ALTER TABLE shop.orders\n  MODIFY status ENUM ('pending', 'paid', 'refunded', 'new') CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'pending'",
                    ),
                    sqlite: ::core::option::Option::None,
                },
                unknown_values: _idem::__private::PerDialect {
                    postgres: "SELECT status::text AS status, COUNT(*) AS held\n  FROM shop.orders\n WHERE status::text NOT IN ('pending', 'paid', 'refunded', 'new') OR status IS NULL\n GROUP BY status::text\n ORDER BY status::text",
                    mysql: "SELECT MIN(status) AS status, COUNT(*) AS held\n  FROM shop.orders\n WHERE CAST(status AS BINARY) NOT IN ('pending', 'paid', 'refunded', 'new') OR status IS NULL\n GROUP BY CAST(status AS BINARY)\n ORDER BY CAST(status AS BINARY)",
                    sqlite: "SELECT status, COUNT(*) AS held\n  FROM shop.orders\n WHERE status NOT IN ('pending', 'paid', 'refunded', 'new') OR status IS NULL\n GROUP BY status\n ORDER BY status",
                },
                create: ::core::option::Option::None,
                unique_while: ::core::option::Option::None,
            },
            events: &[
                ("pay", <order::Pay as _idem::__private::EventOf<OrderStatus>>::SQL),
                (
                    "refund",
                    <order::Refund as _idem::__private::EventOf<OrderStatus>>::SQL,
                ),
            ],
            columns: _idem::__private::Columns {
                id: &[("tenant_id", "i64"), ("order_id", "i64")],
                status: "status",
                version: ::core::option::Option::Some("version"),
                history: ::core::option::Option::Some("shop.orders_history"),
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
            name: "pay",
            sources: &[OrderStatus::Pending],
            repeats: false,
            sql: _idem::__private::EventSql::with_history(
                true,
                [
                    "WITH caused AS MATERIALIZED (\n  SELECT version, fingerprint, CASE WHEN tenant_id = $2 AND order_id = $3 THEN 1 ELSE 0 END AS here\n    FROM shop.orders_history\n   WHERE event = 'pay' AND cause = $4::text\n), moved AS (\n  UPDATE shop.orders\n     SET status = 'paid', paid_at = clock_timestamp(), trade_no = $1, version = version + 1\n   WHERE tenant_id = $2 AND order_id = $3 AND status IN ('pending', 'new') AND NOT EXISTS (SELECT FROM caused)\n  RETURNING tenant_id, order_id, version\n), entered AS (\n  INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)\n  SELECT tenant_id, order_id, version, 'pending', 'paid', 'pay', $4::text, $5::text, clock_timestamp()\n    FROM moved\n)\nSELECT moved.version AS applied, seen.status::text AS status, seen.version AS version,\n       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here\n  FROM (SELECT 1) AS one\n  LEFT JOIN shop.orders AS seen ON seen.tenant_id = $2 AND seen.order_id = $3\n  LEFT JOIN caused ON TRUE\n  LEFT JOIN moved ON TRUE",
                    "WITH caused AS MATERIALIZED (\n  SELECT version, fingerprint, CASE WHEN tenant_id = $2 AND order_id = $3 THEN 1 ELSE 0 END AS here\n    FROM shop.orders_history\n   WHERE event = 'pay' AND cause = $4::text\n), moved AS (\n  UPDATE shop.orders\n     SET status = 'paid', paid_at = clock_timestamp(), trade_no = $1, version = version + 1\n   WHERE tenant_id = $2 AND order_id = $3 AND status IN ('pending', 'new') AND version = $6 AND NOT EXISTS (SELECT FROM caused)\n  RETURNING tenant_id, order_id, version\n), entered AS (\n  INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)\n  SELECT tenant_id, order_id, version, 'pending', 'paid', 'pay', $4::text, $5::text, clock_timestamp()\n    FROM moved\n)\nSELECT moved.version AS applied, seen.status::text AS status, seen.version AS version,\n       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here\n  FROM (SELECT 1) AS one\n  LEFT JOIN shop.orders AS seen ON seen.tenant_id = $2 AND seen.order_id = $3\n  LEFT JOIN caused ON TRUE\n  LEFT JOIN moved ON TRUE",
                    "SELECT seen.status::text AS status, seen.version AS version,\n       caused.version AS caused, caused.fingerprint AS caused_fingerprint,\n       CASE WHEN caused.tenant_id = seen.tenant_id AND caused.order_id = seen.order_id THEN 1 ELSE 0 END AS caused_here,\n       latest.target AS latest_target, latest.cause AS latest_cause,\n       passed.version AS passed, passed.cause AS passed_cause\n  FROM shop.orders AS seen\n  LEFT JOIN shop.orders_history AS caused\n    ON caused.event = 'pay' AND caused.cause = $3::text\n  LEFT JOIN shop.orders_history AS latest\n    ON latest.tenant_id = $1 AND latest.order_id = $2\n   AND latest.version = (SELECT MAX(version) FROM shop.orders_history WHERE tenant_id = $1 AND order_id = $2)\n  LEFT JOIN shop.orders_history AS passed\n    ON passed.tenant_id = $1 AND passed.order_id = $2\n   AND passed.version = (SELECT MAX(version) FROM shop.orders_history WHERE tenant_id = $1 AND order_id = $2 AND target = 'paid')\n WHERE seen.tenant_id = $1 AND seen.order_id = $2",
                ],
                [
                    "UPDATE shop.orders\n   SET status = 'paid', paid_at = NOW(6), trade_no = ?, version = LAST_INSERT_ID(version + 1)\n WHERE tenant_id = ? AND order_id = ? AND status IN ('pending', 'new')",
                    "UPDATE shop.orders\n   SET status = 'paid', paid_at = NOW(6), trade_no = ?, version = LAST_INSERT_ID(version + 1)\n WHERE tenant_id = ? AND order_id = ? AND status IN ('pending', 'new') AND version = ?",
                    "SELECT seen.status AS status, seen.version AS version,\n       caused.version AS caused, caused.fingerprint AS caused_fingerprint,\n       CASE WHEN caused.tenant_id = seen.tenant_id AND caused.order_id = seen.order_id THEN 1 ELSE 0 END AS caused_here,\n       latest.target AS latest_target, CONVERT(latest.cause USING utf8mb4) AS latest_cause,\n       passed.version AS passed, CONVERT(passed.cause USING utf8mb4) AS passed_cause\n  FROM shop.orders AS seen\n  LEFT JOIN shop.orders_history AS caused\n    ON caused.event = 'pay' AND caused.cause = ?\n  LEFT JOIN shop.orders_history AS latest\n    ON latest.tenant_id = ? AND latest.order_id = ?\n   AND latest.version = (SELECT MAX(version) FROM shop.orders_history WHERE tenant_id = ? AND order_id = ? FOR UPDATE)\n  LEFT JOIN shop.orders_history AS passed\n    ON passed.tenant_id = ? AND passed.order_id = ?\n   AND passed.version = (SELECT MAX(version) FROM shop.orders_history WHERE tenant_id = ? AND order_id = ? AND target = 'paid' FOR UPDATE)\n WHERE seen.tenant_id = ? AND seen.order_id = ?\n   FOR UPDATE",
                    "INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)\nSELECT tenant_id, order_id, version + 1, CASE status WHEN 'new' THEN 'pending' ELSE status END, 'paid', 'pay', ?, ?, NOW(6)\n  FROM shop.orders\n WHERE tenant_id = ? AND order_id = ? AND status IN ('pending', 'new')\n   FOR UPDATE",
                    "INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)\nSELECT tenant_id, order_id, version + 1, CASE status WHEN 'new' THEN 'pending' ELSE status END, 'paid', 'pay', ?, ?, NOW(6)\n  FROM shop.orders\n WHERE tenant_id = ? AND order_id = ? AND status IN ('pending', 'new') AND version = ?\n   FOR UPDATE",
                ],
                [
                    "UPDATE shop.orders\n   SET status = 'paid', paid_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), trade_no = ?1, version = version + 1\n WHERE tenant_id = ?2 AND order_id = ?3 AND status IN ('pending', 'new')\nRETURNING version AS applied",
                    "UPDATE shop.orders\n   SET status = 'paid', paid_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), trade_no = ?1, version = version + 1\n WHERE tenant_id = ?2 AND order_id = ?3 AND status IN ('pending', 'new') AND version = ?4\nRETURNING version AS applied",
                    "SELECT seen.status AS status, seen.version AS version,\n       caused.version AS caused, caused.fingerprint AS caused_fingerprint,\n       CASE WHEN caused.tenant_id = seen.tenant_id AND caused.order_id = seen.order_id THEN 1 ELSE 0 END AS caused_here,\n       latest.target AS latest_target, latest.cause AS latest_cause,\n       passed.version AS passed, passed.cause AS passed_cause\n  FROM shop.orders AS seen\n  LEFT JOIN shop.orders_history AS caused\n    ON caused.event = 'pay' AND caused.cause = ?3\n  LEFT JOIN shop.orders_history AS latest\n    ON latest.tenant_id = ?1 AND latest.order_id = ?2\n   AND latest.version = (SELECT MAX(version) FROM shop.orders_history WHERE tenant_id = ?1 AND order_id = ?2)\n  LEFT JOIN shop.orders_history AS passed\n    ON passed.tenant_id = ?1 AND passed.order_id = ?2\n   AND passed.version = (SELECT MAX(version) FROM shop.orders_history WHERE tenant_id = ?1 AND order_id = ?2 AND target = 'paid')\n WHERE seen.tenant_id = ?1 AND seen.order_id = ?2",
                    "INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)\nSELECT tenant_id, order_id, version + 1, CASE status WHEN 'new' THEN 'pending' ELSE status END, 'paid', 'pay', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')\n  FROM shop.orders\n WHERE tenant_id = ?3 AND order_id = ?4 AND status IN ('pending', 'new')",
                    "INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)\nSELECT tenant_id, order_id, version + 1, CASE status WHEN 'new' THEN 'pending' ELSE status END, 'paid', 'pay', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')\n  FROM shop.orders\n WHERE tenant_id = ?3 AND order_id = ?4 AND status IN ('pending', 'new') AND version = ?5",
                ],
            ),
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
            name: "refund",
            sources: &[OrderStatus::Paid],
            repeats: false,
            sql: _idem::__private::EventSql::with_history(
                true,
                [
                    "WITH caused AS MATERIALIZED (\n  SELECT version, fingerprint, CASE WHEN tenant_id = $1 AND order_id = $2 THEN 1 ELSE 0 END AS here\n    FROM shop.orders_history\n   WHERE event = 'refund' AND cause = $3::text\n), moved AS (\n  UPDATE shop.orders\n     SET status = 'refunded', version = version + 1\n   WHERE tenant_id = $1 AND order_id = $2 AND status = 'paid' AND NOT EXISTS (SELECT FROM caused)\n  RETURNING tenant_id, order_id, version\n), entered AS (\n  INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)\n  SELECT tenant_id, order_id, version, 'paid', 'refunded', 'refund', $3::text, $4::text, clock_timestamp()\n    FROM moved\n)\nSELECT moved.version AS applied, seen.status::text AS status, seen.version AS version,\n       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here\n  FROM (SELECT 1) AS one\n  LEFT JOIN shop.orders AS seen ON seen.tenant_id = $1 AND seen.order_id = $2\n  LEFT JOIN caused ON TRUE\n  LEFT JOIN moved ON TRUE",
                    "WITH caused AS MATERIALIZED (\n  SELECT version, fingerprint, CASE WHEN tenant_id = $1 AND order_id = $2 THEN 1 ELSE 0 END AS here\n    FROM shop.orders_history\n   WHERE event = 'refund' AND cause = $3::text\n), moved AS (\n  UPDATE shop.orders\n     SET status = 'refunded', version = version + 1\n   WHERE tenant_id = $1 AND order_id = $2 AND status = 'paid' AND version = $5 AND NOT EXISTS (SELECT FROM caused)\n  RETURNING tenant_id, order_id, version\n), entered AS (\n  INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)\n  SELECT tenant_id, order_id, version, 'paid', 'refunded', 'refund', $3::text, $4::text, clock_timestamp()\n    FROM moved\n)\nSELECT moved.version AS applied, seen.status::text AS status, seen.version AS version,\n       caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here\n  FROM (SELECT 1) AS one\n  LEFT JOIN shop.orders AS seen ON seen.tenant_id = $1 AND seen.order_id = $2\n  LEFT JOIN caused ON TRUE\n  LEFT JOIN moved ON TRUE",
                    "SELECT seen.status::text AS status, seen.version AS version,\n       caused.version AS caused, caused.fingerprint AS caused_fingerprint,\n       CASE WHEN caused.tenant_id = seen.tenant_id AND caused.order_id = seen.order_id THEN 1 ELSE 0 END AS caused_here,\n       latest.target AS latest_target, latest.cause AS latest_cause,\n       passed.version AS passed, passed.cause AS passed_cause\n  FROM shop.orders AS seen\n  LEFT JOIN shop.orders_history AS caused\n    ON caused.event = 'refund' AND caused.cause = $3::text\n  LEFT JOIN shop.orders_history AS latest\n    ON latest.tenant_id = $1 AND latest.order_id = $2\n   AND latest.version = (SELECT MAX(version) FROM shop.orders_history WHERE tenant_id = $1 AND order_id = $2)\n  LEFT JOIN shop.orders_history AS passed\n    ON passed.tenant_id = $1 AND passed.order_id = $2\n   AND passed.version = (SELECT MAX(version) FROM shop.orders_history WHERE tenant_id = $1 AND order_id = $2 AND target = 'refunded')\n WHERE seen.tenant_id = $1 AND seen.order_id = $2",
                ],
                [
                    "UPDATE shop.orders\n   SET status = 'refunded', version = LAST_INSERT_ID(version + 1)\n WHERE tenant_id = ? AND order_id = ? AND status = 'paid'",
                    "UPDATE shop.orders\n   SET status = 'refunded', version = LAST_INSERT_ID(version + 1)\n WHERE tenant_id = ? AND order_id = ? AND status = 'paid' AND version = ?",
                    "SELECT seen.status AS status, seen.version AS version,\n       caused.version AS caused, caused.fingerprint AS caused_fingerprint,\n       CASE WHEN caused.tenant_id = seen.tenant_id AND caused.order_id = seen.order_id THEN 1 ELSE 0 END AS caused_here,\n       latest.target AS latest_target, CONVERT(latest.cause USING utf8mb4) AS latest_cause,\n       passed.version AS passed, CONVERT(passed.cause USING utf8mb4) AS passed_cause\n  FROM shop.orders AS seen\n  LEFT JOIN shop.orders_history AS caused\n    ON caused.event = 'refund' AND caused.cause = ?\n  LEFT JOIN shop.orders_history AS latest\n    ON latest.tenant_id = ? AND latest.order_id = ?\n   AND latest.version = (SELECT MAX(version) FROM shop.orders_history WHERE tenant_id = ? AND order_id = ? FOR UPDATE)\n  LEFT JOIN shop.orders_history AS passed\n    ON passed.tenant_id = ? AND passed.order_id = ?\n   AND passed.version = (SELECT MAX(version) FROM shop.orders_history WHERE tenant_id = ? AND order_id = ? AND target = 'refunded' FOR UPDATE)\n WHERE seen.tenant_id = ? AND seen.order_id = ?\n   FOR UPDATE",
                    "INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)\nSELECT tenant_id, order_id, version + 1, status, 'refunded', 'refund', ?, ?, NOW(6)\n  FROM shop.orders\n WHERE tenant_id = ? AND order_id = ? AND status = 'paid'\n   FOR UPDATE",
                    "INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)\nSELECT tenant_id, order_id, version + 1, status, 'refunded', 'refund', ?, ?, NOW(6)\n  FROM shop.orders\n WHERE tenant_id = ? AND order_id = ? AND status = 'paid' AND version = ?\n   FOR UPDATE",
                ],
                [
                    "UPDATE shop.orders\n   SET status = 'refunded', version = version + 1\n WHERE tenant_id = ?1 AND order_id = ?2 AND status = 'paid'\nRETURNING version AS applied",
                    "UPDATE shop.orders\n   SET status = 'refunded', version = version + 1\n WHERE tenant_id = ?1 AND order_id = ?2 AND status = 'paid' AND version = ?3\nRETURNING version AS applied",
                    "SELECT seen.status AS status, seen.version AS version,\n       caused.version AS caused, caused.fingerprint AS caused_fingerprint,\n       CASE WHEN caused.tenant_id = seen.tenant_id AND caused.order_id = seen.order_id THEN 1 ELSE 0 END AS caused_here,\n       latest.target AS latest_target, latest.cause AS latest_cause,\n       passed.version AS passed, passed.cause AS passed_cause\n  FROM shop.orders AS seen\n  LEFT JOIN shop.orders_history AS caused\n    ON caused.event = 'refund' AND caused.cause = ?3\n  LEFT JOIN shop.orders_history AS latest\n    ON latest.tenant_id = ?1 AND latest.order_id = ?2\n   AND latest.version = (SELECT MAX(version) FROM shop.orders_history WHERE tenant_id = ?1 AND order_id = ?2)\n  LEFT JOIN shop.orders_history AS passed\n    ON passed.tenant_id = ?1 AND passed.order_id = ?2\n   AND passed.version = (SELECT MAX(version) FROM shop.orders_history WHERE tenant_id = ?1 AND order_id = ?2 AND target = 'refunded')\n WHERE seen.tenant_id = ?1 AND seen.order_id = ?2",
                    "INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)\nSELECT tenant_id, order_id, version + 1, status, 'refunded', 'refund', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')\n  FROM shop.orders\n WHERE tenant_id = ?3 AND order_id = ?4 AND status = 'paid'",
                    "INSERT INTO shop.orders_history (tenant_id, order_id, version, source, target, event, cause, fingerprint, at)\nSELECT tenant_id, order_id, version + 1, status, 'refunded', 'refund', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')\n  FROM shop.orders\n WHERE tenant_id = ?3 AND order_id = ?4 AND status = 'paid' AND version = ?5",
                ],
            ),
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
