//! Tables of idem that are there and in use, a table with rows that becomes a machine's, and a folder of migrations.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use idem_runtime::machine::Guard;
use idem_runtime::prelude::*;
use idem_runtime::schema::{self, Behind, Migrations, MigrationsError};
use sqlx::{AssertSqlSafe, Executor as _, SqlSafeStr as _};
use tempfile::TempDir;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use self::loan::{Asked, GiveBack, Lend};
use crate::answers::answer;
use crate::releases::{Ticket as _, native, text};
use crate::support::{BoxError, Engine, Suite, TestDb, TestResult, ensure, on_engines, on_every_engine};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            ten_instances_migrate_beside_an_open_transaction,
            a_table_is_adopted_under_old_writers,
            rows_of_no_state_are_not_adopted,
            files_run_release_after_release,
        ]
    );
    on_engines!(
        suite,
        [sqlx::Postgres],
        "only there it is a statement of its own",
        [rows_are_looked_at_beside_writers]
    );
    suite.add_plain("a_folder_is_kept_up_to_date", || async { a_folder_is_kept_up_to_date() });
    suite.add_plain("what_idem_cannot_change_is_written_by_hand", || async {
        what_idem_cannot_change_is_written_by_hand()
    });
    suite.add_plain("files_of_ones_own_count", || async { files_of_ones_own_count() });
    suite.add_plain("files_are_numbered_as_they_were", || async { files_are_numbered_as_they_were() });
    suite.add_plain("a_folder_that_is_missing", || async { a_folder_that_is_missing() });
}

const INSTANCES: usize = 10;

/// Ten instances, each with a pool of its own, connect and migrate at once.
pub(crate) async fn migrate_at_once<DB: Engine>(db: &TestDb<DB>) -> TestResult {
    let barrier = Arc::new(Barrier::new(INSTANCES));
    let mut instances = JoinSet::new();
    for pool in (0..INSTANCES).map(|_| db.pool(1)) {
        let (pool, barrier) = (pool?, Arc::clone(&barrier));
        instances.spawn(async move {
            barrier.wait().await;
            Idem::builder(pool).build().await?.migrate().await
        });
    }
    while let Some(migrated) = instances.join_next().await {
        migrated??;
    }
    Ok(())
}

async fn ten_instances_migrate_beside_an_open_transaction<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    let mut tx = idem.begin().await?;
    let key = if DB::DIALECT == Dialect::MySql { "`key`" } else { "key" };
    let columns = format!("(scope, {key}, status, fingerprint, owner, created_at)");
    let insert = format!("INSERT INTO idem_record {columns} VALUES ('s', 'k', 1, 'f', 'o', '2026-01-01 00:00:00')");
    (&mut *tx).execute(AssertSqlSafe(insert).into_sql_str()).await?;
    tokio::time::timeout(Duration::from_secs(20), migrate_at_once(&db)).await.map_err(|_| "they wait for it")??;
    tx.commit().await?;
    ensure!(db.integer("SELECT COUNT(*) FROM idem_record").await? == 1, "it was not disturbed");
    Ok(())
}

/// A loan of a shop that has lent for years.
#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "loans", id(loan_id: i64), history, rename_all = "snake_case")]
#[transition(lend:      Asked => Lent)]
#[transition(give_back: Lent  => Asked)]
#[transition(keep:      Lent  => Kept)]
enum Loan {
    #[state(initial)]
    Asked,
    Lent,
    #[state(terminal)]
    Kept,
}

/// As everybody makes such a table: no version, a status that may be missing, and on MySQL compares without case.
async fn create_loans<DB: Engine>(db: &TestDb<DB>) -> TestResult {
    // Which is the one thing that cannot be mended there.
    let not_null = if DB::DIALECT == Dialect::Sqlite { "NOT NULL" } else { "" };
    let columns = format!("status VARCHAR(20) {not_null}, buyer VARCHAR(20)");
    db.execute(format!("CREATE TABLE loans (loan_id BIGINT NOT NULL PRIMARY KEY, {columns})")).await?;
    db.execute("INSERT INTO loans VALUES (1, 'asked', 'ann'), (2, 'lent', 'bob'), (3, 'kept', 'cid')").await.map(drop)
}

/// What a program that knows nothing of idem does: it asks for a loan, and lends another one.
async fn old_writer<DB: Engine>(db: &TestDb<DB>, loan_id: i64) -> TestResult {
    db.execute(format!("INSERT INTO loans (loan_id, status, buyer) VALUES ({loan_id}, 'asked', 'dan')")).await?;
    moved_by_hand(db, loan_id, "asked", "lent").await
}

async fn moved_by_hand<DB: Engine>(db: &TestDb<DB>, loan_id: i64, source: &str, target: &str) -> TestResult {
    let update = format!("UPDATE loans SET status = '{target}' WHERE loan_id = {loan_id} AND status = '{source}'");
    ensure!(db.execute(update).await? == 1, "loan {loan_id} is not {source}");
    Ok(())
}

async fn a_table_is_adopted_under_old_writers<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_loans(&db).await?;
    ensure!(db.rows(schema::unknown_values::<Loan>(DB::DIALECT)).await?.is_empty(), "what comes first");
    for (loan_id, step) in (10..).zip(schema::adopt::<Loan>(DB::DIALECT)) {
        db.execute(step.to_string()).await.map_err(|error| format!("{step}: {error}"))?;
        old_writer(&db, loan_id).await.map_err(|error| format!("after {}: {error}", step.name))?;
    }
    let idem = db.idem(2).await?;
    idem.check_sql::<Loan>().await?.into_result()?;
    ensure!(idem.guard::<Loan>().await? == Guard::Installed, "the last step");
    let buyers = "SELECT COUNT(*) FROM loans WHERE buyer IN ('ann', 'bob', 'cid', 'dan') AND version = 0";
    ensure!(db.integer(buyers).await? == db.integer("SELECT COUNT(*) FROM loans").await?, "every row is as it was");
    answer!(Loan::row(1).fire(Lend).cause("L1").run(&idem).await, Ok(Outcome::Applied(row)) if row.version() == 1);
    answer!(
        Loan::row(10).fire(Lend).cause("L2").run(&idem).await,
        Err(TransitionError::OtherCause { recorded: None, .. })
    );
    for update in ["status = 'asked' WHERE loan_id = 3", "status = 'LENT' WHERE loan_id = 1", "status = NULL"] {
        ensure!(db.execute(format!("UPDATE loans SET {update}")).await.is_err(), "{update}");
    }
    what_an_old_writer_hides(&db, &idem).await
}

/// As long as some writers know no version, a row that went and came back is at the version that it had.
async fn what_an_old_writer_hides<DB: Engine>(db: &TestDb<DB>, idem: &Idem<DB>) -> TestResult {
    moved_by_hand(db, 10, "lent", "asked").await?;
    let asked: Row<Loan, Asked> = Loan::row(10).load(idem).await?.in_state()?;
    moved_by_hand(db, 10, "asked", "lent").await?;
    answer!(Loan::row(10).fire(GiveBack).expect_version(0).run(idem).await, Ok(Outcome::Applied(_)));
    moved_by_hand(db, 10, "asked", "lent").await?;
    answer!(asked.clone().fire(Lend).run(idem).await, Ok(Outcome::Already(row)) if row.version() == 1);
    moved_by_hand(db, 11, "lent", "asked").await?;
    let asked: Row<Loan, Asked> = Loan::row(11).load(idem).await?.in_state()?;
    moved_by_hand(db, 11, "asked", "lent").await?;
    moved_by_hand(db, 11, "lent", "asked").await?;
    answer!(asked.fire(Lend).run(idem).await, Ok(Outcome::Applied(row)) if row.version() == 1);
    let entries = db.rows("SELECT version, event FROM loans_history WHERE loan_id = 11").await?;
    ensure!(entries.concat() == ["1", "lend"], "what others did has no entry: {entries:?}");
    Ok(())
}

async fn rows_of_no_state_are_not_adopted<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_loans(&db).await?;
    db.execute("INSERT INTO loans VALUES (4, 'LENT', 'eve')").await?;
    let unknown = db.rows(schema::unknown_values::<Loan>(DB::DIALECT)).await?;
    ensure!(unknown.concat() == ["LENT", "1"], "{unknown:?}");
    let mut refused = None;
    for step in schema::adopt::<Loan>(DB::DIALECT) {
        if db.execute(step.sql).await.is_err() {
            refused = Some(step.name);
            break;
        }
    }
    let expected = match DB::DIALECT {
        Dialect::Postgres => Some("loans_status_values_validated"),
        Dialect::MySql => Some("loans_status_values"),
        Dialect::Sqlite => None,
    };
    ensure!(refused.as_deref() == expected, "refused: {refused:?}");
    if refused.is_none() {
        let idem = db.idem(1).await?;
        answer!(Loan::row(4).load(&idem).await, Err(TransitionError::UnknownState { .. }));
    }
    Ok(())
}

/// The table that is locked to add the constraint is free again while the rows are looked at.
async fn rows_are_looked_at_beside_writers<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_loans(&db).await?;
    let [_, values, validation, ..] = &schema::adopt::<Loan>(DB::DIALECT)[..] else { return Err("too short".into()) };
    db.execute(values.sql.as_str()).await?;
    let idem = db.idem(1).await?;
    let mut tx = idem.begin().await?;
    (&mut *tx).execute(AssertSqlSafe(validation.sql.clone()).into_sql_str()).await?;
    let written = tokio::time::timeout(Duration::from_secs(20), old_writer(&db, 5)).await;
    written.map_err(|_| "the writer waits for the rows to be looked at")??;
    tx.commit().await?;
    let validated = "SELECT convalidated::text FROM pg_constraint WHERE conname = 'loans_status_check'";
    ensure!(db.text(validated).await? == "true", "validated");
    Ok(())
}

/// The files of a folder as sqlx runs them, in the order of their names.
pub(crate) fn files(folder: &TempDir) -> Result<Vec<(String, String)>, BoxError> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder.path())? {
        let path = entry?.path();
        files.push((file_name(&path), fs::read_to_string(&path)?));
    }
    files.sort();
    Ok(files)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The names of new files, without their versions.
pub(crate) fn names(files: &[PathBuf]) -> Vec<String> {
    let name = |path: &PathBuf| file_name(path).split_once('_').map(|(_, name)| name.to_owned()).unwrap_or_default();
    files.iter().map(name).collect()
}

fn behind(checked: Result<(), MigrationsError>) -> Result<Vec<Behind>, BoxError> {
    match checked {
        Err(MigrationsError::Behind { texts, .. }) => Ok(texts),
        other => Err(format!("not behind: {other:?}").into()),
    }
}

/// Every release writes its files, and all of them run on the table of the one before.
async fn files_run_release_after_release<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let folder = tempfile::tempdir()?;
    let folder_of = || Migrations::new(folder.path(), DB::DIALECT).with_idem();
    let table = schema::table::<native::before::Ticket>(DB::DIALECT, "ticket_id BIGINT NOT NULL PRIMARY KEY");
    fs::write(folder.path().join("20200101000000_tickets.sql"), format!("{table};\n"))?;
    folder_of().with::<native::before::Ticket>().write()?;
    let mut run = 0;
    let mut run_new = async || {
        for (name, text) in files(&folder)?.into_iter().skip(run) {
            db.execute(text).await.map_err(|error| format!("{name}: {error}"))?;
            run += 1;
        }
        Ok::<_, BoxError>(run)
    };
    ensure!(run_new().await? == 4, "the table, idem's tables, the history and the guard: {:?}", files(&folder)?);
    let idem = Idem::builder(db.pool(1)?).build().await?;
    db.execute("INSERT INTO tickets (ticket_id) VALUES (1), (2)").await?;
    answer!(native::before::Ticket::open(&idem, 1).await, Ok(Outcome::Applied(_)));

    let written = folder_of().with::<native::first::Ticket>().write()?;
    let of_values = usize::from(DB::DIALECT != Dialect::Sqlite);
    ensure!(run_new().await? == 5 + of_values, "the values and the guard: {written:?}");
    answer!(native::second::Ticket::open(&idem, 2).await, Ok(Outcome::Applied(_)));
    answer!(native::first::Ticket::close(&idem, 2).await, Ok(Outcome::Applied(_)));
    ensure!(idem.guard::<native::first::Ticket>().await? == Guard::Installed, "the new one");
    folder_of().with::<native::second::Ticket>().check()?;
    Ok(())
}

fn a_folder_is_kept_up_to_date() -> TestResult {
    let folder = tempfile::tempdir()?;
    let adopting = || Migrations::new(folder.path(), Dialect::Postgres).with_idem().adopt::<text::before::Ticket>();
    let missing = behind(adopting().check())?;
    ensure!(missing.iter().all(|it| it.writable && it.file.is_none()), "{missing:?}");
    let written = adopting().write()?;
    let expected = ["tables", "version", "values", "values_validated", "not_null", "history", "guard"];
    let expected = expected.map(|part| match part {
        "tables" => "idem_tables.sql".to_owned(),
        part => format!("idem_tickets_status_{part}.sql"),
    });
    ensure!(names(&written) == expected, "{written:?}");
    ensure!(written.is_sorted(), "in the order in which they run: {written:?}");
    adopting().check()?;
    ensure!(adopting().write()?.is_empty(), "nothing is missing");

    // A release that adds a value of a state: its texts are new files, and the former ones stay as they are.
    let before = files(&folder)?;
    let next = || Migrations::new(folder.path(), Dialect::Postgres).with_idem().adopt::<text::first::Ticket>();
    let outdated = behind(next().check())?;
    let parts: Vec<_> = outdated.iter().map(|it| it.name.trim_start_matches("tickets_status_")).collect();
    ensure!(parts == ["values", "values_validated", "guard"], "{parts:?}");
    let message = next().check().err().map(|error| error.to_string()).unwrap_or_default();
    for part in [
        "`tickets_status_values` in `",
        "_idem_tickets_status_values.sql` is outdated\n-   ADD CONSTRAINT tickets_status_check CHECK (status IN ('new', 'open', 'closed')) NOT VALID\n+ ",
        "help: `write()` adds a file, or add one, with the line `-- idem: tickets_status_guard ",
    ] {
        ensure!(message.contains(part), "{part:?} is not in {message}");
    }
    // One that takes something away leaves them for later; what was never there is missing all the same.
    next().later::<text::first::Ticket>().check()?;
    ensure!(next().later::<text::first::Ticket>().write()?.is_empty(), "later");
    let empty = tempfile::tempdir()?;
    let nothing = Migrations::new(empty.path(), Dialect::Postgres).adopt::<text::first::Ticket>();
    ensure!(behind(nothing.later::<text::first::Ticket>().check())?.len() == 6, "all that is missing");
    ensure!(next().write()?.len() == 3, "one file each");
    next().check()?;
    let after = files(&folder)?;
    ensure!(after[..before.len()] == before, "an applied file never changes: {after:?}");
    ensure!(after[before.len()..].iter().all(|(name, _)| *name > before[before.len() - 1].0), "all come later");
    // The release before is the one that is behind now, and comes back by new files too.
    ensure!(behind(adopting().check())?.len() == 3, "the newest file counts");

    // What git makes of line ends changes nothing.
    for (name, text) in files(&folder)? {
        fs::write(folder.path().join(name), text.replace('\n', "\r\n"))?;
    }
    next().check()?;
    Ok(())
}

mod created {
    use idem_runtime::prelude::*;

    #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
    #[machine(table = "tickets", id(ticket_id: i64), history, rename_all = "snake_case")]
    #[create(ticket_id: i64)]
    #[transition(begin: Fresh => Open)]
    #[transition(close: Open  => Closed)]
    pub(super) enum Ticket {
        #[state(initial, rename = "new")]
        Fresh,
        Open,
        #[state(terminal)]
        Closed,
    }
}

fn what_idem_cannot_change_is_written_by_hand() -> TestResult {
    let folder = tempfile::tempdir()?;
    let migrations = || Migrations::new(folder.path(), Dialect::MySql);
    migrations().with::<text::first::Ticket>().write()?;
    let before = files(&folder)?;
    // Its history has one more index, and the guard is another one.
    let next = || migrations().with::<created::Ticket>();
    ensure!(behind(next().check())?.len() == 3, "values, history, guard: {:?}", next().check());
    let by_hand = behind(next().write().map(drop))?;
    let [history] = &by_hand[..] else { return Err(format!("{by_hand:?}").into()) };
    ensure!(history.name == "tickets_status_history" && !history.writable, "{history:?}");
    ensure!(history.difference.contains("+   UNIQUE (create_cause)"), "{}", history.difference);
    ensure!(history.to_string().contains("\nhelp: add a file that changes it, with the line `-- idem: "), "{history}");
    ensure!(files(&folder)? == before, "nothing is written");

    let text = format!("{}\nALTER TABLE tickets_history ADD COLUMN ..;\n", history.marker);
    fs::write(folder.path().join("29990101000000_create.sql"), text)?;
    let written = next().write()?;
    ensure!(names(&written) == ["idem_tickets_status_values.sql", "idem_tickets_status_guard.sql"], "{written:?}");
    ensure!(written.iter().all(|it| file_name(it).as_str() > "29990101000000"), "after the newest one: {written:?}");
    next().check()?;
    Ok(())
}

fn files_of_ones_own_count() -> TestResult {
    type Ticket = text::second::Ticket;
    let folder = tempfile::tempdir()?;
    let migrations = || Migrations::new(folder.path(), Dialect::Postgres).with_idem().with::<Ticket>();
    let write = |name: &str, text: String| fs::write(folder.path().join(name), text);
    let table = schema::table::<Ticket>(Dialect::Postgres, "ticket_id BIGINT NOT NULL PRIMARY KEY");
    write("1_tickets.sql", format!("{};\n", table.replace("\n  ", "\n        ")))?;
    write("2_records.up.sql", schema::ddl(Dialect::Postgres).to_owned())?;
    write("2_records.down.sql", schema::history::<Ticket>(Dialect::Postgres).unwrap_or_default().to_owned())?;
    let [history, guard] = &behind(migrations().check())?[..] else { return Err("the history, the guard".into()) };
    ensure!(history.name == "tickets_status_history", "what goes back is no file that counts: {history:?}");

    // A text that is replaced by every release counts by its line alone; what else is in the file is the user's.
    let all = schema::install::<Ticket>(Dialect::Postgres);
    let all: Vec<_> = all.iter().map(|step| step.sql.clone() + ";\n").collect();
    write("3_all.sql", all.concat())?;
    ensure!(behind(migrations().check())? == std::slice::from_ref(guard).to_vec(), "the guard is not named");
    write("3_all.sql", format!("SET lock_timeout = '2s';\n{}{}\n{}", all[0], guard.marker, all[1]))?;
    migrations().check()?;
    // Of two in one file the last one counts.
    let former = schema::change::<text::before::Ticket>(Dialect::Postgres);
    let former = former.last().ok_or("the guard")?;
    write("4_former.sql", format!("{}\n{}\n{former}", guard.marker, all[1]))?;
    let texts = behind(migrations().check())?;
    ensure!(texts.len() == 1 && texts[0].file == Some(folder.path().join("4_former.sql")), "{texts:?}");
    Ok(())
}

fn files_are_numbered_as_they_were() -> TestResult {
    let folder = tempfile::tempdir()?;
    for other in ["0007_shop.sql", "0008_shop.sql", "README.md", "notes_of_mine.sql"] {
        fs::write(folder.path().join(other), "SELECT 1;\n")?;
    }
    let written = Migrations::new(folder.path(), Dialect::Sqlite).with::<text::before::Ticket>().write()?;
    let written: Vec<_> = written.iter().map(|it| file_name(it)).collect();
    ensure!(written == ["0009_idem_tickets_status_history.sql", "0010_idem_tickets_status_guard.sql"], "{written:?}");
    let file = folder.path().join("0011_idem_tables.sql");
    fs::create_dir(&file)?;
    let taken = Migrations::new(folder.path(), Dialect::Sqlite).with_idem().check();
    ensure!(matches!(&taken, Err(MigrationsError::File { path, .. }) if *path == file), "{taken:?}");
    Ok(())
}

fn a_folder_that_is_missing() -> TestResult {
    let folder = tempfile::tempdir()?.path().join("migrations");
    for answer in [
        Migrations::new(&folder, Dialect::Sqlite).with_idem().check(),
        Migrations::new(&folder, Dialect::Sqlite).with_idem().write().map(drop),
    ] {
        ensure!(matches!(&answer, Err(MigrationsError::File { path, .. }) if *path == folder), "{answer:?}");
    }
    Ok(())
}
