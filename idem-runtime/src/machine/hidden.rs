//! A row that is in the way and that no reading finds: a unique index of PostgreSQL holds what an older snapshot of the
//! transaction does not show.

use super::StateMachine;
use super::fire::line::Line;
use super::names::{index_name, without_schema};
use crate::dialect::{Dialect, SqlDialect};
use crate::error::{Error, TransitionError};

/// Tells whether the transaction keeps its first snapshot; with the name of an index, only of one of a primary key.
const KEEPS_SNAPSHOT: &str = "\
SELECT 1 AS keeps
 WHERE current_setting('transaction_isolation') IN ('repeatable read', 'serializable')
   AND ($1::text = '' OR EXISTS (
         SELECT
           FROM pg_index
           JOIN pg_class ON pg_class.oid = pg_index.indexrelid
          WHERE pg_index.indisprimary AND pg_class.relname = $1::text))";

/// What a collision means that nothing explains: with a row that a rival has committed since the transaction's snapshot,
/// to run the transaction again. An index of the user's own is told as the database tells it, however often it is met.
pub(super) async fn unexplained<M, DB>(collision: sqlx::Error, line: &mut Line<'_, DB>) -> TransitionError
where
    M: StateMachine,
    DB: SqlDialect,
{
    let Some(index) = index_to_ask_for::<M, DB>(&collision).filter(|_| line.is_in_callers()) else {
        return TransitionError::Database(collision);
    };
    match keeps_snapshot(index, line).await {
        Ok(false) => TransitionError::Database(collision),
        Ok(true) => Error::Retry(collision).into(),
        Err(error) => Error::statement::<DB>(error).into(),
    }
}

async fn keeps_snapshot<DB: SqlDialect>(index: String, line: &mut Line<'_, DB>) -> Result<bool, sqlx::Error> {
    let mut arguments = DB::Arguments::default();
    DB::bind(&mut arguments, &index).map_err(sqlx::Error::Encode)?;
    Ok(line.ask((KEEPS_SNAPSHOT, Some(arguments))).await?.row.is_some())
}

/// The index that may be the primary key's; empty for one that is known to be the machine's own.
fn index_to_ask_for<M: StateMachine, DB: SqlDialect>(collision: &sqlx::Error) -> Option<String> {
    let error = collision.as_database_error().filter(|_| DB::DIALECT == Dialect::Postgres)?;
    let (table, index) = (error.table()?, error.constraint()?);
    if M::SPEC.columns.history.map(without_schema) == Some(table) || is_of_a_rule::<M>(index) {
        return Some(String::new());
    }
    (table == without_schema(M::TABLE)).then(|| index.to_owned())
}

fn is_of_a_rule<M: StateMachine>(index: &str) -> bool {
    let rules = M::SQL.unique_while.map_or(&[][..], |rules| rules.names);
    rules.iter().any(|rule| index_name(M::TABLE, rule) == index)
}
