//! Records that need a person: what an operator sees of them, and what it does to them.

use std::time::Duration;

use idem_runtime::operator::{AuditEntry, Operator, OperatorError, Status, StoredRecord, stored_key};
use idem_runtime::prelude::*;
use serde_json::Value;

use crate::acts::{create_tables, until_waiting};
use crate::answers::answer;
use crate::failures::{Failure, fail};
use crate::settle::PayError;
use crate::support::{
    BoxError, Ended, Engine, Suite, TASKS, TestDb, TestResult, drop_at_every_await, ensure, on_engines,
    on_every_engine, release_together, sql,
};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            open_records_are_those_that_need_a_person,
            open_lists_the_oldest_thousand,
            every_record_is_shown,
            a_completed_record_answers_each_later_call,
            json_completes_a_record_for_any_type,
            a_released_record_lets_the_next_call_run,
            the_audit_keeps_the_record_as_it_was,
            what_needs_no_person_is_refused,
            a_running_record_is_refused_unless_it_is_insisted,
            a_record_that_was_seen_otherwise_is_refused,
            words_that_say_nothing_are_refused,
            a_result_that_cannot_be_stored_is_refused,
            odd_keys_are_compared_as_bytes,
            of_many_operators_one_acts,
            an_operator_inside_of_a_body_needs_a_connection,
            a_completion_dropped_at_every_await,
            a_release_dropped_at_every_await,
        ]
    );
    on_engines!(
        suite,
        [sqlx::Postgres, sqlx::MySql],
        "SQLite lets nobody write between an operator's reading and its writing",
        [a_record_that_changes_after_it_was_read_is_refused]
    );
    on_engines!(
        suite,
        [sqlx::Sqlite, sqlx::Postgres],
        "on MySQL nothing leaves a row out and says that all is well",
        [nothing_is_done_without_an_entry_in_the_audit]
    );
}

const SCOPE: &str = "test.operator";
const HOUR: i64 = 3_600;

/// A record as a leased call leaves it.
#[derive(Debug, Clone, Copy)]
struct Row<'r> {
    key: &'r str,
    status: i64,
    attempt: i64,
    begun: Option<&'r str>,
    /// How many seconds ago the call began.
    age: i64,
    /// In how many seconds its lease ends.
    lease: i64,
}

/// One whose outside call may have happened; its lease is over.
const IN_DOUBT: Row<'_> =
    Row { key: "k", status: 4, attempt: 1, begun: Some("[\"bank.send\"]"), age: HOUR, lease: -HOUR };

/// One whose process was killed before it did anything.
const STUCK: Row<'_> = Row { status: 1, begun: None, ..IN_DOUBT };

impl Row<'_> {
    async fn insert<DB: Engine>(self, idem: &Idem<DB>) -> TestResult {
        let (key, at) = match DB::DIALECT {
            Dialect::Postgres => ("key", "clock_timestamp() + ?::bigint * INTERVAL '1 second'"),
            Dialect::MySql => ("`key`", "SYSDATE(6) + INTERVAL ? SECOND"),
            Dialect::Sqlite => ("key", "strftime('%Y-%m-%d %H:%M:%f', 'now', ? || ' seconds')"),
        };
        let columns = format!("scope, {key}, fingerprint, owner, status, attempt, begun, created_at, lease_until");
        let mut tx = idem.begin().await?;
        let insert = format!("INSERT INTO idem_record ({columns}) VALUES (?, ?, 'v1:f', ?, ?, ?, ?, {at}, {at})");
        let insert = sql::<DB>(&insert).bind(SCOPE.to_owned()).bind(self.key.to_owned());
        let insert = insert.bind(format!("owner of {}", self.attempt)).bind(self.status).bind(self.attempt);
        insert.bind(self.begun.map(str::to_owned)).bind(-self.age).bind(self.lease).execute(&mut *tx).await?;
        Ok(tx.commit().await?)
    }
}

/// Ends a call, and makes of its record one in doubt.
async fn doubt<DB: Engine>(db: &TestDb<DB>, idem: &Idem<DB>, key: &str) -> TestResult {
    answer!(call(idem, key, 1, 3).await, Ok(3));
    let doubt =
        "UPDATE idem_record SET status = 4, attempt = 1, result = NULL, result_type = NULL, completed_at = NULL";
    db.execute(doubt).await.map(drop)
}

/// A call whose body gives `result`.
async fn call<DB: Engine>(idem: &Idem<DB>, key: &str, payload: i64, result: i64) -> Result<i64, PayError> {
    idem.once(SCOPE, key).payload(&payload).run(async |_| Ok(result)).await
}

/// Completes a record with 5, or releases it.
async fn settle<DB: Engine>(operator: &Operator<DB>, key: &str, completes: bool) -> Result<(), OperatorError> {
    if completes {
        return operator.complete(SCOPE, key, &5_i64, "why").await;
    }
    operator.release(SCOPE, key, "why").await
}

/// The status, the owner and the result of the record `k`, and what has been done to it.
async fn state<DB: Engine>(db: &TestDb<DB>) -> Result<String, BoxError> {
    state_of(db, "k").await
}

async fn state_of<DB: Engine>(db: &TestDb<DB>, key: &str) -> Result<String, BoxError> {
    let column = if DB::DIALECT == Dialect::MySql { "`key`" } else { "key" };
    let row = format!("FROM idem_record WHERE {column} = '{key}'");
    let entries = format!("(SELECT COUNT(*) FROM idem_audit WHERE {column} = '{key}')");
    let parts = ["status", "owner", "result"].map(|part| format!("(SELECT {part} {row})"));
    Ok(db.rows(format!("SELECT {}, {entries}", parts.join(", "))).await?.concat().join(" "))
}

fn keys(records: &[StoredRecord]) -> String {
    records.iter().map(|record| record.key.as_str()).collect::<Vec<_>>().join(" ")
}

async fn open_records_are_those_that_need_a_person<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    let operator = idem.operator("alice");
    ensure!(operator.open(Duration::ZERO).await?.is_empty(), "no record, and one is open");
    let rows = [
        Row { key: "begun", age: 5 * HOUR, attempt: 3, begun: Some("[\"bank.send\", \"tx\"]"), ..IN_DOUBT },
        Row { key: "slow", age: 4 * HOUR, lease: HOUR, ..IN_DOUBT },
        Row { key: "stuck", age: 3 * HOUR, ..STUCK },
        Row { key: "runs", age: 3 * HOUR, lease: HOUR, ..STUCK },
        // Committed by a statement that nobody saw, in the form of one transaction.
        Row { key: "early", age: 2 * HOUR, attempt: 0, ..STUCK },
        Row { key: "odd", age: HOUR, attempt: 0, begun: Some("by hand"), ..IN_DOUBT },
    ];
    // The order of the rows is not that of their age.
    for row in rows.into_iter().rev() {
        row.insert(&idem).await?;
    }
    answer!(call(&idem, "completed", 1, 3).await, Ok(3));
    answer!(fail(&idem, "failed", Failure::SoldOut).await, Err(Failure::SoldOut));

    let open = operator.open(Duration::ZERO).await?;
    ensure!(keys(&open) == "begun slow stuck early odd", "{open:?}");
    let old = operator.open(Duration::from_mins(150)).await?;
    ensure!(keys(&old) == "begun slow stuck", "{old:?}");
    ensure!(operator.open(Duration::MAX).await?.is_empty(), "nothing is that old");

    let [begun, slow, stuck, early, odd] = &open[..] else { return Err("five".into()) };
    ensure!((begun.scope.as_str(), begun.status, begun.attempt) == (SCOPE, Status::InDoubt, 3), "{begun:?}");
    ensure!(begun.begun == ["bank.send", "tx"] && begun.owner == "owner of 3", "{begun:?}");
    ensure!(begun.fingerprint == "v1:f" && begun.lease_left.is_none(), "{begun:?}");
    let hours = |number: u64| Duration::from_hours(number)..Duration::from_hours(number) + Duration::from_mins(1);
    ensure!(hours(5).contains(&begun.age) && hours(5).contains(&begun.unwritten_for), "{begun:?}");
    let left = slow.lease_left.unwrap_or_default();
    ensure!(left > Duration::from_mins(59) && left <= Duration::from_hours(1), "{slow:?}");
    ensure!(stuck.status == Status::InProgress && stuck.begun.is_empty(), "{stuck:?}");
    ensure!(early.attempt == 0 && odd.begun == ["by hand"], "{early:?} {odd:?}");

    db.execute("UPDATE idem_record SET updated_at = lease_until").await?;
    let written = operator.open(Duration::from_hours(5)).await?;
    ensure!(written.len() == 1 && hours(1).contains(&written[0].unwritten_for), "{written:?}");
    Ok(())
}

async fn open_lists_the_oldest_thousand<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    let keys =
        (1..=1_001).map(|number| format!("('{SCOPE}', '{number}', 4, 'v1:f', 'o', 1, '2026-01-01 00:00:00.000')"));
    let key = if DB::DIALECT == Dialect::MySql { "`key`" } else { "key" };
    let insert =
        format!("INSERT INTO idem_record (scope, {key}, status, fingerprint, owner, attempt, created_at) VALUES ");
    db.execute(insert + &keys.collect::<Vec<_>>().join(", ")).await?;
    db.execute(format!("UPDATE idem_record SET created_at = '2026-01-02 00:00:00.000' WHERE {key} = '500'")).await?;
    db.execute(format!("UPDATE idem_record SET created_at = '2025-01-01 00:00:00.000' WHERE {key} = '700'")).await?;
    let open = idem.operator("alice").open(Duration::ZERO).await?;
    ensure!(open.len() == 1_000 && open[0].key == "700", "{} {:?}", open.len(), open[0]);
    ensure!(open.iter().all(|record| record.key != "500"), "the youngest is not the one left out");
    Ok(())
}

async fn every_record_is_shown<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    create_tables(&db).await?;
    let operator = idem.operator("alice");
    answer!(operator.show(SCOPE, "k").await, Ok(None));
    IN_DOUBT.insert(&idem).await?;
    answer!(operator.show("test.other", "k").await, Ok(None));
    let shown = operator.show(SCOPE, "k").await?.ok_or("it is there")?;
    ensure!(shown.record.status == Status::InDoubt && shown.answer.is_none() && shown.audit.is_empty(), "{shown:?}");

    let key = ("a/b", 42);
    answer!(idem.once(SCOPE, &key).run(async |_| Ok::<_, PayError>("x".to_owned())).await, Ok(_));
    let shown = operator.show(SCOPE, &stored_key(&key)?).await?.ok_or("it is there")?;
    ensure!(shown.record.key == "a%2Fb/42" && shown.record.status == Status::Completed, "{shown:?}");
    ensure!(shown.answer.as_deref() == Some("\"x\""), "{shown:?}");
    ensure!(shown.answer_type.as_deref() == Some("v1:String"), "{shown:?}");

    answer!(fail(&idem, "failed", Failure::SoldOut).await, Err(Failure::SoldOut));
    let shown = operator.show("test.try", "failed").await?.ok_or("it is there")?;
    ensure!(shown.record.status == Status::Failed && shown.answer.as_deref() == Some("\"SoldOut\""), "{shown:?}");
    Ok(())
}

async fn a_completed_record_answers_each_later_call<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    doubt(&db, &idem, "k").await?;
    answer!(call(&idem, "k", 1, 7).await, Err(PayError::Idem(Error::Indeterminate)));
    idem.operator("alice").complete(SCOPE, "k", &5_i64, "the bank shows it").await?;
    for _ in 0..2 {
        answer!(call(&idem, "k", 1, 7).await, Ok(5));
    }
    answer!(call(&idem, "k", 2, 7).await, Err(PayError::Idem(Error::Mismatch)));
    answer!(idem.lookup::<Once<i64>>(SCOPE, "k").await, Ok(Lookup::Completed(once)) if *once == 5);
    answer!(idem.lookup::<String>(SCOPE, "k").await, Err(Error::ScopeClash { .. }));
    // Kept for ever.
    let lifetimes = "SELECT COUNT(*) FROM idem_record WHERE result_until IS NULL AND key_until IS NULL";
    ensure!(db.integer(lifetimes).await? == 1, "a lifetime");
    let shown = idem.operator("bob").show(SCOPE, "k").await?.ok_or("it is there")?;
    ensure!(shown.record.unwritten_for < Duration::from_mins(1) && shown.record.lease_left.is_none(), "{shown:?}");

    // A result that is an `Option`, or of one value, is written as a call's is.
    for key in ["none", "unit"] {
        Row { key, ..IN_DOUBT }.insert(&idem).await?;
    }
    idem.operator("alice").complete(SCOPE, "none", &Some(None::<i64>), "it was nothing").await?;
    answer!(idem.lookup::<Option<Option<i64>>>(SCOPE, "none").await, Ok(Lookup::Completed(Some(None))));
    idem.operator("alice").complete(SCOPE, "unit", &(), "it was done").await?;
    answer!(idem.lookup::<()>(SCOPE, "unit").await, Ok(Lookup::Completed(())));
    Ok(())
}

async fn json_completes_a_record_for_any_type<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    doubt(&db, &idem, "k").await?;
    let operator = idem.operator("alice");
    for wrong in ["", "{", "receipt", "1 2", "\"\\ud800\"", "NaN"] {
        answer!(operator.complete_json(SCOPE, "k", wrong, "why").await, Err(OperatorError::NoJson(_)));
    }
    ensure!(operator.audit(SCOPE, "k").await?.is_empty(), "nothing was done");
    operator.complete_json(SCOPE, "k", " 5 ", "the bank shows it").await?;
    answer!(call(&idem, "k", 1, 7).await, Ok(5));
    answer!(idem.lookup::<String>(SCOPE, "k").await, Err(Error::Undecodable(_)));
    let shown = operator.show(SCOPE, "k").await?.ok_or("it is there")?;
    ensure!(shown.answer_type.is_none() && shown.answer.as_deref() == Some(" 5 "), "{shown:?}");
    Ok(())
}

async fn a_released_record_lets_the_next_call_run<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    doubt(&db, &idem, "k").await?;
    let operator = idem.operator("alice");
    operator.release(SCOPE, "k", "the bank never saw it").await?;
    answer!(operator.show(SCOPE, "k").await, Ok(None));
    ensure!(state(&db).await? == "NULL NULL NULL 1", "{}", state(&db).await?);
    // Another payload, too: nothing is left of the first one.
    answer!(call(&idem, "k", 2, 7).await, Ok(7));
    let shown = operator.show(SCOPE, "k").await?.ok_or("it is there")?;
    ensure!(shown.audit == operator.audit(SCOPE, "k").await? && shown.audit.len() == 1, "{shown:?}");
    Ok(())
}

async fn the_audit_keeps_the_record_as_it_was<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    let row = Row { attempt: 2, begun: Some("[\"bank.send\",\"tx\"]"), ..IN_DOUBT };
    row.insert(&idem).await?;
    let times = "created_at = '2026-02-28 13:05:00.125', lease_until = '2026-02-28 13:06:00.000'";
    db.execute(format!("UPDATE idem_record SET {times}, updated_at = '2026-02-28 13:05:30.000'")).await?;
    idem.operator("alice ü").release(SCOPE, "k", "it's \"nothing\"").await?;
    Row { begun: None, status: 1, ..row }.insert(&idem).await?;
    idem.operator("bob").complete(SCOPE, "k", &"done".to_owned(), "found").await?;

    let audit = idem.operator("carol").audit(SCOPE, "k").await?;
    let [release, complete] = &audit[..] else { return Err(format!("{audit:?}").into()) };
    let AuditEntry { at, actor, action, reason, record, result, .. } = release;
    ensure!((&**actor, &**action, &**reason) == ("alice ü", "release", "it's \"nothing\""), "{release:?}");
    ensure!(result.is_none() && at.as_str() > "2026-02-28 13:06" && at.as_str() <= complete.at.as_str(), "{release:?}");
    let was: Value = serde_json::from_str(record)?;
    let begun = serde_json::json!(["bank.send", "tx"]);
    ensure!(was["status"] == "in doubt" && was["attempt"] == 2 && was["begun"] == begun, "{record}");
    ensure!(was["owner"] == "owner of 2" && was["fingerprint"] == "v1:f", "{record}");
    let times = [("created_at", "13:05:00.125"), ("updated_at", "13:05:30.000"), ("lease_until", "13:06:00.000")];
    for (column, at) in times {
        let at = format!("2026-02-28 {at}");
        ensure!(was[column].as_str().is_some_and(|text| text.starts_with(&at)), "{column}: {record}");
    }
    let was: Value = serde_json::from_str(&complete.record)?;
    ensure!(was["status"] == "in progress" && was["updated_at"].is_null(), "{complete:?}");
    ensure!((&*complete.actor, &*complete.action) == ("bob", "complete"), "{complete:?}");
    ensure!(complete.result.as_deref() == Some("\"done\""), "{complete:?}");
    ensure!(idem.operator("carol").audit("test.other", "k").await?.is_empty(), "another scope's");
    Ok(())
}

/// Each verb, on the record `k`, is refused, and changes nothing.
macro_rules! refused {
    ($db:expr, $operator:expr, $pattern:pat $(if $guard:expr)?) => {{
        let (operator, before) = ($operator, state(&$db).await?);
        answer!(operator.release(SCOPE, "k", "why").await, Err($pattern) $(if $guard)?);
        answer!(operator.complete(SCOPE, "k", &1_i64, "why").await, Err($pattern) $(if $guard)?);
        answer!(operator.complete_json(SCOPE, "k", "1", "why").await, Err($pattern) $(if $guard)?);
        let after = state(&$db).await?;
        ensure!(before == after, "line {}: {before} became {after}", line!());
    }};
}

async fn what_needs_no_person_is_refused<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    refused!(db, idem.operator("alice"), OperatorError::NotFound);
    refused!(db, idem.operator("alice").even_running(), OperatorError::NotFound);
    answer!(call(&idem, "k", 1, 3).await, Ok(3));
    refused!(db, idem.operator("alice"), OperatorError::Ended { status: Status::Completed });
    refused!(db, idem.operator("alice").even_running(), OperatorError::Ended { status: Status::Completed });
    db.execute("UPDATE idem_record SET status = 3").await?;
    refused!(db, idem.operator("alice"), error @ OperatorError::Ended { status: Status::Failed }
        if error.to_string() == "the record has ended: it is failed");
    Ok(())
}

async fn a_running_record_is_refused_unless_it_is_insisted<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    let insisting = || idem.operator("alice").even_running();
    for row in [IN_DOUBT, STUCK] {
        let row = Row { lease: HOUR, ..row };
        row.insert(&idem).await?;
        refused!(db, idem.operator("alice"), OperatorError::InProgress { lease_left }
            if lease_left > Duration::from_mins(59) && lease_left <= Duration::from_hours(1));
        insisting().release(SCOPE, "k", "it hangs").await?;
        answer!(insisting().show(SCOPE, "k").await, Ok(None));

        row.insert(&idem).await?;
        insisting().complete(SCOPE, "k", &5_i64, "it hangs, and the bank shows it").await?;
        // What the attempt writes is of the owner that it was.
        let late = db.execute("UPDATE idem_record SET status = 3 WHERE owner = 'owner of 1'").await?;
        let renewed = db.execute("UPDATE idem_record SET attempt = 9 WHERE owner = 'owner of 1'").await?;
        ensure!((late, renewed) == (0, 0), "the attempt is not stale");
        let shown = insisting().show(SCOPE, "k").await?.ok_or("it is there")?;
        ensure!(shown.record.lease_left.is_none() && shown.answer.as_deref() == Some("5"), "{shown:?}");
        db.execute("DELETE FROM idem_record").await?;
    }
    Ok(())
}

/// What changes a record, and of each whether a person has to look again.
const CHANGES: [(&str, bool); 6] = [
    ("owner = 'another'", true),
    ("attempt = 2", true),
    ("status = 1", true),
    ("begun = '[\"bank.send\",\"tx\"]'", true),
    ("begun = NULL", true),
    ("fingerprint = 'v1:f'", false),
];

async fn a_record_that_was_seen_otherwise_is_refused<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    for (change, refused) in CHANGES {
        IN_DOUBT.insert(&idem).await?;
        let seen = idem.operator("alice").show(SCOPE, "k").await?.ok_or("it is there")?.record;
        db.execute(format!("UPDATE idem_record SET {change}")).await?;
        let operator = idem.operator("alice").as_seen(&seen);
        if refused {
            refused!(db, &operator, OperatorError::Changed);
            refused!(db, idem.operator("alice").as_seen(&seen).even_running(), OperatorError::Changed);
            db.execute("DELETE FROM idem_record").await?;
        } else {
            operator.release(SCOPE, "k", "why").await?;
        }
        refused!(db, &operator, OperatorError::NotFound);
    }
    Ok(())
}

/// By a rival whose statement is there, but not committed, when the operator reads.
async fn a_record_that_changes_after_it_was_read_is_refused<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let (idem, rival) = (db.idem(2).await?, db.idem(1).await?);
    let later = match DB::DIALECT {
        Dialect::MySql => "lease_until = SYSDATE(6) + INTERVAL 1 HOUR",
        _ => "lease_until = clock_timestamp() + INTERVAL '1 hour'",
    };
    let renewed = (format!("UPDATE idem_record SET {later}"), true);
    let gone = ("DELETE FROM idem_record".to_owned(), true);
    let changes = CHANGES.map(|(change, refused)| (format!("UPDATE idem_record SET {change}"), refused));
    for (change, refused) in changes.into_iter().chain([renewed, gone]) {
        for completes in [true, false] {
            IN_DOUBT.insert(&idem).await?;
            let mut tx = rival.begin().await?;
            sql::<DB>(&change).execute(&mut *tx).await?;
            let here = idem.clone();
            let verb = tokio::spawn(async move { settle(&here.operator("alice"), "k", completes).await });
            until_waiting(&db, 1).await?;
            tx.commit().await?;
            let before = state(&db).await?;
            match verb.await? {
                Err(OperatorError::Changed) if refused => ensure!(before == state(&db).await?, "{change}: {before}"),
                Ok(()) if !refused => {}
                other => return Err(format!("{change}: {other:?}").into()),
            }
            db.execute("DELETE FROM idem_record").await?;
            db.execute("DELETE FROM idem_audit").await?;
        }
    }
    Ok(())
}

async fn nothing_is_done_without_an_entry_in_the_audit<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    IN_DOUBT.insert(&idem).await?;
    let keep = match DB::DIALECT {
        Dialect::Postgres => "CREATE RULE keep AS ON INSERT TO idem_audit DO INSTEAD NOTHING",
        _ => "CREATE TRIGGER keep BEFORE INSERT ON idem_audit BEGIN SELECT RAISE(IGNORE); END",
    };
    db.execute(keep).await?;
    refused!(db, idem.operator("alice"), OperatorError::Runtime(Error::Database(_)));
    Ok(())
}

async fn words_that_say_nothing_are_refused<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    IN_DOUBT.insert(&idem).await?;
    let long = ["ü".repeat(192), "ü".repeat(10_001)];
    for (actor, what) in [("", "is empty"), (" \t", "is empty"), ("a\0", "NUL"), (&long[0], "191 characters")] {
        refused!(db, idem.operator(actor), OperatorError::Invalid { what: "the actor", fault } if fault.contains(what));
    }
    for (reason, what) in [("", "is empty"), ("\n", "is empty"), ("a\0", "NUL"), (&long[1], "10,000 characters")] {
        let answer = idem.operator("alice").release(SCOPE, "k", reason).await;
        answer!(answer, Err(OperatorError::Invalid { what: "the reason", fault }) if fault.contains(what));
    }
    ensure!(state(&db).await? == "4 owner of 1 NULL 0", "{}", state(&db).await?);
    let longest = ["ü".repeat(191), "ü".repeat(10_000)];
    idem.operator(&*longest[0]).release(SCOPE, "k", &longest[1]).await?;
    let audit = idem.operator("bob").audit(SCOPE, "k").await?;
    ensure!(audit.len() == 1 && [&audit[0].actor, &audit[0].reason] == [&longest[0], &longest[1]], "a word was cut");
    Ok(())
}

async fn a_result_that_cannot_be_stored_is_refused<DB: Engine>(db: TestDb<DB>) -> TestResult {
    db.idem(1).await?;
    let idem = Idem::builder(db.pool(1)?).result_limit(10).build().await?;
    IN_DOUBT.insert(&idem).await?;
    let operator = idem.operator("alice");
    answer!(
        operator.complete(SCOPE, "k", &"x".repeat(9), "why").await,
        Err(OperatorError::Runtime(Error::ResultTooLarge { bytes: 11, limit: 10 }))
    );
    answer!(
        operator.complete(SCOPE, "k", &f64::NAN, "why").await,
        Err(OperatorError::Runtime(Error::Unencodable { what: "the result", .. }))
    );
    ensure!(state(&db).await? == "4 owner of 1 NULL 0", "{}", state(&db).await?);
    operator.complete(SCOPE, "k", &"x".repeat(8), "why").await?;
    Ok(())
}

async fn odd_keys_are_compared_as_bytes<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    let operator = idem.operator("alice");
    let composed =
        ["k", "K", "k ", " k", "", "ü", "u\u{308}", "U\u{308}", "ß", "ss", "😀", "%", "_", "%00", "k/1", "~"];
    let quoted = ["'", "\"", "`", "\\", "\\'", "?", "$1", "'; DELETE FROM idem_record; --", "k\n"];
    let mut keys = [&composed[..], &quoted[..]].concat();
    if DB::DIALECT == Dialect::Postgres {
        for with_nul in ["k\0", "\0"] {
            answer!(operator.show(SCOPE, with_nul).await, Ok(None));
            answer!(operator.audit(SCOPE, with_nul).await, Ok(audit) if audit.is_empty());
            answer!(operator.release(SCOPE, with_nul, "why").await, Err(OperatorError::NotFound));
        }
    } else {
        keys.extend(["k\0", "\0"]);
    }
    for key in &keys {
        answer!(operator.show(SCOPE, key).await, Ok(None));
        Row { key, ..IN_DOUBT }.insert(&idem).await?;
    }
    for (nth, key) in keys.iter().enumerate() {
        let shown = operator.show(SCOPE, key).await?.ok_or(format!("{key:?} is not found"))?;
        ensure!(shown.record.key == *key && shown.audit.is_empty(), "{key:?} finds {shown:?}");
        operator.release(SCOPE, key, "why").await?;
        let left = operator.open(Duration::ZERO).await?;
        ensure!(left.len() == keys.len() - nth - 1, "{key:?}: {left:?}");
        ensure!(left.iter().all(|record| record.key != *key), "{key:?} is another record's");
        answer!(operator.audit(SCOPE, key).await, Ok(audit) if audit.len() == 1);
    }
    Ok(())
}

async fn of_many_operators_one_acts<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(8).await?;
    IN_DOUBT.insert(&idem).await?;
    let answers = release_together(|nth| {
        let idem = idem.clone();
        async move {
            let operator = idem.operator(format!("operator {nth}"));
            operator.complete(SCOPE, "k", &i64::try_from(nth).unwrap_or_default(), "why").await
        }
    });
    let mut done = 0;
    for answer in answers.await? {
        match answer {
            Ok(()) => done += 1,
            Err(OperatorError::Ended { status: Status::Completed } | OperatorError::Changed) => {}
            Err(other) => return Err(other.into()),
        }
    }
    let shown = idem.operator("bob").show(SCOPE, "k").await?.ok_or("it is there")?;
    ensure!(done == 1 && shown.audit.len() == 1 && TASKS > 1, "{done} of {TASKS}: {shown:?}");
    ensure!(shown.audit[0].result == shown.answer, "{shown:?}");
    ensure!(shown.audit[0].actor == format!("operator {}", shown.answer.unwrap_or_default()), "{:?}", shown.audit);
    Ok(())
}

async fn an_operator_inside_of_a_body_needs_a_connection<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    IN_DOUBT.insert(&idem).await?;
    let operator = idem.operator("alice");
    let body = idem.once(SCOPE, "outer").run(async |_| {
        let release = operator.release(SCOPE, "k", "why").await.err();
        let errors = [release, operator.open(Duration::ZERO).await.err(), operator.show(SCOPE, "k").await.err()];
        let refused = |it: &_| matches!(it, Some(OperatorError::Runtime(Error::SecondConnection)));
        if errors.iter().all(refused) { Ok(1) } else { Err(PayError::Refused) }
    });
    answer!(body.await, Ok(1));
    ensure!(state(&db).await? == "4 owner of 1 NULL 0", "{}", state(&db).await?);
    Ok(())
}

async fn a_completion_dropped_at_every_await<DB: Engine>(db: TestDb<DB>) -> TestResult {
    dropped_at_every_await(db, true).await
}

async fn a_release_dropped_at_every_await<DB: Engine>(db: TestDb<DB>) -> TestResult {
    dropped_at_every_await(db, false).await
}

/// The record is changed and the audit says so, or neither.
async fn dropped_at_every_await<DB: Engine>(db: TestDb<DB>, completes: bool) -> TestResult {
    let idem = db.idem(1).await?;
    let key_of = |polls: usize| format!("cut {polls}");
    let prepare = async |polls| Row { key: &key_of(polls), ..IN_DOUBT }.insert(&idem).await;
    let verb = |polls: usize| {
        let operator = idem.operator("alice");
        async move { settle(&operator, &key_of(polls), completes).await }
    };
    let check = async |polls, ended: Ended<Result<(), OperatorError>>| {
        let kept = matches!(&ended, Ended::Completed(Ok(())));
        ensure!(kept || matches!(ended, Ended::Dropped), "{ended:?}");
        // On the only connection, behind whatever the dropped call left there.
        idem.operator("bob").open(Duration::ZERO).await?;
        let whole = |state: &str| {
            if completes { state.starts_with("2 ") && state.ends_with(" 5 1") } else { state == "NULL NULL NULL 1" }
        };
        let found = state_of(&db, &key_of(polls)).await?;
        ensure!(whole(&found) || (!kept && found == "4 owner of 1 NULL 0"), "{found}");
        answer!(verb(polls).await, Ok(()) | Err(OperatorError::Ended { .. } | OperatorError::NotFound));
        let found = state_of(&db, &key_of(polls)).await?;
        ensure!(whole(&found), "{found}");
        Ok(())
    };
    let last_drop = drop_at_every_await(prepare, verb, check).await?;
    ensure!(last_drop > 0, "the call never waits, so that nothing was cut");
    Ok(())
}
