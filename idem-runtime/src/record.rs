//! The record of one idempotent call: claimed, read, completed.

use crate::dialect::{Class, Dialect, Leaves, PerDialect, SqlDialect};
use crate::error::Error;
use crate::tx::{Lent, Root};

/// How long a claim waits for a rival that is still running. The texts for MySQL repeat it, since they are static.
pub(crate) const WAIT_MS: i64 = 2_000;

/// The statements on `idem_record`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordSql {
    pub(crate) claim: &'static str,
    pub(crate) read: &'static str,
    pub(crate) complete: &'static str,
    pub(crate) fail: &'static str,
    pub(crate) doubt: &'static str,
}

pub(crate) const SQL: PerDialect<RecordSql> = PerDialect {
    // The lock timeout holds for the claim only and not for the body. A record that a rival committed while this
    // statement waited is not in its snapshot: then it gives neither a claim nor a record.
    postgres: RecordSql {
        claim: "\
WITH patience AS MATERIALIZED (
  SELECT current_setting('lock_timeout') AS before, set_config('lock_timeout', $5::text, TRUE) AS now
), claimed AS (
  INSERT INTO idem_record (scope, key, status, fingerprint, owner, created_at)
  SELECT $1, $2, 1, $3, $4, clock_timestamp()
    FROM patience
  ON CONFLICT (scope, key) DO NOTHING
  RETURNING 1 AS claimed
)
SELECT claimed.claimed AS claimed, seen.status AS status, seen.fingerprint AS fingerprint, seen.result AS result,
       set_config('lock_timeout', patience.before, TRUE) AS lock_timeout
  FROM patience
  LEFT JOIN claimed ON TRUE
  LEFT JOIN idem_record AS seen ON seen.scope = $1 AND seen.key = $2",
        read: "\
SELECT status, fingerprint, result
  FROM idem_record
 WHERE scope = $1 AND key = $2",
        complete: "\
UPDATE idem_record
   SET status = 2, result = $1, completed_at = clock_timestamp()
 WHERE scope = $2 AND key = $3 AND owner = $4 AND status = 1",
        fail: "\
UPDATE idem_record
   SET status = 3, result = $1, completed_at = clock_timestamp()
 WHERE scope = $2 AND key = $3 AND owner = $4 AND status = 1",
        doubt: "\
INSERT INTO idem_record (scope, key, status, fingerprint, owner, created_at)
VALUES ($1, $2, 4, $3, $4, clock_timestamp())
ON CONFLICT (scope, key) DO UPDATE
   SET status = 4, result = NULL, completed_at = NULL
 WHERE idem_record.owner = excluded.owner",
    },
    // MariaDB runs what stands inside the comment; on MySQL the wait is the server's `innodb_lock_wait_timeout`.
    mysql: RecordSql {
        claim: "\
/*M! SET STATEMENT innodb_lock_wait_timeout = 2 FOR */
INSERT INTO idem_record (scope, `key`, status, fingerprint, owner, created_at)
VALUES (?, ?, 1, ?, ?, NOW(6))",
        read: "\
SELECT status, fingerprint, result
  FROM idem_record
 WHERE scope = ? AND `key` = ?
  LOCK IN SHARE MODE",
        complete: "\
UPDATE idem_record
   SET status = 2, result = ?, completed_at = NOW(6)
 WHERE scope = ? AND `key` = ? AND owner = ? AND status = 1",
        fail: "\
UPDATE idem_record
   SET status = 3, result = ?, completed_at = NOW(6)
 WHERE scope = ? AND `key` = ? AND owner = ? AND status = 1",
        doubt: "\
INSERT INTO idem_record (scope, `key`, status, fingerprint, owner, created_at)
VALUES (?, ?, 4, ?, ?, NOW(6))
ON DUPLICATE KEY UPDATE
       status = IF(owner = VALUES(owner), 4, status),
       result = IF(owner = VALUES(owner), NULL, result),
       completed_at = IF(owner = VALUES(owner), NULL, completed_at)",
    },
    sqlite: RecordSql {
        claim: "\
INSERT INTO idem_record (scope, key, status, fingerprint, owner, created_at)
VALUES (?1, ?2, 1, ?3, ?4, strftime('%Y-%m-%d %H:%M:%f', 'now'))
ON CONFLICT (scope, key) DO NOTHING
RETURNING 1 AS claimed",
        read: "\
SELECT status, fingerprint, result
  FROM idem_record
 WHERE scope = ?1 AND key = ?2",
        complete: "\
UPDATE idem_record
   SET status = 2, result = ?1, completed_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
 WHERE scope = ?2 AND key = ?3 AND owner = ?4 AND status = 1",
        fail: "\
UPDATE idem_record
   SET status = 3, result = ?1, completed_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
 WHERE scope = ?2 AND key = ?3 AND owner = ?4 AND status = 1",
        doubt: "\
INSERT INTO idem_record (scope, key, status, fingerprint, owner, created_at)
VALUES (?1, ?2, 4, ?3, ?4, strftime('%Y-%m-%d %H:%M:%f', 'now'))
ON CONFLICT (scope, key) DO UPDATE
   SET status = 4, result = NULL, completed_at = NULL
 WHERE idem_record.owner = excluded.owner",
    },
};

/// Which record, whose, and what for.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    pub(crate) scope: &'static str,
    pub(crate) key: String,
    pub(crate) fingerprint: String,
    pub(crate) owner: String,
}

/// A record as it was found.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) status: i64,
    pub(crate) fingerprint: String,
    pub(crate) result: Option<String>,
}

/// An answer as it is stored.
#[derive(Debug)]
pub(crate) enum Stored {
    /// A result.
    Completed(String),
    /// An error that is final.
    Failed(String),
}

impl Stored {
    /// Fails for an answer that could not be stored whole, before the database is asked to.
    pub(crate) async fn fit<DB: SqlDialect>(&self, root: &mut Root<DB>) -> Result<(), Error> {
        let (Self::Completed(text) | Self::Failed(text)) = self;
        let (bytes, mut limit) = (text.len(), root.result_limit);
        if DB::DIALECT == Dialect::MySql && bytes > SMALL && bytes <= limit {
            limit = limit.min(packet(root).await.map_err(Error::statement::<DB>)?);
        }
        if bytes > limit { Err(Error::ResultTooLarge { bytes, limit }) } else { Ok(()) }
    }
}

/// No server is set to take less in one packet.
const SMALL: usize = 512 * 1024;

/// What stands beside the answer in the packet that stores it.
const BESIDE: i64 = 1024;

/// The most bytes of an answer that MySQL takes. It closes the connection on a packet that is larger, as if it were lost.
async fn packet<DB: SqlDialect>(root: &mut Root<DB>) -> Result<usize, sqlx::Error> {
    let answer = root.ask("SELECT @@max_allowed_packet AS packet").await?;
    let packet = answer.row.as_ref().map(|row| DB::integer(row, "packet")).transpose()?.flatten();
    Ok(packet.map_or(usize::MAX, |packet| usize::try_from(packet - BESIDE).unwrap_or_default()))
}

/// How a try to claim ended.
#[derive(Debug)]
pub(crate) enum Claimed {
    Ours,
    Theirs(Record),
    /// A rival was in the way and is gone: its transaction was rolled back, or its record removed.
    Nobodys,
    /// A rival was in the way for as long as we may wait.
    Waited,
}

impl Claim {
    /// Writes the record, or finds the one that is there.
    pub(crate) async fn make<DB: SqlDialect>(&self, root: &mut Root<DB>) -> Result<Claimed, sqlx::Error> {
        let answer = match root.ask(self.claim_query::<DB>()?).await {
            Ok(answer) => answer,
            Err(error) => return self.not_claimed(error, root).await,
        };
        match DB::DIALECT {
            Dialect::Postgres => match &answer.row {
                Some(row) if DB::integer(row, "claimed")?.is_some() => Ok(Claimed::Ours),
                Some(row) if DB::integer(row, "status")?.is_some() => Ok(Claimed::Theirs(Record::of::<DB>(row)?)),
                _ => self.read(root).await,
            },
            Dialect::Sqlite if answer.row.is_none() => self.read(root).await,
            _ => Ok(Claimed::Ours),
        }
    }

    /// A duplicate is read; a lock that was not granted is no error of the call, and nothing was written.
    async fn not_claimed<DB: SqlDialect>(
        &self,
        error: sqlx::Error,
        root: &mut Root<DB>,
    ) -> Result<Claimed, sqlx::Error> {
        match DB::classify(&error) {
            Class::Duplicate if DB::leaves(&error) == Leaves::Transaction => self.read(root).await,
            Class::LockTimeout => Ok(Claimed::Waited),
            _ => Err(error),
        }
    }

    async fn read<DB: SqlDialect>(&self, root: &mut Root<DB>) -> Result<Claimed, sqlx::Error> {
        let query = (SQL.of(DB::DIALECT).read, Some(texts::<DB>(&[self.scope, &self.key])?));
        match root.ask(query).await?.row {
            Some(row) => Ok(Claimed::Theirs(Record::of::<DB>(&row)?)),
            None => Ok(Claimed::Nobodys),
        }
    }

    /// Stores the answer. It is the last statement, and the fence: no row means that this is not our transaction.
    pub(crate) async fn complete<DB: SqlDialect>(&self, answer: &Stored, root: &mut Root<DB>) -> Result<(), Error> {
        let sql = SQL.of(DB::DIALECT);
        let (sql, text) = match answer {
            Stored::Completed(text) => (sql.complete, text),
            Stored::Failed(text) => (sql.fail, text),
        };
        let arguments = texts::<DB>(&[text, self.scope, &self.key, &self.owner]).map_err(Error::Database)?;
        let answer = root.ask((sql, Some(arguments))).await.map_err(Error::statement::<DB>)?;
        if answer.rows_affected() == 1 { Ok(()) } else { Err(Error::Indeterminate) }
    }

    /// Marks a record that a statement of the body committed before its time, or writes the one that it took away.
    pub(crate) async fn doubt<DB: SqlDialect>(&self, lent: &mut Lent<DB>) -> Result<(), sqlx::Error> {
        let query =
            (SQL.of(DB::DIALECT).doubt, Some(texts::<DB>(&[self.scope, &self.key, &self.fingerprint, &self.owner])?));
        lent.ask(query).await.map(drop)
    }

    fn claim_query<DB: SqlDialect>(&self) -> Result<(&'static str, Option<DB::Arguments>), sqlx::Error> {
        let mut arguments = texts::<DB>(&[self.scope, &self.key, &self.fingerprint, &self.owner])?;
        if DB::DIALECT == Dialect::Postgres {
            DB::bind(&mut arguments, &WAIT_MS.to_string()).map_err(sqlx::Error::Encode)?;
        }
        Ok((SQL.of(DB::DIALECT).claim, Some(arguments)))
    }
}

impl Record {
    fn of<DB: SqlDialect>(row: &DB::Row) -> Result<Self, sqlx::Error> {
        Ok(Self {
            status: DB::integer(row, "status")?.unwrap_or_default(),
            fingerprint: DB::text(row, "fingerprint")?.unwrap_or_default(),
            result: DB::text(row, "result")?,
        })
    }
}

fn texts<DB: SqlDialect>(values: &[&str]) -> Result<DB::Arguments, sqlx::Error> {
    let mut arguments = DB::Arguments::default();
    for value in values {
        DB::bind(&mut arguments, &(*value).to_owned()).map_err(sqlx::Error::Encode)?;
    }
    Ok(arguments)
}
