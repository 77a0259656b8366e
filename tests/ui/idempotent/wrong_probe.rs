//! A probe takes what the function takes, with the attempt in its place, and answers with `Probe` of what the function returns.

use idem_runtime::{Attempt, Error, Probe, idempotent};
use sqlx::Sqlite;

#[idempotent(scope = "transfer.send", key = id, on_expired = probe(takes_another_type))]
async fn send(_attempt: &mut Attempt<'_, Sqlite>, id: i64, amount: i64) -> Result<i64, Error> {
    Ok(id + amount)
}

async fn takes_another_type(_attempt: &mut Attempt<'_, Sqlite>, _id: i64, _amount: &str) -> Result<Probe<i64>, Error> {
    Ok(Probe::Unknown)
}

#[idempotent(scope = "transfer.revoke", key = id, on_expired = probe(takes_too_little))]
async fn revoke(_attempt: &mut Attempt<'_, Sqlite>, id: i64, amount: i64) -> Result<i64, Error> {
    Ok(id + amount)
}

async fn takes_too_little(_attempt: &mut Attempt<'_, Sqlite>, _id: i64) -> Result<Probe<i64>, Error> {
    Ok(Probe::Unknown)
}

#[idempotent(scope = "transfer.return", key = id, on_expired = probe(takes_too_much))]
async fn give_back(_attempt: &mut Attempt<'_, Sqlite>, id: i64) -> Result<i64, Error> {
    Ok(id)
}

async fn takes_too_much(_attempt: &mut Attempt<'_, Sqlite>, _id: i64, _amount: i64) -> Result<Probe<i64>, Error> {
    Ok(Probe::Unknown)
}

#[idempotent(scope = "transfer.repeat", key = id, on_expired = probe(answers_otherwise))]
async fn repeat(_attempt: &mut Attempt<'_, Sqlite>, id: i64) -> Result<i64, Error> {
    Ok(id)
}

async fn answers_otherwise(_attempt: &mut Attempt<'_, Sqlite>, _id: i64) -> Result<bool, Error> {
    Ok(true)
}

#[idempotent(scope = "transfer.book", key = id, on_expired = probe(finds_another_type))]
async fn book(_attempt: &mut Attempt<'_, Sqlite>, id: i64) -> Result<i64, Error> {
    Ok(id)
}

async fn finds_another_type(_attempt: &mut Attempt<'_, Sqlite>, _id: i64) -> Result<Probe<String>, Error> {
    Ok(Probe::Unknown)
}

#[idempotent(scope = "transfer.undo", key = id, on_expired = probe(is_not_async))]
async fn undo(_attempt: &mut Attempt<'_, Sqlite>, id: i64) -> Result<i64, Error> {
    Ok(id)
}

fn is_not_async(_attempt: &mut Attempt<'_, Sqlite>, _id: i64) -> Result<Probe<i64>, Error> {
    Ok(Probe::Unknown)
}

struct Bank;

impl Bank {
    #[idempotent(scope = "transfer.close", key = id, on_expired = probe(Self::fails_otherwise))]
    async fn close(&self, _attempt: &mut Attempt<'_, Sqlite>, id: i64) -> Result<i64, Error> {
        Ok(id)
    }

    async fn fails_otherwise(&self, _attempt: &mut Attempt<'_, Sqlite>, _id: i64) -> Result<Probe<i64>, sqlx::Error> {
        Ok(Probe::Unknown)
    }

    #[idempotent(scope = "transfer.check", key = id, on_expired = probe(Bank::takes_no_bank))]
    async fn check(&self, _attempt: &mut Attempt<'_, Sqlite>, id: i64) -> Result<i64, Error> {
        Ok(id)
    }

    async fn takes_no_bank(_attempt: &mut Attempt<'_, Sqlite>, _id: i64) -> Result<Probe<i64>, Error> {
        Ok(Probe::Unknown)
    }
}

#[idempotent(scope = "transfer.open", key = id, on_expired = probe(is_nowhere))]
async fn open(_attempt: &mut Attempt<'_, Sqlite>, id: i64) -> Result<i64, Error> {
    Ok(id)
}

fn main() {}
