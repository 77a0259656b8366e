//! Releases that run side by side on one table: what is changed first, and what last.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use idem_runtime::machine::{AnyState, Guard, HasVersion};
use idem_runtime::prelude::*;
use idem_runtime::schema;
use tokio::process::Child;

use crate::answers::answer;
use crate::guard::releases::{old, wide};
use crate::support::{BoxError, Engine, Errand, Suite, TestDb, TestResult, ensure, on_engines, on_every_engine};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            a_state_is_renamed_over_three_releases,
            a_state_of_an_enum_type_is_renamed_over_three_releases,
            rows_move_while_a_state_is_renamed,
            an_edge_is_changed_under_two_processes,
        ]
    );
    on_engines!(suite, [sqlx::Postgres], "only there values are added to a type", [a_value_is_added_by_itself]);
}

/// What a call answers, whatever its event's target is.
pub(crate) type Answer<M> = Result<Outcome<M, AnyState>, TransitionError>;

pub(crate) fn any_state<M: StateMachine, T>(outcome: Outcome<M, T>) -> Outcome<M, AnyState> {
    match outcome {
        Outcome::Applied(row) => Outcome::Applied(row.any_state()),
        Outcome::Replayed(row) => Outcome::Replayed(row),
        Outcome::Already(row) => Outcome::Already(row),
    }
}

/// A ticket whose middle state is called `open`, and later `active`.
pub(crate) trait Ticket: HasVersion + Debug {
    const OPEN: Self;

    async fn open<DB: Engine>(idem: &Idem<DB>, id: i64) -> Answer<Self>;
    async fn close<DB: Engine>(idem: &Idem<DB>, id: i64) -> Answer<Self>;
}

/// One release of it.
macro_rules! ticket {
    ($release:ident, $repr:ident, $open:meta) => {
        pub(crate) mod $release {
            use idem_runtime::prelude::*;

            use super::super::{Answer, any_state};
            use crate::support::Engine;

            #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
            #[machine(table = "tickets", id(ticket_id: i64), history, repr = $repr, rename_all = "snake_case")]
            #[transition(begin: New  => Open)]
            #[transition(close: Open => Closed)]
            pub(crate) enum Ticket {
                #[state(initial)]
                New,
                #[$open]
                Open,
                #[state(terminal)]
                Closed,
            }

            impl super::super::Ticket for Ticket {
                const OPEN: Self = Self::Open;

                async fn open<DB: Engine>(idem: &Idem<DB>, id: i64) -> Answer<Self> {
                    Self::row(id).fire(ticket::Begin).cause("opened").run(idem).await.map(any_state)
                }

                async fn close<DB: Engine>(idem: &Idem<DB>, id: i64) -> Answer<Self> {
                    Self::row(id).fire(ticket::Close).cause("closed").run(idem).await.map(any_state)
                }
            }
        }
    };
}

pub(crate) mod text {
    //! The state is a text.

    ticket!(before, text, state());
    ticket!(first, text, state(alias = "active"));
    ticket!(second, text, state(rename = "active", alias = "open"));
    ticket!(third, text, state(rename = "active"));
}

pub(crate) mod native {
    //! The state is of an enum type where there is one.

    ticket!(before, native, state());
    ticket!(first, native, state(alias = "active"));
    ticket!(second, native, state(rename = "active", alias = "open"));
    ticket!(third, native, state(rename = "active"));
}

async fn a_state_is_renamed_over_three_releases<DB: Engine>(db: TestDb<DB>) -> TestResult {
    use text::{before, first, second, third};
    renamed::<DB, before::Ticket, first::Ticket, second::Ticket, third::Ticket>(&db).await
}

async fn a_state_of_an_enum_type_is_renamed_over_three_releases<DB: Engine>(db: TestDb<DB>) -> TestResult {
    use native::{before, first, second, third};
    renamed::<DB, before::Ticket, first::Ticket, second::Ticket, third::Ticket>(&db).await
}

/// Tickets from 1 to `number`, all new, in a table as the release has it.
async fn tickets<M: Ticket, DB: Engine>(db: &TestDb<DB>, number: i64) -> TestResult {
    db.execute(schema::table::<M>(DB::DIALECT, "ticket_id BIGINT NOT NULL PRIMARY KEY")).await?;
    for step in schema::install::<M>(DB::DIALECT) {
        db.execute(step.sql).await?;
    }
    let rows: Vec<_> = (1..=number).map(|id| format!("({id})")).collect();
    db.execute(format!("INSERT INTO tickets (ticket_id) VALUES {}", rows.join(", "))).await.map(drop)
}

/// What precedes a release that adds something, or follows one that takes something away.
async fn change<M: Ticket, DB: Engine>(db: &TestDb<DB>) -> TestResult {
    for step in schema::change::<M>(DB::DIALECT) {
        db.execute(step.sql).await?;
    }
    Ok(())
}

/// The stored values of the tickets, and how many hold each.
async fn stored<DB: Engine>(db: &TestDb<DB>) -> Result<String, BoxError> {
    let rows = db.rows("SELECT CONCAT(status, ''), COUNT(*) FROM tickets GROUP BY 1 ORDER BY 1").await?;
    Ok(rows.iter().map(|row| row.join(" ")).collect::<Vec<_>>().join(", "))
}

/// Writes the release's own values, `rows` rows at a time. Gives how many have been rewritten.
async fn rewrite<M: Ticket, DB: Engine>(db: &TestDb<DB>, rows: u32) -> Result<u64, BoxError> {
    let mut all = 0;
    for statement in schema::rewrite_aliases::<M>(DB::DIALECT, rows) {
        loop {
            let rewritten = db.execute(statement.clone()).await?;
            ensure!(rewritten <= u64::from(rows), "{rewritten} at once: {statement}");
            all += rewritten;
            if rewritten == 0 {
                break;
            }
        }
    }
    Ok(all)
}

async fn renamed<DB, Before, First, Second, Third>(db: &TestDb<DB>) -> TestResult
where
    DB: Engine,
    Before: Ticket,
    First: Ticket,
    Second: Ticket,
    Third: Ticket,
{
    tickets::<Before, DB>(db, 9).await?;
    let idem = &db.idem(2).await?;
    answer!(Before::open(idem, 1).await, Ok(Outcome::Applied(_)));

    // The first release reads both words and writes the former one: the release before it goes on beside it.
    change::<First, DB>(db).await?;
    answer!(Before::open(idem, 2).await, Ok(Outcome::Applied(_)));
    answer!(First::open(idem, 3).await, Ok(Outcome::Applied(_)));
    answer!(Before::close(idem, 3).await, Ok(Outcome::Applied(_)));
    ensure!(idem.guard::<Before>().await? == Guard::Outdated, "a warning: it goes on");
    ensure!(stored(db).await? == "closed 1, new 6, open 2", "{}", stored(db).await?);

    // The second one writes the new word. It needs no text, and the first one goes on beside it.
    for (one, other) in schema::change::<First>(DB::DIALECT).iter().zip(schema::change::<Second>(DB::DIALECT)) {
        ensure!(one.marker() == other.marker(), "{} and {}", one.marker(), other.marker());
    }
    ensure!(idem.guard::<Second>().await? == Guard::Installed, "the same values and transitions");
    answer!(First::open(idem, 4).await, Ok(Outcome::Applied(_)));
    answer!(Second::open(idem, 5).await, Ok(Outcome::Applied(_)));
    answer!(First::open(idem, 5).await, Ok(Outcome::Replayed(row)) if row.state().index() == First::OPEN.index());
    answer!(Second::open(idem, 4).await, Ok(Outcome::Replayed(row)) if row.state().index() == Second::OPEN.index());
    answer!(First::close(idem, 5).await, Ok(Outcome::Applied(row)) if row.version() == 2);

    // The rows are rewritten while both run, which is not the last word.
    ensure!(rewrite::<Second, DB>(db, 2).await? == 3, "tickets 1, 2 and 4");
    answer!(First::open(idem, 6).await, Ok(Outcome::Applied(_)));
    answer!(First::close(idem, 4).await, Ok(Outcome::Applied(row)) if row.version() == 2);
    ensure!(stored(db).await? == "active 2, closed 3, new 3, open 1", "{}", stored(db).await?);
    let versions = "SELECT ticket_id, version FROM tickets WHERE ticket_id <= 2 ORDER BY ticket_id";
    ensure!(db.rows(versions).await?.concat() == ["1", "1", "2", "1"], "a row that was rewritten has not moved");

    // When the first one is gone they are rewritten once more, and then the former word is nowhere.
    ensure!(!db.rows(schema::unknown_values::<Third>(DB::DIALECT)).await?.is_empty(), "ticket 6 is not rewritten yet");
    ensure!(rewrite::<Second, DB>(db, u32::MAX).await? == 1, "ticket 6");
    ensure!(db.rows(schema::unknown_values::<Third>(DB::DIALECT)).await?.is_empty(), "all can be read");

    // The third one knows only the new word; when it runs, nobody can store the former one any more.
    answer!(Third::open(idem, 7).await, Ok(Outcome::Applied(_)));
    change::<Third, DB>(db).await?;
    answer!(Second::open(idem, 8).await, Ok(Outcome::Applied(_)));
    answer!(Third::close(idem, 8).await, Ok(Outcome::Applied(_)));
    answer!(Third::close(idem, 1).await, Ok(Outcome::Applied(_)));
    ensure!(idem.guard::<Third>().await? == Guard::Installed, "narrowed");
    ensure!(db.execute("UPDATE tickets SET status = 'open' WHERE ticket_id = 2").await.is_err(), "the former word");
    answer!(First::open(idem, 9).await, Err(_));
    ensure!(stored(db).await? == "active 3, closed 5, new 1", "{}", stored(db).await?);
    let entries = "SELECT target, COUNT(*) FROM tickets_history GROUP BY target ORDER BY target";
    let entries: Vec<_> = db.rows(entries).await?.iter().map(|row| row.join(" ")).collect();
    ensure!(entries == ["active 3", "closed 5", "open 5"], "the history stays as it was written: {entries:?}");
    Ok(())
}

/// What adds a value to an enum type cannot use it, so that its file asks for no transaction.
async fn a_value_is_added_by_itself<DB: Engine>(db: TestDb<DB>) -> TestResult {
    tickets::<native::before::Ticket, DB>(&db, 1).await?;
    let [values, guard] = &schema::change::<native::first::Ticket>(DB::DIALECT)[..] else {
        return Err("the values and the guard".into());
    };
    ensure!(values.to_string().starts_with("-- no-transaction\n-- idem: tickets_status_values "), "{values}");
    ensure!(!values.in_transaction && guard.in_transaction, "{values}\n{guard}");
    let uses = "UPDATE tickets SET status = 'active'";
    let together = db.execute(format!("{};\n{uses}", values.sql)).await;
    ensure!(together.is_err_and(|error| error.to_string().contains("unsafe use of new value")), "used at once");
    db.execute(values.sql.as_str()).await?;
    db.execute(schema::guard_removal::<native::before::Ticket>(DB::DIALECT)).await?;
    ensure!(db.execute(uses).await? == 1, "used later");
    Ok(())
}

/// A row that somebody moves while it is about to be rewritten is where it was moved to.
async fn rows_move_while_a_state_is_renamed<DB: Engine>(db: TestDb<DB>) -> TestResult {
    const TICKETS: i64 = 60;
    tickets::<text::second::Ticket, DB>(&db, TICKETS).await?;
    let idem = &db.idem(2).await?;
    for id in 1..=TICKETS {
        answer!(text::first::Ticket::open(idem, id).await, Ok(Outcome::Applied(_)));
    }
    let close_all = async {
        for id in (1..=TICKETS).rev() {
            while let Err(error) = text::first::Ticket::close(idem, id).await {
                ensure!(error.is_retryable(), "{error:?}");
            }
        }
        Ok::<_, BoxError>(())
    };
    let (closed, rewritten) = tokio::join!(close_all, rewrite::<text::second::Ticket, DB>(&db, 3));
    closed?;
    rewritten?;
    let all = format!("closed {TICKETS}");
    ensure!(stored(&db).await? == all, "{}", stored(&db).await?);
    let versions = db.integer("SELECT COUNT(*) FROM tickets WHERE version = 2").await?;
    ensure!(versions == TICKETS, "{versions} have moved twice");
    Ok(())
}

/// What a child process does.
const BEFORE: &str = "before";
const AFTER: &str = "after";
/// The release with the new edge, before its guard.
const TOO_EARLY: &str = "too_early";

/// Two releases are two processes, each of which moves parcels of its own and fails at the first answer that is not its
/// release's. The guard is widened and narrowed under them.
async fn an_edge_is_changed_under_two_processes<DB: Engine>(db: TestDb<DB>) -> TestResult {
    if let Some(errand) = Errand::of_this_process() {
        return match errand.part() {
            TOO_EARLY => is_refused(&db).await,
            part => run_release(&db, part).await,
        };
    }
    db.execute(schema::table::<old::Parcel>(DB::DIALECT, "parcel_id BIGINT NOT NULL PRIMARY KEY")).await?;
    db.execute("CREATE TABLE stopped (part VARCHAR(20) NOT NULL)").await?;
    for step in schema::install::<old::Parcel>(DB::DIALECT) {
        db.execute(step.sql).await?;
    }
    let idem = db.idem(2).await?;
    let start = |part| Errand::start_part(&db, "an_edge_is_changed_under_two_processes", part);

    // To add the edge: the guard, under the release that runs; then the new release beside it; then the old one ends.
    let mut old = start(BEFORE)?;
    goes_on(&db, &mut old, BEFORE).await?;
    db.execute(schema::guard::<wide::Parcel>(DB::DIALECT)).await?;
    ensure!(idem.guard::<old::Parcel>().await? == Guard::Outdated, "which stops nobody");
    let mut new = start(AFTER)?;
    goes_on(&db, &mut new, AFTER).await?;
    goes_on(&db, &mut old, BEFORE).await?;
    stop(&db, old, BEFORE).await?;

    // To remove it: the release without it beside the one that has it; then that one ends; then the guard.
    db.execute("DELETE FROM stopped").await?;
    let mut old = start(BEFORE)?;
    goes_on(&db, &mut old, BEFORE).await?;
    goes_on(&db, &mut new, AFTER).await?;
    stop(&db, new, AFTER).await?;
    db.execute(schema::guard::<old::Parcel>(DB::DIALECT)).await?;
    goes_on(&db, &mut old, BEFORE).await?;
    stop(&db, old, BEFORE).await?;

    // In the wrong order the new release is refused.
    let too_early = start(TOO_EARLY)?.wait().await?;
    ensure!(too_early.success(), "the guard of the release before took the new edge");
    let undelivered = db.integer("SELECT COUNT(*) FROM parcels WHERE status <> 'delivered'").await?;
    ensure!(undelivered == 1, "{undelivered} parcels are not delivered, not only the one that was refused");
    Ok(())
}

/// A release in a process of its own: it moves parcels until it is told to stop.
async fn run_release<DB: Engine>(db: &TestDb<DB>, part: &str) -> TestResult {
    let idem = db.idem(1).await?;
    let newest = format!("SELECT COALESCE(MAX(parcel_id), {}) FROM parcels WHERE parcel_id % 2 = {0}", rest(part));
    let mut id = db.integer(newest).await?;
    while db.integer(format!("SELECT COUNT(*) FROM stopped WHERE part = '{part}'")).await? == 0 {
        id += 2;
        db.execute(format!("INSERT INTO parcels (parcel_id) VALUES ({id})")).await?;
        if part == AFTER {
            let fetched = async || wide::Parcel::row(id).fire(wide::parcel::Deliver).run(&idem).await;
            applied(fetched).await?;
        } else {
            applied(async || old::Parcel::row(id).fire(old::parcel::Send).run(&idem).await).await?;
            applied(async || old::Parcel::row(id).fire(old::parcel::Deliver).run(&idem).await).await?;
        }
        // SQLite lets whoever is quick write again and again, and the guard has to come in between.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

async fn is_refused<DB: Engine>(db: &TestDb<DB>) -> TestResult {
    db.execute("INSERT INTO parcels (parcel_id) VALUES (-1)").await?;
    let fetched = wide::Parcel::row(-1).fire(wide::parcel::Deliver).run(&db.idem(1).await?).await;
    answer!(fetched, Err(TransitionError::Guarded { .. }));
    Ok(())
}

/// Calls again only when that is the answer.
async fn applied<M: StateMachine, T>(call: impl AsyncFn() -> Result<Outcome<M, T>, TransitionError>) -> TestResult {
    loop {
        match call().await {
            Ok(Outcome::Applied(_)) => return Ok(()),
            Err(TransitionError::Retry { .. }) => {}
            other => return Err(format!("{other:?}").into()),
        }
    }
}

/// The parcels of a release are those whose number leaves this rest.
fn rest(part: &str) -> i64 {
    i64::from(part == AFTER)
}

/// Waits until the release has moved some more parcels; fails when its process has ended.
async fn goes_on<DB: Engine>(db: &TestDb<DB>, release: &mut Child, part: &str) -> TestResult {
    const BOUND: Duration = Duration::from_mins(1);
    let moved = async || {
        let rest = rest(part);
        db.integer(format!("SELECT COUNT(*) FROM parcels_history WHERE parcel_id % 2 = {rest}")).await
    };
    let (begun, before) = (Instant::now(), moved().await?);
    while moved().await? < before + 6 {
        ensure!(release.try_wait()?.is_none(), "the release `{part}` has met an error");
        ensure!(begun.elapsed() < BOUND, "the release `{part}` moves nothing");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

async fn stop<DB: Engine>(db: &TestDb<DB>, mut release: Child, part: &str) -> TestResult {
    db.execute(format!("INSERT INTO stopped VALUES ('{part}')")).await?;
    let ended = release.wait().await?;
    ensure!(ended.success(), "the release `{part}` has met an error");
    Ok(())
}
