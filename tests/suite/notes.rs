//! Who asked for a move, and what else its entry keeps.

use idem_runtime::prelude::*;
use idem_runtime::schema;
use serde::Serialize;

use crate::answers::answer;
use crate::shop::text_type;
use crate::support::{BoxError, Engine, Suite, TestDb, TestResult, ensure, on_every_engine};

use self::ticket::{Answer, Close, New, Reopen};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            s37_each_entry_names_its_actor,
            s37_an_entry_without_notes,
            s37_the_first_actor_of_a_cause_is_kept,
            actors_that_no_column_holds,
            metadata_that_json_would_change,
            check_sql_of_a_history_without_the_columns,
        ]
    );
}

/// A ticket, whose history is shown to an auditor. Its events go round.
#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "tickets", id(ticket_id: i64), history(actor, metadata), rename_all = "snake_case")]
#[create(ticket_id: i64, title: String)]
#[transition(answer: Open | Reopened => Answered, set(title: String))]
#[transition(reopen: Answered        => Reopened)]
#[transition(close:  Answered        => Closed)]
pub(crate) enum Ticket {
    #[state(initial)]
    Open,
    Answered,
    Reopened,
    #[state(terminal)]
    Closed,
}

#[derive(Serialize)]
struct Origin {
    ip: &'static str,
    pages: [u8; 2],
}

const ORIGIN: Origin = Origin { ip: "10.0.0.1", pages: [1, 2] };

/// Makes the tables of the tickets.
pub(crate) async fn create_tables<DB: Engine>(db: &TestDb<DB>) -> TestResult {
    let (text, columns) = (text_type(DB::DIALECT), schema::columns::<Ticket>(DB::DIALECT));
    db.execute(format!("CREATE TABLE tickets (ticket_id BIGINT NOT NULL PRIMARY KEY, title {text}, {columns})"))
        .await?;
    db.execute(schema::history::<Ticket>(DB::DIALECT).ok_or("tickets keep a history")?).await?;
    db.execute(schema::guard::<Ticket>(DB::DIALECT)).await?;
    Ok(())
}

fn new(ticket_id: i64) -> New {
    New { ticket_id, title: "late".to_owned() }
}

fn answered() -> Answer {
    Answer { title: "sorry".to_owned() }
}

/// The committed history of all tickets, an entry a line.
async fn entries<DB: Engine>(db: &TestDb<DB>) -> Result<String, BoxError> {
    let (actor, metadata) = match DB::DIALECT {
        Dialect::Postgres => ("COALESCE(actor, '-')", "COALESCE(metadata ->> 'ip', metadata::text, '-')"),
        Dialect::MySql => ("COALESCE(actor, '-')", "COALESCE(JSON_VALUE(metadata, '$.ip'), metadata, '-')"),
        Dialect::Sqlite => ("COALESCE(actor, '-')", "COALESCE(json_extract(metadata, '$.ip'), metadata, '-')"),
    };
    let columns = format!("ticket_id, version, source, target, event, {actor} AS a, {metadata} AS m");
    let rows = db.rows(format!("SELECT {columns} FROM tickets_history ORDER BY ticket_id, version")).await?;
    Ok(rows.iter().map(|row| row.join(" ")).collect::<Vec<_>>().join("\n"))
}

/// Source, target, event, version and actor of every way in which an entry is written.
async fn s37_each_entry_names_its_actor<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    let idem = db.idem(2).await?;
    for ticket_id in [1, 2] {
        let create = Ticket::create(new(ticket_id)).cause(&ticket_id).actor("user:7").metadata(&ORIGIN);
        answer!(create.run(&idem).await, Ok(Created::New(_)));
    }
    let fire = Ticket::row(1).fire(answered()).cause("M1").actor("agent:ü").metadata(&ORIGIN);
    answer!(fire.run(&idem).await, Ok(Outcome::Applied(_)));
    let row = Ticket::row(1).load(&idem).await?;
    answer!(
        Ticket::row(1).fire(Reopen).expect_version(row.version()).actor("user:7").run(&idem).await,
        Ok(Outcome::Applied(_))
    );
    let all = Ticket::rows([1, 2]).fire(answered()).cause("sweep").actor("job").metadata(&[1, 2]).run(&idem).await?;
    ensure!(all.iter().all(|(_, answer)| matches!(answer, Ok(Outcome::Applied(_)))), "{all:?}");
    let mut tx = idem.begin().await?;
    let typed = Ticket::row(2).load(&mut *tx).await?.in_state::<ticket::Answered>()?;
    answer!(typed.fire(Close).actor("agent:2").run(&mut *tx).await, Ok(Outcome::Applied(_)));
    let repair = Ticket::row(2).repair(Ticket::Open, "INC-1").actor("root").metadata(&ORIGIN);
    answer!(repair.run(&mut tx).await, Ok(Outcome::Applied(_)));
    tx.commit().await?;
    let written = entries(&db).await?;
    let list = if DB::DIALECT == Dialect::Postgres { "[1, 2]" } else { "[1,2]" };
    let expected = format!(
        "1 0  open create user:7 10.0.0.1
1 1 open answered answer agent:ü 10.0.0.1
1 2 answered reopened reopen user:7 -
1 3 reopened answered answer job {list}
2 0  open create user:7 10.0.0.1
2 1 open answered answer job {list}
2 2 answered closed close agent:2 -
2 3 closed open repair root 10.0.0.1"
    );
    ensure!(written == expected, "{written}");
    Ok(())
}

async fn s37_an_entry_without_notes<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    let idem = db.idem(1).await?;
    answer!(Ticket::create(new(1)).run(&idem).await, Ok(Created::New(_)));
    answer!(Ticket::row(1).fire(answered()).any_version().run(&idem).await, Ok(Outcome::Applied(_)));
    let written = entries(&db).await?;
    ensure!(written == "1 0  open create - -\n1 1 open answered answer - -", "{written}");
    Ok(())
}

/// Who asks again is not what the answer depends on.
async fn s37_the_first_actor_of_a_cause_is_kept<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    let idem = db.idem(1).await?;
    answer!(Ticket::create(new(1)).cause("R1").actor("a").run(&idem).await, Ok(Created::New(_)));
    answer!(Ticket::create(new(1)).cause("R1").actor("b").run(&idem).await, Ok(Created::Replayed(_)));
    let fire = |actor: &str| Ticket::row(1).fire(answered()).cause("M1").actor(actor).metadata(actor);
    answer!(fire("a").run(&idem).await, Ok(Outcome::Applied(_)));
    answer!(fire("b").run(&idem).await, Ok(Outcome::Replayed(_)));
    let written = entries(&db).await?;
    ensure!(written.lines().all(|line| line.contains(" a")) && written.lines().count() == 2, "{written}");
    Ok(())
}

async fn actors_that_no_column_holds<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    let idem = db.idem(1).await?;
    answer!(Ticket::create(new(1)).run(&idem).await, Ok(Created::New(_)));
    let fire = |actor: String| Ticket::row(1).fire(answered()).cause("M1").actor(actor);
    for (actor, fault) in [(" ".to_owned(), "empty"), ("ü".repeat(256), "255 characters"), ("a\0".to_owned(), "NUL")] {
        answer!(fire(actor).run(&idem).await,
            Err(TransitionError::Runtime(Error::InvalidKey { reason })) if reason.contains(fault));
    }
    let longest = "ü".repeat(255);
    answer!(fire(longest.clone()).run(&idem).await, Ok(Outcome::Applied(_)));
    ensure!(entries(&db).await?.contains(&longest), "the longest actor was cut");
    Ok(())
}

async fn metadata_that_json_would_change<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    let idem = db.idem(1).await?;
    let create = Ticket::create(new(1)).metadata(&f64::NAN);
    answer!(create.run(&idem).await,
        Err(TransitionError::Runtime(Error::Unencodable { what, .. })) if what == "the metadata");
    ensure!(entries(&db).await?.is_empty(), "something was kept");
    Ok(())
}

async fn check_sql_of_a_history_without_the_columns<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_tables(&db).await?;
    let idem = db.idem(1).await?;
    idem.migrate().await?;
    let report = idem.check_sql::<Ticket>().await?;
    ensure!(report.clone().into_result().is_ok(), "{report}");
    db.execute("ALTER TABLE tickets_history DROP COLUMN actor").await?;
    let report = idem.check_sql::<Ticket>().await?.to_string();
    ensure!(report.contains("Ticket, history: ") && report.contains("`actor`"), "{report}");
    Ok(())
}
