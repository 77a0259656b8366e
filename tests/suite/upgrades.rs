//! A table of records that a former release has made, and what becomes of it.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use idem_runtime::prelude::*;
use idem_runtime::schema::{self, Migrations};
use sqlx::{MySql, Postgres, Sqlite};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::acts::{create_tables, effect, effects, left, result, run, until_waiting, write};
use crate::answers::answer;
use crate::migrations::{files, migrate_at_once, names};
use crate::settle::PayError;
use crate::support::{
    BoxError, Ended, Engine, Suite, TestDb, TestResult, drop_at_every_await, ensure, on_engines, on_every_engine,
};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            a_former_table_becomes_like_a_new_one,
            what_a_record_can_be,
            ten_instances_upgrade_under_writers,
            an_upgrade_dropped_at_every_await,
            who_can_only_write_rows_may_migrate,
            files_bring_a_former_table_along,
        ]
    );
    on_engines!(suite, [Postgres, MySql], "SQLite has one writer at a time", [an_upgrade_lets_others_through]);
    on_engines!(suite, [MySql], "only there a transaction outlives it", [a_snapshot_from_before_is_run_again]);
    on_engines!(suite, [Sqlite], "only there the table is made anew", [what_is_the_users_own_stays]);
}

/// The texts of the former releases, the oldest first.
fn former<DB: Engine>() -> [&'static str; 2] {
    match DB::DIALECT {
        Dialect::Postgres => [
            include_str!("../../idem-runtime/src/schema/former/1_postgres.sql"),
            include_str!("../../idem-runtime/src/schema/former/2_postgres.sql"),
        ],
        Dialect::MySql => [
            include_str!("../../idem-runtime/src/schema/former/1_mysql.sql"),
            include_str!("../../idem-runtime/src/schema/former/2_mysql.sql"),
        ],
        Dialect::Sqlite => [
            include_str!("../../idem-runtime/src/schema/former/1_sqlite.sql"),
            include_str!("../../idem-runtime/src/schema/former/2_sqlite.sql"),
        ],
    }
}

const COLUMNS: &str = "scope, key, status, fingerprint, result, owner, created_at, completed_at";

/// A record of every status that the former release knew.
fn records(text: &str) -> Vec<&'static str> {
    let failed =
        text.contains("3 failed").then_some("'早', 3, 'f', '{\"code\": \"it''s\"}', 'o', '2026-01-01', '2026-01-02'");
    let others = [
        "'k1', 1, 'f', NULL, 'o', '2026-01-01 10:00:00.123', NULL",
        "'k2', 2, 'f', '[1, \"\\u00e9\"]', 'o', '2026-01-01 10:00:00', '2026-01-02 10:00:00.5'",
        "'k4', 4, 'f', NULL, 'o', '2026-01-01 10:00:00', NULL",
    ];
    others.into_iter().chain(failed).collect()
}

/// Makes the table as a former release has left it, in place of what is there.
async fn create_former<DB: Engine>(db: &TestDb<DB>, text: &str) -> TestResult {
    db.execute("DROP TABLE IF EXISTS idem_record").await?;
    db.execute(text).await?;
    for record in records(text) {
        db.execute(format!("INSERT INTO idem_record ({}) VALUES ('s', {record})", quoted::<DB>(COLUMNS))).await?;
    }
    Ok(())
}

/// `key` is a word of MySQL's.
fn quoted<DB: Engine>(columns: &str) -> String {
    if DB::DIALECT == Dialect::MySql { columns.replace(" key,", " `key`,") } else { columns.to_owned() }
}

/// What the former releases have written.
async fn rows<DB: Engine>(db: &TestDb<DB>) -> Result<Vec<Vec<String>>, BoxError> {
    let texts = quoted::<DB>(COLUMNS).replace("created_at", "CAST(created_at AS CHAR(40))");
    let texts = texts.replace("completed_at", "CAST(completed_at AS CHAR(40))");
    db.rows(format!("SELECT {texts} FROM idem_record WHERE scope = 's' ORDER BY status")).await
}

/// The table as the catalogue has it: the same for two tables that are the same, but for the order of columns where new
/// ones cannot come between.
async fn catalogue<DB: Engine>(db: &TestDb<DB>) -> Result<Vec<Vec<String>>, BoxError> {
    let query = match DB::DIALECT {
        Dialect::Postgres => {
            "SELECT attname::text COLLATE \"C\" AS name, format_type(atttypid, atttypmod), attnotnull::text, attcollation::regcollation::text
               FROM pg_attribute WHERE attrelid = 'idem_record'::regclass AND attnum > 0 AND NOT attisdropped
              UNION ALL
             SELECT conname::text, pg_get_constraintdef(oid), convalidated::text, ''
               FROM pg_constraint WHERE conrelid = 'idem_record'::regclass
              ORDER BY name"
        }
        Dialect::MySql => "SHOW CREATE TABLE idem_record",
        Dialect::Sqlite => "SELECT type, name, sql FROM sqlite_master ORDER BY name",
    };
    db.rows(query).await
}

/// That of a table that was made just now.
async fn new_catalogue<DB: Engine>() -> Result<Vec<Vec<String>>, BoxError> {
    let db = TestDb::<DB>::create().await?;
    db.execute(schema::ddl(DB::DIALECT)).await?;
    let new = catalogue(&db).await;
    db.remove().await?;
    new
}

/// An engine of a process of its own that has not migrated.
async fn unmigrated<DB: Engine>(db: &TestDb<DB>) -> Result<Idem<DB>, BoxError> {
    Ok(Idem::builder(db.pool(1)?).build().await?)
}

async fn a_former_table_becomes_like_a_new_one<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let new = new_catalogue::<DB>().await?;
    let idem = unmigrated(&db).await?;
    let steps = schema::upgrade(DB::DIALECT);
    for (release, text) in former::<DB>().into_iter().enumerate() {
        // Stopped after so many steps, which may be by hand, it goes on from there.
        for done in 0..=steps.len() {
            let during = format!("release {release}, {done} steps done");
            create_former(&db, text).await?;
            let before = rows(&db).await?;
            for step in &steps[..done] {
                db.execute(step.to_string()).await.map_err(|error| format!("{during}: {error}"))?;
            }
            ensure!((catalogue(&db).await? == new) == (done == steps.len()), "{during}: {:?}", catalogue(&db).await?);
            idem.migrate().await.map_err(|error| format!("{during}: {error}"))?;
            ensure!(catalogue(&db).await? == new, "{during}: {:?}", catalogue(&db).await?);
            ensure!(rows(&db).await? == before && before.len() == 3 + release, "{during}: {:?}", rows(&db).await?);
            ensure!(db.integer("SELECT COUNT(*) FROM idem_record WHERE result_type IS NULL AND result_until IS NULL AND key_until IS NULL").await? == 3 + i64::try_from(release)?, "{during}");
        }
    }
    // The text that comes too late is refused, before it takes anything away.
    db.execute("UPDATE idem_record SET result_type = 't', result_until = '2027-01-01', key_until = '2027-01-01'")
        .await?;
    ensure!(db.execute(steps[0].to_string()).await.is_err(), "it ran on a current table");
    idem.migrate().await?;
    ensure!(catalogue(&db).await? == new, "{:?}", catalogue(&db).await?);
    let kept = "SELECT COUNT(*) FROM idem_record WHERE result_type = 't' AND result_until IS NOT NULL AND key_until IS NOT NULL";
    ensure!(db.integer(kept).await? == 4, "it took something away");
    Ok(())
}

async fn what_a_record_can_be<DB: Engine>(db: TestDb<DB>) -> TestResult {
    db.execute(schema::ddl(DB::DIALECT)).await?;
    let columns =
        quoted::<DB>("scope, key, fingerprint, owner, created_at, status, result, completed_at, result_until");
    let at = "'2026-01-01'";
    for (status, result, completed_at, result_until, can_be) in [
        (1, "NULL", "NULL", "NULL", true),
        (1, "NULL", "NULL", at, true),
        (1, "'1'", "NULL", "NULL", false),
        (1, "NULL", at, "NULL", false),
        (2, "'1'", at, "NULL", true),
        (2, "'1'", at, at, true),
        (2, "NULL", at, at, true),
        (2, "NULL", at, "NULL", false),
        (2, "'1'", "NULL", at, false),
        (3, "'1'", at, "NULL", true),
        (3, "NULL", at, at, true),
        (3, "NULL", at, "NULL", false),
        (4, "NULL", "NULL", "NULL", true),
        (4, "'1'", "NULL", "NULL", false),
        (4, "NULL", at, at, false),
        (0, "NULL", "NULL", "NULL", false),
        (5, "'1'", at, "NULL", false),
    ] {
        let values = format!("{status}, {result}, {completed_at}, {result_until}");
        let insert = format!("INSERT INTO idem_record ({columns}) VALUES ('s', 'k', 'f', 'o', {at}, {values})");
        ensure!(db.execute(insert).await.is_ok() == can_be, "{values}");
        db.execute("DELETE FROM idem_record").await?;
    }
    Ok(())
}

/// A call as the former release has made it: claim, effect and result in one transaction.
async fn call<DB: Engine>(idem: &Idem<DB>, key: &str) -> Result<(), Error> {
    let mut tx = idem.begin().await?;
    // What a statement meets is what the end of its transaction says.
    let _ = claim_and_complete(&mut tx, key).await;
    tx.commit().await
}

async fn claim_and_complete<DB: Engine>(tx: &mut Tx<'_, DB>, key: &str) -> Result<(), sqlx::Error> {
    let claim = "INSERT INTO idem_record (scope, key, status, fingerprint, owner, created_at)";
    run(tx, format!("{} VALUES ('w', '{key}', 1, 'f', 'o', '2026-01-01')", quoted::<DB>(claim))).await?;
    effect(tx, key).await?;
    let name = if DB::DIALECT == Dialect::MySql { "`key`" } else { "key" };
    let complete = "UPDATE idem_record SET status = 2, result = '1', completed_at = '2026-01-01'";
    run(tx, format!("{complete} WHERE scope = 'w' AND {name} = '{key}' AND status = 1")).await
}

/// Calls again for as long as the error says that this is the thing to do.
async fn insist_on<DB: Engine>(idem: &Idem<DB>, key: &str) -> Result<(), Error> {
    loop {
        match call(idem, key).await {
            Err(error) if error.is_retryable() => tokio::time::sleep(Duration::from_millis(20)).await,
            answer => return answer,
        }
    }
}

/// A program of the former release, which calls until it is told to stop.
async fn calls_on<DB: Engine>(
    idem: Idem<DB>,
    name: String,
    stop: Arc<AtomicBool>,
    made: Arc<AtomicUsize>,
) -> TestResult {
    for number in 0.. {
        insist_on(&idem, &format!("{name} {number}")).await?;
        made.fetch_add(1, Ordering::SeqCst);
        if stop.load(Ordering::SeqCst) {
            break;
        }
    }
    Ok(())
}

/// Waits until that many more calls are made.
async fn until_made(made: &AtomicUsize, more: usize) -> TestResult {
    let enough = made.load(Ordering::SeqCst) + more;
    let waits = async {
        while made.load(Ordering::SeqCst) < enough {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    Ok(timeout(Duration::from_secs(30), waits).await.map_err(|_| "the writers do not go on")?)
}

async fn ten_instances_upgrade_under_writers<DB: Engine>(db: TestDb<DB>) -> TestResult {
    const WRITERS: usize = 4;
    let new = new_catalogue::<DB>().await?;
    create_former(&db, former::<DB>()[1]).await?;
    let before = rows(&db).await?;
    create_tables(&db).await?;
    let (stop, made) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let idem = unmigrated(&db).await?;
        writers.spawn(calls_on(idem, format!("w{writer}"), Arc::clone(&stop), Arc::clone(&made)));
    }
    until_made(&made, 3 * WRITERS).await?;
    timeout(Duration::from_mins(2), migrate_at_once(&db)).await.map_err(|_| "it waits")??;
    until_made(&made, 3 * WRITERS).await?;
    stop.store(true, Ordering::SeqCst);
    while let Some(written) = writers.join_next().await {
        written??;
    }
    let mut others = catalogue(&db).await?;
    // SQLite's is that of the whole file.
    others.retain(|it| {
        !it.iter().any(|name| name == "effect" || name == "counter") && !it.concat().contains("_counter_")
    });
    ensure!(others == new, "{others:?}");
    ensure!(rows(&db).await? == before, "{:?}", rows(&db).await?);
    let made = made.load(Ordering::SeqCst);
    ensure!(effects(&db).await?.split(',').count() == made, "{made} calls, an effect each");
    let completed = db.integer("SELECT COUNT(*) FROM idem_record WHERE scope = 'w' AND status = 2").await?;
    ensure!(completed == i64::try_from(made)?, "{made} calls, {completed} records");
    Ok(())
}

async fn an_upgrade_dropped_at_every_await<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let new = new_catalogue::<DB>().await?;
    let idem = unmigrated(&db).await?;
    let prepare = async |_| create_former(&db, former::<DB>()[1]).await;
    let upgrade = |_| {
        let idem = idem.clone();
        async move { idem.migrate().await }
    };
    let check = async |_, ended: Ended<Result<(), Error>>| {
        if let Ended::Completed(migrated) = ended {
            migrated?;
            ensure!(catalogue(&db).await? == new, "completed: {:?}", catalogue(&db).await?);
        }
        idem.migrate().await?;
        ensure!(catalogue(&db).await? == new, "the next one: {:?}", catalogue(&db).await?);
        ensure!(rows(&db).await?.len() == 4, "{:?}", rows(&db).await?);
        leaves_nothing_in_the_pool(&idem).await
    };
    let last_drop = drop_at_every_await(prepare, upgrade, check).await?;
    ensure!(last_drop > 2, "cut {last_drop} times");
    Ok(())
}

/// Neither a lock of the session nor one of its settings.
async fn leaves_nothing_in_the_pool<DB: Engine>(idem: &Idem<DB>) -> TestResult {
    let query = match DB::DIALECT {
        Dialect::Postgres => {
            "SELECT (SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())::text
                    || current_setting('lock_timeout')"
        }
        Dialect::MySql => {
            "SELECT CONCAT(COALESCE(IS_USED_LOCK(CONCAT('idem_migrate ', MD5(DATABASE()))) = CONNECTION_ID(), 0),
                           @@SESSION.lock_wait_timeout - @@GLOBAL.lock_wait_timeout)"
        }
        Dialect::Sqlite => "SELECT '00'",
    };
    let left = DB::rows(idem.pool(), query.to_owned()).await?.concat();
    ensure!(left == ["00"], "left in the pool: {left:?}");
    Ok(())
}

/// An engine whose role can read and write rows, and do nothing else.
async fn of_a_lesser_role<DB: Engine>(db: &TestDb<DB>, role: &str) -> Result<Idem<DB>, BoxError> {
    let (start, end) = db.url().split_once('@').unwrap_or_default();
    let scheme = start.split_once("//").map_or(start, |(scheme, _)| scheme);
    let url = match DB::DIALECT {
        Dialect::Postgres => {
            db.execute(format!("CREATE ROLE {role} LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC")).await?;
            db.execute(format!("ALTER DEFAULT PRIVILEGES GRANT SELECT, INSERT, UPDATE ON TABLES TO {role}")).await?;
            format!("{scheme}//{role}@{end}")
        }
        Dialect::MySql => {
            let granted = "Host, Db, User, Select_priv, Insert_priv, Update_priv";
            db.execute(format!("CREATE USER {role}")).await?;
            db.execute(format!("INSERT INTO mysql.db ({granted}) SELECT '%', DATABASE(), '{role}', 'Y', 'Y', 'Y'"))
                .await?;
            db.execute("FLUSH PRIVILEGES").await?;
            format!("{scheme}//{role}@{end}")
        }
        Dialect::Sqlite => format!("{}?mode=ro", db.url()),
    };
    Ok(Idem::builder(TestDb::<DB>::attach(url)?.pool(1)?).build().await?)
}

async fn remove_role<DB: Engine>(db: &TestDb<DB>, role: &str) -> TestResult {
    match DB::DIALECT {
        Dialect::Postgres => db.execute(format!("DROP OWNED BY {role}; DROP ROLE {role}")).await.map(drop),
        Dialect::MySql => db.execute(format!("DROP USER {role}")).await.map(drop),
        Dialect::Sqlite => Ok(()),
    }
}

async fn who_can_only_write_rows_may_migrate<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let role = format!("idem_{}", &uuid::Uuid::new_v4().simple().to_string()[..12]);
    db.execute("CREATE TABLE other (id INT)").await?;
    let checked = async {
        let lesser = of_a_lesser_role(&db, &role).await?;
        answer!(lesser.migrate().await, Err(Error::Database(_)));
        create_former(&db, former::<DB>()[1]).await?;
        let before = catalogue(&db).await?;
        answer!(lesser.migrate().await, Err(Error::Database(_)));
        ensure!(catalogue(&db).await? == before, "{:?}", catalogue(&db).await?);
        unmigrated(&db).await?.migrate().await?;
        Ok(lesser.migrate().await?)
    };
    let checked: TestResult = checked.await;
    remove_role(&db, &role).await?;
    checked
}

async fn files_bring_a_former_table_along<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let new = new_catalogue::<DB>().await?;
    for text in former::<DB>() {
        for marker in ["", "-- idem: tables 00000000\n"] {
            let folder = tempfile::tempdir()?;
            fs::write(folder.path().join("0001_records.sql"), format!("{marker}{text}"))?;
            create_former(&db, text).await?;
            let migrations = || Migrations::new(folder.path(), DB::DIALECT).with_idem();
            ensure!(migrations().check().is_err(), "{marker:?}: a former text");
            let written = migrations().write()?;
            let mut expected = vec!["idem_tables.sql", "idem_tables_validated.sql"];
            expected.truncate(if DB::DIALECT == Dialect::Postgres { 2 } else { 1 });
            ensure!(names(&written) == expected, "{marker:?}: {written:?}");
            for (_, text) in files(&folder)?.into_iter().skip(1) {
                db.execute(text).await?;
            }
            ensure!(catalogue(&db).await? == new, "{marker:?}: {:?}", catalogue(&db).await?);
            migrations().check()?;
            ensure!(migrations().write()?.is_empty(), "{marker:?}: nothing is missing");
        }
    }
    Ok(())
}

/// Whoever comes after an upgrade that waits for an open transaction does not wait as long as that one is open.
async fn an_upgrade_lets_others_through<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_former(&db, former::<DB>()[1]).await?;
    create_tables(&db).await?;
    let [open, other, upgrading] = [unmigrated(&db).await?, unmigrated(&db).await?, unmigrated(&db).await?];
    let mut tx = open.begin().await?;
    claim_and_complete(&mut tx, "open").await?;
    let upgrade = tokio::spawn(async move { upgrading.migrate().await });
    until_waiting(&db, 1).await?;
    let made = timeout(Duration::from_secs(20), insist_on(&other, "other")).await;
    made.map_err(|_| "it waits for the open transaction")??;
    ensure!(!upgrade.is_finished(), "the open transaction was not waited for");
    tx.commit().await?;
    timeout(Duration::from_secs(20), upgrade).await.map_err(|_| "the upgrade is not made")???;
    ensure!(catalogue(&db).await? == new_catalogue::<DB>().await?, "{:?}", catalogue(&db).await?);
    left(&db, ["open,other", "k1:1,k2:2,k4:4,open:2,other:2,早:3"]).await
}

/// A transaction whose snapshot is older than the table cannot use it; the next one can.
async fn a_snapshot_from_before_is_run_again<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_former(&db, former::<DB>()[1]).await?;
    create_tables(&db).await?;
    let idem = unmigrated(&db).await?;
    let mut tx = idem.begin().await?;
    run(&mut tx, "SELECT value FROM counter").await?;
    unmigrated(&db).await?.migrate().await?;
    answer!(write(&mut *tx, "k", 1).await, Err(PayError::Idem(Error::Retry(_))));
    answer!(tx.commit().await, Err(Error::Retry(_)));
    result!(write(&idem, "k", 1).await, 1, is_replay: false);
    Ok(())
}

async fn what_is_the_users_own_stays<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_former(&db, former::<DB>()[1]).await?;
    db.execute("CREATE TABLE noted (key TEXT)").await?;
    let own = [
        "CREATE INDEX by_time ON idem_record (completed_at)",
        "CREATE TRIGGER noted_down AFTER INSERT ON idem_record BEGIN INSERT INTO noted VALUES (new.key); END",
        "CREATE VIEW open_records AS SELECT scope, key FROM idem_record WHERE status = 1",
    ];
    for sql in own {
        db.execute(sql).await?;
    }
    db.idem(1).await?;
    let found = catalogue(&db).await?.concat();
    ensure!(own.iter().all(|sql| found.iter().any(|it| it == sql)), "{found:?}");
    ensure!(db.integer("SELECT COUNT(*) FROM noted").await? == 0, "a row that moves is not inserted");
    ensure!(db.text("SELECT key FROM open_records").await? == "k1", "the view");
    Ok(())
}
