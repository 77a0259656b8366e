//! Tables that a former release has made: brought to the shape of this one where they stand.

use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, raw_sql};

use super::change::Migration;
use super::ddl;
use crate::dialect::{Dialect, PerDialect, SqlDialect};
use crate::engine::Idem;
use crate::error::Error;

/// What the tables are, as the catalogue says. A change of a table is whole or not made, so that a column stands for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// A table is not there, and none that is there is a former one.
    Absent,
    /// A former one, which says nothing of how long an answer and a key are kept.
    Untimed,
    /// Its rows were not held against its constraints.
    Unvalidated,
    /// A former one, which knows no leases.
    Unleased,
    /// A former one, which does not count what an attempt writes.
    Uncounted,
    Current,
}

/// The column `shape`. It takes no right but to see the tables.
const SHAPE: PerDialect<&str> = PerDialect {
    postgres: "\
SELECT CASE
         WHEN to_regclass('idem_record') IS NULL THEN 'absent'
         WHEN NOT EXISTS (SELECT FROM pg_attribute
                           WHERE attrelid = to_regclass('idem_record') AND attname = 'key_until' AND NOT attisdropped)
         THEN 'untimed'
         WHEN EXISTS (SELECT FROM pg_constraint
                       WHERE conrelid = to_regclass('idem_record') AND NOT convalidated
                         AND conname IN ('idem_record_status', 'idem_record_answer'))
         THEN 'unvalidated'
         WHEN NOT EXISTS (SELECT FROM pg_attribute
                           WHERE attrelid = to_regclass('idem_record') AND attname = 'updated_at' AND NOT attisdropped)
         THEN 'unleased'
         WHEN NOT EXISTS (SELECT FROM pg_attribute
                           WHERE attrelid = to_regclass('idem_record') AND attname = 'begun_writes' AND NOT attisdropped)
         THEN 'uncounted'
         WHEN to_regclass('idem_audit') IS NULL OR to_regclass('idem_token') IS NULL
           OR to_regclass('idem_lease') IS NULL THEN 'absent'
         ELSE 'current'
       END AS shape",
    mysql: "\
SELECT CASE
         WHEN COALESCE(SUM(table_name = 'idem_record'), 0) = 0 THEN 'absent'
         WHEN SUM(table_name = 'idem_record' AND column_name = 'key_until') = 0 THEN 'untimed'
         WHEN SUM(table_name = 'idem_record' AND column_name = 'updated_at') = 0 THEN 'unleased'
         WHEN SUM(table_name = 'idem_record' AND column_name = 'begun_writes') = 0 THEN 'uncounted'
         WHEN COUNT(DISTINCT table_name) < 4 THEN 'absent'
         ELSE 'current'
       END AS shape
  FROM information_schema.columns
 WHERE table_schema = DATABASE() AND table_name IN ('idem_record', 'idem_audit', 'idem_token', 'idem_lease')",
    sqlite: "\
SELECT CASE
         WHEN COUNT(*) = 0 THEN 'absent'
         WHEN SUM(name = 'key_until') = 0 THEN 'untimed'
         WHEN SUM(name = 'updated_at') = 0 THEN 'unleased'
         WHEN SUM(name = 'begun_writes') = 0 THEN 'uncounted'
         WHEN (SELECT COUNT(*) FROM main.sqlite_master
                WHERE type = 'table' AND name IN ('idem_audit', 'idem_token', 'idem_lease')) < 3 THEN 'absent'
         ELSE 'current'
       END AS shape
  FROM pragma_table_info('idem_record', 'main')",
};

/// The texts of former releases, the oldest first, as they may stand in a user's files.
const FORMER: PerDialect<[&str; 4]> = PerDialect {
    postgres: [
        include_str!("former/1_postgres.sql"),
        include_str!("former/2_postgres.sql"),
        include_str!("former/3_postgres.sql"),
        include_str!("former/4_postgres.sql"),
    ],
    mysql: [
        include_str!("former/1_mysql.sql"),
        include_str!("former/2_mysql.sql"),
        include_str!("former/3_mysql.sql"),
        include_str!("former/4_mysql.sql"),
    ],
    sqlite: [
        include_str!("former/1_sqlite.sql"),
        include_str!("former/2_sqlite.sql"),
        include_str!("former/3_sqlite.sql"),
        include_str!("former/4_sqlite.sql"),
    ],
};

/// Gives the table of the first two releases the shape of the third.
const LIFETIMES: PerDialect<&str> = PerDialect {
    postgres: include_str!("upgrade/3_postgres.sql"),
    mysql: include_str!("upgrade/3_mysql.sql"),
    sqlite: include_str!("upgrade/3_sqlite.sql"),
};

const VALIDATION: &str = include_str!("upgrade/3_postgres_validated.sql");

/// Gives the table of the third release the shape of the fourth, and makes what was not there at the time.
const LEASES: PerDialect<&str> = PerDialect {
    postgres: concat!(include_str!("upgrade/4_postgres.sql"), include_str!("beside/postgres.sql")),
    mysql: concat!(include_str!("upgrade/4_mysql.sql"), include_str!("beside/mysql.sql")),
    sqlite: concat!(include_str!("upgrade/4_sqlite.sql"), include_str!("beside/sqlite.sql")),
};

/// Gives the table of the fourth release its present shape.
const COUNT: PerDialect<&str> = PerDialect {
    postgres: include_str!("upgrade/5_postgres.sql"),
    mysql: include_str!("upgrade/5_mysql.sql"),
    sqlite: include_str!("upgrade/5_sqlite.sql"),
};

/// Comes before a text, so that one instance at a time runs it. The statements of one text are one transaction on
/// PostgreSQL, where even two `CREATE TABLE IF NOT EXISTS` at once collide in the catalogue.
const LOCK: PerDialect<&str> = PerDialect {
    postgres: "SELECT pg_advisory_xact_lock(hashtext('idem_migrate'));\n",
    mysql: "DO GET_LOCK(CONCAT('idem_migrate ', MD5(DATABASE())), 3600);\n",
    sqlite: "",
};

/// Comes before a text that waits until nobody uses the table: whoever comes later waits behind it, so not for long.
/// MySQL waits once more when the rows are copied, which is not given up so easily.
const PATIENCE: PerDialect<&str> =
    PerDialect { postgres: "SET LOCAL lock_timeout = '1s';\n", mysql: "SET lock_wait_timeout = 5;\n", sqlite: "" };

/// How long others are let through and waited for again.
const BOUND: Duration = Duration::from_mins(1);

const PAUSE: Duration = Duration::from_secs(1);

/// The steps that bring the tables of [`ddl`] as a former release has made them to their shape in this one, and keep every
/// row; what [`Idem::migrate`] runs. The releases before this one go on working on them.
///
/// Which of them the table `idem_record` needs, its columns say:
///
/// | it has | steps | PostgreSQL | MySQL, MariaDB | SQLite |
/// | --- | --- | --- | --- | --- |
/// | no `key_until` | all, in their order | the table is locked for a moment, once nobody uses it; a second step looks at the rows while others write | one `ALTER TABLE`, which copies the table and lets nobody write meanwhile | the table is made anew. Run it in one transaction, as sqlx does. An index or a trigger of your own on the table is gone after it, which [`Idem::migrate`] makes again |
/// | `key_until`, no `updated_at` | the last two | the table is locked for a moment, once nobody uses it | the same, since MySQL 8.0.12 and MariaDB 10.3 | for a moment nobody else writes |
/// | `updated_at`, no `begun_writes` | the last one | the same | the same | the same |
///
/// A step that was done before changes nothing: all but the one that looks at the rows fail. A table that is missing is
/// made by [`ddl`], which leaves the others as they are.
#[must_use]
pub fn upgrade(dialect: Dialect) -> Vec<Migration> {
    let [_, _, third, _] = *FORMER.of(dialect);
    let lifetimes = Migration::new("tables", NOTE, *LIFETIMES.of(dialect)).with_result(third);
    let validation = Migration::new("tables_validated", VALIDATION_NOTE, VALIDATION);
    let validation = (dialect == Dialect::Postgres).then_some(validation);
    [lifetimes].into_iter().chain(validation).chain(leases_and_count(dialect)).collect()
}

fn leases_and_count(dialect: Dialect) -> [Migration; 2] {
    let [.., fourth] = *FORMER.of(dialect);
    [Migration::new("tables", NOTE, *LEASES.of(dialect)).with_result(fourth), count(dialect)]
}

fn count(dialect: Dialect) -> Migration {
    Migration::new("tables", NOTE, *COUNT.of(dialect)).with_result(ddl(dialect))
}

const NOTE: &str =
    "The tables of idem, from the shape of a former release. Before this one, which the former one outlives.";
const VALIDATION_NOTE: &str =
    "By itself: in one transaction with the step before, nobody could use the table meanwhile.";

/// The texts of [`ddl`] in former releases, the newest first, and the steps that their tables need.
pub(super) fn former(dialect: Dialect) -> Vec<(Migration, Vec<Migration>)> {
    let [first, second, third, fourth] = FORMER.of(dialect).map(|text| Migration::new("tables", NOTE, text));
    vec![
        (fourth, vec![count(dialect)]),
        (third, leases_and_count(dialect).into()),
        (second, upgrade(dialect)),
        (first, upgrade(dialect)),
    ]
}

/// Makes the tables, or brings them to their current shape. On current ones it only reads.
pub(crate) async fn migrate<DB: SqlDialect>(idem: &Idem<DB>) -> Result<(), Error> {
    let end = Instant::now() + BOUND;
    let mut shape = Shape::read(idem).await?;
    while shape != Shape::Current {
        let stepped = shape.step(idem).await;
        let now = Shape::read(idem).await?;
        match stepped {
            // By us, or by an instance that was faster: the text fails on what it would bring about.
            _ if now != shape => shape = now,
            // The catalogue does not show us the tables.
            Ok(()) => break,
            Err(error) if error.is_retryable() && Instant::now() < end => tokio::time::sleep(PAUSE).await,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl Shape {
    async fn read<DB: SqlDialect>(idem: &Idem<DB>) -> Result<Self, Error> {
        let answer = idem.acquire().await?.ask(raw_sql(*SHAPE.of(DB::DIALECT))).await;
        let row = answer.map_err(Error::statement::<DB>)?.row;
        let shape = row.map(|row| DB::text(&row, "shape")).transpose().map_err(Error::Database)?.flatten();
        Ok(match shape.as_deref() {
            Some("untimed") => Self::Untimed,
            Some("unvalidated") => Self::Unvalidated,
            Some("unleased") => Self::Unleased,
            Some("uncounted") => Self::Uncounted,
            Some("current") => Self::Current,
            _ => Self::Absent,
        })
    }

    /// Makes one step, whole or not at all.
    async fn step<DB: SqlDialect>(self, idem: &Idem<DB>) -> Result<(), Error> {
        let text = self.text(DB::DIALECT);
        if DB::DIALECT == Dialect::Sqlite {
            return self.in_transaction(text, idem).await;
        }
        let mut lent = idem.acquire().await?;
        if DB::DIALECT == Dialect::MySql && self != Self::Absent {
            // What is left of the step, above all its lock, ends with the session, whatever becomes of us.
            lent.distrust();
        }
        lent.ask(raw_sql(AssertSqlSafe(text))).await.map_err(Error::statement::<DB>)?;
        Ok(())
    }

    fn text(self, dialect: Dialect) -> String {
        let (lock, patience) = (LOCK.of(dialect), PATIENCE.of(dialect));
        match self {
            Self::Absent if dialect == Dialect::MySql => ddl(dialect).to_owned(),
            Self::Absent => format!("{lock}{}", ddl(dialect)),
            Self::Untimed => format!("{lock}{patience}{}", LIFETIMES.of(dialect)),
            Self::Unvalidated => format!("{lock}{VALIDATION}"),
            Self::Unleased => format!("{lock}{patience}{}", LEASES.of(dialect)),
            Self::Uncounted => format!("{lock}{patience}{}", COUNT.of(dialect)),
            Self::Current => String::new(),
        }
    }

    /// As the writer from the start, so that the next instance finds what the one before has done.
    async fn in_transaction<DB: SqlDialect>(self, text: String, idem: &Idem<DB>) -> Result<(), Error> {
        let mut tx = idem.open().await?;
        let root = tx.root();
        let own = if self == Self::Untimed { root.ask_rows(raw_sql(OWN)).await } else { Ok(Vec::new()) };
        let own = own.map_err(Error::statement::<DB>)?;
        root.ask(raw_sql(AssertSqlSafe(text))).await.map_err(Error::statement::<DB>)?;
        for row in own {
            let sql = DB::text(&row, "sql").map_err(Error::Database)?.unwrap_or_default();
            root.ask(raw_sql(AssertSqlSafe(sql))).await.map_err(Error::statement::<DB>)?;
        }
        tx.commit().await
    }
}

/// The user's own indexes and triggers on the table, which SQLite drops with it.
const OWN: &str = "\
SELECT sql
  FROM main.sqlite_master
 WHERE tbl_name = 'idem_record' AND type IN ('index', 'trigger') AND sql IS NOT NULL";
