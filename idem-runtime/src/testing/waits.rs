//! Who waits for somebody else's lock: the database says so.

use sqlx::{AssertSqlSafe, SqlSafeStr as _};

use crate::dialect::{Dialect, SqlDialect};
use crate::engine::Idem;
use crate::error::Error;

/// The number of the session that a caller's only connection is to the server.
///
/// SQLite cannot be asked who waits. Writers wait in the engine's queue, which is seen; what goes past it is answered
/// soon, as busy.
pub(super) async fn session<DB: SqlDialect>(caller: &Idem<DB>) -> Result<i64, Error> {
    let (ask, column) = match DB::DIALECT {
        Dialect::Postgres => ("SELECT pg_backend_pid() AS id", "id"),
        Dialect::MySql => ("SELECT CONNECTION_ID() AS id", "id"),
        Dialect::Sqlite => ("PRAGMA busy_timeout = 250", "timeout"),
    };
    let answer = caller.acquire().await?.ask(ask).await.map_err(Error::Database)?;
    let id = answer.row.map_or(Ok(None), |row| DB::integer(&row, column)).map_err(Error::Database)?;
    id.ok_or(Error::Database(sqlx::Error::RowNotFound))
}

/// Those of the sessions that wait for a lock now.
pub(super) async fn waiting<DB: SqlDialect>(idem: &Idem<DB>, sessions: &[i64]) -> Result<Vec<i64>, Error> {
    let ask = match DB::DIALECT {
        Dialect::Postgres => of_postgres(sessions),
        // The tables of `information_schema` hold what was true when somebody asked, up to 100 ms ago.
        Dialect::MySql => "SHOW ENGINE INNODB STATUS".to_owned(),
        Dialect::Sqlite => return Ok(Vec::new()),
    };
    let rows = idem.acquire().await?.rows(AssertSqlSafe(ask).into_sql_str()).await.map_err(Error::Database)?;
    if DB::DIALECT == Dialect::Postgres {
        let ids = rows.iter().map(|row| Ok(DB::integer(row, "id")?.unwrap_or_default()));
        return ids.collect::<Result<_, _>>().map_err(Error::Database);
    }
    let status = rows.first().map_or(Ok(None), |row| DB::text(row, "Status")).map_err(Error::Database)?;
    let status = status.unwrap_or_default();
    Ok(sessions.iter().copied().filter(|session| waits_in(&status, *session)).collect())
}

fn of_postgres(sessions: &[i64]) -> String {
    let ids = sessions.iter().map(|id| format!("({id})")).collect::<Vec<_>>().join(", ");
    format!("SELECT id FROM (VALUES {ids}) AS session (id) WHERE cardinality(pg_blocking_pids(id)) > 0")
}

/// Whether `InnoDB`'s status shows that a transaction of the session waits. What stands before the first transaction are
/// older events, such as the latest deadlock.
fn waits_in(status: &str, session: i64) -> bool {
    let thread = format!("thread id {session},");
    let transactions = status.split("---TRANSACTION").skip(1);
    transactions.into_iter().any(|text| text.contains("LOCK WAIT") && text.contains(&thread))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "
LATEST DETECTED DEADLOCK
*** (1) TRANSACTION:
LOCK WAIT 2 lock struct(s), heap size 1128, 1 row lock(s)
MariaDB thread id 3, OS thread handle 140, query id 9 localhost idem Updating
TRANSACTIONS
---TRANSACTION 72, ACTIVE 0 sec starting index read
mysql tables in use 1, locked 1
LOCK WAIT 2 lock struct(s), heap size 1128, 1 row lock(s)
MariaDB thread id 45, OS thread handle 140, query id 11 localhost idem Updating
UPDATE orders SET status = 'paid'
---TRANSACTION 71, ACTIVE 0 sec
2 lock struct(s), heap size 1128, 1 row lock(s), undo log entries 1
MySQL thread id 4, OS thread handle 140, query id 10 localhost idem
";

    #[test]
    fn status_of_innodb() {
        let waiting: Vec<_> = [3, 4, 5, 45].into_iter().filter(|session| waits_in(STATUS, *session)).collect();
        assert_eq!(waiting, [45]);
    }
}
