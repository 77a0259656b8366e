//! The honest difference: what a crash leaves of a token in Redis and of its effect, beside one in the database.

use idem_runtime::prelude::*;
use idem_runtime::token::{Consumed, TokenError};

use super::{Form, PURPOSE, USER};
use crate::acts::effect;
use crate::answers::answer;
use crate::settle::PayError;
use crate::support::{Engine, Suite, TestDb, TestResult, on_every_engine};

pub(super) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            difference_a_rollback,
            difference_a_crash_before_the_commit,
            difference_a_crash_after_the_commit,
            difference_a_failover,
            difference_a_claim_below_decides,
        ]
    );
}

impl<DB: Engine> Form<DB> {
    async fn issue_in_database(&self) -> Result<String, Error> {
        self.idem.tokens(PURPOSE).issue(USER).await
    }

    /// Uses a token of the database in the transaction of an effect.
    async fn send_in_database(&self, token: &str) -> Result<Consumed, TokenError> {
        let mut tx = self.idem.begin().await?;
        let consumed = self.idem.tokens(PURPOSE).consume(token, USER).run(&mut tx).await?;
        effect(&mut tx, "database").await.map_err(Error::Database)?;
        tx.commit().await?;
        Ok(consumed)
    }
}

/// The database and the scripts give the token back; GETDEL has lost it.
async fn difference_a_rollback<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let form = Form::new(&db).await?;
    let (stored, reserved) = (form.issue_in_database().await?, form.issue().await?);
    let taken = form.getdel.issue(USER).await?;
    let reservation = form.reserve(&reserved).run().await?;
    form.getdel.take(&taken, USER).await?;
    let mut tx = form.idem.begin().await?;
    form.idem.tokens(PURPOSE).consume(&stored, USER).run(&mut tx).await?;
    effect(&mut tx, "undone").await?;
    tx.rollback().await?;
    reservation.release().await?;
    answer!(form.send_in_database(&stored).await, Ok(Consumed::Now));
    answer!(form.send(&reserved, USER).await, Ok(Consumed::Now));
    answer!(form.getdel.take(&taken, USER).await, Err(TokenError::Absent));
    form.left("database,sent").await
}

/// The same, though the scripts need a while.
async fn difference_a_crash_before_the_commit<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let form = Form::new(&db).await?;
    let (stored, reserved) = (form.issue_in_database().await?, form.issue().await?);
    std::mem::forget(form.reserve(&reserved).run().await?);
    let taken = form.getdel.issue(USER).await?;
    form.getdel.take(&taken, USER).await?;
    let mut tx = form.idem.begin().await?;
    form.idem.tokens(PURPOSE).consume(&stored, USER).run(&mut tx).await?;
    effect(&mut tx, "undone").await?;
    drop(tx);
    answer!(form.send_in_database(&stored).await, Ok(Consumed::Now));
    answer!(form.send(&reserved, USER).await, Err(TokenError::Runtime(Error::InProgress { .. })));
    answer!(form.getdel.take(&taken, USER).await, Err(TokenError::Absent));
    form.end_reservations().await?;
    answer!(form.send(&reserved, USER).await, Ok(Consumed::Now));
    form.left("database,sent").await
}

/// The scripts let a second one through, whose effect is there twice; the others do not.
async fn difference_a_crash_after_the_commit<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let form = Form::new(&db).await?;
    let stored = form.issue_in_database().await?;
    answer!(form.send_in_database(&stored).await, Ok(Consumed::Now));
    answer!(form.send_in_database(&stored).await, Err(TokenError::Used));
    let taken = form.getdel.issue(USER).await?;
    form.getdel.take(&taken, USER).await?;
    form.write("taken").await?;
    answer!(form.getdel.take(&taken, USER).await, Err(TokenError::Absent));
    form.redis.flush(&form.prefix).await?;

    let reserved = form.issue().await?;
    let reservation = form.reserve(&reserved).run().await?;
    form.write("sent").await?;
    std::mem::forget(reservation);
    answer!(form.send(&reserved, USER).await, Err(TokenError::Runtime(Error::InProgress { .. })));
    form.end_reservations().await?;
    answer!(form.send(&reserved, USER).await, Ok(Consumed::Now));
    form.left("database,sent,sent,taken").await
}

/// A replica that takes over has not heard the last second: a token that was used is there again.
async fn difference_a_failover<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let form = Form::new(&db).await?;
    let (reserved, stored) = (form.issue().await?, form.issue_in_database().await?);
    let key = form.redis.keys(&form.prefix).await?.concat();
    let replica = form.redis.command(redis::cmd("DUMP").arg(&key).clone()).await?;
    let replica: Vec<u8> = redis::from_redis_value(replica)?;
    answer!(form.send(&reserved, USER).await, Ok(Consumed::Now));
    answer!(form.send_in_database(&stored).await, Ok(Consumed::Now));
    let restore = redis::cmd("RESTORE").arg(&key).arg(0).arg(replica).arg("REPLACE").clone();
    form.redis.command(restore).await?;
    answer!(form.send(&reserved, USER).await, Ok(Consumed::Now));
    answer!(form.send_in_database(&stored).await, Err(TokenError::Used));
    form.left("database,sent,sent").await
}

/// The same crash with a claim below the token: the second one hears the first one's result, and there is one effect.
async fn difference_a_claim_below_decides<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let form = Form::new(&db).await?;
    let token = form.issue().await?;
    let order = async || {
        let order = form.idem.once("test.order", &token);
        let order: Result<Once<i64>, PayError> = order
            .run(async |mut tx| {
                effect(&mut tx, "sent").await?;
                Ok::<_, PayError>(Once::from(7))
            })
            .await;
        order
    };
    let reservation = form.reserve(&token).run().await?;
    answer!(order().await, Ok(order) if *order == 7 && !order.is_replay());
    std::mem::forget(reservation);
    form.end_reservations().await?;
    let mut reservation = form.reserve(&token).run().await?;
    answer!(reservation.consumed(), Consumed::Now);
    answer!(order().await, Ok(order) if *order == 7 && order.is_replay());
    reservation.confirm().await?;
    answer!(form.reserve(&token).run().await, Err(TokenError::Used));
    form.left("sent").await
}
