//! Every schedule of two callers, and the kit that plays them: it has to find what it is for.

use std::time::Duration;

use idem_runtime::interleave;
use idem_runtime::prelude::*;
use idem_runtime::testing::{Caller, Failure, Interleaving};

use crate::acts;
use crate::shop::order_status::{Cancel, Pay};
use crate::shop::{OrderStatus, create_tables, new_order, status};
use crate::support::{BoxError, Engine, Suite, TestDb, TestResult, ensure, on_every_engine, sql};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(suite, [kit_plays_every_schedule,]);
}

fn pay() -> Pay {
    Pay { trade_no: "T1".to_owned() }
}

/// As the documentation shows it.
async fn kit_plays_every_schedule<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    let idem = db.idem(2).await?;
    let next = std::cell::Cell::new(0);
    let fresh = async || {
        next.set(next.get() + 1);
        new_order(&db, next.get()).await.map(|()| next.get())
    };
    let schedules = interleave!(&idem, fresh, |caller, order_id| {
        pay {
            load   { let order = OrderStatus::row(order_id).load(caller.idem()).await?; }
            fire   { let mut tx = caller.begin().await?;
                     let paid = order.in_state()?.fire(pay()).run(&mut *tx).await?; }
            commit { tx.commit().await?; }
            => paid.is_applied()
        }
        cancel {
            fire   { let mut tx = caller.begin().await?;
                     let cancelled = OrderStatus::row(order_id).fire(Cancel).run(&mut *tx).await?; }
            commit { tx.commit().await?; }
            => cancelled.is_applied()
        }
    }, async |order_id, answers: Vec<_>| {
        let found = status(&db, order_id).await?;
        let expected = if matches!(answers[0], Ok(true)) { "paid 1" } else { "cancelled 1" };
        ensure!(found == expected && answers.iter().filter(|it| matches!(it, Ok(true))).count() == 1, "{found} {answers:?}");
        Ok::<_, BoxError>(())
    })?;
    let expected = [
        "pay.load pay.fire pay.commit cancel.fire cancel.commit",
        "pay.load pay.fire cancel.fire(waits) pay.commit",
        "pay.load cancel.fire pay.fire(waits) cancel.commit",
        "pay.load cancel.fire cancel.commit pay.fire",
        "cancel.fire pay.load pay.fire(waits) cancel.commit",
        "cancel.fire pay.load cancel.commit pay.fire",
        "cancel.fire cancel.commit pay.load pay.fire",
    ];
    ensure!(schedules == expected, "{schedules:#?}");
    Ok(())
}
