//! The guard: which one the database has, and how its refusals are told.

use super::StateMachine;
use crate::dialect::SqlDialect;
use crate::engine::Idem;
use crate::error::Error;

/// The guard of a machine's table: triggers that refuse every status that no declared transition leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuardSql {
    /// The guard's own name, `orders_status_guard_1a2b3c4d`: the hash is that of the transition table and the stored
    /// values.
    pub name: &'static str,
    /// Installs it in place of whatever guard the table had: several statements, separated by semicolons.
    pub install: &'static str,
    /// Removes it.
    pub remove: &'static str,
    /// Tells by the column `guard`, in one row, whether it is `missing`, `outdated` or `installed`.
    pub find: &'static str,
}

/// Which guard a table has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// None, or one of which a trigger is missing or disabled.
    Missing,
    /// One of other transitions or stored values than this program's: that of a release before or after. A warning, not
    /// an error: releases go on meanwhile.
    Outdated,
    /// That of this program's transitions.
    Installed,
}

/// What a guard refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardRefusal {
    /// The name of the guard that is installed, `orders_status_guard_1a2b3c4d`.
    pub guard: String,
    /// What it did not take.
    pub refused: Refused,
}

/// What a guard does not take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// An UPDATE to a status that no declared transition leads to.
    Transition,
    /// An INSERT of a row that is not in the initial state.
    Insert,
}

/// What the guard refused, if it is the guard's error: SQLSTATE `ID001` of PostgreSQL, error 45001 of MySQL and MariaDB,
/// a failed trigger of SQLite.
///
/// For statements of one's own, such as an `UPDATE` in a script. A transition of idem that meets a guard answers
/// [`TransitionError::Guarded`](crate::TransitionError::Guarded).
#[must_use]
pub fn guard_refusal(error: &sqlx::Error) -> Option<GuardRefusal> {
    let error = error.as_database_error()?;
    // PostgreSQL and MySQL say the SQLSTATE, SQLite its own number.
    if !matches!(error.code().as_deref(), Some("ID001" | "45000" | "1811")) {
        return None;
    }
    let (guard, refused) = error.message().strip_prefix("idem guard ")?.rsplit_once(": ")?;
    let refused = match refused {
        "undeclared transition" => Refused::Transition,
        "not an initial state" => Refused::Insert,
        _ => return None,
    };
    Some(GuardRefusal { guard: guard.to_owned(), refused })
}

impl<DB: SqlDialect> Idem<DB> {
    /// Whether the table of a machine has the guard of this program's transitions.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub async fn guard<M: StateMachine>(&self) -> Result<Guard, Error> {
        let answer = self.acquire().await?.ask(M::SQL.guard.of(DB::DIALECT).find).await;
        let row = answer.map_err(Error::statement::<DB>)?.row;
        let word = row.map(|row| DB::text(&row, "guard")).transpose().map_err(Error::Database)?.flatten();
        Ok(match word.as_deref() {
            Some("installed") => Guard::Installed,
            Some("outdated") => Guard::Outdated,
            _ => Guard::Missing,
        })
    }
}
