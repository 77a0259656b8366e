//! How a claim ends: with an answer that is kept, or with none.

use crate::dialect::{Dialect, SqlDialect};
use crate::error::Error;
use crate::record::{Claim, Ending, Status};
use crate::steps::{Step, reached};
use crate::tx::Tx;

/// Ends the transaction that holds a claim. Gives the answer that is committed now, or as far as the outer transaction is.
pub(super) async fn end<DB: SqlDialect>(
    tx: Tx<'_, DB>,
    claim: &Claim,
    ending: Option<Result<Ending, Error>>,
) -> Result<Option<Ending>, Error> {
    match ending {
        Some(ending) => keep(tx, claim, ending).await.map(Some),
        None => release(tx).await.map(|()| None),
    }
}

/// The error of the body is the answer; a rollback that fails leaves nothing either.
pub(super) async fn release<DB: SqlDialect>(mut tx: Tx<'_, DB>) -> Result<(), Error> {
    let was_given_up = tx.was_given_up();
    let _ = tx.rollback().await;
    if was_given_up { Err(Error::given_up()) } else { Ok(()) }
}

async fn keep<DB: SqlDialect>(
    mut tx: Tx<'_, DB>,
    claim: &Claim,
    ending: Result<Ending, Error>,
) -> Result<Ending, Error> {
    reached(Step::BodyReturned);
    let fit = match ending {
        Ok(ending) => ending.fit(tx.root()).await.map(|()| ending),
        Err(error) => Err(error),
    };
    let ending = match fit {
        Ok(ending) => ending,
        Err(error) => {
            let _ = tx.rollback().await;
            return Err(error);
        }
    };
    if ending.status == Status::Failed {
        tx = undo_to_claim(tx, claim).await?;
    }
    let stored = claim.end(&ending, tx.root()).await;
    commit(tx, &[claim], stored).await?;
    Ok(ending)
}

/// Nothing stays of a body that has failed for good but its error.
async fn undo_to_claim<'t, DB: SqlDialect>(mut tx: Tx<'t, DB>, claim: &Claim) -> Result<Tx<'t, DB>, Error> {
    if tx.was_given_up() {
        return Err(Error::given_up());
    }
    match tx.undo_to_claim().await {
        Ok(()) => Ok(tx),
        Err(lost) => Err(in_doubt(tx, &[claim], Error::statement::<DB>(lost)).await),
    }
}

/// Commits what is stored, or as far as the outer transaction is.
pub(super) async fn commit<DB: SqlDialect>(
    mut tx: Tx<'_, DB>,
    claims: &[&Claim],
    stored: Result<(), Error>,
) -> Result<(), Error> {
    match stored {
        Err(Error::Indeterminate) => return Err(in_doubt(tx, claims, Error::Indeterminate).await),
        stored => stored?,
    }
    reached(Step::Completed);
    if let Err(error) = tx.seal().await {
        return Err(in_doubt(tx, claims, Error::statement::<DB>(error)).await);
    }
    let outermost = tx.level() == 0;
    tx.end().await?;
    if outermost {
        reached(Step::Committed);
    }
    Ok(())
}

/// A statement that nobody saw may have committed the claims, or undone them, and part of the effect may stay: then
/// somebody has to look.
async fn in_doubt<DB: SqlDialect>(mut tx: Tx<'_, DB>, claims: &[&Claim], error: Error) -> Error {
    let Some(lent) = tx.unseen_end() else { return error };
    for claim in claims {
        // In a transaction that is still there, the mark is rolled back with everything else.
        if claim.doubt(lent).await.is_err() {
            return error;
        }
    }
    if DB::DIALECT == Dialect::Sqlite {
        // Asking whether the transaction is there may have opened another one, which holds the mark.
        let _ = tx.end().await;
    }
    Error::Indeterminate
}
