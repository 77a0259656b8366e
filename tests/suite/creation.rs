//! How a row begins, and what is told when it has begun before.

use std::ops::Range;
use std::time::Duration;

use idem_runtime::prelude::*;
use idem_runtime::schema;
use sqlx::{MySql, Postgres};
use tokio::sync::Mutex;
use uuid::Uuid;

use crate::answers::answer;
use crate::machines::quoted;
use crate::shop::text_type;
use crate::support::{
    BoxError, Called, Ended, Engine, NoAnswer, Scenario, Suite, TestDb, TestResult, drop_at_every_await, ensure,
    on_engines, on_every_engine, release_together,
};

use self::cart::Pay;

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            answers_of_a_creation,
            answers_of_a_creation_in_a_transaction,
            creation_without_a_history,
            creation_of_a_cause_that_moves_one_row,
            creation_beside_rows_from_before,
            creation_of_a_deleted_row,
            creation_that_a_trigger_swallows,
            creation_against_an_index_of_the_users,
            creations_of_one_cause,
            creations_of_one_key,
            creations_of_one_identifier,
            creation_dropped_inside_a_transaction_that_commits,
        ]
    );
    on_engines!(
        suite,
        [Postgres, MySql],
        "SQLite's transactions wait for one another at their beginning",
        [creation_again_waits_for_no_other]
    );
}

/// A cart: its identifier is made anew for each request, and a buyer has one open cart of a shop.
#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "carts", id(cart_id: i64), history, rename_all = "snake_case")]
#[create(cart_id: i64, shop: String, buyer: i64, amount: i64, note: Option<String>, rate: f64, opened_at = now, via = "web", fresh_id)]
#[unique_while(one_open: shop, buyer in Open | Paying)]
#[transition(begin:  Open          => Paying)]
#[transition(pay:    Open | Paying => Paid)]
#[transition(close:  Open          => Closed)]
#[transition(reopen: Closed        => Open)]
pub(crate) enum Cart {
    #[state(initial)]
    Open,
    #[state(alias = "in_payment")]
    Paying,
    #[state(terminal)]
    Paid,
    Closed,
}

/// Makes the tables of the carts.
pub(crate) async fn create_tables<DB: Engine>(db: &TestDb<DB>) -> TestResult {
    let dialect = DB::DIALECT;
    let (text, columns) = (text_type(dialect), schema::columns::<Cart>(dialect));
    let time = match dialect {
        Dialect::Postgres => "TIMESTAMPTZ",
        Dialect::MySql => "DATETIME(6)",
        Dialect::Sqlite => "TEXT",
    };
    db.execute(format!(
        "CREATE TABLE carts (cart_id BIGINT NOT NULL PRIMARY KEY, shop {text}, buyer BIGINT, amount BIGINT, note {text}, \
         rate DOUBLE PRECISION, opened_at {time} NOT NULL, via {text}, {columns})"
    ))
    .await?;
    db.execute(schema::history::<Cart>(dialect).ok_or("carts keep a history")?).await?;
    db.execute(schema::unique_while::<Cart>(dialect).ok_or("carts have a rule")?).await?;
    Ok(())
}

/// What a cart begins with.
pub(crate) fn new(cart_id: i64, buyer: i64, amount: i64) -> cart::New {
    cart::New { cart_id, shop: "tea".to_owned(), buyer, amount, note: None, rate: 0.1 }
}

/// The committed history of a cart, an entry a line.
pub(crate) async fn entries<DB: Engine>(db: &TestDb<DB>, cart_id: i64) -> Result<String, BoxError> {
    let columns = "version, source, target, event, cause";
    let rows =
        db.rows(format!("SELECT {columns} FROM carts_history WHERE cart_id = {cart_id} ORDER BY version")).await?;
    Ok(rows.iter().map(|row| row.join(" ")).collect::<Vec<_>>().join("\n"))
}

async fn answers_of_a_creation<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    let idem = db.idem(2).await?;
    let on = &idem;
    let create = |new| Cart::create(new);

    answer!(create(new(1, 7, 500)).cause("R1").run(on).await,
        Ok(Created::New(row)) if *row.id() == 1 && row.state() == Cart::Open && row.version() == 0);
    ensure!(entries(&db, 1).await? == "0  open create R1", "{}", entries(&db, 1).await?);
    answer!(create(new(2, 7, 500)).cause("R1").run(on).await, Ok(Created::Replayed(row)) if *row.id() == 1);
    answer!(create(new(2, 7, 501)).cause("R1").run(on).await, Err(TransitionError::Mismatch { event: "create", .. }));
    answer!(create(new(2, 7, 500)).cause("R2").run(on).await, Ok(Created::Existing(row)) if *row.id() == 1);
    answer!(create(new(2, 7, 500)).run(on).await, Ok(Created::Existing(row)) if *row.id() == 1);
    answer!(create(new(2, 7, 501)).run(on).await, Err(TransitionError::Mismatch { .. }));
    answer!(create(new(1, 8, 500)).run(on).await, Err(TransitionError::Mismatch { .. }));
    answer!(create(new(1, 7, 500)).run(on).await, Ok(Created::Existing(row)) if *row.id() == 1);

    answer!(Cart::row(1).fire(Pay).cause("T1").run(on).await, Ok(Outcome::Applied(row)) if row.version() == 1);
    answer!(create(new(2, 7, 500)).cause("R1").run(on).await,
        Ok(Created::Replayed(row)) if *row.id() == 1 && row.state() == Cart::Paid && row.version() == 1);
    answer!(create(new(2, 7, 500)).cause("R2").run(on).await, Ok(Created::New(row)) if *row.id() == 2);
    ensure!(db.integer("SELECT COUNT(*) FROM carts").await? == 2, "another row");
    Ok(())
}

/// Every answer but a failure of the database leaves the transaction as it was before the call.
async fn answers_of_a_creation_in_a_transaction<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    let idem = db.idem(1).await?;
    let mut tx = idem.begin().await?;
    answer!(Cart::create(new(1, 7, 500)).cause("R1").run(&mut *tx).await, Ok(Created::New(_)));
    answer!(Cart::create(new(2, 7, 500)).cause("R1").run(&mut *tx).await,
        Ok(Created::Replayed(row)) if *row.id() == 1);
    answer!(Cart::create(new(2, 7, 500)).run(&mut *tx).await, Ok(Created::Existing(row)) if *row.id() == 1);
    answer!(Cart::create(new(1, 8, 500)).cause("R2").run(&mut *tx).await, Err(TransitionError::Mismatch { .. }));
    answer!(Cart::create(new(1, 8, 500)).cause("").run(&mut *tx).await, Err(TransitionError::Runtime(_)));
    answer!(Cart::row(1).fire(Pay).run(&mut *tx).await, Ok(Outcome::Applied(_)));
    answer!(Cart::create(new(2, 7, 500)).cause("R3").run(&mut *tx).await, Ok(Created::New(_)));
    tx.commit().await?;
    ensure!(entries(&db, 1).await? == "0  open create R1\n1 open paid pay NULL", "{}", entries(&db, 1).await?);
    ensure!(entries(&db, 2).await? == "0  open create R3", "{}", entries(&db, 2).await?);

    let mut tx = idem.begin().await?;
    answer!(Cart::create(new(3, 9, 500)).cause("R4").run(&mut *tx).await, Ok(Created::New(_)));
    tx.rollback().await?;
    ensure!(count(&db, "carts").await? == 2 && entries(&db, 3).await?.is_empty(), "a rollback undoes both");
    answer!(Cart::create(new(4, 9, 500)).cause("R4").run(&idem).await, Ok(Created::New(row)) if *row.id() == 4);
    Ok(())
}

async fn count<DB: Engine>(db: &TestDb<DB>, table: &str) -> Result<i64, BoxError> {
    db.integer(format!("SELECT COUNT(*) FROM {table}")).await
}

/// A booth of a hall: no history, so that the columns are compared, and no version.
#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "booths", id(hall: String, r#where: Uuid), status = "select", version = none, repr = int)]
#[create(r#where: Uuid, area: Option<i64>, rate: f64, hall: String, tenant: i64, key = "none", sold = false)]
#[unique_while(one_held: hall, tenant in Held)]
#[unique_while(one_booth: tenant in Used | Held)]
#[transition(occupy: Held => Used)]
#[transition(leave:  Used => Free)]
enum Booth {
    #[state(initial, value = 1, alias = 11)]
    Held,
    #[state(value = 2)]
    Used,
    #[state(terminal, value = 3)]
    Free,
}

async fn create_booths<DB: Engine>(db: &TestDb<DB>) -> TestResult {
    let (text, columns) = (text_type(DB::DIALECT), schema::columns::<Booth>(DB::DIALECT));
    let uuid = match DB::DIALECT {
        Dialect::Postgres => "UUID",
        Dialect::MySql => "BINARY(16)",
        Dialect::Sqlite => "BLOB",
    };
    let table = format!(
        "CREATE TABLE booths (hall {text} NOT NULL, 'where' {uuid} NOT NULL, tenant BIGINT, area BIGINT, \
         rate DOUBLE PRECISION, 'key' {text}, sold BOOLEAN"
    );
    let table =
        format!("{}, {columns}, {})", quoted(DB::DIALECT, &table), quoted(DB::DIALECT, "PRIMARY KEY (hall, 'where')"));
    db.execute(table).await?;
    db.execute(schema::unique_while::<Booth>(DB::DIALECT).ok_or("booths have rules")?).await?;
    Ok(())
}

fn booth(hall: &str, number: u128, tenant: i64, area: Option<i64>) -> self::booth::New {
    self::booth::New { hall: hall.to_owned(), r#where: Uuid::from_u128(number), tenant, area, rate: 0.1 }
}

async fn creation_without_a_history<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_booths(&db).await?;
    let idem = db.idem(1).await?;
    let here = ("A".to_owned(), Uuid::from_u128(1));
    let mut tx = idem.begin().await?;
    answer!(Booth::create(booth("A", 1, 7, None)).run(&mut *tx).await,
        Ok(Created::New(row)) if *row.id() == here && row.state() == Booth::Held);
    // The identifier comes with the request, so that another one is another request.
    answer!(Booth::create(booth("A", 2, 7, None)).run(&mut *tx).await, Err(TransitionError::Mismatch { .. }));
    answer!(Booth::create(booth("A", 1, 7, None)).run(&mut *tx).await, Ok(Created::Existing(row)) if *row.id() == here);
    answer!(Booth::create(booth("A", 1, 7, Some(3))).run(&mut *tx).await, Err(TransitionError::Mismatch { .. }));
    answer!(Booth::create(booth("B", 2, 8, Some(3))).run(&mut *tx).await, Ok(Created::New(_)));
    tx.commit().await?;
    answer!(Booth::row("A".to_owned(), here.1).fire(self::booth::Occupy).run(&idem).await, Ok(Outcome::Applied(_)));
    answer!(Booth::create(booth("A", 1, 7, None)).run(&idem).await,
        Ok(Created::Existing(row)) if row.state() == Booth::Used);
    let mut other_rate = booth("B", 2, 8, Some(3));
    other_rate.rate = 0.2;
    answer!(Booth::create(other_rate).run(idem.pool()).await, Ok(Created::Existing(_)));
    ensure!(count(&db, "booths").await? == 2, "two rows were made");
    Ok(())
}

/// A ticket: its code comes with the request, and a cause moves one of them.
#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "tickets", id(code: String), history(cause = once), repr = native, rename_all = "snake_case")]
#[create(code: String, seats: i64)]
#[transition(admit: Sold => Used)]
enum Ticket {
    #[state(initial)]
    Sold,
    #[state(terminal)]
    Used,
}

async fn creation_of_a_cause_that_moves_one_row<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (text, columns) = (text_type(DB::DIALECT), schema::columns::<Ticket>(DB::DIALECT));
    if let Some(status_type) = schema::status_type::<Ticket>(DB::DIALECT) {
        db.execute(status_type).await?;
    }
    db.execute(format!("CREATE TABLE tickets (code {text} NOT NULL PRIMARY KEY, seats BIGINT, {columns})")).await?;
    db.execute(schema::history::<Ticket>(DB::DIALECT).ok_or("tickets keep a history")?).await?;
    let idem = db.idem(1).await?;
    let create = |code: &str, seats| Ticket::create(ticket::New { code: code.to_owned(), seats });
    answer!(create("a", 2).cause("R").run(&idem).await, Ok(Created::New(row)) if row.id() == "a");
    answer!(create("a", 2).cause("R").run(&idem).await, Ok(Created::Replayed(row)) if row.id() == "a");
    // The code comes with the request: with another one it is another request.
    answer!(create("b", 2).cause("R").run(&idem).await, Err(TransitionError::Mismatch { .. }));
    answer!(create("b", 2).cause("S").run(&idem).await, Ok(Created::New(_)));
    answer!(Ticket::row("b".to_owned()).fire(ticket::Admit).cause("R").run(&idem).await, Ok(Outcome::Applied(_)));
    answer!(create("b", 2).cause("S").run(&idem).await, Ok(Created::Replayed(row)) if row.state() == Ticket::Used);
    answer!(create("b", 2).cause("T").run(&idem).await, Ok(Created::Existing(row)) if row.version() == 1);
    Ok(())
}

/// What has no entry is compared by its columns.
async fn creation_beside_rows_from_before<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    let idem = db.idem(1).await?;
    db.execute(
        "INSERT INTO carts (cart_id, shop, buyer, amount, opened_at, status, version) \
         VALUES (1, 'tea', 7, 500, '2020-02-02', 'in_payment', 4)",
    )
    .await?;
    answer!(Cart::create(new(2, 7, 500)).cause("R1").run(&idem).await,
        Ok(Created::Existing(row)) if *row.id() == 1 && row.state() == Cart::Paying && row.version() == 4);
    answer!(Cart::create(new(2, 7, 501)).cause("R1").run(&idem).await, Err(TransitionError::Mismatch { .. }));
    if DB::DIALECT != Dialect::Sqlite {
        db.execute("ALTER TABLE carts DROP CONSTRAINT carts_status_check").await?;
    }
    db.execute("UPDATE carts SET status = 'lost'").await?;
    answer!(Cart::create(new(1, 7, 500)).run(&idem).await, Err(TransitionError::UnknownState { raw, .. }) if raw == "lost");
    Ok(())
}

/// The history knows the cause, and nobody can be given the row.
async fn creation_of_a_deleted_row<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    let idem = db.idem(1).await?;
    answer!(Cart::create(new(1, 7, 500)).cause("R1").run(&idem).await, Ok(Created::New(_)));
    db.execute("DELETE FROM carts").await?;
    answer!(Cart::create(new(2, 7, 500)).cause("R1").run(&idem).await, Err(TransitionError::NotFound { .. }));
    answer!(Cart::create(new(2, 7, 501)).cause("R1").run(&idem).await, Err(TransitionError::Mismatch { .. }));
    // The entries of the version that it would have are another row's.
    answer!(Cart::create(new(1, 7, 500)).cause("R2").run(&idem).await, Err(TransitionError::Database(_)));
    ensure!(count(&db, "carts").await? == 0 && count(&db, "carts_history").await? == 1, "nothing was kept");
    Ok(())
}

/// A trigger that swallows the INSERT on PostgreSQL; the others can only refuse it.
async fn creation_that_a_trigger_swallows<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    let idem = db.idem(1).await?;
    let trigger = match DB::DIALECT {
        Dialect::Postgres => {
            "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; \
             CREATE TRIGGER swallow BEFORE INSERT ON carts FOR EACH ROW EXECUTE FUNCTION swallow()"
        }
        Dialect::MySql => "CREATE TRIGGER swallow BEFORE INSERT ON carts FOR EACH ROW SIGNAL SQLSTATE '45000'",
        Dialect::Sqlite => "CREATE TRIGGER swallow BEFORE INSERT ON carts BEGIN SELECT RAISE(IGNORE); END",
    };
    db.execute(trigger).await?;
    answer!(Cart::create(new(1, 7, 500)).cause("R1").run(&idem).await, Err(TransitionError::Database(_)));
    let mut tx = idem.begin().await?;
    answer!(Cart::create(new(1, 7, 500)).cause("R1").run(&mut *tx).await, Err(TransitionError::Database(_)));
    tx.commit().await?;
    ensure!(count(&db, "carts").await? == 0 && count(&db, "carts_history").await? == 0, "half of it was kept");
    Ok(())
}

/// A collision that the machine knows nothing of is told as the database tells it.
async fn creation_against_an_index_of_the_users<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    let idem = db.idem(1).await?;
    db.execute("CREATE UNIQUE INDEX one_amount ON carts (amount)").await?;
    answer!(Cart::create(new(1, 7, 500)).cause("R1").run(&idem).await, Ok(Created::New(_)));
    let mut tx = idem.begin().await?;
    let other = Cart::create(new(2, 8, 500)).cause("R2").run(&mut *tx).await;
    answer!(other, Err(TransitionError::Database(sqlx::Error::Database(error))) if error.is_unique_violation());
    answer!(Cart::row(1).fire(Pay).run(&mut *tx).await, Ok(Outcome::Applied(_)));
    tx.commit().await?;
    ensure!(count(&db, "carts_history").await? == 2, "an entry without a row");
    Ok(())
}

/// How many rounds a race of creations has.
const ROUNDS: i64 = 20;

/// The same request from many tasks, each with an identifier of its own: one row, and everybody is told of it.
async fn creations_of_one_cause<DB: Engine>(db: TestDb<DB>) -> TestResult {
    race_once(&db, true, |round, task| new(round * 100 + task, round, 500)).await
}

/// Many requests for one key: one row is open.
async fn creations_of_one_key<DB: Engine>(db: TestDb<DB>) -> TestResult {
    race_once(&db, false, |round, task| new(round * 100 + task, round, 500)).await
}

async fn creations_of_one_identifier<DB: Engine>(db: TestDb<DB>) -> TestResult {
    race_once(&db, false, |round, task| new(round, round * 100 + task, 500)).await
}

async fn race_once<DB: Engine>(db: &TestDb<DB>, caused: bool, new: fn(i64, i64) -> cart::New) -> TestResult {
    create_tables(db).await?;
    race_creations(db, &db.idem(8).await?, 0..ROUNDS, caused, new).await
}

/// Many creations at once, in each of the rounds: of one cause, or of one that differs or is none.
pub(crate) async fn race_creations<DB: Engine>(
    db: &TestDb<DB>,
    idem: &Idem<DB>,
    rounds: Range<i64>,
    caused: bool,
    new: fn(i64, i64) -> cart::New,
) -> TestResult {
    let before = count(db, "carts").await?;
    let expected = before + rounds.end - rounds.start;
    for round in rounds {
        let answers = release_together(|task| {
            let (idem, task) = (idem.clone(), i64::try_from(task).unwrap_or_default());
            async move { create_until_told(&idem, &new(round, task), caused.then_some(round), task % 2 == 0).await }
        });
        let (mut made, mut ids) = (0, Vec::new());
        for answer in answers.await? {
            match answer {
                Ok(Created::New(row)) => {
                    made += 1;
                    ids.push(*row.id());
                }
                Ok(Created::Replayed(row)) if caused => ids.push(*row.id()),
                Ok(Created::Existing(row)) if !caused => ids.push(*row.id()),
                // Other buyers asked for the same cart.
                Err(TransitionError::Mismatch { .. }) if !caused => {}
                other => return Err(format!("in round {round}: {other:?}").into()),
            }
        }
        ids.dedup();
        ensure!(made == 1 && ids.len() == 1, "in round {round}: {made} made, {ids:?}");
    }
    let found = [count(db, "carts").await?, count(db, "carts_history").await?];
    ensure!(found == [expected, expected], "one row a round: {found:?} of {expected}");
    Ok(())
}

/// Creates, again for as long as the answer is to run it all again.
async fn create_until_told<DB: Engine>(
    idem: &Idem<DB>,
    new: &cart::New,
    cause: Option<i64>,
    in_transaction: bool,
) -> Result<Created<Cart>, TransitionError> {
    let create = || match cause {
        Some(cause) => Cart::create(new.clone()).cause(&cause),
        None => Cart::create(new.clone()),
    };
    loop {
        let answer = if in_transaction {
            async {
                let mut tx = idem.begin().await?;
                let created = create().run(&mut *tx).await?;
                tx.commit().await?;
                Ok(created)
            }
            .await
        } else {
            create().run(idem).await
        };
        match answer {
            Err(error) if error.is_retryable() => {}
            answer => return answer,
        }
    }
}

/// What tells a request that comes again is found by an index: without one, MySQL locks every entry on its way.
async fn creation_again_waits_for_no_other<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    let idem = db.idem(2).await?;
    answer!(Cart::create(new(1, 1, 500)).cause("R1").run(&idem).await, Ok(Created::New(_)));
    let mut other = idem.begin().await?;
    answer!(Cart::create(new(2, 2, 500)).cause("R2").run(&mut *other).await, Ok(Created::New(_)));
    let again = Cart::create(new(3, 1, 500)).cause("R1").run(&idem);
    let again = tokio::time::timeout(Duration::from_secs(10), again).await?;
    answer!(again, Ok(Created::Replayed(row)) if *row.id() == 1);
    other.commit().await?;
    Ok(())
}

/// A creation by itself: dropped at every await, killed at every step and raced.
pub(crate) struct Creation;

impl Scenario for Creation {
    const NAME: &'static str = "creation";

    async fn create_tables<DB: Engine>(db: &TestDb<DB>) -> TestResult {
        create_tables(db).await
    }

    async fn prepare<DB: Engine>(_: &TestDb<DB>, _: i64) -> TestResult {
        Ok(())
    }

    async fn call<DB: Engine>(idem: &Idem<DB>, round: i64) -> Result<(), NoAnswer> {
        let created = Cart::create(new(round, round, 500)).cause(&round).run(idem).await?;
        if *created.into_row().id() == round {
            return Ok(());
        }
        Err(NoAnswer::Never("another row".into()))
    }

    async fn check<DB: Engine>(db: &TestDb<DB>, round: i64, called: Called) -> TestResult {
        let rows = db.integer(format!("SELECT COUNT(*) FROM carts WHERE cart_id = {round}")).await?;
        let found = (rows, entries(db, round).await?);
        let made = found == (1, format!("0  open create {round}"));
        ensure!(made || (called == Called::Cut && found == (0, String::new())), "{found:?}");
        Ok(())
    }
}

/// A transaction whose caller goes on although the future of a creation in it was dropped.
async fn creation_dropped_inside_a_transaction_that_commits<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    let idem = db.idem(2).await?;
    let slot = Mutex::new(None);
    let id_of = |polls| i64::try_from(polls).unwrap_or(i64::MAX);
    let prepare = async |_| {
        *slot.lock().await = Some(idem.begin().await?);
        Ok(())
    };
    let call = |polls| {
        let slot = &slot;
        async move {
            let mut slot = slot.lock().await;
            let tx = slot.as_mut().ok_or("prepared before")?;
            let created = Cart::create(new(id_of(polls), id_of(polls), 5)).cause(&id_of(polls)).run(&mut **tx).await?;
            Ok(created.is_new())
        }
    };
    let check = async |polls, ended: Ended<Result<bool, BoxError>>| {
        let committed = slot.lock().await.take().ok_or("prepared before")?.commit().await.is_ok();
        if let Ended::Completed(made) = ended {
            ensure!(made? && committed, "a call that has answered is kept");
        }
        let rows = db.integer(format!("SELECT COUNT(*) FROM carts WHERE cart_id = {polls}")).await?;
        let entries = entries(&db, id_of(polls)).await?;
        ensure!(rows == i64::from(!entries.is_empty()), "{rows} rows: {entries}");
        ensure!(committed || rows == 0, "kept by a transaction that failed");
        Ok(())
    };
    drop_at_every_await(prepare, call, check).await?;
    Ok(())
}
