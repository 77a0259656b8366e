//! One-time tokens: used up with their effect or not at all, and each refusal called by its name.

use std::time::Duration;

use idem_runtime::prelude::*;
use idem_runtime::token::{Consumed, TokenError};
use sqlx::{MySql, Postgres};

use crate::acts::{create_tables, effect, effects, until_waiting};
use crate::answers::answer;
use crate::settle::PayError;
use crate::support::{
    Called, Engine, NoAnswer, Scenario, Suite, TestDb, TestResult, ensure, on_engines, on_every_engine, release_many,
};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            what_a_token_is,
            each_refusal_by_its_name,
            one_of_fifty_gets_it,
            c54_an_effect_that_fails_gives_it_back,
            the_same_request_is_let_through_again,
            a_token_in_an_idempotent_function,
            c57_without_a_database_nothing_happens,
        ]
    );
    on_engines!(
        suite,
        [Postgres, MySql],
        "SQLite has one writer at a time",
        [c56_who_waited_in_vain_is_told_that_it_was_used, who_waited_for_a_rollback_gets_it]
    );
}

const PURPOSE: &str = "order.form";

async fn what_a_token_is<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    let tokens = idem.tokens(PURPOSE);
    let (first, second) = (tokens.issue(&7_i64).await?, tokens.issue(&7_i64).await?);
    ensure!(first != second && first.len() == 40, "{first} {second}");
    ensure!(first.bytes().all(|byte| byte.is_ascii_hexdigit()), "it goes into a URL: {first}");
    let stored = db.rows("SELECT hash, purpose, subject FROM idem_token").await?.concat().join(" ");
    ensure!(!stored.contains(&first) && !stored.contains(&second), "the token itself is stored: {stored}");
    let now = match DB::DIALECT {
        Dialect::Postgres => "clock_timestamp() + INTERVAL '290 seconds'",
        Dialect::MySql => "UTC_TIMESTAMP(6) + INTERVAL 290 SECOND",
        Dialect::Sqlite => "strftime('%Y-%m-%d %H:%M:%f', 'now', '290 seconds')",
    };
    let alive = db.integer(format!("SELECT COUNT(*) FROM idem_token WHERE expires_at > {now}")).await?;
    ensure!(alive == 2, "five minutes");
    answer!(tokens.issue(&String::new()).await, Err(Error::InvalidKey { .. }));
    Ok(())
}

/// Uses a token in a transaction of its own, and writes an effect with it.
async fn send<DB: Engine>(idem: &Idem<DB>, token: &str, user_id: i64) -> Result<Consumed, TokenError> {
    let mut tx = idem.begin().await?;
    let consumed = idem.tokens(PURPOSE).consume(token, &user_id).run(&mut tx).await?;
    effect(&mut tx, "sent").await.map_err(Error::Database)?;
    tx.commit().await?;
    Ok(consumed)
}

async fn each_refusal_by_its_name<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    let (tokens, others) = (idem.tokens(PURPOSE), idem.tokens("mail.link"));
    let token = tokens.issue(&7_i64).await?;
    answer!(send(&idem, &token, 8).await, Err(TokenError::WrongSubject));
    answer!(send(&idem, "never issued", 7).await, Err(TokenError::Unknown));
    answer!(send(&idem, &others.issue(&7_i64).await?, 7).await, Err(TokenError::Unknown));
    answer!(send(&idem, &tokens.life(Duration::ZERO).issue(&7_i64).await?, 7).await, Err(TokenError::Expired));
    // Nobody who was refused has used it.
    answer!(send(&idem, &token, 7).await, Ok(Consumed::Now));
    answer!(send(&idem, &token, 7).await, Err(TokenError::Used));
    answer!(send(&idem, &token, 8).await, Err(TokenError::WrongSubject));
    // What was used in its time was used, however late it is asked again.
    db.execute("UPDATE idem_token SET expires_at = '2020-01-01'").await?;
    answer!(send(&idem, &token, 7).await, Err(ref error @ TokenError::Used) if error.reply() == Reply::Ack);
    ensure!(effects(&db).await? == "sent", "{}", effects(&db).await?);
    Ok(())
}

async fn one_of_fifty_gets_it<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let processes = [db.idem(8).await?, db.idem(8).await?];
    create_tables(&db).await?;
    for round in 0..10 {
        let token = processes[0].tokens(PURPOSE).issue(&7_i64).await?;
        let answers = release_many(50, |task| {
            let (idem, token) = (processes[task % 2].clone(), token.clone());
            async move { insist(&idem, &token).await }
        });
        let (mut got, mut used) = (0, 0);
        for answer in answers.await? {
            match answer {
                Ok(Consumed::Now) => got += 1,
                Err(TokenError::Used) => used += 1,
                other => return Err(format!("{other:?}").into()),
            }
        }
        ensure!(got == 1 && used == 49, "round {round}: {got} got it, {used} are told that it was used");
    }
    ensure!(effects(&db).await?.split(',').count() == 10, "{}", effects(&db).await?);
    Ok(())
}

/// Again for as long as the database gives the transaction up.
async fn insist<DB: Engine>(idem: &Idem<DB>, token: &str) -> Result<Consumed, TokenError> {
    loop {
        match send(idem, token, 7).await {
            Err(error) if error.is_retryable() => tokio::time::sleep(Duration::from_millis(5)).await,
            answer => return answer,
        }
    }
}

async fn c54_an_effect_that_fails_gives_it_back<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    let tokens = idem.tokens(PURPOSE);
    let token = tokens.issue(&7_i64).await?;
    for _ in 0..2 {
        let mut tx = idem.begin().await?;
        answer!(tokens.consume(&token, &7_i64).run(&mut tx).await, Ok(Consumed::Now));
        answer!(tokens.consume(&token, &7_i64).run(&mut tx).await, Err(TokenError::Used));
        effect(&mut tx, "undone").await?;
        tx.rollback().await?;
    }
    answer!(send(&idem, &token, 7).await, Ok(Consumed::Now));
    answer!(send(&idem, &token, 7).await, Err(TokenError::Used));
    ensure!(effects(&db).await? == "sent", "{}", effects(&db).await?);
    Ok(())
}

async fn the_same_request_is_let_through_again<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    let tokens = idem.tokens(PURPOSE);
    let token = tokens.issue(&7_i64).await?;
    for (request, expected) in [("r1", "Ok(Now)"), ("r1", "Ok(Again)"), ("r2", "Err(Used)"), ("R1", "Err(Used)")] {
        let mut tx = idem.begin().await?;
        let consumed = tokens.consume(&token, &7_i64).request(request).run(&mut tx).await;
        ensure!(format!("{consumed:?}") == expected, "{request}: {consumed:?}");
        tx.commit().await?;
    }
    let mut tx = idem.begin().await?;
    answer!(tokens.consume(&token, &7_i64).run(&mut tx).await, Err(TokenError::Used));
    Ok(())
}

/// The function's own duplicates never come to the token: they hear the first one's result.
async fn a_token_in_an_idempotent_function<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    let token = idem.tokens(PURPOSE).issue(&7_i64).await?;
    for fails in [true, false, false] {
        let sent: Result<i64, PayError> = idem
            .once("test.form", "request 1")
            .run(async |mut tx| {
                let consumed = idem.tokens(PURPOSE).consume(&token, &7_i64).run(&mut tx).await;
                answer_in_body(consumed)?;
                effect(&mut tx, "sent").await?;
                if fails { Err(PayError::Refused) } else { Ok(1) }
            })
            .await;
        match sent {
            Err(PayError::Refused) if fails => {}
            Ok(1) if !fails => {}
            other => return Err(format!("{other:?}").into()),
        }
    }
    answer!(send(&idem, &token, 7).await, Err(TokenError::Used));
    ensure!(effects(&db).await? == "sent", "{}", effects(&db).await?);
    Ok(())
}

fn answer_in_body(consumed: Result<Consumed, TokenError>) -> Result<(), PayError> {
    match consumed {
        Ok(Consumed::Now) => Ok(()),
        other => Err(PayError::Sql(sqlx::Error::Protocol(format!("{other:?}")))),
    }
}

async fn c57_without_a_database_nothing_happens<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    let token = idem.tokens(PURPOSE).issue(&7_i64).await?;
    idem.pool().close().await;
    answer!(send(&idem, &token, 7).await, Err(TokenError::Runtime(_)));
    answer!(idem.tokens(PURPOSE).issue(&7_i64).await, Err(Error::Database(_)));
    answer!(send(&db.idem(1).await?, &token, 7).await, Ok(Consumed::Now));
    Ok(())
}

/// Its life ends while it waits; what it is told is what happened.
async fn c56_who_waited_in_vain_is_told_that_it_was_used<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(3).await?;
    create_tables(&db).await?;
    let token = idem.tokens(PURPOSE).issue(&7_i64).await?;
    let mut tx = idem.begin().await?;
    answer!(idem.tokens(PURPOSE).consume(&token, &7_i64).run(&mut tx).await, Ok(Consumed::Now));
    crate::acts::run(&mut tx, "UPDATE idem_token SET expires_at = '2020-01-01'").await?;
    let (late, second) = (idem.clone(), token.clone());
    let late = tokio::spawn(async move { send(&late, &second, 7).await });
    until_waiting(&db, 1).await?;
    tx.commit().await?;
    answer!(late.await?, Err(TokenError::Used));
    Ok(())
}

async fn who_waited_for_a_rollback_gets_it<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(3).await?;
    create_tables(&db).await?;
    let token = idem.tokens(PURPOSE).issue(&7_i64).await?;
    let mut tx = idem.begin().await?;
    answer!(idem.tokens(PURPOSE).consume(&token, &7_i64).run(&mut tx).await, Ok(Consumed::Now));
    let (late, second) = (idem.clone(), token.clone());
    let late = tokio::spawn(async move { send(&late, &second, 7).await });
    until_waiting(&db, 1).await?;
    tx.rollback().await?;
    answer!(late.await?, Ok(Consumed::Now));
    Ok(())
}

/// A form that is sent with a token and without a key: the token is used if, and only if, the effect is there.
pub(crate) struct Form;

impl Scenario for Form {
    const NAME: &'static str = "form";

    async fn create_tables<DB: Engine>(db: &TestDb<DB>) -> TestResult {
        db.idem(1).await?;
        create_tables(db).await
    }

    async fn prepare<DB: Engine>(db: &TestDb<DB>, round: i64) -> TestResult {
        // The hash of the round's number is what a test can know of it.
        let idem = db.idem(1).await?;
        let token = idem.tokens(PURPOSE).issue(&round).await?;
        db.execute(format!("INSERT INTO counter (id, value) VALUES ({}, 0)", 100 + round)).await?;
        db.execute(format!("INSERT INTO effect (name) VALUES ('token {round} {token}')")).await.map(drop)
    }

    async fn call<DB: Engine>(idem: &Idem<DB>, round: i64) -> Result<(), NoAnswer> {
        let select = format!("SELECT name FROM effect WHERE name LIKE 'token {round} %'");
        let rows = DB::rows(idem.pool(), select).await?;
        let token = rows.concat().concat().split(' ').next_back().unwrap_or_default().to_owned();
        let mut tx = idem.begin().await?;
        let request = format!("request {round}");
        let consumed = idem.tokens(PURPOSE).consume(&token, &round).request(&request).run(&mut tx).await;
        match consumed {
            Ok(Consumed::Now) => effect(&mut tx, &format!("sent {round}")).await?,
            Ok(Consumed::Again) => {}
            Err(TokenError::Runtime(error)) => return Err(error.into()),
            Err(error) => return Err(NoAnswer::Never(error.into())),
        }
        Ok(tx.commit().await?)
    }

    async fn check<DB: Engine>(db: &TestDb<DB>, round: i64, called: Called) -> TestResult {
        let sent = db.integer(format!("SELECT COUNT(*) FROM effect WHERE name = 'sent {round}'")).await?;
        let used = format!("SELECT COUNT(*) FROM idem_token WHERE used_at IS NOT NULL AND used_by = 'request {round}'");
        let used = db.integer(used).await?;
        let is_right = sent == used && (sent == 1 || (called == Called::Cut && sent == 0));
        ensure!(is_right, "sent {sent}, used {used}");
        Ok(())
    }
}
