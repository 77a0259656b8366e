//! Who has a token in Redis, and until when.

use std::time::Duration;

use futures_util::FutureExt as _;
use idem_runtime::prelude::*;
use idem_runtime::token::{Confirmed, Consumed, Reservation, TokenError};

use super::{Form, insist};
use crate::acts::effect;
use crate::answers::answer;
use crate::support::{BoxError, Engine, Fault, Suite, TestDb, TestResult, ensure, on_every_engine};

pub(super) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            c54_redis_a_rollback_gives_it_back,
            redis_a_drop_gives_it_back,
            redis_a_drop_gives_back_nothing_whose_effect_is_there,
            redis_a_crash_gives_it_back_after_a_while,
            redis_only_its_owner_confirms_or_releases,
            redis_what_was_reserved_in_time_is_confirmed_late,
            redis_the_same_request_is_let_through_again,
            redis_tries_of_one_request_do_not_give_back_each_others,
        ]
    );
}

/// Asserts that another request has it.
macro_rules! held {
    ($answer:expr) => {
        answer!($answer, Err(TokenError::Runtime(ref error @ Error::InProgress { retry_after }))
            if error.reply() == Reply::Resend && !retry_after.is_zero() && retry_after <= Duration::from_secs(1))
    };
}

async fn c54_redis_a_rollback_gives_it_back<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let form = Form::new(&db).await?;
    let token = form.issue().await?;
    for _ in 0..2 {
        let reservation = form.reserve(&token).run().await?;
        held!(form.reserve(&token).run().await);
        answer!(form.send(&token, "bob").await, Err(TokenError::WrongSubject));
        let mut tx = form.idem.begin().await?;
        effect(&mut tx, "undone").await?;
        tx.rollback().await?;
        reservation.release().await?;
    }
    answer!(form.send(&token, super::USER).await, Ok(Consumed::Now));
    answer!(form.send(&token, super::USER).await, Err(TokenError::Used));
    form.left("sent").await
}

async fn redis_a_drop_gives_it_back<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let form = Form::new(&db).await?;
    let token = form.issue().await?;
    drop(form.reserve(&token).run().await?);
    drop(insist(&form.tokens, &token).await?);
    // One that is dropped on the way.
    drop(form.reserve(&token).run().now_or_never());
    let mut reservation = insist(&form.tokens, &token).await?;
    // What is confirmed is confirmed, whoever goes away.
    drop(reservation.confirm().now_or_never());
    drop(reservation);
    answer!(insist(&form.tokens, &token).await, Err(TokenError::Used));
    Ok(())
}

/// From the first call of `confirm` on the effect is there, whatever Redis has heard.
async fn redis_a_drop_gives_back_nothing_whose_effect_is_there<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let form = Form::new(&db).await?;
    let asked_by_drop = |reservation: Reservation| {
        let asked = form.redis.asked();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        // What a drop spawns there runs before the next line does.
        let dropped = std::thread::spawn(move || {
            runtime.block_on(async {
                drop(reservation);
                tokio::task::yield_now().await;
            });
        });
        dropped.join().map_err(|_| "the drop has panicked")?;
        Ok::<_, BoxError>(form.redis.asked() - asked)
    };
    let tokens = [form.issue().await?, form.issue().await?, form.issue().await?];
    let [open, mut failed, mut confirmed] = [
        form.reserve(&tokens[0]).run().await?,
        form.reserve(&tokens[1]).run().await?,
        form.reserve(&tokens[2]).run().await?,
    ];
    ensure!(asked_by_drop(open)? == 1, "what was not confirmed is not given back");
    form.redis.fail(Some(Fault::Says("OOM")));
    answer!(failed.confirm().await, Err(TokenError::Store(_)));
    form.redis.fail(None);
    ensure!(asked_by_drop(failed)? == 0, "what failed to be confirmed is given back");
    held!(form.reserve(&tokens[1]).run().await);
    answer!(confirmed.confirm().await, Ok(Confirmed::Used));
    ensure!(asked_by_drop(confirmed)? == 0, "what is confirmed is given back");
    Ok(())
}

/// By Redis's clock, and not before.
async fn redis_a_crash_gives_it_back_after_a_while<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let mut form = Form::new(&db).await?;
    form.tokens = form.tokens.hold(Duration::from_millis(300));
    let token = form.issue().await?;
    let began_at = std::time::Instant::now();
    std::mem::forget(form.reserve(&token).run().await?);
    let mut reservation = insist(&form.tokens, &token).await?;
    let held = began_at.elapsed();
    // Redis counts whole milliseconds.
    answer!(held, _ if held >= Duration::from_millis(299));
    answer!(reservation.confirm().await, Ok(Confirmed::Used));
    answer!(form.reserve(&token).run().await, Err(TokenError::Used));
    Ok(())
}

async fn redis_only_its_owner_confirms_or_releases<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let form = Form::new(&db).await?;
    let token = form.issue().await?;
    let mut slow = form.reserve(&token).run().await?;
    form.end_reservations().await?;
    let mut owner = form.reserve(&token).request("r2").run().await?;
    answer!(slow.confirm().await, Ok(Confirmed::Lost));
    held!(form.reserve(&token).run().await);
    answer!(owner.confirm().await, Ok(Confirmed::Used));
    answer!(slow.confirm().await, Ok(Confirmed::Lost));
    answer!(owner.confirm().await, Ok(Confirmed::Used));
    let token = form.issue().await?;
    let slow = form.reserve(&token).run().await?;
    form.end_reservations().await?;
    let owner = form.reserve(&token).run().await?;
    slow.release().await?;
    held!(form.reserve(&token).run().await);
    owner.release().await?;
    answer!(form.reserve(&token).run().await, Ok(_));

    // Nothing of an earlier request is left to its rival.
    let token = form.issue().await?;
    let mut slow = form.reserve(&token).request("r1").run().await?;
    form.end_reservations().await?;
    let owner = form.reserve(&token).run().await?;
    answer!(slow.confirm().await, Ok(Confirmed::Lost));
    held!(form.reserve(&token).request("r1").run().await);

    // What is used is not given back by a release that comes late.
    form.set("used", 1).await?;
    owner.release().await?;
    answer!(form.reserve(&token).run().await, Err(TokenError::Used));
    Ok(())
}

async fn redis_what_was_reserved_in_time_is_confirmed_late<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let form = Form::new(&db).await?;
    // Nobody else has had it, or whoever had it has given it back.
    for has_rival in [false, true] {
        let token = form.issue().await?;
        let mut reservation = form.reserve(&token).run().await?;
        form.end_reservations().await?;
        if has_rival {
            form.reserve(&token).run().await?.release().await?;
        }
        form.end_lives().await?;
        answer!(form.reserve(&token).run().await, Err(TokenError::Expired));
        answer!(reservation.confirm().await, Ok(Confirmed::Used));
        answer!(form.reserve(&token).run().await, Err(TokenError::Used));
    }
    Ok(())
}

async fn redis_the_same_request_is_let_through_again<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let form = Form::new(&db).await?;
    let token = form.issue().await?;
    let mut reservation = form.reserve(&token).request("r1").run().await?;
    answer!(reservation.consumed(), Consumed::Now);
    held!(form.reserve(&token).request("r2").run().await);
    held!(form.reserve(&token).request("R1").run().await);
    answer!(form.tokens.reserve(&token, "bob").request("r1").run().await, Err(TokenError::WrongSubject));
    answer!(form.reserve(&token).request("r1").run().await, Ok(again) if again.consumed() == Consumed::Again);
    answer!(reservation.confirm().await, Ok(Confirmed::Used));
    answer!(form.reserve(&token).request("r1").run().await, Ok(again) if again.consumed() == Consumed::Again);
    answer!(form.reserve(&token).request("r2").run().await, Err(TokenError::Used));
    answer!(form.reserve(&token).run().await, Err(TokenError::Used));

    // After a crash, however late: it was reserved in time.
    let token = form.issue().await?;
    std::mem::forget(form.reserve(&token).request("r1").run().await?);
    form.end_reservations().await?;
    form.end_lives().await?;
    let mut again = form.reserve(&token).request("r1").run().await?;
    answer!(again.consumed(), Consumed::Again);
    held!(form.reserve(&token).request("r2").run().await);
    answer!(again.confirm().await, Ok(Confirmed::Used));
    answer!(form.reserve(&token).request("r2").run().await, Err(TokenError::Used));
    Ok(())
}

/// Two tries of one request run at once: neither can tell whether the other one's effect will be there.
async fn redis_tries_of_one_request_do_not_give_back_each_others<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let form = Form::new(&db).await?;
    for is_first in [true, false] {
        let token = form.issue().await?;
        let first = form.reserve(&token).request("r1").run().await?;
        let second = form.reserve(&token).request("r1").run().await?;
        let (ends, mut stays) = if is_first { (first, second) } else { (second, first) };
        ends.release().await?;
        held!(form.reserve(&token).request("r2").run().await);
        answer!(stays.confirm().await, Ok(Confirmed::Used));
        answer!(form.reserve(&token).request("r2").run().await, Err(TokenError::Used));
    }
    Ok(())
}
