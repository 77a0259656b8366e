///The states and events of `Door`.
/**
```mermaid
stateDiagram-v2
    [*] --> Closed
    Closed --> Open: unlock
    Open --> Closed: lock
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
pub(crate) mod door {
    #[allow(unused_imports)]
    use super::*;
    use ::idem_runtime as _idem;
    ///State `Closed` of `Door`, stored as `Closed`.
    pub(crate) struct Closed;
    ///State `Open` of `Door`, stored as `Open`.
    pub(crate) struct Open;
    ///A row of `Door` by its state: `match` on `row.by_state()`.
    pub(crate) enum ByState<__Machine: _idem::__private::StateMachine> {
        ///The row is in state `Closed`.
        Closed(_idem::__private::Row<__Machine, Closed>),
        ///The row is in state `Open`.
        Open(_idem::__private::Row<__Machine, Open>),
    }
    ///Event `unlock`: `Closed => Open`.
    /**
PostgreSQL:

```sql
WITH moved AS (
  UPDATE doors
     SET status = 'Open', unlocked_by = $1, version = version + 1
   WHERE door_id = $2 AND status = 'Closed'
  RETURNING version
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version
  FROM (SELECT 1) AS one
  LEFT JOIN doors AS seen ON seen.door_id = $2
  LEFT JOIN moved ON TRUE;
```

MySQL:

```sql
UPDATE doors
   SET status = 'Open', unlocked_by = ?, version = LAST_INSERT_ID(version + 1)
 WHERE door_id = ? AND status = 'Closed';
```

SQLite:

```sql
UPDATE doors
   SET status = 'Open', unlocked_by = ?1, version = version + 1
 WHERE door_id = ?2 AND status = 'Closed'
RETURNING version AS applied;
```
*/
    #[derive(::core::fmt::Debug, ::core::clone::Clone)]
    pub(crate) struct Unlock {
        ///Written to `unlocked_by`.
        pub(crate) unlocked_by: String,
    }
    ///Event `lock`: `Open => Closed`.
    /**
PostgreSQL:

```sql
WITH moved AS (
  UPDATE doors
     SET status = 'Closed', version = version + 1
   WHERE door_id = $1 AND status = 'Open'
  RETURNING version
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version
  FROM (SELECT 1) AS one
  LEFT JOIN doors AS seen ON seen.door_id = $1
  LEFT JOIN moved ON TRUE;
```

MySQL:

```sql
UPDATE doors
   SET status = 'Closed', version = LAST_INSERT_ID(version + 1)
 WHERE door_id = ? AND status = 'Open';
```

SQLite:

```sql
UPDATE doors
   SET status = 'Closed', version = version + 1
 WHERE door_id = ?1 AND status = 'Open'
RETURNING version AS applied;
```
*/
    pub(crate) struct Lock;
}
const _: () = {
    use ::idem_runtime as _idem;
    const __GRAPH: _idem::__private::Graph<2usize> = _idem::__private::Graph::new(
        &[(0usize, 1usize), (1usize, 0usize)],
    );
    const fn __index(state: &Door) -> usize {
        match state {
            Door::Closed => 0usize,
            Door::Open => 1usize,
        }
    }
    #[automatically_derived]
    #[allow(dead_code, non_snake_case)]
    impl Door {
        /// Names a row by its identifier; nothing is loaded.
        pub(crate) fn row(door_id: i64) -> _idem::__private::Handle<Self> {
            _idem::__private::Handle::new(door_id)
        }
        /// Whether a transition leads from `from` to `to`.
        #[must_use]
        pub(crate) const fn allows(from: Self, to: Self) -> bool {
            __GRAPH.allows(__index(&from), __index(&to))
        }
    }
    #[automatically_derived]
    impl _idem::__private::StateMachine for Door {
        type Id = i64;
        type ByState = door::ByState<Self>;
        const SPEC: &'static _idem::__private::MachineSpec<Self> = &_idem::__private::MachineSpec {
            name: "Door",
            table: "doors",
            states: &[Self::Closed, Self::Open],
            names: &["Closed", "Open"],
            stored: &["Closed", "Open"],
            labels: &["Closed", "Open"],
            repr: _idem::__private::Repr::Text,
            aliases: &[],
            transitions: &[
                _idem::__private::Transition {
                    event: "unlock",
                    source: Self::Closed,
                    target: Self::Open,
                },
                _idem::__private::Transition {
                    event: "lock",
                    source: Self::Open,
                    target: Self::Closed,
                },
            ],
            mermaid: r"stateDiagram-v2
    [*] --> Closed
    Closed --> Open: unlock
    Open --> Closed: lock
",
            dot: r#"digraph "Door" {
    rankdir = LR;
    "" [shape = point];
    "" -> "Closed";
    "Closed" -> "Open" [label = "unlock"];
    "Open" -> "Closed" [label = "lock"];
}
"#,
            sql: _idem::__private::MachineSql {
                load: _idem::__private::PerDialect {
                    postgres: _idem::__private::Statement {
                        sql: r"SELECT status, version
  FROM doors
 WHERE door_id = $1",
                        binds: &[_idem::__private::Bind::Id],
                    },
                    mysql: _idem::__private::Statement {
                        sql: r"SELECT status, version
  FROM doors
 WHERE door_id = ?",
                        binds: &[_idem::__private::Bind::Id],
                    },
                    sqlite: _idem::__private::Statement {
                        sql: r"SELECT status, version
  FROM doors
 WHERE door_id = ?1",
                        binds: &[_idem::__private::Bind::Id],
                    },
                },
                lock: _idem::__private::PerDialect {
                    postgres: _idem::__private::Statement {
                        sql: r"WITH patience AS MATERIALIZED (
  SELECT current_setting('lock_timeout') AS before, set_config('lock_timeout', $2::text, TRUE) AS now
), locked AS MATERIALIZED (
  SELECT seen.status AS status, seen.version AS version
    FROM patience, doors AS seen
   WHERE seen.door_id = $1
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
  FROM doors
 WHERE door_id = ?
   FOR UPDATE",
                        binds: &[_idem::__private::Bind::Id],
                    },
                    sqlite: _idem::__private::Statement {
                        sql: r"SELECT status, version
  FROM doors
 WHERE door_id = ?1",
                        binds: &[_idem::__private::Bind::Id],
                    },
                },
                lock_now: _idem::__private::PerDialect {
                    postgres: _idem::__private::Statement {
                        sql: r"SELECT status, version
  FROM doors
 WHERE door_id = $1
   FOR UPDATE NOWAIT",
                        binds: &[_idem::__private::Bind::Id],
                    },
                    mysql: _idem::__private::Statement {
                        sql: r"SELECT status, version
  FROM doors
 WHERE door_id = ?
   FOR UPDATE NOWAIT",
                        binds: &[_idem::__private::Bind::Id],
                    },
                    sqlite: _idem::__private::Statement {
                        sql: r"SELECT status, version
  FROM doors
 WHERE door_id = ?1",
                        binds: &[_idem::__private::Bind::Id],
                    },
                },
                history: ::core::option::Option::None,
                once: false,
                versions: true,
                status_type: _idem::__private::PerDialect {
                    postgres: ::core::option::Option::None,
                    mysql: ::core::option::Option::None,
                    sqlite: ::core::option::Option::None,
                },
                columns: _idem::__private::PerDialect {
                    postgres: r"status TEXT NOT NULL DEFAULT 'Closed',
  version BIGINT NOT NULL DEFAULT 0,
  CONSTRAINT doors_status_check CHECK (status IN ('Closed', 'Open'))",
                    mysql: r"status VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'Closed',
  version BIGINT NOT NULL DEFAULT 0,
  CONSTRAINT doors_status_check CHECK (status IN ('Closed', 'Open'))",
                    sqlite: r"status TEXT NOT NULL DEFAULT 'Closed',
  version INTEGER NOT NULL DEFAULT 0",
                },
                widen: _idem::__private::PerDialect {
                    postgres: ::core::option::Option::Some(
                        r"ALTER TABLE doors
  DROP CONSTRAINT IF EXISTS doors_status_check,
  ADD CONSTRAINT doors_status_check CHECK (status IN ('Closed', 'Open')) NOT VALID;
ALTER TABLE doors
  VALIDATE CONSTRAINT doors_status_check",
                    ),
                    mysql: ::core::option::Option::Some(
                        r"ALTER TABLE doors
  DROP CONSTRAINT doors_status_check,
  ADD CONSTRAINT doors_status_check CHECK (status IN ('Closed', 'Open'))",
                    ),
                    sqlite: ::core::option::Option::None,
                },
                unknown_values: _idem::__private::PerDialect {
                    postgres: r"SELECT status, COUNT(*) AS held
  FROM doors
 WHERE status NOT IN ('Closed', 'Open') OR status IS NULL
 GROUP BY status
 ORDER BY status",
                    mysql: r"SELECT MIN(status) AS status, COUNT(*) AS held
  FROM doors
 WHERE CAST(status AS BINARY) NOT IN ('Closed', 'Open') OR status IS NULL
 GROUP BY CAST(status AS BINARY)
 ORDER BY CAST(status AS BINARY)",
                    sqlite: r"SELECT status, COUNT(*) AS held
  FROM doors
 WHERE status NOT IN ('Closed', 'Open') OR status IS NULL
 GROUP BY status
 ORDER BY status",
                },
                create: ::core::option::Option::None,
                unique_while: ::core::option::Option::None,
                bulk: _idem::__private::BulkSql::new(
                    ::core::option::Option::Some((
                        r"SELECT given.nth AS nth, seen.status AS status, seen.version AS version
  FROM JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, door_id BIGINT PATH '$')) AS given
  STRAIGHT_JOIN doors AS seen ON seen.door_id = given.door_id
   FOR UPDATE",
                        ::core::option::Option::None,
                    )),
                    ::core::option::Option::Some((
                        r"SELECT given.nth AS nth, seen.status AS status, seen.version AS version
  FROM (SELECT list.key + 1 AS nth, list.value AS door_id FROM json_each(?1) AS list) AS given
  JOIN doors AS seen ON seen.door_id = given.door_id",
                        ::core::option::Option::None,
                    )),
                ),
                guard: _idem::__private::PerDialect {
                    postgres: _idem::__private::GuardSql {
                        name: "doors_status_guard_1acdb0ec",
                        install: "CREATE OR REPLACE FUNCTION doors_status_guard() RETURNS trigger LANGUAGE plpgsql AS $idem$\nDECLARE\n  source text;\n  target text;\n  moved jsonb;\nBEGIN\n  IF TG_OP = 'DELETE' THEN\n    moved := jsonb_build_object('row', jsonb_build_array('doors'::text, OLD.door_id), 'status', OLD.status::text);\n    PERFORM set_config('idem.moved', moved::text, true);\n    RETURN NULL;\n  END IF;\n  target := NEW.status::text;\n  IF TG_OP = 'UPDATE' THEN\n    source := OLD.status::text;\n  ELSE\n    moved := NULLIF(current_setting('idem.moved', true), '')::jsonb;\n    IF moved -> 'row' = jsonb_build_array('doors'::text, NEW.door_id) THEN\n      source := moved ->> 'status';\n      PERFORM set_config('idem.moved', '', true);\n    END IF;\n  END IF;\n  IF source = target\n     OR source = 'Closed' AND target IN ('Closed', 'Open')\n     OR source = 'Open' AND target IN ('Open', 'Closed')\n     OR current_setting('idem.repair', true) = txid_current()::text THEN\n    RETURN NULL;\n  END IF;\n  RAISE EXCEPTION USING\n    ERRCODE = 'ID001',\n    MESSAGE = CASE WHEN source IS NULL AND TG_OP = 'INSERT' THEN 'idem guard doors_status_guard_1acdb0ec: not an initial state' ELSE 'idem guard doors_status_guard_1acdb0ec: undeclared transition' END,\n    DETAIL = format('%L to %L', source, target),\n    SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, COLUMN = 'status', CONSTRAINT = 'doors_status_guard_1acdb0ec';\nEND\n$idem$;\nDROP TRIGGER IF EXISTS doors_status_guard_update ON doors;\nDROP TRIGGER IF EXISTS doors_status_guard_insert ON doors;\nDROP TRIGGER IF EXISTS doors_status_guard_delete ON doors;\nCREATE TRIGGER doors_status_guard_update AFTER UPDATE ON doors\n  FOR EACH ROW WHEN (OLD.status::text IS DISTINCT FROM NEW.status::text) EXECUTE FUNCTION doors_status_guard();\nCREATE TRIGGER doors_status_guard_insert AFTER INSERT ON doors\n  FOR EACH ROW WHEN ((NEW.status::text = 'Closed') IS NOT TRUE) EXECUTE FUNCTION doors_status_guard();\nCREATE TRIGGER doors_status_guard_delete AFTER DELETE ON doors\n  FOR EACH ROW WHEN (OLD.tableoid <> 'doors'::regclass) EXECUTE FUNCTION doors_status_guard()",
                        remove: "DROP TRIGGER IF EXISTS doors_status_guard_update ON doors;\nDROP TRIGGER IF EXISTS doors_status_guard_insert ON doors;\nDROP TRIGGER IF EXISTS doors_status_guard_delete ON doors;\nDROP FUNCTION IF EXISTS doors_status_guard()",
                        find: "SELECT CASE WHEN COUNT(*) < 3 THEN 'missing'\n            WHEN SUM(CASE WHEN strpos(prosrc, '_guard_1acdb0ec') > 0 THEN 1 END) = 3 THEN 'installed'\n            ELSE 'outdated' END AS guard\n  FROM pg_trigger\n  JOIN pg_proc ON pg_proc.oid = tgfoid\n WHERE tgrelid = to_regclass('doors') AND tgenabled IN ('O', 'A') AND tgname IN ('doors_status_guard_update', 'doors_status_guard_insert', 'doors_status_guard_delete')",
                    },
                    mysql: _idem::__private::GuardSql {
                        name: "doors_status_guard_1acdb0ec",
                        install: "CREATE TABLE IF NOT EXISTS idem_repair (session BIGINT UNSIGNED NOT NULL PRIMARY KEY) ENGINE = InnoDB;\nDROP TRIGGER IF EXISTS doors_status_guard_update;\nDROP TRIGGER IF EXISTS doors_status_guard_insert;\nCREATE TRIGGER doors_status_guard_update AFTER UPDATE ON doors FOR EACH ROW\nBEGIN\n  DECLARE source VARBINARY(1024) DEFAULT CAST(CONVERT(OLD.status USING utf8mb4) AS BINARY);\n  DECLARE target VARBINARY(1024) DEFAULT CAST(CONVERT(NEW.status USING utf8mb4) AS BINARY);\n  IF NOT (source <=> target)\n     AND (   source = 'Closed' AND target IN ('Closed', 'Open')\n          OR source = 'Open' AND target IN ('Open', 'Closed')) IS NOT TRUE\n     AND NOT EXISTS (SELECT 1 FROM idem_repair WHERE session = CONNECTION_ID()) THEN\n    SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 45001, MESSAGE_TEXT = 'idem guard doors_status_guard_1acdb0ec: undeclared transition';\n  END IF;\nEND;\nCREATE TRIGGER doors_status_guard_insert AFTER INSERT ON doors FOR EACH ROW\nBEGIN\n  DECLARE target VARBINARY(1024) DEFAULT CAST(CONVERT(NEW.status USING utf8mb4) AS BINARY);\n  IF (target = 'Closed') IS NOT TRUE\n     AND NOT EXISTS (SELECT 1 FROM idem_repair WHERE session = CONNECTION_ID()) THEN\n    SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 45001, MESSAGE_TEXT = 'idem guard doors_status_guard_1acdb0ec: not an initial state';\n  END IF;\nEND",
                        remove: "DROP TRIGGER IF EXISTS doors_status_guard_update;\nDROP TRIGGER IF EXISTS doors_status_guard_insert",
                        find: "SELECT CASE WHEN COUNT(*) < 2 THEN 'missing'\n            WHEN SUM(LOCATE('_guard_1acdb0ec', ACTION_STATEMENT) > 0) = 2 THEN 'installed'\n            ELSE 'outdated' END AS guard\n  FROM information_schema.TRIGGERS\n WHERE TRIGGER_SCHEMA = DATABASE() AND TRIGGER_NAME IN ('doors_status_guard_update', 'doors_status_guard_insert')",
                    },
                    sqlite: _idem::__private::GuardSql {
                        name: "doors_status_guard_1acdb0ec",
                        install: "CREATE TABLE IF NOT EXISTS idem_repair (session INTEGER NOT NULL PRIMARY KEY);\nDROP TRIGGER IF EXISTS doors_status_guard_update;\nDROP TRIGGER IF EXISTS doors_status_guard_insert;\nCREATE TRIGGER doors_status_guard_update AFTER UPDATE OF status ON doors\n WHEN OLD.status COLLATE BINARY IS NOT NEW.status COLLATE BINARY\n  AND (   OLD.status COLLATE BINARY = 'Closed' AND NEW.status COLLATE BINARY IN ('Closed', 'Open')\n       OR OLD.status COLLATE BINARY = 'Open' AND NEW.status COLLATE BINARY IN ('Open', 'Closed')) IS NOT TRUE\n  AND NOT EXISTS (SELECT 1 FROM idem_repair)\nBEGIN\n  SELECT RAISE(ABORT, 'idem guard doors_status_guard_1acdb0ec: undeclared transition');\nEND;\nCREATE TRIGGER doors_status_guard_insert AFTER INSERT ON doors\n WHEN (NEW.status COLLATE BINARY = 'Closed') IS NOT TRUE\n  AND NOT EXISTS (SELECT 1 FROM idem_repair)\nBEGIN\n  SELECT RAISE(ABORT, 'idem guard doors_status_guard_1acdb0ec: not an initial state');\nEND",
                        remove: "DROP TRIGGER IF EXISTS doors_status_guard_update;\nDROP TRIGGER IF EXISTS doors_status_guard_insert",
                        find: "SELECT CASE WHEN COUNT(*) < 2 THEN 'missing'\n            WHEN SUM(instr(sql, '_guard_1acdb0ec') > 0) = 2 THEN 'installed'\n            ELSE 'outdated' END AS guard\n  FROM sqlite_master\n WHERE type = 'trigger' AND name IN ('doors_status_guard_update', 'doors_status_guard_insert')",
                    },
                },
                repair: ::core::option::Option::None,
            },
            events: &[
                (
                    "unlock",
                    &_idem::__private::EventSql::without_history(
                        [
                            r"WITH moved AS (
  UPDATE doors
     SET status = 'Open', unlocked_by = $1, version = version + 1
   WHERE door_id = $2 AND status = 'Closed'
  RETURNING version
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version
  FROM (SELECT 1) AS one
  LEFT JOIN doors AS seen ON seen.door_id = $2
  LEFT JOIN moved ON TRUE",
                            r"WITH moved AS (
  UPDATE doors
     SET status = 'Open', unlocked_by = $1, version = version + 1
   WHERE door_id = $2 AND status = 'Closed' AND version = $3
  RETURNING version
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version
  FROM (SELECT 1) AS one
  LEFT JOIN doors AS seen ON seen.door_id = $2
  LEFT JOIN moved ON TRUE",
                            r"SELECT status, version
  FROM doors
 WHERE door_id = $1",
                            r"WITH given AS MATERIALIZED (
  SELECT list.nth, id.door_id
    FROM json_array_elements($2::text::json) WITH ORDINALITY AS list (it, nth),
         json_populate_record(NULL::doors, json_build_object('door_id', list.it)) AS id
), locked AS MATERIALIZED (
  SELECT given.nth, seen.door_id, seen.status AS found_status, seen.version AS found_version
    FROM given
    JOIN doors AS seen ON seen.door_id = given.door_id
   ORDER BY given.nth
     FOR UPDATE OF seen
), moved AS (
  UPDATE doors
     SET status = 'Open', unlocked_by = $1, version = doors.version + 1
    FROM locked
   WHERE doors.door_id = locked.door_id AND doors.status = locked.found_status AND doors.status = 'Closed'
  RETURNING locked.nth, doors.version
)
SELECT given.nth AS nth, moved.version AS applied, locked.found_status AS status, locked.found_version AS version
  FROM given
  LEFT JOIN locked ON locked.nth = given.nth
  LEFT JOIN moved ON moved.nth = given.nth",
                        ],
                        [
                            r"UPDATE doors
   SET status = 'Open', unlocked_by = ?, version = LAST_INSERT_ID(version + 1)
 WHERE door_id = ? AND status = 'Closed'",
                            r"UPDATE doors
   SET status = 'Open', unlocked_by = ?, version = LAST_INSERT_ID(version + 1)
 WHERE door_id = ? AND status = 'Closed' AND version = ?",
                            r"SELECT status, version
  FROM doors
 WHERE door_id = ?
   FOR UPDATE",
                            r"UPDATE JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, door_id BIGINT PATH '$')) AS given
STRAIGHT_JOIN doors AS seen ON seen.door_id = given.door_id
   SET status = 'Open', unlocked_by = ?, version = seen.version + 1
 WHERE seen.status = 'Closed'",
                        ],
                        [
                            r"UPDATE doors
   SET status = 'Open', unlocked_by = ?1, version = version + 1
 WHERE door_id = ?2 AND status = 'Closed'
RETURNING version AS applied",
                            r"UPDATE doors
   SET status = 'Open', unlocked_by = ?1, version = version + 1
 WHERE door_id = ?2 AND status = 'Closed' AND version = ?3
RETURNING version AS applied",
                            r"SELECT status, version
  FROM doors
 WHERE door_id = ?1",
                            r"UPDATE doors
   SET status = 'Open', unlocked_by = ?1, version = doors.version + 1
  FROM (SELECT list.key + 1 AS nth, list.value AS door_id FROM json_each(?2) AS list) AS given
 WHERE doors.door_id = given.door_id AND doors.status = 'Closed'",
                        ],
                    ),
                ),
                (
                    "lock",
                    &_idem::__private::EventSql::without_history(
                        [
                            r"WITH moved AS (
  UPDATE doors
     SET status = 'Closed', version = version + 1
   WHERE door_id = $1 AND status = 'Open'
  RETURNING version
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version
  FROM (SELECT 1) AS one
  LEFT JOIN doors AS seen ON seen.door_id = $1
  LEFT JOIN moved ON TRUE",
                            r"WITH moved AS (
  UPDATE doors
     SET status = 'Closed', version = version + 1
   WHERE door_id = $1 AND status = 'Open' AND version = $2
  RETURNING version
)
SELECT moved.version AS applied, seen.status AS status, seen.version AS version
  FROM (SELECT 1) AS one
  LEFT JOIN doors AS seen ON seen.door_id = $1
  LEFT JOIN moved ON TRUE",
                            r"SELECT status, version
  FROM doors
 WHERE door_id = $1",
                            r"WITH given AS MATERIALIZED (
  SELECT list.nth, id.door_id
    FROM json_array_elements($1::text::json) WITH ORDINALITY AS list (it, nth),
         json_populate_record(NULL::doors, json_build_object('door_id', list.it)) AS id
), locked AS MATERIALIZED (
  SELECT given.nth, seen.door_id, seen.status AS found_status, seen.version AS found_version
    FROM given
    JOIN doors AS seen ON seen.door_id = given.door_id
   ORDER BY given.nth
     FOR UPDATE OF seen
), moved AS (
  UPDATE doors
     SET status = 'Closed', version = doors.version + 1
    FROM locked
   WHERE doors.door_id = locked.door_id AND doors.status = locked.found_status AND doors.status = 'Open'
  RETURNING locked.nth, doors.version
)
SELECT given.nth AS nth, moved.version AS applied, locked.found_status AS status, locked.found_version AS version
  FROM given
  LEFT JOIN locked ON locked.nth = given.nth
  LEFT JOIN moved ON moved.nth = given.nth",
                        ],
                        [
                            r"UPDATE doors
   SET status = 'Closed', version = LAST_INSERT_ID(version + 1)
 WHERE door_id = ? AND status = 'Open'",
                            r"UPDATE doors
   SET status = 'Closed', version = LAST_INSERT_ID(version + 1)
 WHERE door_id = ? AND status = 'Open' AND version = ?",
                            r"SELECT status, version
  FROM doors
 WHERE door_id = ?
   FOR UPDATE",
                            r"UPDATE JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, door_id BIGINT PATH '$')) AS given
STRAIGHT_JOIN doors AS seen ON seen.door_id = given.door_id
   SET status = 'Closed', version = seen.version + 1
 WHERE seen.status = 'Open'",
                        ],
                        [
                            r"UPDATE doors
   SET status = 'Closed', version = version + 1
 WHERE door_id = ?1 AND status = 'Open'
RETURNING version AS applied",
                            r"UPDATE doors
   SET status = 'Closed', version = version + 1
 WHERE door_id = ?1 AND status = 'Open' AND version = ?2
RETURNING version AS applied",
                            r"SELECT status, version
  FROM doors
 WHERE door_id = ?1",
                            r"UPDATE doors
   SET status = 'Closed', version = doors.version + 1
  FROM (SELECT list.key + 1 AS nth, list.value AS door_id FROM json_each(?1) AS list) AS given
 WHERE doors.door_id = given.door_id AND doors.status = 'Open'",
                        ],
                    ),
                ),
            ],
            columns: _idem::__private::Columns {
                id: &[("door_id", "i64")],
                status: "status",
                version: ::core::option::Option::Some("version"),
                history: ::core::option::Option::None,
                notes: &[],
                set: &[&[("unlocked_by", ::core::option::Option::Some("String"))], &[]],
                new: &[],
            },
        };
        const INITIAL: Self = Self::Closed;
        fn index(&self) -> ::core::primitive::usize {
            __index(self)
        }
        fn copied(&self) -> Self {
            match self {
                Self::Closed => Self::Closed,
                Self::Open => Self::Open,
            }
        }
        fn by_state(__row: _idem::__private::Row<Self>) -> Self::ByState {
            match __row.state() {
                Self::Closed => {
                    door::ByState::Closed(_idem::__private::in_known_state(__row))
                }
                Self::Open => {
                    door::ByState::Open(_idem::__private::in_known_state(__row))
                }
            }
        }
    }
    impl<__DB> _idem::__private::MachineOn<__DB> for Door
    where
        __DB: _idem::__private::sqlx::Database + _idem::__private::Binds<i64>,
    {
        fn bind_id(
            __id: &Self::Id,
            __arguments: &mut __DB::Arguments,
        ) -> ::core::result::Result<(), _idem::__private::BoxDynError> {
            <__DB as _idem::__private::Binds<i64>>::bind(__arguments, __id)
        }
    }
    #[automatically_derived]
    impl _idem::__private::HasVersion for Door {}
    #[automatically_derived]
    impl _idem::__private::State<Door> for door::Closed {
        const STATE: Door = Door::Closed;
    }
    #[automatically_derived]
    impl _idem::__private::State<Door> for door::Open {
        const STATE: Door = Door::Open;
    }
    #[automatically_derived]
    impl _idem::__private::EventOf<Door> for door::Unlock {
        type Target = door::Open;
        type Fire = _idem::__private::Fire<Door, Self, _idem::__private::Unpinned>;
        type FireAt = _idem::__private::Fire<Door, Self>;
        const SPEC: &'static _idem::__private::EventSpec<Door> = &_idem::__private::EventSpec {
            index: 0usize,
            sources: &[Door::Closed],
            repeats: true,
        };
    }
    #[automatically_derived]
    impl _idem::__private::Event<door::Closed, Door> for door::Unlock {}
    impl<__DB> _idem::__private::Fields<__DB> for door::Unlock
    where
        __DB: _idem::__private::sqlx::Database + _idem::__private::Binds<String>,
    {
        fn bind(
            &self,
            __arguments: &mut __DB::Arguments,
        ) -> ::core::result::Result<(), _idem::__private::BoxDynError> {
            <__DB as _idem::__private::Binds<
                String,
            >>::bind(__arguments, &self.unlocked_by)
        }
    }
    #[automatically_derived]
    impl _idem::__private::EventOf<Door> for door::Lock {
        type Target = door::Closed;
        type Fire = _idem::__private::Fire<Door, Self, _idem::__private::Unpinned>;
        type FireAt = _idem::__private::Fire<Door, Self>;
        const SPEC: &'static _idem::__private::EventSpec<Door> = &_idem::__private::EventSpec {
            index: 1usize,
            sources: &[Door::Open],
            repeats: true,
        };
    }
    #[automatically_derived]
    impl _idem::__private::Event<door::Open, Door> for door::Lock {}
    impl<__DB> _idem::__private::Fields<__DB> for door::Lock
    where
        __DB: _idem::__private::sqlx::Database,
    {}
    #[automatically_derived]
    impl ::core::fmt::Debug for door::Lock {
        fn fmt(
            &self,
            __formatter: &mut ::core::fmt::Formatter<'_>,
        ) -> ::core::fmt::Result {
            __formatter.write_str("Lock")
        }
    }
    #[automatically_derived]
    impl ::core::clone::Clone for door::Lock {
        fn clone(&self) -> Self {
            Self
        }
    }
};
