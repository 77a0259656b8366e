//! The operator's command line, on a database with records that were written by hand.

#[path = "../../examples/common/place.rs"]
#[expect(dead_code, reason = "the statements of the shops need more of it")]
mod place;

use std::error::Error;
use std::fs;
use std::path::Path;

use idem_runtime::prelude::*;
use sqlx::mysql::MySqlConnectOptions;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions as _, Pool};

use self::place::Script;
use crate::{Engine, Report, example, on_each_engine};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

on_each_engine!(check_engine);

#[test]
fn wrong_arguments_exit_with_2() {
    let url = ["--database-url", "sqlite:none.db"];
    let wrong = [
        vec!["list"],
        url.to_vec(),
        vec!["--database-url", "oracle://x", "list"],
        [&url[..], &["drop"]].concat(),
        [&url[..], &["list", "--older-than", "soon"]].concat(),
        [&url[..], &["show", "scope"]].concat(),
        [&url[..], &["release", "scope", "key"]].concat(),
        [&url[..], &["complete", "scope", "key", "--reason", "why"]].concat(),
    ];
    for arguments in wrong {
        let report = operator(&arguments);
        assert_eq!(report.code, Some(2), "{report}");
    }
}

#[test]
fn it_makes_no_database() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("absent.db");
    for url in [format!("sqlite:{}", file.display()), format!("sqlite://{}?mode=rwc", file.display())] {
        let report = operator(&["--database-url", &url, "list"]);
        assert_eq!(report.code, Some(2), "{report}");
        assert!(!file.exists(), "{report}");
    }
}

fn operator(arguments: &[&str]) -> Report {
    let output = example::command("operator").args(arguments).env("USER", "tester").output().expect("it starts");
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    Report { title: format!("operator with {arguments:?}"), text, code: output.status.code() }
}

fn check_engine(engine: &Engine) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(on_engine(engine)).unwrap_or_else(|error| panic!("{}: {error}", engine.name));
}

async fn on_engine(engine: &Engine) -> Result {
    match (engine.name, &engine.url) {
        ("postgres", Some(url)) => {
            let server: PgConnectOptions = url.parse()?;
            let fresh = place::postgres("operator", server.clone()).await?;
            check(&fresh.pool, server.database(&fresh.name).to_url_lossy().as_str()).await?;
            Ok(fresh.drop().await?)
        }
        ("mysql", Some(url)) => {
            let server: MySqlConnectOptions = url.parse()?;
            let fresh = place::mysql("operator", server.clone()).await?;
            check(&fresh.pool, server.database(&fresh.name).to_url_lossy().as_str()).await?;
            Ok(fresh.drop().await?)
        }
        _ => {
            let (pool, file) = place::sqlite("operator").await?;
            check(&pool, &format!("sqlite:{}", file.display())).await?;
            Ok(fs::remove_dir_all(file.parent().unwrap_or(Path::new("")))?)
        }
    }
}

async fn check<DB: Script>(pool: &Pool<DB>, url: &str) -> Result {
    let run = |arguments: &[&str]| operator(&[&["--database-url", url], arguments].concat());
    let expect = |arguments: &[&str], code, text: &str| {
        let report = run(arguments);
        assert!(report.code == Some(code) && report.text.contains(text), "expected {code}, `{text}` of {report}");
        report
    };
    // No table is made.
    for _ in 0..2 {
        expect(&["list"], 2, "idem_record");
    }
    write_records(pool).await?;
    let list = expect(&["list"], 0, "bank.send");
    assert_eq!(list.count("open"), 3, "{list}");
    assert_eq!(expect(&["list", "--older-than", "10m"], 0, "").count("open"), 3);
    assert_eq!(expect(&["list", "--older-than", "99years"], 0, "").text, "open=0\n");

    expect(&["show", "transfer.send", "7"], 0, "in doubt");
    expect(&["show", "transfer.send", "nobody's"], 1, "no record");
    let complete = ["complete", "transfer.send", "7", "{\"receipt\":31}", "--reason", "T-12"];
    expect(&["complete", "transfer.send", "7", "{receipt", "--reason", "T-12"], 2, "no JSON");
    expect(&["complete", "transfer.send", "7", "-1", "--reason", " "], 2, "the reason is empty");
    expect(&[&complete[..], &["--owner", "another"]].concat(), 1, "has changed");
    expect(&[&complete[..], &["--owner", "owner of 7", "--actor", "alice"]].concat(), 0, "completed transfer.send 7");
    expect(&complete, 1, "it is completed");
    expect(&["release", "transfer.send", "7", "--reason", "T-12"], 1, "it is completed");
    let shown = expect(&["show", "transfer.send", "7"], 0, "complete by alice: T-12");
    assert!(shown.text.contains("answer       {\"receipt\":31}\n"), "{shown}");

    let release = ["release", "transfer.send", "8 \n", "--reason", "T-13"];
    expect(&["release", "transfer.send", "8", "--reason", "T-13"], 1, "no record");
    expect(&release, 0, "released transfer.send 8 \\n");
    expect(&["show", "transfer.send", "8 \n"], 1, "release by tester: T-13");

    let running = ["complete", "transfer.send", "9", "-1", "--reason", "T-14"];
    expect(&running, 1, "may be running");
    expect(&[&running[..], &["--even-running"]].concat(), 0, "completed");
    assert_eq!(expect(&["list"], 0, "").count("open"), 0);
    Ok(())
}

/// Makes idem's tables, and records as leased calls leave them: in doubt, stuck, and in doubt with a lease that goes on.
async fn write_records<DB: Script>(pool: &Pool<DB>) -> Result {
    Idem::builder(pool.clone()).build().await?.migrate().await?;
    let key = if DB::DIALECT == Dialect::MySql { "`key`" } else { "key" };
    let columns = format!("scope, {key}, fingerprint, owner, attempt, created_at, status, begun, lease_until");
    let common =
        |key: &str| format!("'transfer.send', '{key}', 'v1:f', 'owner of {}', 1, '2026-01-01 00:00:00'", key.trim());
    let records = [
        ("7", "4, '[\"bank.send\"]', '2026-01-01 00:00:30'"),
        ("8 \n", "1, NULL, '2026-01-01 00:00:30'"),
        ("9", "4, '[\"bank.send\"]', '2999-01-01 00:00:00'"),
    ];
    for (key, rest) in records {
        DB::script(pool, format!("INSERT INTO idem_record ({columns}) VALUES ({}, {rest})", common(key))).await?;
    }
    Ok(())
}
