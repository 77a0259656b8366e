//! `check_sql`: whether the live schema is the one that the statements are for.

mod catalogue;
mod report;
mod subject;
mod table;

use std::future::IntoFuture;

use futures_core::future::BoxFuture;
use sqlx::{AssertSqlSafe, SqlSafeStr as _};

use crate::dialect::{Dialect, SqlDialect};
use crate::engine::Idem;
use crate::error::Error;
use crate::machine::StateMachine;
use crate::schema;
use crate::tx::Lent;

use catalogue::Table;
pub use report::{Finding, Report};
use subject::Subject;

impl<DB: SqlDialect> Idem<DB> {
    /// Compares what a machine's statements and those of the records ask for with the schema as it is: prepares every
    /// statement, and looks into the catalogue for what a statement that prepares does not show.
    ///
    /// It is a future; [`and`](CheckSql::and) adds machines. Nothing is changed. One line in a test of your own:
    ///
    /// ```no_run
    /// # use idem_runtime::prelude::*;
    /// # #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
    /// # #[machine(table = "orders", id(order_id: i64), history)]
    /// # #[transition(pay: Pending => Paid, set(trade_no: String))]
    /// # pub enum OrderStatus { #[state(initial)] Pending, #[state(terminal)] Paid }
    /// # #[cfg(feature = "sqlite")]
    /// # async fn the_schema_fits(idem: Idem<sqlx::Sqlite>) -> Result<(), Box<dyn std::error::Error>> {
    /// idem.check_sql::<OrderStatus>().await?.into_result()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// | found | where it comes from |
    /// | --- | --- |
    /// | a table or a column that is not there, with the event's field that it is for, or `Idem::migrate`, which makes it | catalogue |
    /// | the status column: nullable, too short for a state, without an enum label, or rows with a value that is no state | catalogue, one query over the table |
    /// | the version column: nullable or no integer | catalogue |
    /// | no unique index on exactly the identifier; none on the history's (id, version) and (id, event, cause) | catalogue |
    /// | no unique index for a rule `#[unique_while(..)]`, by its name; none for the causes of creations | catalogue |
    /// | causes that do not compare as bytes, or are cut off | catalogue |
    /// | a field's type that its column does not take | PostgreSQL, for the standard types |
    /// | anything else that the server refuses to prepare | the server |
    pub fn check_sql<M: StateMachine>(&self) -> CheckSql<DB> {
        CheckSql { idem: self.clone(), subjects: vec![Subject::of::<M>(DB::DIALECT)] }
    }
}

/// A check under way: what it gives is a [`Report`].
#[must_use = "nothing is checked until it is awaited"]
#[derive(Debug)]
pub struct CheckSql<DB: SqlDialect> {
    idem: Idem<DB>,
    subjects: Vec<Subject>,
}

impl<DB: SqlDialect> CheckSql<DB> {
    /// Checks another machine as well.
    pub fn and<M: StateMachine>(mut self) -> Self {
        self.subjects.push(Subject::of::<M>(DB::DIALECT));
        self
    }

    async fn run(self) -> Result<Report, Error> {
        let mut lent = self.idem.acquire().await?;
        // The driver answers for what it has prepared before without asking the server.
        lent.forget_statements().await.map_err(Error::Database)?;
        let mut report = Report::default();
        check_records(&mut lent, &mut report).await.map_err(Error::Database)?;
        for subject in &self.subjects {
            check_machine(subject, &mut lent, &mut report).await.map_err(Error::Database)?;
        }
        lent.forget_statements().await.map_err(Error::Database)?;
        Ok(report)
    }
}

impl<DB: SqlDialect> IntoFuture for CheckSql<DB> {
    type Output = Result<Report, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// The tables and the statements of idempotent functions.
async fn check_records<DB: SqlDialect>(lent: &mut Lent<DB>, report: &mut Report) -> Result<(), sqlx::Error> {
    let missing = report.missing();
    let record = expect_table(lent, "idem_record", &RECORD, report).await?;
    for (name, columns) in BESIDE {
        expect_table(lent, name, columns, report).await?;
    }
    if let Some(false) = record.map(|table| table.is_unique(&["scope", "key"])) {
        report.add("records", "`idem_record` has no unique index on (scope, key): a key would run twice".to_owned());
    }
    if report.missing() > missing {
        report.skip("records", "their statements were not prepared, since something that they name does not exist");
        return Ok(());
    }
    for (name, sql) in schema::statements(DB::DIALECT) {
        if let Some(fault) = prepare(lent, sql, &[]).await? {
            report.add(&format!("records, statement {name}"), fault);
        }
    }
    Ok(())
}

/// The columns of `idem_record`.
const RECORD: [&str; 16] = [
    "scope",
    "key",
    "status",
    "fingerprint",
    "result",
    "result_type",
    "owner",
    "created_at",
    "completed_at",
    "result_until",
    "key_until",
    "attempt",
    "lease_until",
    "begun",
    "updated_at",
    "begun_writes",
];

/// The other tables of idem's own, and their columns.
const BESIDE: [(&str, &[&str]); 3] = [
    ("idem_audit", &["id", "at", "actor", "action", "reason", "scope", "key", "record", "result"]),
    ("idem_token", &["hash", "purpose", "subject", "created_at", "expires_at", "used_at", "used_by"]),
    ("idem_lease", &["name", "owner", "token", "lease_until", "updated_at"]),
];

/// A table of idem's own. One of a former release has not all columns.
async fn expect_table<DB: SqlDialect>(
    lent: &mut Lent<DB>,
    name: &'static str,
    columns: &[&str],
    report: &mut Report,
) -> Result<Option<Table>, sqlx::Error> {
    let table = Table::read(lent, name).await?;
    let Some(found) = &table else {
        report.add_missing("records", &format!("table `{name}`, made by `Idem::migrate`,"));
        return Ok(None);
    };
    for column in columns.iter().filter(|column| found.column(column).is_none()) {
        report.add_missing("records", &format!("column `{column}` of `{name}`, made by `Idem::migrate`,"));
    }
    Ok(table)
}

async fn check_machine<DB: SqlDialect>(
    subject: &Subject,
    lent: &mut Lent<DB>,
    report: &mut Report,
) -> Result<(), sqlx::Error> {
    let missing = report.missing();
    let Some(rows) = Table::read(lent, subject.table).await? else {
        report.add_missing(subject.name, &format!("table `{}`", subject.table));
        return Ok(());
    };
    let entries = match subject.columns.history {
        Some(history) => Table::read(lent, history).await?,
        None => None,
    };
    table::check_rows(subject, &rows, report);
    table::check_history(subject, entries.as_ref(), report);
    table::check_rules(subject, &rows, entries.as_ref(), report);
    // Where a column is missing, each statement would say so once more.
    if report.missing() > missing {
        report.skip(subject.name, "its statements were not prepared, since something that they name does not exist");
        return Ok(());
    }
    check_statements(subject, lent, report).await?;
    check_values(subject, lent, report).await
}

async fn check_statements<DB: SqlDialect>(
    subject: &Subject,
    lent: &mut Lent<DB>,
    report: &mut Report,
) -> Result<(), sqlx::Error> {
    for statement in &subject.statements {
        let types: Vec<_> = subject.parameters(statement).map(DB::parameter_type).collect();
        if let Some(fault) = prepare(lent, statement.sql, &types).await? {
            report.add_once(&statement.item(subject, &fault), fault);
        }
    }
    for (item, rust) in subject.fields() {
        if DB::DIALECT != Dialect::Postgres || !DB::knows_type(rust) {
            report.skip(&item, &format!("whether its column takes `{rust}`"));
        }
    }
    Ok(())
}

/// What the server says against a statement.
async fn prepare<DB: SqlDialect>(
    lent: &mut Lent<DB>,
    sql: &'static str,
    types: &[DB::TypeInfo],
) -> Result<Option<String>, sqlx::Error> {
    match lent.watch(async |it| DB::prepare_with(it, AssertSqlSafe(sql).into_sql_str(), types).await).await {
        Ok(_) => Ok(None),
        Err(sqlx::Error::Database(error)) => Ok(Some(error.message().to_owned())),
        Err(error) => Err(error),
    }
}

/// Values of the status column that no state describes.
async fn check_values<DB: SqlDialect>(
    subject: &Subject,
    lent: &mut Lent<DB>,
    report: &mut Report,
) -> Result<(), sqlx::Error> {
    let item = subject.status_item();
    let rows = match lent.rows(sqlx::raw_sql(subject.unknown_values)).await {
        Ok(rows) => rows,
        // The column is not of a type that could be compared, which was found before, or may not be read.
        Err(sqlx::Error::Database(error)) => {
            report.skip(&item, &format!("what its rows hold: {}", error.message()));
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    for row in rows {
        let (value, held) = (DB::text(&row, "status")?, DB::integer(&row, "held")?.unwrap_or_default());
        let value = value.map_or_else(|| "NULL".to_owned(), |value| format!("{value:?}"));
        report.add(&item, format!("{held} rows hold {value}, which is no state"));
    }
    Ok(())
}
