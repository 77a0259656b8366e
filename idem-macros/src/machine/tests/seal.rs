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
            mermaid: "stateDiagram-v2\n    [*] --> Soft\n    Soft --> Hard: press\n    Wet --> Hard: press\n    Soft --> Wet: dip\n    Hard --> [*]\n",
            dot: "digraph \"Seal\" {\n    rankdir = LR;\n    \"\" [shape = point];\n    \"Hard\" [peripheries = 2];\n    \"\" -> \"Soft\";\n    \"Soft\" -> \"Hard\" [label = \"press\"];\n    \"Wet\" -> \"Hard\" [label = \"press\"];\n    \"Soft\" -> \"Wet\" [label = \"dip\"];\n}\n",
            sql: _idem::__private::MachineSql {
                load: _idem::__private::PerDialect {
                    postgres: _idem::__private::Statement {
                        sql: "SELECT status::text AS status, 0 AS version\n  FROM seals\n WHERE seal_id = $1",
                        binds: &[_idem::__private::Bind::Id],
                    },
                    mysql: _idem::__private::Statement {
                        sql: "SELECT CAST(status AS CHAR) AS status, 0 AS version\n  FROM seals\n WHERE seal_id = ?",
                        binds: &[_idem::__private::Bind::Id],
                    },
                    sqlite: _idem::__private::Statement {
                        sql: "SELECT CAST(status AS TEXT) AS status, 0 AS version\n  FROM seals\n WHERE seal_id = ?1",
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
                    postgres: "status SMALLINT NOT NULL DEFAULT 1,\n  CONSTRAINT seals_status_check CHECK (status IN (1, 2, 3, 30))",
                    mysql: "status SMALLINT NOT NULL DEFAULT 1,\n  CONSTRAINT seals_status_check CHECK (status IN (1, 2, 3, 30))",
                    sqlite: "status INTEGER NOT NULL DEFAULT 1",
                },
                widen: _idem::__private::PerDialect {
                    postgres: ::core::option::Option::Some(
                        "ALTER TABLE seals\n  DROP CONSTRAINT IF EXISTS seals_status_check,\n  ADD CONSTRAINT seals_status_check CHECK (status IN (1, 2, 3, 30))",
                    ),
                    mysql: ::core::option::Option::Some(
                        "ALTER TABLE seals\n  DROP CONSTRAINT seals_status_check,\n  ADD CONSTRAINT seals_status_check CHECK (status IN (1, 2, 3, 30))",
                    ),
                    sqlite: ::core::option::Option::None,
                },
                unknown_values: _idem::__private::PerDialect {
                    postgres: "SELECT status::text AS status, COUNT(*) AS held\n  FROM seals\n WHERE status NOT IN (1, 2, 3, 30) OR status IS NULL\n GROUP BY status\n ORDER BY status",
                    mysql: "SELECT CAST(status AS CHAR) AS status, COUNT(*) AS held\n  FROM seals\n WHERE status NOT IN (1, 2, 3, 30) OR status IS NULL\n GROUP BY status\n ORDER BY status",
                    sqlite: "SELECT CAST(status AS TEXT) AS status, COUNT(*) AS held\n  FROM seals\n WHERE status NOT IN (1, 2, 3, 30) OR status IS NULL\n GROUP BY status\n ORDER BY status",
                },
                create: ::core::option::Option::None,
                unique_while: ::core::option::Option::None,
            },
            events: &[
                ("press", <seal::Press as _idem::__private::EventOf<Seal>>::SQL),
                ("dip", <seal::Dip as _idem::__private::EventOf<Seal>>::SQL),
            ],
            columns: _idem::__private::Columns {
                id: &[("seal_id", "i64")],
                status: "status",
                version: ::core::option::Option::None,
                history: ::core::option::Option::None,
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
            name: "press",
            sources: &[Seal::Soft, Seal::Wet],
            repeats: false,
            sql: _idem::__private::EventSql::without_history(
                [
                    "WITH moved AS (\n  UPDATE seals\n     SET status = 3\n   WHERE seal_id = $1 AND status IN (1, 2)\n  RETURNING 0 AS version\n)\nSELECT moved.version AS applied, seen.status::text AS status, CASE WHEN seen.seal_id IS NOT NULL THEN 0 END AS version\n  FROM (SELECT 1) AS one\n  LEFT JOIN seals AS seen ON seen.seal_id = $1\n  LEFT JOIN moved ON TRUE",
                    "WITH moved AS (\n  UPDATE seals\n     SET status = 3\n   WHERE seal_id = $1 AND status IN (1, 2)\n  RETURNING 0 AS version\n)\nSELECT moved.version AS applied, seen.status::text AS status, CASE WHEN seen.seal_id IS NOT NULL THEN 0 END AS version\n  FROM (SELECT 1) AS one\n  LEFT JOIN seals AS seen ON seen.seal_id = $1\n  LEFT JOIN moved ON TRUE",
                    "SELECT status::text AS status, 0 AS version\n  FROM seals\n WHERE seal_id = $1",
                ],
                [
                    "UPDATE seals\n   SET status = 3\n WHERE seal_id = ? AND status IN (1, 2)",
                    "UPDATE seals\n   SET status = 3\n WHERE seal_id = ? AND status IN (1, 2)",
                    "SELECT CAST(status AS CHAR) AS status, 0 AS version\n  FROM seals\n WHERE seal_id = ?\n   FOR UPDATE",
                ],
                [
                    "UPDATE seals\n   SET status = 3\n WHERE seal_id = ?1 AND status IN (1, 2)\nRETURNING 0 AS applied",
                    "UPDATE seals\n   SET status = 3\n WHERE seal_id = ?1 AND status IN (1, 2)\nRETURNING 0 AS applied",
                    "SELECT CAST(status AS TEXT) AS status, 0 AS version\n  FROM seals\n WHERE seal_id = ?1",
                ],
            ),
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
            name: "dip",
            sources: &[Seal::Soft],
            repeats: false,
            sql: _idem::__private::EventSql::without_history(
                [
                    "WITH moved AS (\n  UPDATE seals\n     SET status = 2\n   WHERE seal_id = $1 AND status = 1\n  RETURNING 0 AS version\n)\nSELECT moved.version AS applied, seen.status::text AS status, CASE WHEN seen.seal_id IS NOT NULL THEN 0 END AS version\n  FROM (SELECT 1) AS one\n  LEFT JOIN seals AS seen ON seen.seal_id = $1\n  LEFT JOIN moved ON TRUE",
                    "WITH moved AS (\n  UPDATE seals\n     SET status = 2\n   WHERE seal_id = $1 AND status = 1\n  RETURNING 0 AS version\n)\nSELECT moved.version AS applied, seen.status::text AS status, CASE WHEN seen.seal_id IS NOT NULL THEN 0 END AS version\n  FROM (SELECT 1) AS one\n  LEFT JOIN seals AS seen ON seen.seal_id = $1\n  LEFT JOIN moved ON TRUE",
                    "SELECT status::text AS status, 0 AS version\n  FROM seals\n WHERE seal_id = $1",
                ],
                [
                    "UPDATE seals\n   SET status = 2\n WHERE seal_id = ? AND status = 1",
                    "UPDATE seals\n   SET status = 2\n WHERE seal_id = ? AND status = 1",
                    "SELECT CAST(status AS CHAR) AS status, 0 AS version\n  FROM seals\n WHERE seal_id = ?\n   FOR UPDATE",
                ],
                [
                    "UPDATE seals\n   SET status = 2\n WHERE seal_id = ?1 AND status = 1\nRETURNING 0 AS applied",
                    "UPDATE seals\n   SET status = 2\n WHERE seal_id = ?1 AND status = 1\nRETURNING 0 AS applied",
                    "SELECT CAST(status AS TEXT) AS status, 0 AS version\n  FROM seals\n WHERE seal_id = ?1",
                ],
            ),
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
