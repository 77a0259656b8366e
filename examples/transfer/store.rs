//! The transfers as the service has booked them.

use idem_runtime::prelude::*;
use idem_runtime::schema;
use sqlx::{MySql, Pool, Postgres, Sqlite};

use crate::machine::{self, TransferStatus};
use crate::place::{Script, sql};
use crate::script::Transfer;

/// A transfer's number and state, and the number that the provider gave it.
pub(crate) type Booked = (i64, String, Option<String>);

/// A database that the transfers can live in.
pub(crate) trait Ledger: Script {
    /// Writes down that a transfer is wanted.
    fn request(tx: &mut Tx<'_, Self>, transfer: &Transfer) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// All transfers.
    fn booked(pool: &Pool<Self>) -> impl Future<Output = sqlx::Result<Vec<Booked>>> + Send;
}

macro_rules! ledger {
    ($($DB:ty),+) => {
        $(impl Ledger for $DB {
            async fn request(tx: &mut Tx<'_, Self>, transfer: &Transfer) -> sqlx::Result<()> {
                let insert = "INSERT INTO transfers (transfer_id, provider, amount) VALUES (?, ?, ?)";
                let insert = sqlx::query(sql::<Self>(insert)).bind(transfer.id).bind(transfer.kind.name());
                insert.bind(transfer.amount).execute(tx).await?;
                Ok(())
            }

            async fn booked(pool: &Pool<Self>) -> sqlx::Result<Vec<Booked>> {
                sqlx::query_as("SELECT transfer_id, status, number FROM transfers").fetch_all(pool).await
            }
        })+
    };
}

ledger!(Postgres, MySql, Sqlite);

/// Creates the tables, and writes down which transfers are wanted.
pub(crate) async fn open<DB: Ledger>(
    pool: &Pool<DB>,
    transfers: &[Transfer],
) -> Result<(), Box<dyn std::error::Error>> {
    let idem = Idem::builder(pool.clone()).build().await?;
    idem.migrate().await?;
    DB::script(pool, machine::tables(DB::DIALECT)).await?;
    for step in schema::install::<TransferStatus>(DB::DIALECT) {
        DB::script(pool, step.sql).await?;
    }
    let mut tx = idem.begin().await?;
    for transfer in transfers {
        DB::request(&mut tx, transfer).await?;
    }
    tx.commit().await?;
    Ok(())
}
