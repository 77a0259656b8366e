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
  ADD CONSTRAINT seals_status_check CHECK (status IN (1, 2, 3, 30))",
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
