//! A table and an enum that are older than idem take it as they are.

use std::str::FromStr as _;

use idem_runtime::__private::Binds;
use idem_runtime::prelude::*;
use idem_runtime::schema;
use sqlx::{Decode, FromRow, SqlSafeStr as _, Type};
use strum::{Display, EnumString, IntoStaticStr};

use self::purchase_status::{Bill, Billed, Cancel, Settle};
use crate::answers::answer;
use crate::support::{Engine, Suite, TestDb, TestResult, ensure, on_every_engine, sql};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(suite, [old_table_and_old_enum]);
}

/// As it was before idem, but for the word `StateMachine` and the lines from `#[machine(..)]` on.
#[derive(Type, Display, EnumString, IntoStaticStr, Debug, Clone, Copy, PartialEq, Eq, StateMachine)]
#[sqlx(type_name = "text", rename_all = "SCREAMING_SNAKE_CASE")]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
#[machine(
    table = "purchases",
    id(id: i32),
    status = "state",
    version = "lock_version",
    history,
    rename_all = "SCREAMING_SNAKE_CASE"
)]
#[transition(bill:   Draft                    => Billed,    set(bill_no: String, billed = true))]
#[transition(settle: Billed | PartlySettled   => Settled)]
#[transition(cancel: Draft | Billed           => Cancelled, set(note = "cancelled"))]
#[transition(part:   Billed                   => PartlySettled)]
enum PurchaseStatus {
    #[state(initial)]
    Draft,
    Billed,
    PartlySettled,
    #[state(terminal)]
    Settled,
    #[state(terminal)]
    Cancelled,
}

/// The table that the shop has had for years: an identifier and a version of 32 bits, columns that idem does not know,
/// and a status as everybody writes it on this database.
async fn create_old_table<DB: Engine>(db: &TestDb<DB>) -> TestResult {
    let state = match DB::DIALECT {
        Dialect::Postgres => "TEXT NOT NULL",
        // sqlx reads an enum from a column that may be null, and from no other.
        Dialect::MySql => "ENUM('DRAFT', 'BILLED', 'PARTLY_SETTLED', 'SETTLED', 'CANCELLED')",
        Dialect::Sqlite => "VARCHAR(20) NOT NULL CHECK (length(state) > 0)",
    };
    db.execute(format!(
        "CREATE TABLE purchases (id INTEGER NOT NULL PRIMARY KEY, buyer VARCHAR(40) NOT NULL DEFAULT 'nobody', \
         state {state} DEFAULT 'DRAFT', cents INTEGER NOT NULL, bill_no VARCHAR(40) NOT NULL DEFAULT '', \
         billed BOOLEAN NOT NULL DEFAULT FALSE, note VARCHAR(40) NOT NULL DEFAULT '-', \
         lock_version INTEGER NOT NULL DEFAULT 0)"
    ))
    .await?;
    db.execute(
        "INSERT INTO purchases (id, buyer, state, cents, lock_version) VALUES (1, 'ann', 'DRAFT', 5, 0), \
         (2, 'bob', 'BILLED', 6, 3), (3, 'cid', 'PARTLY_SETTLED', 7, 9), (4, 'dan', 'SETTLED', 8, 1)",
    )
    .await?;
    Ok(())
}

async fn old_table_and_old_enum<DB>(db: TestDb<DB>) -> TestResult
where
    DB: Engine + Binds<PurchaseStatus>,
    PurchaseStatus: Type<DB> + for<'r> Decode<'r, DB>,
    (PurchaseStatus,): for<'r> FromRow<'r, DB::Row>,
{
    create_old_table(&db).await?;
    db.execute(schema::history::<PurchaseStatus>(DB::DIALECT).ok_or("purchases keep a history")?).await?;
    let idem = db.idem(2).await?;
    let purchase = PurchaseStatus::row;
    let bill = || Bill { bill_no: "B1".to_owned() };
    answer!(purchase(1).fire(bill()).cause("B1").expect_version(0).run(&idem).await,
        Ok(Outcome::Applied(row)) if row.version() == 1);
    answer!(purchase(1).fire(bill()).cause("B1").run(&idem).await, Ok(Outcome::Replayed(row)) if row.version() == 1);
    answer!(
        purchase(2).fire(bill()).cause("B2").run(&idem).await,
        Err(TransitionError::OtherCause { recorded: None, .. })
    );
    answer!(
        purchase(3).fire(bill()).cause("B3").run(&idem).await,
        Err(TransitionError::Illegal { current: "PartlySettled", passed: None, .. })
    );
    answer!(purchase(4).fire(Settle).run(&idem).await, Ok(Outcome::Already(row)) if row.version() == 1);
    answer!(
        purchase(3).fire(Settle).expect_version(8).run(&idem).await,
        Err(TransitionError::Stale { expected: 8, found: 9, .. })
    );

    let mut tx = idem.begin().await?;
    let billed: Row<PurchaseStatus, Billed> = purchase(2).load(&mut *tx).await?.in_state()?;
    answer!(billed.fire(Cancel).cause("C").run(&mut *tx).await, Ok(Outcome::Applied(row)) if row.version() == 4);
    answer!(purchase(3).fire(Settle).cause("S").run(&mut *tx).await, Ok(Outcome::Applied(row)) if row.version() == 10);

    // The user's own queries read and write the enum as before.
    let written = sql::<DB>("UPDATE purchases SET state = ?, lock_version = lock_version + 1 WHERE id = 1");
    ensure!(written.bind(PurchaseStatus::PartlySettled).execute(&mut *tx).await? == 1, "one row");
    let query = "SELECT state FROM purchases ORDER BY id".into_sql_str();
    let states: Vec<PurchaseStatus> = sqlx::query_scalar(query).fetch_all(&mut *tx).await?;
    let (part, cancelled, settled) =
        (PurchaseStatus::PartlySettled, PurchaseStatus::Cancelled, PurchaseStatus::Settled);
    ensure!(states == [part, cancelled, settled, settled], "{states:?}");
    answer!(purchase(1).fire(Settle).cause("S").run(&mut *tx).await, Ok(Outcome::Applied(row)) if row.version() == 3);
    tx.commit().await?;
    check_rows(&db).await?;
    check_names()
}

async fn check_rows<DB: Engine>(db: &TestDb<DB>) -> TestResult {
    let query = "SELECT buyer, cents, bill_no, note, lock_version FROM purchases ORDER BY id";
    let found: Vec<_> = db.rows(query).await?.iter().map(|row| row.join(" ")).collect();
    ensure!(found == ["ann 5 B1 - 3", "bob 6  cancelled 4", "cid 7  - 10", "dan 8  - 1"], "{found:?}");
    let query = "SELECT id, version, source, target, event, cause FROM purchases_state_history ORDER BY id, version";
    let found: Vec<_> = db.rows(query).await?.iter().map(|row| row.join(" ")).collect();
    let expected = [
        "1 1 DRAFT BILLED bill B1",
        "1 3 PARTLY_SETTLED SETTLED settle S",
        "2 4 BILLED CANCELLED cancel C",
        "3 10 PARTLY_SETTLED SETTLED settle S",
    ];
    ensure!(found == expected, "{found:?}");
    Ok(())
}

/// strum's names are the stored values, as they have been.
fn check_names() -> TestResult {
    for state in PurchaseStatus::STATES {
        let name: &'static str = state.into();
        ensure!(name == state.stored() && state.to_string() == name, "{state:?} as {name}");
        ensure!(PurchaseStatus::from_str(name)? == *state, "{name}");
    }
    Ok(())
}
