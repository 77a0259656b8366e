//! Tables that a former release has made, and what becomes of them.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use idem_runtime::prelude::*;
use idem_runtime::schema::{self, Migration, Migrations};
use sqlx::{MySql, Postgres, Sqlite};
use tempfile::TempDir;
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
            former_tables_become_like_new_ones,
            a_table_that_is_missing_is_made,
            what_a_record_can_be,
            ten_instances_upgrade_under_writers,
            an_upgrade_dropped_at_every_await,
            who_can_only_write_rows_may_migrate,
            files_bring_former_tables_along,
            leases_come_without_a_copy,
        ]
    );
    on_engines!(suite, [Postgres, MySql], "SQLite has one writer at a time", [an_upgrade_lets_others_through]);
    on_engines!(suite, [MySql], "only there a transaction outlives it", [a_snapshot_from_before_is_run_again]);
    on_engines!(suite, [Sqlite], "only there the table is made anew", [what_is_the_users_own_stays]);
}

/// The texts of the former releases, the oldest first.
pub(crate) fn former<DB: Engine>() -> [&'static str; 4] {
    match DB::DIALECT {
        Dialect::Postgres => [
            include_str!("../../idem-runtime/src/schema/former/1_postgres.sql"),
            include_str!("../../idem-runtime/src/schema/former/2_postgres.sql"),
            include_str!("../../idem-runtime/src/schema/former/3_postgres.sql"),
            include_str!("../../idem-runtime/src/schema/former/4_postgres.sql"),
        ],
        Dialect::MySql => [
            include_str!("../../idem-runtime/src/schema/former/1_mysql.sql"),
            include_str!("../../idem-runtime/src/schema/former/2_mysql.sql"),
            include_str!("../../idem-runtime/src/schema/former/3_mysql.sql"),
            include_str!("../../idem-runtime/src/schema/former/4_mysql.sql"),
        ],
        Dialect::Sqlite => [
            include_str!("../../idem-runtime/src/schema/former/1_sqlite.sql"),
            include_str!("../../idem-runtime/src/schema/former/2_sqlite.sql"),
            include_str!("../../idem-runtime/src/schema/former/3_sqlite.sql"),
            include_str!("../../idem-runtime/src/schema/former/4_sqlite.sql"),
        ],
    }
}

/// The present text without the table that came last.
fn without_audit<DB: Engine>() -> &'static str {
    let text = schema::ddl(DB::DIALECT);
    text.split_once("CREATE TABLE IF NOT EXISTS idem_audit").map_or(text, |(records, _)| records)
}

/// The texts that are one for each way to the present tables.
fn outdated<DB: Engine>() -> [&'static str; 4] {
    let [_, untimed, unleased, uncounted] = former::<DB>();
    [untimed, unleased, uncounted, without_audit::<DB>()]
}

/// The steps that the table of a former release needs.
fn steps<DB: Engine>(text: &str) -> Vec<Migration> {
    let mut steps = schema::upgrade(DB::DIALECT);
    match text {
        _ if text.contains("updated_at") => steps.split_off(steps.len() - 1),
        _ if text.contains("key_until") => steps.split_off(steps.len() - 2),
        _ => steps,
    }
}

const COLUMNS: &str = "scope, key, status, fingerprint, result, owner, created_at, completed_at";

const LIFETIMES: &str = "result_type, result_until, key_until";

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
    for table in ["idem_record", "idem_audit", "idem_token", "idem_lease"] {
        db.execute(format!("DROP TABLE IF EXISTS {table}")).await?;
    }
    db.execute(text).await?;
    for record in records(text) {
        db.execute(format!("INSERT INTO idem_record ({}) VALUES ('s', {record})", quoted::<DB>(COLUMNS))).await?;
    }
    if text.contains("key_until") {
        let lifetimes = "result_type = 'v1:t', result_until = '2027-01-01 10:00:00.5', key_until = '2028-01-01'";
        db.execute(format!("UPDATE idem_record SET {lifetimes} WHERE status IN (2, 3)")).await?;
    }
    Ok(())
}

/// The same, and new tables for the effects of calls.
async fn create_used<DB: Engine>(db: &TestDb<DB>, text: &str) -> TestResult {
    db.execute("DROP TABLE IF EXISTS effect; DROP TABLE IF EXISTS counter").await?;
    create_former(db, text).await?;
    create_tables(db).await
}

/// `key` is a word of MySQL's.
fn quoted<DB: Engine>(columns: &str) -> String {
    if DB::DIALECT == Dialect::MySql { columns.replace(" key,", " `key`,") } else { columns.to_owned() }
}

/// What the release of this text has written.
async fn rows<DB: Engine>(db: &TestDb<DB>, text: &str) -> Result<Vec<Vec<String>>, BoxError> {
    let lifetimes = if text.contains("key_until") { LIFETIMES } else { "1" };
    let mut columns = format!("{}, {lifetimes}", quoted::<DB>(COLUMNS));
    for time in ["created_at", "completed_at", "result_until", "key_until"] {
        columns = columns.replace(time, &format!("CAST({time} AS CHAR(40))"));
    }
    db.rows(format!("SELECT {columns} FROM idem_record WHERE scope = 's' ORDER BY status")).await
}

/// The tables as the catalogue has them: the same for two that are the same, but for the order of columns where new ones
/// cannot come between.
async fn catalogue<DB: Engine>(db: &TestDb<DB>) -> Result<Vec<Vec<String>>, BoxError> {
    match DB::DIALECT {
        Dialect::Postgres => db.rows(POSTGRES_CATALOGUE).await,
        Dialect::MySql => {
            let mut found = Vec::new();
            for table in db.rows("SHOW TABLES LIKE 'idem%'").await?.concat() {
                found.extend(db.rows(format!("SHOW CREATE TABLE {table}")).await?);
            }
            // What counts the entries.
            Ok(found.into_iter().map(|it| vec![it.concat().replace(" AUTO_INCREMENT=2", "")]).collect())
        }
        Dialect::Sqlite => {
            let found = db.rows("SELECT type, name, sql FROM sqlite_master ORDER BY name").await?;
            Ok(found.into_iter().map(|it| it.into_iter().map(|text| words(&text)).collect()).collect())
        }
    }
}

const POSTGRES_CATALOGUE: &str = "\
WITH idem AS (
  SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relname LIKE 'idem%' AND relkind = 'r')
SELECT attrelid::regclass || '.' || attname COLLATE \"C\" AS name, format_type(atttypid, atttypmod),
       concat(attnotnull, attidentity, pg_get_expr(adbin, adrelid)), attcollation::regcollation::text
  FROM pg_attribute
  LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
 WHERE attrelid IN (SELECT oid FROM idem) AND attnum > 0 AND NOT attisdropped
 UNION ALL
SELECT conname::text, pg_get_constraintdef(oid), convalidated::text, ''
  FROM pg_constraint
 WHERE conrelid IN (SELECT oid FROM idem)
 UNION ALL
SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid), '', ''
  FROM pg_index
 WHERE indrelid IN (SELECT oid FROM idem)
 ORDER BY name, format_type";

/// A definition without its comments, which stay where they were when SQLite adds a column.
fn words(text: &str) -> String {
    let code = text.lines().map(|line| line.split_once("--").map_or(line, |(code, _)| code));
    code.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

/// That of tables that were made just now.
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

async fn former_tables_become_like_new_ones<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let new = new_catalogue::<DB>().await?;
    let idem = unmigrated(&db).await?;
    for (release, text) in former::<DB>().into_iter().enumerate() {
        let steps = steps::<DB>(text);
        // Stopped after so many steps, which may be by hand, it goes on from there.
        for done in 0..=steps.len() {
            let during = format!("release {release}, {done} steps done");
            create_former(&db, text).await?;
            let before = rows(&db, text).await?;
            for step in &steps[..done] {
                db.execute(step.to_string()).await.map_err(|error| format!("{during}: {error}"))?;
                claim_as_before(&db, step).await.map_err(|error| format!("{during}: {error}"))?;
            }
            ensure!((catalogue(&db).await? == new) == (done == steps.len()), "{during}: {:?}", catalogue(&db).await?);
            idem.migrate().await.map_err(|error| format!("{during}: {error}"))?;
            ensure!(catalogue(&db).await? == new, "{during}: {:?}", catalogue(&db).await?);
            ensure!(rows(&db, text).await? == before, "{during}: {:?}", rows(&db, text).await?);
            ensure!(before.len() == if release == 0 { 3 } else { 4 }, "{during}: {before:?}");
            let told = "result_type IS NOT NULL OR result_until IS NOT NULL OR key_until IS NOT NULL";
            let told = db.integer(format!("SELECT COUNT(*) FROM idem_record WHERE {told}")).await?;
            ensure!(told == if text.contains("key_until") { 2 } else { 0 }, "{during}: {told} lifetimes");
            ensure!(db.integer(NOT_LEASED).await? == 0, "{during}: leased");
        }
    }
    what_comes_too_late_is_refused(&db, &idem).await?;
    ensure!(catalogue(&db).await? == new, "{:?}", catalogue(&db).await?);
    Ok(())
}

/// How many records are not like those of a release that knew no leases.
const NOT_LEASED: &str = "SELECT COUNT(*) FROM idem_record
 WHERE NOT (attempt = 0 AND lease_until < '2000-01-01' AND begun IS NULL AND begun_writes = 0 AND updated_at IS NULL)";

/// A record of a former release.
async fn claim_as_before<DB: Engine>(db: &TestDb<DB>, step: &Migration) -> TestResult {
    let columns = quoted::<DB>("scope, key, status, fingerprint, owner, created_at");
    let key = step.marker();
    db.execute(format!("INSERT INTO idem_record ({columns}) VALUES ('w', '{key}', 1, 'f', 'o', '2026-01-01')")).await?;
    Ok(())
}

/// A step fails on what it would bring about, before it takes anything away.
async fn what_comes_too_late_is_refused<DB: Engine>(db: &TestDb<DB>, idem: &Idem<DB>) -> TestResult {
    let lifetimes = "result_type = 't', result_until = '2027-01-01', key_until = '2027-01-01'";
    let lease = "attempt = 1, lease_until = '2027-01-01', begun = '[]', updated_at = '2027-01-01'";
    db.execute(format!("UPDATE idem_record SET {lifetimes}, {lease}")).await?;
    let all = db.integer("SELECT COUNT(*) FROM idem_record").await?;
    for step in schema::upgrade(DB::DIALECT).iter().filter(|step| step.name == "tables") {
        ensure!(db.execute(step.to_string()).await.is_err(), "it ran on current tables: {step}");
        idem.migrate().await?;
        let kept = format!("{lifetimes}, {lease}").replace(", ", " AND ");
        let kept = db.integer(format!("SELECT COUNT(*) FROM idem_record WHERE {kept}")).await?;
        ensure!(kept == all && all > 4, "it took something away: {step}");
    }
    Ok(())
}

async fn a_table_that_is_missing_is_made<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let new = new_catalogue::<DB>().await?;
    create_former(&db, without_audit::<DB>()).await?;
    migrate_at_once(&db).await?;
    ensure!(catalogue(&db).await? == new, "without the audit: {:?}", catalogue(&db).await?);
    ensure!(rows(&db, without_audit::<DB>()).await?.len() == 4, "the records");

    let columns = quoted::<DB>("at, actor, action, reason, scope, key, record");
    let entry = "'2026-01-01', 'ann', 'release', 'paid by hand', 's', 'k', '{}'";
    db.execute(format!("INSERT INTO idem_audit ({columns}) VALUES ({entry})")).await?;
    db.execute("DROP TABLE idem_record").await?;
    migrate_at_once(&db).await?;
    ensure!(catalogue(&db).await? == new, "without the records: {:?}", catalogue(&db).await?);
    ensure!(db.text("SELECT actor FROM idem_audit").await? == "ann", "the audit");

    for text in former::<DB>() {
        db.execute("DROP TABLE idem_record").await?;
        db.execute(text).await?;
        migrate_at_once(&db).await?;
        ensure!(catalogue(&db).await? == new, "beside an audit: {:?}", catalogue(&db).await?);
        ensure!(db.text("SELECT actor FROM idem_audit").await? == "ann", "the audit");
    }
    Ok(())
}

/// The rows stay where they are.
async fn leases_come_without_a_copy<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let place = match DB::DIALECT {
        Dialect::Postgres => "SELECT pg_relation_filenode('idem_record')::text",
        Dialect::MySql => {
            "SELECT CAST(table_id AS CHAR) FROM information_schema.innodb_sys_tables
              WHERE name = CONCAT(DATABASE(), '/idem_record')"
        }
        // A row that is gone leaves a gap.
        Dialect::Sqlite => "SELECT group_concat(rowid) FROM idem_record",
    };
    for (text, is_copied) in former::<DB>().into_iter().zip([true, true, false, false]) {
        create_former(&db, text).await?;
        db.execute("DELETE FROM idem_record WHERE status = 1").await?;
        let before = db.text(place).await?;
        unmigrated(&db).await?.migrate().await?;
        // PostgreSQL copies nothing at all.
        let is_copied = is_copied && DB::DIALECT != Dialect::Postgres;
        ensure!((db.text(place).await? != before) == is_copied, "from {before} to {}: {text}", db.text(place).await?);
    }
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
    let claim = format!("INSERT INTO idem_record ({columns}) VALUES ('s', 'k', 'f', 'o', {at}, 1, NULL, NULL, NULL)");
    db.execute(claim).await?;
    ensure!(db.integer(NOT_LEASED).await? == 0, "a claim that says nothing of a lease has one");
    // Of a comparison with NULL it would come that nobody may take it over, or that everybody may.
    for (set, can_be) in [
        ("attempt = NULL", false),
        ("lease_until = NULL", false),
        ("attempt = 1, lease_until = '2026-01-01', begun = '[\"bank.send\"]', updated_at = '2026-01-01'", true),
        ("status = 4", true),
        ("begun = NULL, updated_at = NULL", true),
    ] {
        ensure!(db.execute(format!("UPDATE idem_record SET {set}")).await.is_ok() == can_be, "{set}");
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
    for text in outdated::<DB>() {
        ten_instances_upgrade(&db, text).await.map_err(|error| format!("{error}\n{text}"))?;
    }
    Ok(())
}

async fn ten_instances_upgrade<DB: Engine>(db: &TestDb<DB>, text: &str) -> TestResult {
    const WRITERS: usize = 4;
    let new = new_catalogue::<DB>().await?;
    create_used(db, text).await?;
    let before = rows(db, text).await?;
    let (stop, made) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let idem = unmigrated(db).await?;
        writers.spawn(calls_on(idem, format!("w{writer}"), Arc::clone(&stop), Arc::clone(&made)));
    }
    until_made(&made, 3 * WRITERS).await?;
    timeout(Duration::from_mins(2), migrate_at_once(db)).await.map_err(|_| "it waits")??;
    until_made(&made, 3 * WRITERS).await?;
    stop.store(true, Ordering::SeqCst);
    while let Some(written) = writers.join_next().await {
        written??;
    }
    let mut others = catalogue(db).await?;
    // SQLite's is that of the whole file.
    others.retain(|it| {
        !it.iter().any(|name| name == "effect" || name == "counter") && !it.concat().contains("_counter_")
    });
    ensure!(others == new, "{others:?}");
    ensure!(rows(db, text).await? == before, "{:?}", rows(db, text).await?);
    let made = made.load(Ordering::SeqCst);
    ensure!(effects(db).await?.split(',').count() == made, "{made} calls, an effect each");
    let completed = db.integer("SELECT COUNT(*) FROM idem_record WHERE scope = 'w' AND status = 2").await?;
    ensure!(completed == i64::try_from(made)?, "{made} calls, {completed} records");
    ensure!(db.integer(NOT_LEASED).await? == 0, "leased");
    Ok(())
}

async fn an_upgrade_dropped_at_every_await<DB: Engine>(db: TestDb<DB>) -> TestResult {
    for text in outdated::<DB>() {
        upgrade_dropped_at_every_await(&db, text).await.map_err(|error| format!("{error}\n{text}"))?;
    }
    Ok(())
}

async fn upgrade_dropped_at_every_await<DB: Engine>(db: &TestDb<DB>, text: &str) -> TestResult {
    let new = new_catalogue::<DB>().await?;
    let idem = unmigrated(db).await?;
    let prepare = async |_| create_former(db, text).await;
    let upgrade = |_| {
        let idem = idem.clone();
        async move { idem.migrate().await }
    };
    let check = async |_, ended: Ended<Result<(), Error>>| {
        if let Ended::Completed(migrated) = ended {
            migrated?;
            ensure!(catalogue(db).await? == new, "completed: {:?}", catalogue(db).await?);
        }
        idem.migrate().await?;
        ensure!(catalogue(db).await? == new, "the next one: {:?}", catalogue(db).await?);
        ensure!(rows(db, text).await?.len() == 4, "{:?}", rows(db, text).await?);
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
        for text in outdated::<DB>() {
            create_former(&db, text).await?;
            let before = catalogue(&db).await?;
            answer!(lesser.migrate().await, Err(Error::Database(_)));
            ensure!(catalogue(&db).await? == before, "{:?}", catalogue(&db).await?);
            unmigrated(&db).await?.migrate().await?;
            lesser.migrate().await?;
        }
        Ok(())
    };
    let checked: TestResult = checked.await;
    remove_role(&db, &role).await?;
    checked
}

async fn files_bring_former_tables_along<DB: Engine>(db: TestDb<DB>) -> TestResult {
    for text in former::<DB>() {
        let steps = steps::<DB>(text);
        let marked = former_markers::<DB>(text).into_iter().map(|marker| format!("{marker}\n{text}"));
        for file in marked.chain([text.to_owned()]) {
            let folder = tempfile::tempdir()?;
            fs::write(folder.path().join("0001_records.sql"), &file)?;
            files_lead_to_the_present_tables(&db, text, &folder, &steps).await?;
        }
    }
    // Of a table that is unknown each step may be needed.
    let folder = tempfile::tempdir()?;
    let [oldest, ..] = former::<DB>();
    fs::write(folder.path().join("0001_records.sql"), format!("-- idem: tables 00000000\n{oldest} -- mine"))?;
    fs::write(folder.path().join("0002_records.sql"), "-- idem: tables 00000001\nSELECT 1;")?;
    files_lead_to_the_present_tables(&db, oldest, &folder, &steps::<DB>(oldest)).await?;

    // The files of the release before, which have brought an older table along.
    let folder = tempfile::tempdir()?;
    let [.., last] = &schema::upgrade(DB::DIALECT)[..] else { return Err("no steps".into()) };
    let [before @ .., _] = &schema::upgrade(DB::DIALECT)[..] else { return Err("no steps".into()) };
    fs::write(folder.path().join("0001_records.sql"), oldest)?;
    for (number, step) in (2..).zip(before) {
        fs::write(folder.path().join(format!("{number:04}_idem_{}.sql", step.name)), step.to_string())?;
    }
    files_lead_to_the_present_tables(&db, oldest, &folder, std::slice::from_ref(last)).await
}

/// The lines that may stand before a text of a former release.
fn former_markers<DB: Engine>(text: &str) -> Vec<String> {
    let (steps, [_, _, third, fourth]) = (schema::upgrade(DB::DIALECT), former::<DB>());
    // What gave a table of an older release this text.
    let before = match text {
        _ if text == third => steps.first(),
        _ if text == fourth => steps.iter().rev().nth(1),
        _ => None,
    };
    before.map(Migration::marker).into_iter().chain(["-- idem: tables 00000000".to_owned()]).collect()
}

/// Writes these files, which with those that were there lead from a former table to the present ones.
async fn files_lead_to_the_present_tables<DB: Engine>(
    db: &TestDb<DB>,
    former: &str,
    folder: &TempDir,
    steps: &[Migration],
) -> TestResult {
    let before = files(folder)?;
    let during = format!("{:?}", before.last());
    let migrations = || Migrations::new(folder.path(), DB::DIALECT).with_idem();
    ensure!(migrations().check().is_err(), "{during}: outdated");
    let written = migrations().write()?;
    let expected: Vec<_> = steps.iter().map(|step| format!("idem_{}.sql", step.name)).collect();
    ensure!(names(&written) == expected, "{during}: {written:?}");
    create_former(db, former).await?;
    for (_, text) in files(folder)?.into_iter().skip(1) {
        db.execute(text).await?;
    }
    let new = new_catalogue::<DB>().await?;
    ensure!(catalogue(db).await? == new, "{during}: {:?}", catalogue(db).await?);
    migrations().check()?;
    ensure!(migrations().write()?.is_empty(), "{during}: nothing is missing");
    ensure!(files(folder)?[..before.len()] == before, "{during}: a file was changed");
    Ok(())
}

/// Whoever comes after an upgrade that waits for an open transaction does not wait as long as that one is open.
async fn an_upgrade_lets_others_through<DB: Engine>(db: TestDb<DB>) -> TestResult {
    for text in &former::<DB>()[1..] {
        upgrade_beside_an_open_transaction(&db, text).await.map_err(|error| format!("{error}\n{text}"))?;
    }
    // A table more waits for nobody.
    create_used(&db, without_audit::<DB>()).await?;
    let [open, upgrading] = [unmigrated(&db).await?, unmigrated(&db).await?];
    let mut tx = open.begin().await?;
    claim_and_complete(&mut tx, "open").await?;
    timeout(Duration::from_secs(20), upgrading.migrate()).await.map_err(|_| "it waits for the open transaction")??;
    Ok(tx.commit().await?)
}

async fn upgrade_beside_an_open_transaction<DB: Engine>(db: &TestDb<DB>, text: &str) -> TestResult {
    create_used(db, text).await?;
    let [open, other, upgrading] = [unmigrated(db).await?, unmigrated(db).await?, unmigrated(db).await?];
    let mut tx = open.begin().await?;
    claim_and_complete(&mut tx, "open").await?;
    let upgrade = tokio::spawn(async move { upgrading.migrate().await });
    until_waiting(db, 1).await?;
    let made = timeout(Duration::from_secs(20), insist_on(&other, "other")).await;
    made.map_err(|_| "it waits for the open transaction")??;
    ensure!(!upgrade.is_finished(), "the open transaction was not waited for");
    tx.commit().await?;
    timeout(Duration::from_secs(20), upgrade).await.map_err(|_| "the upgrade is not made")???;
    ensure!(catalogue(db).await? == new_catalogue::<DB>().await?, "{:?}", catalogue(db).await?);
    left(db, ["open,other", "k1:1,k2:2,k4:4,open:2,other:2,早:3"]).await
}

/// A transaction whose snapshot is older than the table cannot use it; the next one can. One that is only older than the
/// columns of a lease can.
async fn a_snapshot_from_before_is_run_again<DB: Engine>(db: TestDb<DB>) -> TestResult {
    for (text, is_copied) in former::<DB>().into_iter().zip([true, true, false, false]) {
        create_used(&db, text).await?;
        let idem = unmigrated(&db).await?;
        let mut tx = idem.begin().await?;
        run(&mut tx, "SELECT value FROM counter").await?;
        unmigrated(&db).await?.migrate().await?;
        if is_copied {
            answer!(write(&mut *tx, "k", 1).await, Err(PayError::Idem(Error::Retry(_))));
            answer!(tx.commit().await, Err(Error::Retry(_)));
        } else {
            result!(write(&mut *tx, "k", 1).await, 1, is_replay: false);
            tx.commit().await?;
        }
        result!(write(&idem, "k", 1).await, 1, is_replay: !is_copied);
        ensure!(db.integer(NOT_LEASED).await? == 0, "leased");
    }
    Ok(())
}

async fn what_is_the_users_own_stays<DB: Engine>(db: TestDb<DB>) -> TestResult {
    for text in outdated::<DB>() {
        db.execute("DROP TABLE IF EXISTS noted; DROP VIEW IF EXISTS open_records").await?;
        users_own_stays(&db, text).await.map_err(|error| format!("{error}\n{text}"))?;
    }
    Ok(())
}

async fn users_own_stays<DB: Engine>(db: &TestDb<DB>, text: &str) -> TestResult {
    create_former(db, text).await?;
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
    let found = catalogue(db).await?.concat();
    ensure!(own.iter().all(|sql| found.iter().any(|it| it == sql)), "{found:?}");
    ensure!(db.integer("SELECT COUNT(*) FROM noted").await? == 0, "a row that moves is not inserted");
    ensure!(db.text("SELECT key FROM open_records").await? == "k1", "the view");
    Ok(())
}
