//! The guarantee itself: one effect, whatever is cut, killed or raced.

use idem_runtime::prelude::*;

use crate::batches::Batch;
use crate::creation::Creation;
use crate::failures::FinalError;
use crate::leases::{LeasedCall, TakenOverCall};
use crate::settle::{PayError, settle};
use crate::shop::order_status::{Pay, Refund};
use crate::shop::{OrderStatus, create_tables, history, new_order, status};
use crate::support::{Called, Engine, NoAnswer, Scenario, Suite, TestDb, TestResult, ensure, scenarios};
use crate::tokens::Form;

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    scenarios!(
        suite,
        [Transition, MultiSource, Creation, Function, FinalError, Batch, LeasedCall, TakenOverCall, Form]
    );
}

/// A transition by itself.
struct Transition;

impl Scenario for Transition {
    const NAME: &'static str = "transition";

    async fn create_tables<DB: Engine>(db: &TestDb<DB>) -> TestResult {
        create_tables(db).await
    }

    async fn prepare<DB: Engine>(db: &TestDb<DB>, round: i64) -> TestResult {
        new_order(db, round).await
    }

    async fn call<DB: Engine>(idem: &Idem<DB>, round: i64) -> Result<(), NoAnswer> {
        let pay = Pay { trade_no: format!("T{round}") };
        let _ = OrderStatus::row(round).fire(pay).cause(&format!("T{round}")).run(idem).await?;
        Ok(())
    }

    async fn check<DB: Engine>(db: &TestDb<DB>, round: i64, called: Called) -> TestResult {
        let found = (status(db, round).await?, history(db, round).await?);
        let before = ("pending 0".to_owned(), String::new());
        let after = ("paid 1".to_owned(), format!("1 pending paid pay T{round}"));
        ensure!(found == after || (called == Called::Cut && found == before), "{found:?}");
        Ok(())
    }
}

/// A transition with several sources.
struct MultiSource;

impl Scenario for MultiSource {
    const NAME: &'static str = "multi_source";

    async fn create_tables<DB: Engine>(db: &TestDb<DB>) -> TestResult {
        create_tables(db).await
    }

    async fn prepare<DB: Engine>(db: &TestDb<DB>, round: i64) -> TestResult {
        let insert = "INSERT INTO orders (order_id, status, version) VALUES";
        db.execute(format!("{insert} ({round}, 'shipped', 4)")).await.map(drop)
    }

    async fn call<DB: Engine>(idem: &Idem<DB>, round: i64) -> Result<(), NoAnswer> {
        let _ = OrderStatus::row(round).fire(Refund).cause(&round).run(idem).await?;
        Ok(())
    }

    async fn check<DB: Engine>(db: &TestDb<DB>, round: i64, called: Called) -> TestResult {
        let found = (status(db, round).await?, history(db, round).await?);
        let before = ("shipped 4".to_owned(), String::new());
        let after = ("refunded 5".to_owned(), format!("5 shipped refunded refund {round}"));
        ensure!(found == after || (called == Called::Cut && found == before), "{found:?}");
        Ok(())
    }
}

/// An idempotent function that moves a row, calls another one inside, and gives back a result.
struct Function;

impl Scenario for Function {
    const NAME: &'static str = "function";

    async fn create_tables<DB: Engine>(db: &TestDb<DB>) -> TestResult {
        create_tables(db).await
    }

    async fn prepare<DB: Engine>(db: &TestDb<DB>, round: i64) -> TestResult {
        new_order(db, round).await
    }

    async fn call<DB: Engine>(idem: &Idem<DB>, round: i64) -> Result<(), NoAnswer> {
        let receipt = settle(idem, round, "T", 100 + round).await?;
        if (receipt.order_id, receipt.amount) == (round, 100 + round) {
            return Ok(());
        }
        Err(NoAnswer::Never(format!("another call's receipt: {receipt:?}").into()))
    }

    async fn check<DB: Engine>(db: &TestDb<DB>, round: i64, called: Called) -> TestResult {
        let ledger = db.rows(format!("SELECT amount FROM ledger WHERE order_id = {round}")).await?;
        let key = format!("FROM idem_record WHERE scope LIKE 'order.%' AND (key_text LIKE '{round}/%')");
        let records = db.integer(record_query::<DB>(&key)).await?;
        let found = (status(db, round).await?, ledger.len(), records);
        let after = found == ("paid 1".to_owned(), 1, 2);
        let before = found == ("pending 0".to_owned(), 0, 0);
        ensure!(after || (called == Called::Cut && before), "{found:?}");
        Ok(())
    }
}

/// `key` is a word of MySQL's, and its keys are bytes.
fn record_query<DB: Engine>(condition: &str) -> String {
    let key = match DB::DIALECT {
        Dialect::MySql => "CONVERT(`key` USING utf8mb4)",
        Dialect::Postgres | Dialect::Sqlite => "key",
    };
    format!("SELECT COUNT(*) {}", condition.replace("key_text", key))
}

impl From<PayError> for NoAnswer {
    fn from(error: PayError) -> Self {
        match error {
            PayError::Idem(error) => error.into(),
            PayError::Transition(error) => error.into(),
            PayError::Sql(error) => error.into(),
            error @ PayError::Refused => Self::Never(error.into()),
        }
    }
}
