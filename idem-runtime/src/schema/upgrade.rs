//! A table of records that a former release has made: brought to the shape of this one where it stands.

use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, raw_sql};

use super::change::Migration;
use super::ddl;
use crate::dialect::{Dialect, PerDialect, SqlDialect};
use crate::engine::Idem;
use crate::error::Error;

/// What the table is, as the catalogue says. Each step is whole or not made, so that a column stands for its step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Absent,
    Former,
    /// Its rows were not held against its constraints.
    Unvalidated,
    Current,
}

/// The column `shape`. It takes no right but to see the table.
const SHAPE: PerDialect<&str> = PerDialect {
    postgres: "\
SELECT CASE
         WHEN to_regclass('idem_record') IS NULL THEN 'absent'
         WHEN NOT EXISTS (SELECT FROM pg_attribute
                           WHERE attrelid = to_regclass('idem_record') AND attname = 'key_until' AND NOT attisdropped)
         THEN 'former'
         WHEN EXISTS (SELECT FROM pg_constraint
                       WHERE conrelid = to_regclass('idem_record') AND NOT convalidated
                         AND conname IN ('idem_record_status', 'idem_record_answer'))
         THEN 'unvalidated'
         ELSE 'current'
       END AS shape",
    mysql: "\
SELECT CASE WHEN COUNT(*) = 0 THEN 'absent' WHEN SUM(column_name = 'key_until') = 0 THEN 'former' ELSE 'current' END AS shape
  FROM information_schema.columns
 WHERE table_schema = DATABASE() AND table_name = 'idem_record'",
    sqlite: "\
SELECT CASE WHEN COUNT(*) = 0 THEN 'absent' WHEN SUM(name = 'key_until') = 0 THEN 'former' ELSE 'current' END AS shape
  FROM pragma_table_info('idem_record', 'main')",
};

/// The texts of former releases, as they may stand in a user's files.
const FORMER: PerDialect<[&str; 2]> = PerDialect {
    postgres: [include_str!("former/1_postgres.sql"), include_str!("former/2_postgres.sql")],
    mysql: [include_str!("former/1_mysql.sql"), include_str!("former/2_mysql.sql")],
    sqlite: [include_str!("former/1_sqlite.sql"), include_str!("former/2_sqlite.sql")],
};

const UPGRADE: PerDialect<&str> = PerDialect {
    postgres: include_str!("upgrade/postgres.sql"),
    mysql: include_str!("upgrade/mysql.sql"),
    sqlite: include_str!("upgrade/sqlite.sql"),
};

const VALIDATION: &str = include_str!("upgrade/postgres_validated.sql");

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

/// The steps that bring the table of [`ddl`] as a former release has made it to its shape in this one, whichever former
/// release that is, and keep every row; what [`Idem::migrate`] runs. A release before this one goes on working on it.
///
/// On a table that is in its current shape they fail, and change nothing.
///
/// | | what happens |
/// | --- | --- |
/// | PostgreSQL | the table is locked for a moment, once nobody uses it; a second step looks at the rows while others write |
/// | MySQL, MariaDB | one `ALTER TABLE`, which copies the table and lets nobody write meanwhile |
/// | SQLite | the table is made anew. Run it in one transaction, as sqlx does. An index or a trigger of your own on the table is gone after it, which [`Idem::migrate`] makes again |
#[must_use]
pub fn upgrade(dialect: Dialect) -> Vec<Migration> {
    let tables = Migration::new("tables", NOTE, *UPGRADE.of(dialect)).with_result(ddl(dialect));
    let validation = Migration::new("tables_validated", VALIDATION_NOTE, VALIDATION);
    [tables].into_iter().chain((dialect == Dialect::Postgres).then_some(validation)).collect()
}

const NOTE: &str =
    "The tables of idem, from the shape of a former release. Before this one, which the former one outlives.";
const VALIDATION_NOTE: &str =
    "By itself: in one transaction with the step before, nobody could use the table meanwhile.";

/// The texts of [`ddl`] in former releases.
pub(super) const fn former(dialect: Dialect) -> &'static [&'static str] {
    FORMER.of(dialect)
}

/// Makes the table, or brings it to its current shape. On a current one it only reads.
pub(crate) async fn migrate<DB: SqlDialect>(idem: &Idem<DB>) -> Result<(), Error> {
    let end = Instant::now() + BOUND;
    let mut shape = Shape::read(idem).await?;
    while shape != Shape::Current {
        let stepped = shape.step(idem).await;
        let now = Shape::read(idem).await?;
        match stepped {
            // By us, or by an instance that was faster: the text fails on what it would bring about.
            _ if now != shape => shape = now,
            // The catalogue does not show us the table.
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
            Some("former") => Self::Former,
            Some("unvalidated") => Self::Unvalidated,
            Some("current") => Self::Current,
            _ => Self::Absent,
        })
    }

    /// Makes one step, whole or not at all.
    async fn step<DB: SqlDialect>(self, idem: &Idem<DB>) -> Result<(), Error> {
        let text = self.text(DB::DIALECT);
        if DB::DIALECT == Dialect::Sqlite {
            return in_transaction(idem, text).await;
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
            Self::Former => format!("{lock}{patience}{}", UPGRADE.of(dialect)),
            Self::Unvalidated => format!("{lock}{VALIDATION}"),
            Self::Current => String::new(),
        }
    }
}

/// The user's own indexes and triggers on the table, which SQLite drops with it.
const OWN: &str = "\
SELECT sql
  FROM main.sqlite_master
 WHERE tbl_name = 'idem_record' AND type IN ('index', 'trigger') AND sql IS NOT NULL";

/// As the writer from the start, so that the next instance finds what the one before has done.
async fn in_transaction<DB: SqlDialect>(idem: &Idem<DB>, text: String) -> Result<(), Error> {
    let mut tx = idem.open().await?;
    let root = tx.root();
    let own = root.ask_rows(raw_sql(OWN)).await.map_err(Error::statement::<DB>)?;
    root.ask(raw_sql(AssertSqlSafe(text))).await.map_err(Error::statement::<DB>)?;
    for row in own {
        let sql = DB::text(&row, "sql").map_err(Error::Database)?.unwrap_or_default();
        root.ask(raw_sql(AssertSqlSafe(sql))).await.map_err(Error::statement::<DB>)?;
    }
    tx.commit().await
}
