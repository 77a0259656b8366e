///The states and events of `Seal`.
/**
```mermaid
stateDiagram-v2
    [*] --> Soft
    Soft --> Hard: press
    Wet --> Hard: press
    Soft --> Wet: dip
    Hard --> [*]
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
mod seal {
    #[allow(unused_imports)]
    use super::*;
    use crate::other as _idem;
    ///State `Soft` of `Seal`, stored as `1`.
    pub(super) struct Soft;
    ///State `Wet` of `Seal`, stored as `2`.
    pub(super) struct Wet;
    ///State `Hard` of `Seal`, stored as `3`.
    pub(super) struct Hard;
    ///A row of `Seal` by its state: `match` on `row.by_state()`.
    pub(super) enum ByState<__Machine: _idem::__private::StateMachine> {
        ///The row is in state `Soft`.
        Soft(_idem::__private::Row<__Machine, Soft>),
        ///The row is in state `Wet`.
        Wet(_idem::__private::Row<__Machine, Wet>),
        ///The row is in state `Hard`.
        Hard(_idem::__private::Row<__Machine, Hard>),
    }
    ///Event `press`: `Soft | Wet => Hard`.
    /**
PostgreSQL:

```sql
WITH moved AS (
  UPDATE seals
     SET status = 3
   WHERE seal_id = $1 AND status IN (1, 2)
  RETURNING 0 AS version
)
SELECT moved.version AS applied, seen.status::text AS status, CASE WHEN seen.seal_id IS NOT NULL THEN 0 END AS version
  FROM (SELECT 1) AS one
  LEFT JOIN seals AS seen ON seen.seal_id = $1
  LEFT JOIN moved ON TRUE;
```

MySQL:

```sql
UPDATE seals
   SET status = 3
 WHERE seal_id = ? AND status IN (1, 2);
```

SQLite:

```sql
UPDATE seals
   SET status = 3
 WHERE seal_id = ?1 AND status IN (1, 2)
RETURNING 0 AS applied;
```
*/
    pub(super) struct Press;
    ///Event `dip`: `Soft => Wet`.
    /**
PostgreSQL:

```sql
WITH moved AS (
  UPDATE seals
     SET status = 2
   WHERE seal_id = $1 AND status = 1
  RETURNING 0 AS version
)
SELECT moved.version AS applied, seen.status::text AS status, CASE WHEN seen.seal_id IS NOT NULL THEN 0 END AS version
  FROM (SELECT 1) AS one
  LEFT JOIN seals AS seen ON seen.seal_id = $1
  LEFT JOIN moved ON TRUE;
```

MySQL:

```sql
UPDATE seals
   SET status = 2
 WHERE seal_id = ? AND status = 1;
```

SQLite:

```sql
UPDATE seals
   SET status = 2
 WHERE seal_id = ?1 AND status = 1
RETURNING 0 AS applied;
```
*/
    pub(super) struct Dip;
}
const _: () = {
    use crate::other as _idem;
    const __GRAPH: _idem::__private::Graph<3usize> = _idem::__private::Graph::new(
        &[(0usize, 2usize), (1usize, 2usize), (0usize, 1usize)],
    );
    const fn __index(state: &Seal) -> usize {
        match state {
            Seal::Soft => 0usize,
            Seal::Wet => 1usize,
            Seal::Hard => 2usize,
        }
    }
    #[automatically_derived]
    #[allow(dead_code, non_snake_case)]
    impl Seal {
        /// Names a row by its identifier; nothing is loaded.
        fn row(seal_id: i64) -> _idem::__private::Handle<Self> {
            _idem::__private::Handle::new(seal_id)
        }
        /// Whether a transition leads from `from` to `to`.
        #[must_use]
        const fn allows(from: Self, to: Self) -> bool {
            __GRAPH.allows(__index(&from), __index(&to))
        }
    }
    #[automatically_derived]
    impl _idem::__private::StateMachine for Seal {
        type Id = i64;
        type ByState = seal::ByState<Self>;
        const SPEC: &'static _idem::__private::MachineSpec<Self> = &_idem::__private::MachineSpec {
            name: "Seal",
            table: "seals",
            states: &[Self::Soft, Self::Wet, Self::Hard],
            names: &["Soft", "Wet", "Hard"],
            stored: &["1", "2", "3"],
            labels: &["Soft", "Wet", "Hard"],
            repr: _idem::__private::Repr::Int,
            aliases: &[("30", Self::Hard)],
            transitions: &[
                _idem::__private::Transition {
                    event: "press",
                    source: Self::Soft,
                    target: Self::Hard,
                },
                _idem::__private::Transition {
                    event: "press",
                    source: Self::Wet,
                    target: Self::Hard,
                },
                _idem::__private::Transition {
                    event: "dip",
                    source: Self::Soft,
                    target: Self::Wet,
                },
            ],
            mermaid: r"stateDiagram-v2
    [*] --> Soft
    Soft --> Hard: press
    Wet --> Hard: press
    Soft --> Wet: dip
    Hard --> [*]
",
            dot: r#"digraph "Seal" {
    rankdir = LR;
    "" [shape = point];
    "Hard" [peripheries = 2];
    "" -> "Soft";
    "Soft" -> "Hard" [label = "press"];
    "Wet" -> "Hard" [label = "press"];
    "Soft" -> "Wet" [label = "dip"];
}
"#,
            sql: _idem::__private::MachineSql {
                load: _idem::__private::PerDialect {
                    postgres: _idem::__private::Statement {
                        sql: r"SELECT status::text AS status, 0 AS version
  FROM seals
 WHERE seal_id = $1",
                        binds: &[_idem::__private::Bind::Id],
                    },
                    mysql: _idem::__private::Statement {
                        sql: r"SELECT CAST(status AS CHAR) AS status, 0 AS version
  FROM seals
 WHERE seal_id = ?",
                        binds: &[_idem::__private::Bind::Id],
                    },
                    sqlite: _idem::__private::Statement {
                        sql: r"SELECT CAST(status AS TEXT) AS status, 0 AS version
  FROM seals
 WHERE seal_id = ?1",
                        binds: &[_idem::__private::Bind::Id],
                    },
                },
                lock: _idem::__private::PerDialect {
                    postgres: _idem::__private::Statement {
                        sql: r"WITH patience AS MATERIALIZED (
  SELECT current_setting('lock_timeout') AS before, set_config('lock_timeout', $2::text, TRUE) AS now
), locked AS MATERIALIZED (
  SELECT seen.status::text AS status, 0 AS version
    FROM patience, seals AS seen
   WHERE seen.seal_id = $1
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
                        sql: r"SELECT CAST(status AS CHAR) AS status, 0 AS version
  FROM seals
 WHERE seal_id = ?
   FOR UPDATE",
                        binds: &[_idem::__private::Bind::Id],
                    },
                    sqlite: _idem::__private::Statement {
                        sql: r"SELECT CAST(status AS TEXT) AS status, 0 AS version
  FROM seals
 WHERE seal_id = ?1",
                        binds: &[_idem::__private::Bind::Id],
                    },
                },
                lock_now: _idem::__private::PerDialect {
                    postgres: _idem::__private::Statement {
                        sql: r"SELECT status::text AS status, 0 AS version
  FROM seals
 WHERE seal_id = $1
   FOR UPDATE NOWAIT",
                        binds: &[_idem::__private::Bind::Id],
                    },
                    mysql: _idem::__private::Statement {
                        sql: r"SELECT CAST(status AS CHAR) AS status, 0 AS version
  FROM seals
 WHERE seal_id = ?
   FOR UPDATE NOWAIT",
                        binds: &[_idem::__private::Bind::Id],
                    },
                    sqlite: _idem::__private::Statement {
                        sql: r"SELECT CAST(status AS TEXT) AS status, 0 AS version
  FROM seals
 WHERE seal_id = ?1",
                        binds: &[_idem::__private::Bind::Id],
                    },
                },
                history: ::core::option::Option::None,
                once: false,
                versions: false,
                status_type: _idem::__private::PerDialect {
                    postgres: ::core::option::Option::None,
                    mysql: ::core::option::Option::None,
                    sqlite: ::core::option::Option::None,
                },
                columns: _idem::__private::PerDialect {
                    postgres: r"status SMALLINT NOT NULL DEFAULT 1,
  CONSTRAINT seals_status_check CHECK (status IN (1, 2, 3, 30))",
                    mysql: r"status SMALLINT NOT NULL DEFAULT 1,
  CONSTRAINT seals_status_check CHECK (status IN (1, 2, 3, 30))",
                    sqlite: r"status INTEGER NOT NULL DEFAULT 1",
                },
                widen: _idem::__private::PerDialect {
                    postgres: ::core::option::Option::Some(
                        r"ALTER TABLE seals
  DROP CONSTRAINT IF EXISTS seals_status_check,
  ADD CONSTRAINT seals_status_check CHECK (status IN (1, 2, 3, 30)) NOT VALID;
ALTER TABLE seals
  VALIDATE CONSTRAINT seals_status_check",
                    ),
                    mysql: ::core::option::Option::Some(
                        r"ALTER TABLE seals
  DROP CONSTRAINT seals_status_check,
  ADD CONSTRAINT seals_status_check CHECK (status IN (1, 2, 3, 30))",
                    ),
                    sqlite: ::core::option::Option::None,
                },
                unknown_values: _idem::__private::PerDialect {
                    postgres: r"SELECT status::text AS status, COUNT(*) AS held
  FROM seals
 WHERE status NOT IN (1, 2, 3, 30) OR status IS NULL
 GROUP BY status
 ORDER BY status",
                    mysql: r"SELECT CAST(status AS CHAR) AS status, COUNT(*) AS held
  FROM seals
 WHERE status NOT IN (1, 2, 3, 30) OR status IS NULL
 GROUP BY status
 ORDER BY status",
                    sqlite: r"SELECT CAST(status AS TEXT) AS status, COUNT(*) AS held
  FROM seals
 WHERE status NOT IN (1, 2, 3, 30) OR status IS NULL
 GROUP BY status
 ORDER BY status",
                },
                create: ::core::option::Option::None,
                unique_while: ::core::option::Option::None,
                bulk: _idem::__private::BulkSql::new(
                    ::core::option::Option::Some((
                        r"SELECT given.nth AS nth, CAST(seen.status AS CHAR) AS status, 0 AS version
  FROM JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, seal_id BIGINT PATH '$')) AS given
  STRAIGHT_JOIN seals AS seen ON seen.seal_id = given.seal_id
   FOR UPDATE",
                        ::core::option::Option::None,
                    )),
                    ::core::option::Option::Some((
                        r"SELECT given.nth AS nth, CAST(seen.status AS TEXT) AS status, 0 AS version
  FROM (SELECT list.key + 1 AS nth, list.value AS seal_id FROM json_each(?1) AS list) AS given
  JOIN seals AS seen ON seen.seal_id = given.seal_id",
                        ::core::option::Option::None,
                    )),
                ),
                guard: _idem::__private::PerDialect {
                    postgres: _idem::__private::GuardSql {
                        name: "seals_status_guard_64f84a66",
                        install: "CREATE OR REPLACE FUNCTION seals_status_guard() RETURNS trigger LANGUAGE plpgsql AS $idem$\nDECLARE\n  source bigint;\n  target bigint;\n  moved jsonb;\nBEGIN\n  IF TG_OP = 'DELETE' THEN\n    moved := jsonb_build_object('row', jsonb_build_array('seals'::text, OLD.seal_id), 'status', OLD.status);\n    PERFORM set_config('idem.moved', moved::text, true);\n    RETURN NULL;\n  END IF;\n  target := NEW.status;\n  IF TG_OP = 'UPDATE' THEN\n    source := OLD.status;\n  ELSE\n    moved := NULLIF(current_setting('idem.moved', true), '')::jsonb;\n    IF moved -> 'row' = jsonb_build_array('seals'::text, NEW.seal_id) THEN\n      source := moved ->> 'status';\n      PERFORM set_config('idem.moved', '', true);\n    END IF;\n  END IF;\n  IF source = target\n     OR source = 1 AND target IN (1, 2, 3, 30)\n     OR source = 2 AND target IN (2, 3, 30)\n     OR source IN (3, 30) AND target IN (3, 30)\n     OR current_setting('idem.repair', true) = txid_current()::text THEN\n    RETURN NULL;\n  END IF;\n  RAISE EXCEPTION USING\n    ERRCODE = 'ID001',\n    MESSAGE = CASE WHEN source IS NULL AND TG_OP = 'INSERT' THEN 'idem guard seals_status_guard_64f84a66: not an initial state' ELSE 'idem guard seals_status_guard_64f84a66: undeclared transition' END,\n    DETAIL = format('%L to %L', source, target),\n    SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, COLUMN = 'status', CONSTRAINT = 'seals_status_guard_64f84a66';\nEND\n$idem$;\nDROP TRIGGER IF EXISTS seals_status_guard_update ON seals;\nDROP TRIGGER IF EXISTS seals_status_guard_insert ON seals;\nDROP TRIGGER IF EXISTS seals_status_guard_delete ON seals;\nCREATE TRIGGER seals_status_guard_update AFTER UPDATE ON seals\n  FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION seals_status_guard();\nCREATE TRIGGER seals_status_guard_insert AFTER INSERT ON seals\n  FOR EACH ROW WHEN ((NEW.status = 1) IS NOT TRUE) EXECUTE FUNCTION seals_status_guard();\nCREATE TRIGGER seals_status_guard_delete AFTER DELETE ON seals\n  FOR EACH ROW WHEN (OLD.tableoid <> 'seals'::regclass) EXECUTE FUNCTION seals_status_guard()",
                        remove: "DROP TRIGGER IF EXISTS seals_status_guard_update ON seals;\nDROP TRIGGER IF EXISTS seals_status_guard_insert ON seals;\nDROP TRIGGER IF EXISTS seals_status_guard_delete ON seals;\nDROP FUNCTION IF EXISTS seals_status_guard()",
                        find: "SELECT CASE WHEN COUNT(*) < 3 THEN 'missing'\n            WHEN SUM(CASE WHEN strpos(prosrc, '_guard_64f84a66') > 0 THEN 1 END) = 3 THEN 'installed'\n            ELSE 'outdated' END AS guard\n  FROM pg_trigger\n  JOIN pg_proc ON pg_proc.oid = tgfoid\n WHERE tgrelid = to_regclass('seals') AND tgenabled IN ('O', 'A') AND tgname IN ('seals_status_guard_update', 'seals_status_guard_insert', 'seals_status_guard_delete')",
                    },
                    mysql: _idem::__private::GuardSql {
                        name: "seals_status_guard_64f84a66",
                        install: "CREATE TABLE IF NOT EXISTS idem_repair (session BIGINT UNSIGNED NOT NULL PRIMARY KEY) ENGINE = InnoDB;\nDROP TRIGGER IF EXISTS seals_status_guard_update;\nDROP TRIGGER IF EXISTS seals_status_guard_insert;\nCREATE TRIGGER seals_status_guard_update AFTER UPDATE ON seals FOR EACH ROW\nBEGIN\n  DECLARE source bigint DEFAULT OLD.status;\n  DECLARE target bigint DEFAULT NEW.status;\n  IF NOT (source <=> target)\n     AND (   source = 1 AND target IN (1, 2, 3, 30)\n          OR source = 2 AND target IN (2, 3, 30)\n          OR source IN (3, 30) AND target IN (3, 30)) IS NOT TRUE\n     AND NOT EXISTS (SELECT 1 FROM idem_repair WHERE session = CONNECTION_ID()) THEN\n    SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 45001, MESSAGE_TEXT = 'idem guard seals_status_guard_64f84a66: undeclared transition';\n  END IF;\nEND;\nCREATE TRIGGER seals_status_guard_insert AFTER INSERT ON seals FOR EACH ROW\nBEGIN\n  DECLARE target bigint DEFAULT NEW.status;\n  IF (target = 1) IS NOT TRUE\n     AND NOT EXISTS (SELECT 1 FROM idem_repair WHERE session = CONNECTION_ID()) THEN\n    SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 45001, MESSAGE_TEXT = 'idem guard seals_status_guard_64f84a66: not an initial state';\n  END IF;\nEND",
                        remove: "DROP TRIGGER IF EXISTS seals_status_guard_update;\nDROP TRIGGER IF EXISTS seals_status_guard_insert",
                        find: "SELECT CASE WHEN COUNT(*) < 2 THEN 'missing'\n            WHEN SUM(LOCATE('_guard_64f84a66', ACTION_STATEMENT) > 0) = 2 THEN 'installed'\n            ELSE 'outdated' END AS guard\n  FROM information_schema.TRIGGERS\n WHERE TRIGGER_SCHEMA = DATABASE() AND TRIGGER_NAME IN ('seals_status_guard_update', 'seals_status_guard_insert')",
                    },
                    sqlite: _idem::__private::GuardSql {
                        name: "seals_status_guard_64f84a66",
                        install: "CREATE TABLE IF NOT EXISTS idem_repair (session INTEGER NOT NULL PRIMARY KEY);\nDROP TRIGGER IF EXISTS seals_status_guard_update;\nDROP TRIGGER IF EXISTS seals_status_guard_insert;\nCREATE TRIGGER seals_status_guard_update AFTER UPDATE OF status ON seals\n WHEN OLD.status IS NOT NEW.status\n  AND (   OLD.status = 1 AND NEW.status IN (1, 2, 3, 30)\n       OR OLD.status = 2 AND NEW.status IN (2, 3, 30)\n       OR OLD.status IN (3, 30) AND NEW.status IN (3, 30)) IS NOT TRUE\n  AND NOT EXISTS (SELECT 1 FROM idem_repair)\nBEGIN\n  SELECT RAISE(ABORT, 'idem guard seals_status_guard_64f84a66: undeclared transition');\nEND;\nCREATE TRIGGER seals_status_guard_insert AFTER INSERT ON seals\n WHEN (NEW.status = 1) IS NOT TRUE\n  AND NOT EXISTS (SELECT 1 FROM idem_repair)\nBEGIN\n  SELECT RAISE(ABORT, 'idem guard seals_status_guard_64f84a66: not an initial state');\nEND",
                        remove: "DROP TRIGGER IF EXISTS seals_status_guard_update;\nDROP TRIGGER IF EXISTS seals_status_guard_insert",
                        find: "SELECT CASE WHEN COUNT(*) < 2 THEN 'missing'\n            WHEN SUM(instr(sql, '_guard_64f84a66') > 0) = 2 THEN 'installed'\n            ELSE 'outdated' END AS guard\n  FROM sqlite_master\n WHERE type = 'trigger' AND name IN ('seals_status_guard_update', 'seals_status_guard_insert')",
                    },
                },
                repair: ::core::option::Option::None,
            },
            events: &[
                (
                    "press",
                    &_idem::__private::EventSql::without_history(
                        [
                            r"WITH moved AS (
  UPDATE seals
     SET status = 3
   WHERE seal_id = $1 AND status IN (1, 2)
  RETURNING 0 AS version
)
SELECT moved.version AS applied, seen.status::text AS status, CASE WHEN seen.seal_id IS NOT NULL THEN 0 END AS version
  FROM (SELECT 1) AS one
  LEFT JOIN seals AS seen ON seen.seal_id = $1
  LEFT JOIN moved ON TRUE",
                            r"WITH moved AS (
  UPDATE seals
     SET status = 3
   WHERE seal_id = $1 AND status IN (1, 2)
  RETURNING 0 AS version
)
SELECT moved.version AS applied, seen.status::text AS status, CASE WHEN seen.seal_id IS NOT NULL THEN 0 END AS version
  FROM (SELECT 1) AS one
  LEFT JOIN seals AS seen ON seen.seal_id = $1
  LEFT JOIN moved ON TRUE",
                            r"SELECT status::text AS status, 0 AS version
  FROM seals
 WHERE seal_id = $1",
                            r"WITH given AS MATERIALIZED (
  SELECT list.nth, id.seal_id
    FROM json_array_elements($1::text::json) WITH ORDINALITY AS list (it, nth),
         json_populate_record(NULL::seals, json_build_object('seal_id', list.it)) AS id
), locked AS MATERIALIZED (
  SELECT given.nth, seen.seal_id, seen.status AS found_status, 0 AS found_version
    FROM given
    JOIN seals AS seen ON seen.seal_id = given.seal_id
   ORDER BY given.nth
     FOR UPDATE OF seen
), moved AS (
  UPDATE seals
     SET status = 3
    FROM locked
   WHERE seals.seal_id = locked.seal_id AND seals.status = locked.found_status AND seals.status IN (1, 2)
  RETURNING locked.nth, 0 AS version
)
SELECT given.nth AS nth, moved.version AS applied, locked.found_status::text AS status, locked.found_version AS version
  FROM given
  LEFT JOIN locked ON locked.nth = given.nth
  LEFT JOIN moved ON moved.nth = given.nth",
                        ],
                        [
                            r"UPDATE seals
   SET status = 3
 WHERE seal_id = ? AND status IN (1, 2)",
                            r"UPDATE seals
   SET status = 3
 WHERE seal_id = ? AND status IN (1, 2)",
                            r"SELECT CAST(status AS CHAR) AS status, 0 AS version
  FROM seals
 WHERE seal_id = ?
   FOR UPDATE",
                            r"UPDATE JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, seal_id BIGINT PATH '$')) AS given
STRAIGHT_JOIN seals AS seen ON seen.seal_id = given.seal_id
   SET status = 3
 WHERE seen.status IN (1, 2)",
                        ],
                        [
                            r"UPDATE seals
   SET status = 3
 WHERE seal_id = ?1 AND status IN (1, 2)
RETURNING 0 AS applied",
                            r"UPDATE seals
   SET status = 3
 WHERE seal_id = ?1 AND status IN (1, 2)
RETURNING 0 AS applied",
                            r"SELECT CAST(status AS TEXT) AS status, 0 AS version
  FROM seals
 WHERE seal_id = ?1",
                            r"UPDATE seals
   SET status = 3
  FROM (SELECT list.key + 1 AS nth, list.value AS seal_id FROM json_each(?1) AS list) AS given
 WHERE seals.seal_id = given.seal_id AND seals.status IN (1, 2)",
                        ],
                    ),
                ),
                (
                    "dip",
                    &_idem::__private::EventSql::without_history(
                        [
                            r"WITH moved AS (
  UPDATE seals
     SET status = 2
   WHERE seal_id = $1 AND status = 1
  RETURNING 0 AS version
)
SELECT moved.version AS applied, seen.status::text AS status, CASE WHEN seen.seal_id IS NOT NULL THEN 0 END AS version
  FROM (SELECT 1) AS one
  LEFT JOIN seals AS seen ON seen.seal_id = $1
  LEFT JOIN moved ON TRUE",
                            r"WITH moved AS (
  UPDATE seals
     SET status = 2
   WHERE seal_id = $1 AND status = 1
  RETURNING 0 AS version
)
SELECT moved.version AS applied, seen.status::text AS status, CASE WHEN seen.seal_id IS NOT NULL THEN 0 END AS version
  FROM (SELECT 1) AS one
  LEFT JOIN seals AS seen ON seen.seal_id = $1
  LEFT JOIN moved ON TRUE",
                            r"SELECT status::text AS status, 0 AS version
  FROM seals
 WHERE seal_id = $1",
                            r"WITH given AS MATERIALIZED (
  SELECT list.nth, id.seal_id
    FROM json_array_elements($1::text::json) WITH ORDINALITY AS list (it, nth),
         json_populate_record(NULL::seals, json_build_object('seal_id', list.it)) AS id
), locked AS MATERIALIZED (
  SELECT given.nth, seen.seal_id, seen.status AS found_status, 0 AS found_version
    FROM given
    JOIN seals AS seen ON seen.seal_id = given.seal_id
   ORDER BY given.nth
     FOR UPDATE OF seen
), moved AS (
  UPDATE seals
     SET status = 2
    FROM locked
   WHERE seals.seal_id = locked.seal_id AND seals.status = locked.found_status AND seals.status = 1
  RETURNING locked.nth, 0 AS version
)
SELECT given.nth AS nth, moved.version AS applied, locked.found_status::text AS status, locked.found_version AS version
  FROM given
  LEFT JOIN locked ON locked.nth = given.nth
  LEFT JOIN moved ON moved.nth = given.nth",
                        ],
                        [
                            r"UPDATE seals
   SET status = 2
 WHERE seal_id = ? AND status = 1",
                            r"UPDATE seals
   SET status = 2
 WHERE seal_id = ? AND status = 1",
                            r"SELECT CAST(status AS CHAR) AS status, 0 AS version
  FROM seals
 WHERE seal_id = ?
   FOR UPDATE",
                            r"UPDATE JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, seal_id BIGINT PATH '$')) AS given
STRAIGHT_JOIN seals AS seen ON seen.seal_id = given.seal_id
   SET status = 2
 WHERE seen.status = 1",
                        ],
                        [
                            r"UPDATE seals
   SET status = 2
 WHERE seal_id = ?1 AND status = 1
RETURNING 0 AS applied",
                            r"UPDATE seals
   SET status = 2
 WHERE seal_id = ?1 AND status = 1
RETURNING 0 AS applied",
                            r"SELECT CAST(status AS TEXT) AS status, 0 AS version
  FROM seals
 WHERE seal_id = ?1",
                            r"UPDATE seals
   SET status = 2
  FROM (SELECT list.key + 1 AS nth, list.value AS seal_id FROM json_each(?1) AS list) AS given
 WHERE seals.seal_id = given.seal_id AND seals.status = 1",
                        ],
                    ),
                ),
            ],
            columns: _idem::__private::Columns {
                id: &[("seal_id", "i64")],
                status: "status",
                version: ::core::option::Option::None,
                history: ::core::option::Option::None,
                notes: &[],
                set: &[&[], &[]],
                new: &[],
            },
        };
        const INITIAL: Self = Self::Soft;
        fn index(&self) -> ::core::primitive::usize {
            __index(self)
        }
        fn copied(&self) -> Self {
            match self {
                Self::Soft => Self::Soft,
                Self::Wet => Self::Wet,
                Self::Hard => Self::Hard,
            }
        }
        fn by_state(__row: _idem::__private::Row<Self>) -> Self::ByState {
            match __row.state() {
                Self::Soft => {
                    seal::ByState::Soft(_idem::__private::in_known_state(__row))
                }
                Self::Wet => seal::ByState::Wet(_idem::__private::in_known_state(__row)),
                Self::Hard => {
                    seal::ByState::Hard(_idem::__private::in_known_state(__row))
                }
            }
        }
    }
    impl<__DB> _idem::__private::MachineOn<__DB> for Seal
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
    impl _idem::__private::State<Seal> for seal::Soft {
        const STATE: Seal = Seal::Soft;
    }
    #[automatically_derived]
    impl _idem::__private::State<Seal> for seal::Wet {
        const STATE: Seal = Seal::Wet;
    }
    #[automatically_derived]
    impl _idem::__private::State<Seal> for seal::Hard {
        const STATE: Seal = Seal::Hard;
    }
    #[automatically_derived]
    impl _idem::__private::EventOf<Seal> for seal::Press {
        type Target = seal::Hard;
        type Fire = _idem::__private::Fire<Seal, Self>;
        type FireAt = _idem::__private::Fire<Seal, Self>;
        const SPEC: &'static _idem::__private::EventSpec<Seal> = &_idem::__private::EventSpec {
            index: 0usize,
            sources: &[Seal::Soft, Seal::Wet],
            repeats: false,
        };
    }
    #[automatically_derived]
    impl _idem::__private::Event<seal::Soft, Seal> for seal::Press {}
    #[automatically_derived]
    impl _idem::__private::Event<seal::Wet, Seal> for seal::Press {}
    impl<__DB> _idem::__private::Fields<__DB> for seal::Press
    where
        __DB: _idem::__private::sqlx::Database,
    {}
    #[automatically_derived]
    impl ::core::fmt::Debug for seal::Press {
        fn fmt(
            &self,
            __formatter: &mut ::core::fmt::Formatter<'_>,
        ) -> ::core::fmt::Result {
            __formatter.write_str("Press")
        }
    }
    #[automatically_derived]
    impl ::core::clone::Clone for seal::Press {
        fn clone(&self) -> Self {
            Self
        }
    }
    #[automatically_derived]
    impl _idem::__private::EventOf<Seal> for seal::Dip {
        type Target = seal::Wet;
        type Fire = _idem::__private::Fire<Seal, Self>;
        type FireAt = _idem::__private::Fire<Seal, Self>;
        const SPEC: &'static _idem::__private::EventSpec<Seal> = &_idem::__private::EventSpec {
            index: 1usize,
            sources: &[Seal::Soft],
            repeats: false,
        };
    }
    #[automatically_derived]
    impl _idem::__private::Event<seal::Soft, Seal> for seal::Dip {}
    impl<__DB> _idem::__private::Fields<__DB> for seal::Dip
    where
        __DB: _idem::__private::sqlx::Database,
    {}
    #[automatically_derived]
    impl ::core::fmt::Debug for seal::Dip {
        fn fmt(
            &self,
            __formatter: &mut ::core::fmt::Formatter<'_>,
        ) -> ::core::fmt::Result {
            __formatter.write_str("Dip")
        }
    }
    #[automatically_derived]
    impl ::core::clone::Clone for seal::Dip {
        fn clone(&self) -> Self {
            Self
        }
    }
};
