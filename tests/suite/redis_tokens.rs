//! One-time tokens in Redis: one winner, each refusal called by its name, nothing let through without an answer; and where they
//! are weaker than those in the database.

mod difference;
mod faults;
mod owners;

use std::time::Duration;

use idem_runtime::prelude::*;
use idem_runtime::token::{Confirmed, Consumed, GetdelTokens, RedisTokens, Reservation, Reserve, TokenError};
use tokio::time::Instant;

use crate::acts::{create_tables, effect, effects};
use crate::answers::answer;
use crate::support::{
    BoxError, Engine, Faulty, Suite, TestDb, TestResult, ensure, on_every_engine, redis_cluster, redis_prefix,
    release_many,
};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            redis_tokens_are_hashes_there,
            redis_tokens_are_kept_for_their_time,
            redis_tokens_refuse_each_by_its_name,
            redis_tokens_let_one_of_fifty_through,
            redis_getdel_lets_one_of_fifty_through,
            redis_tokens_tell_the_truth_in_a_race,
            redis_tokens_on_a_cluster,
        ]
    );
    difference::add(suite);
    faults::add(suite);
    owners::add(suite);
}

const PURPOSE: &str = "order.form";
const USER: &str = "alice@example.com";

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(20);

/// An engine, and tokens of a test's own.
struct Form<DB: Engine> {
    db: TestDb<DB>,
    idem: Idem<DB>,
    tokens: RedisTokens,
    getdel: GetdelTokens,
    redis: Faulty,
    prefix: String,
}

impl<DB: Engine> Form<DB> {
    async fn new(db: &TestDb<DB>) -> Result<Self, BoxError> {
        let (idem, redis, prefix) = (db.idem(4).await?, Faulty::new()?, redis_prefix());
        create_tables(db).await?;
        // Far more than a busy machine takes.
        let timeout = Duration::from_secs(5);
        let tokens = RedisTokens::new(redis.clone(), PURPOSE).prefix(&prefix).timeout(timeout).hold(PATIENCE * 100);
        let getdel = GetdelTokens::new(redis.clone(), PURPOSE).prefix(&prefix).timeout(timeout);
        Ok(Self { db: db.clone(), idem, tokens, getdel, redis, prefix })
    }

    async fn issue(&self) -> Result<String, TokenError> {
        self.tokens.issue(USER).await
    }

    fn reserve<'r>(&'r self, token: &'r str) -> Reserve<'r> {
        self.tokens.reserve(token, USER)
    }

    /// Reserves a token, writes an effect in a transaction, and confirms.
    async fn send(&self, token: &str, user: &str) -> Result<Consumed, TokenError> {
        let mut reservation = self.tokens.reserve(token, user).run().await?;
        self.write("sent").await?;
        reservation.confirm().await?;
        Ok(reservation.consumed())
    }

    /// Writes an effect in a transaction.
    async fn write(&self, name: &str) -> Result<(), Error> {
        let mut tx = self.idem.begin().await?;
        effect(&mut tx, name).await.map_err(Error::Database)?;
        tx.commit().await
    }

    /// Sets a field of all tokens of the test, as if time had passed.
    async fn set(&self, field: &str, value: i64) -> TestResult {
        for key in self.redis.keys(&self.prefix).await? {
            self.redis.command(redis::cmd("HSET").arg(key).arg(field).arg(value).clone()).await?;
        }
        Ok(())
    }

    /// All of their lives are over.
    async fn end_lives(&self) -> TestResult {
        self.set("ends", 1).await
    }

    /// All of their reservations are over, and were neither confirmed nor released.
    async fn end_reservations(&self) -> TestResult {
        self.set("held", 1).await
    }

    /// The only key's time to live.
    async fn ttl(&self) -> Result<Duration, BoxError> {
        let keys = self.redis.keys(&self.prefix).await?;
        ensure!(keys.len() == 1, "{keys:?}");
        let ttl = self.redis.command(redis::cmd("PTTL").arg(&keys[0]).clone()).await?;
        Ok(Duration::from_millis(redis::from_redis_value(ttl)?))
    }

    async fn left(&self, expected: &str) -> TestResult {
        let found = effects(&self.db).await?;
        ensure!(found == expected, "expected the effects {expected:?}, found {found:?}");
        Ok(())
    }
}

/// Reserves a token as soon as nobody has it.
async fn insist(tokens: &RedisTokens, token: &str) -> Result<Reservation, TokenError> {
    let end = Instant::now() + PATIENCE;
    loop {
        match tokens.reserve(token, USER).run().await {
            Err(TokenError::Runtime(Error::InProgress { .. })) if Instant::now() < end => {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            answer => return answer,
        }
    }
}

async fn redis_tokens_are_hashes_there<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let form = Form::new(&db).await?;
    let (first, second) = (form.issue().await?, form.getdel.issue(USER).await?);
    ensure!(first != second && first.len() == 40 && second.len() == 40, "{first} {second}");
    ensure!(first.bytes().all(|byte| byte.is_ascii_hexdigit()), "it goes into a URL: {first}");
    let mut reservation = form.reserve(&first).request("request 1").run().await?;
    answer!(reservation.confirm().await, Ok(Confirmed::Used));
    let mut seen = vec![format!("{:?} {reservation:?} {:?}", form.reserve(&first), form.getdel)];
    let keys = form.redis.keys(&form.prefix).await?;
    ensure!(keys.len() == 2, "{keys:?}");
    for key in keys {
        let dumped = form.redis.command(redis::cmd("DUMP").arg(&key).clone()).await?;
        let dumped: Vec<u8> = redis::from_redis_value(dumped)?;
        seen.extend([key, String::from_utf8_lossy(&dumped).into_owned()]);
    }
    let seen = seen.join(" ");
    for secret in [&first, &second, USER, "request 1"] {
        ensure!(!seen.contains(secret), "{secret} is seen in {seen}");
    }
    answer!(form.tokens.issue(&String::new()).await, Err(TokenError::Runtime(Error::InvalidKey { .. })));
    answer!(form.getdel.issue(&String::new()).await, Err(TokenError::Runtime(Error::InvalidKey { .. })));
    Ok(())
}

async fn redis_tokens_are_kept_for_their_time<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let seconds = Duration::from_secs;
    let mut form = Form::new(&db).await?;
    form.getdel.issue(USER).await?;
    let ttl = form.ttl().await?;
    ensure!(ttl > seconds(270) && ttl <= seconds(300), "five minutes, not {ttl:?}");
    form.redis.flush(&form.prefix).await?;
    let token = form.issue().await?;
    let ttl = form.ttl().await?;
    ensure!(ttl > seconds(3_870) && ttl <= seconds(3_900), "five minutes and an hour, not {ttl:?}");
    // What is confirmed late is told as long as what is confirmed in time.
    let mut reservation = form.reserve(&token).run().await?;
    form.end_lives().await?;
    answer!(reservation.confirm().await, Ok(Confirmed::Used));
    let ttl = form.ttl().await?;
    ensure!(ttl > seconds(3_570) && ttl <= seconds(3_600), "an hour, not {ttl:?}");
    form.redis.flush(&form.prefix).await?;
    // A reservation does not vanish with its token's life.
    form.tokens = form.tokens.life(seconds(10)).keep(Duration::ZERO);
    let token = form.issue().await?;
    let _reservation = form.reserve(&token).run().await?;
    let ttl = form.ttl().await?;
    ensure!(ttl > seconds(1_970) && ttl <= seconds(2_001), "as long as it is reserved, not {ttl:?}");
    // No life is too long for Redis.
    form.tokens = form.tokens.life(Duration::MAX).keep(Duration::MAX).hold(Duration::MAX);
    let token = form.issue().await?;
    answer!(form.send(&token, USER).await, Ok(Consumed::Now));
    Ok(())
}

async fn redis_tokens_refuse_each_by_its_name<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let form = Form::new(&db).await?;
    let others = RedisTokens::new(form.redis.clone(), "mail.link").prefix(&form.prefix);
    let brief = form.tokens.clone().life(Duration::ZERO);
    let token = form.issue().await?;
    answer!(form.send(&token, "bob").await, Err(TokenError::WrongSubject));
    answer!(form.send("never issued", USER).await, Err(TokenError::Unknown));
    answer!(form.send(&others.issue(USER).await?, USER).await, Err(TokenError::Unknown));
    answer!(form.send(&form.getdel.issue(USER).await?, USER).await, Err(TokenError::Unknown));
    form.redis.flush(&form.prefix).await?;
    let token = form.issue().await?;
    answer!(form.send(&brief.issue(USER).await?, USER).await, Err(TokenError::Expired));
    // Nobody who was refused has used it.
    answer!(form.send(&token, USER).await, Ok(Consumed::Now));
    answer!(form.send(&token, USER).await, Err(TokenError::Used));
    answer!(form.send(&token, "bob").await, Err(TokenError::WrongSubject));
    // What was used in its time was used, however late it is asked again.
    form.end_lives().await?;
    answer!(form.send(&token, USER).await, Err(ref error @ TokenError::Used) if error.reply() == Reply::Ack);
    form.left("sent").await
}

async fn redis_tokens_let_one_of_fifty_through<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let form = Form::new(&db).await?;
    for round in 0..10 {
        let token = form.issue().await?;
        let answers = release_many(50, |_| {
            let (tokens, idem, token) = (form.tokens.clone(), form.idem.clone(), token.clone());
            async move {
                let mut reservation = insist(&tokens, &token).await?;
                let mut tx = idem.begin().await?;
                effect(&mut tx, "sent").await.map_err(Error::Database)?;
                tx.commit().await?;
                reservation.confirm().await
            }
        });
        let (mut got, mut used) = (0, 0);
        for answer in answers.await? {
            match answer {
                Ok(Confirmed::Used) => got += 1,
                Err(TokenError::Used) => used += 1,
                other => return Err(format!("{other:?}").into()),
            }
        }
        ensure!(got == 1 && used == 49, "round {round}: {got} got it, {used} are told that it was used");
    }
    form.left(&["sent"; 10].join(",")).await
}

async fn redis_getdel_lets_one_of_fifty_through<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let form = Form::new(&db).await?;
    for round in 0..10 {
        let token = form.getdel.issue(USER).await?;
        let answers = release_many(50, |_| {
            let (getdel, token) = (form.getdel.clone(), token.clone());
            async move { getdel.take(&token, USER).await }
        });
        let answers = answers.await?;
        let got = answers.iter().filter(|answer| answer.is_ok()).count();
        let absent = answers.iter().filter(|answer| matches!(answer, Err(TokenError::Absent))).count();
        ensure!(got == 1 && absent == 49, "round {round}: {got} got it, {absent} are told that it is absent");
    }
    Ok(())
}

/// Fifty meet a reservation whose token's life ends meanwhile: what they are told is what becomes of it.
async fn redis_tokens_tell_the_truth_in_a_race<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let form = Form::new(&db).await?;
    for (is_confirmed, expected) in [(true, "Err(Used)"), (false, "Err(Expired)")] {
        let token = form.issue().await?;
        let mut reservation = form.reserve(&token).run().await?;
        form.end_lives().await?;
        let asked = form.redis.asked();
        let rivals = tokio::spawn(release_many(50, {
            let tokens = form.tokens.clone();
            move |_| {
                let (tokens, token) = (tokens.clone(), token.clone());
                async move { format!("{:?}", insist(&tokens, &token).await) }
            }
        }));
        while form.redis.asked() < asked + 100 && !rivals.is_finished() {
            tokio::task::yield_now().await;
        }
        if is_confirmed {
            answer!(reservation.confirm().await, Ok(Confirmed::Used));
        } else {
            reservation.release().await?;
        }
        let answers = rivals.await??;
        ensure!(answers.iter().all(|answer| answer == expected), "expected {expected}: {answers:?}");
    }
    Ok(())
}

async fn redis_tokens_on_a_cluster<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (cluster, prefix) = (redis_cluster().await?, redis_prefix());
    let mut form = Form::new(&db).await?;
    form.tokens = RedisTokens::new(cluster.clone(), PURPOSE).prefix(&prefix).timeout(PATIENCE);
    form.getdel = GetdelTokens::new(cluster.clone(), PURPOSE).prefix(&prefix).timeout(PATIENCE);
    for number in 0..30 {
        if number % 10 == 5 {
            let _: () = redis::cmd("SCRIPT").arg("FLUSH").query_async(&mut cluster.clone()).await?;
        }
        let token = form.issue().await?;
        form.reserve(&token).run().await?.release().await?;
        answer!(form.send(&token, "bob").await, Err(TokenError::WrongSubject));
        answer!(form.send(&token, USER).await, Ok(Consumed::Now));
        answer!(form.send(&token, USER).await, Err(TokenError::Used));
        let token = form.getdel.issue(USER).await?;
        answer!(form.getdel.take(&token, "bob").await, Err(TokenError::Absent));
        answer!(form.getdel.take(&token, USER).await, Ok(()));
        answer!(form.getdel.take(&token, USER).await, Err(TokenError::Absent));
    }
    form.left(&["sent"; 30].join(",")).await
}
