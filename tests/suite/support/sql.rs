//! One text of a statement for all engines.

use idem_runtime::__private::Binds;
use idem_runtime::Dialect;
use sqlx::{AssertSqlSafe, Executor};

use super::Engine;

/// A statement with its arguments; `?` stands for each of them on every engine.
pub(crate) struct Sql<DB: Engine> {
    text: String,
    arguments: DB::Arguments,
}

/// Begins a statement.
pub(crate) fn sql<DB: Engine>(text: &str) -> Sql<DB> {
    Sql { text: text.to_owned(), arguments: DB::Arguments::default() }
}

impl<DB: Engine> Sql<DB> {
    /// Binds the next argument.
    #[expect(clippy::needless_pass_by_value, reason = "reads like sqlx's own `bind`")]
    pub(crate) fn bind<T>(mut self, value: T) -> Self
    where
        DB: Binds<T>,
    {
        DB::bind(&mut self.arguments, &value).expect("a test binds what can be encoded");
        self
    }

    /// Runs it; gives the number of rows that it affected.
    pub(crate) async fn execute<'c>(self, executor: impl Executor<'c, Database = DB>) -> Result<u64, sqlx::Error> {
        let text = AssertSqlSafe(with_placeholders::<DB>(&self.text));
        let done = sqlx::query_with(text, self.arguments).execute(executor).await?;
        Ok(DB::affected(&done))
    }

    /// Runs it; gives its rows as text, `NULL` for no value.
    pub(crate) async fn rows<'c>(
        self,
        executor: impl Executor<'c, Database = DB>,
    ) -> Result<Vec<Vec<String>>, sqlx::Error> {
        let text = AssertSqlSafe(with_placeholders::<DB>(&self.text));
        let rows = sqlx::query_with(text, self.arguments).fetch_all(executor).await?;
        Ok(rows.iter().map(DB::cells).collect())
    }
}

/// PostgreSQL numbers its placeholders.
fn with_placeholders<DB: Engine>(text: &str) -> String {
    if DB::DIALECT != Dialect::Postgres {
        return text.to_owned();
    }
    let mut parts = text.split('?');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.enumerate().fold(first, |text, (index, part)| format!("{text}${}{part}", index + 1))
}
