//! The records of many calls at once. Their keys and answers are one parameter, a list in JSON, so that the text does not
//! depend on their number; `nth` tells the rows of the answer apart.

use std::time::Duration;

use sqlx::SqlStr;

use super::{Claim, Claimed, Ending, Query, Record, SQL, bind, fit, sql};
use crate::dialect::{Class, Dialect, SqlDialect};
use crate::error::Error;
use crate::tx::{Lent, Root};

/// Writes the records that are not there, in the order of the claims, and finds the others. None when a rival was in the
/// way of one of them for as long as we may wait. The claims are of one scope and one owner, sorted by key: then two
/// batches never wait for one another.
pub(crate) async fn claim_all<DB: SqlDialect>(
    claims: &[&Claim],
    wait: Duration,
    root: &mut Root<DB>,
) -> Result<Option<Vec<Claimed>>, sqlx::Error> {
    let Some(first) = claims.first() else { return Ok(Some(Vec::new())) };
    let mut found: Vec<_> = claims.iter().map(|_| Claimed::Nobodys).collect();
    match root.ask_rows(claim_query::<DB>(first, claims, wait)?).await {
        Ok(rows) => note::<DB>(&rows, &mut found)?,
        Err(error) if matches!(DB::classify(&error), Class::LockTimeout) => return Ok(None),
        Err(error) => return Err(error),
    }
    // On PostgreSQL a record that a rival committed while the statement waited is not in its snapshot.
    if found.iter().any(|it| matches!(it, Claimed::Nobodys)) {
        let rows = root.ask_rows(read_query::<DB>(SQL.of(DB::DIALECT).read_all, first, claims)?).await?;
        note::<DB>(&rows, &mut found)?;
    }
    Ok(Some(found))
}

/// Reads those that are there by themselves, as they were last committed; the others are nobody's.
pub(crate) async fn look_all<DB: SqlDialect>(
    claims: &[&Claim],
    lent: &mut Lent<DB>,
) -> Result<Vec<Claimed>, sqlx::Error> {
    let Some(first) = claims.first() else { return Ok(Vec::new()) };
    let mut found: Vec<_> = claims.iter().map(|_| Claimed::Nobodys).collect();
    let rows = lent.rows(read_query::<DB>(SQL.of(DB::DIALECT).look_all, first, claims)?).await?;
    note::<DB>(&rows, &mut found)?;
    Ok(found)
}

/// Fails for results that could not be stored whole.
pub(crate) async fn fit_all<DB: SqlDialect>(
    claims: &[&Claim],
    endings: &[Ending],
    root: &mut Root<DB>,
) -> Result<(), Error> {
    let largest = endings.iter().map(|ending| ending.answer.text.len()).max().unwrap_or_default();
    // In the list each text may need twice its length.
    let each = claims.iter().zip(endings).map(|(claim, ending)| 2 * (claim.key.len() + ending.answer.text.len()) + 8);
    let all = each.sum();
    fit(largest, all, root).await
}

/// Stores the results. It is the last statement, and the fence: a row too few means that this is not our transaction.
pub(crate) async fn end_all<DB: SqlDialect>(
    claims: &[&Claim],
    endings: &[Ending],
    root: &mut Root<DB>,
) -> Result<(), Error> {
    let (Some(first), Some(ending)) = (claims.first(), endings.first()) else { return Ok(()) };
    let query = end_query::<DB>(first, ending, claims, endings).map_err(Error::Database)?;
    let answer = root.ask(query).await.map_err(Error::statement::<DB>)?;
    if usize::try_from(answer.rows_affected()) == Ok(claims.len()) { Ok(()) } else { Err(Error::Indeterminate) }
}

/// Learns from rows what became of the claims.
fn note<DB: SqlDialect>(rows: &[DB::Row], found: &mut [Claimed]) -> Result<(), sqlx::Error> {
    for row in rows {
        let nth = DB::integer(row, "nth")?.and_then(|nth| usize::try_from(nth - 1).ok());
        let Some(place) = nth.and_then(|nth| found.get_mut(nth)) else {
            return Err(sqlx::Error::Decode("a row of the answer is about none of the claims".into()));
        };
        if DB::integer(row, "claimed")?.is_some() {
            *place = Claimed::Ours;
        } else if DB::integer(row, "status")?.is_some() {
            *place = Claimed::Theirs(Record::of::<DB>(row)?);
        }
    }
    Ok(())
}

fn claim_query<DB: SqlDialect>(
    first: &Claim,
    claims: &[&Claim],
    wait: Duration,
) -> Result<(SqlStr, Option<DB::Arguments>), sqlx::Error> {
    let mut arguments = arguments::<DB>(first, claims)?;
    if DB::DIALECT == Dialect::Postgres {
        bind::<DB, _>(&mut arguments, &super::milliseconds(wait))?;
    }
    Ok((sql::waiting(DB::DIALECT, SQL.of(DB::DIALECT).claim_all, wait), Some(arguments)))
}

fn read_query<DB: SqlDialect>(sql: &'static str, first: &Claim, claims: &[&Claim]) -> Result<Query<DB>, sqlx::Error> {
    Ok((sql, Some(arguments::<DB>(first, claims)?)))
}

/// The scope, the list and the owner.
fn arguments<DB: SqlDialect>(first: &Claim, claims: &[&Claim]) -> Result<DB::Arguments, sqlx::Error> {
    let list: Vec<_> = claims.iter().map(|claim| (&claim.key, &claim.fingerprint)).collect();
    let mut arguments = DB::Arguments::default();
    bind::<DB, _>(&mut arguments, &first.spec.scope.to_owned())?;
    bind::<DB, _>(&mut arguments, &json(&list)?)?;
    bind::<DB, _>(&mut arguments, &first.owner)?;
    Ok(arguments)
}

fn end_query<DB: SqlDialect>(
    first: &Claim,
    ending: &Ending,
    claims: &[&Claim],
    endings: &[Ending],
) -> Result<Query<DB>, sqlx::Error> {
    let list: Vec<_> = claims.iter().zip(endings).map(|(claim, ending)| (&claim.key, &ending.answer.text)).collect();
    let mut arguments = DB::Arguments::default();
    bind::<DB, _>(&mut arguments, &json(&list)?)?;
    ending.bind_kind_and_lifetimes::<DB>(first.spec.retention, &mut arguments)?;
    bind::<DB, _>(&mut arguments, &first.spec.scope.to_owned())?;
    bind::<DB, _>(&mut arguments, &first.owner)?;
    Ok((SQL.of(DB::DIALECT).end_all, Some(arguments)))
}

fn json(list: &[(&String, &String)]) -> Result<String, sqlx::Error> {
    serde_json::to_string(list).map_err(|error| sqlx::Error::Encode(error.into()))
}
