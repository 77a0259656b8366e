use std::collections::HashMap;

use crate::{Engine, Report, example, on_each_engine, refuses, run};

/// Enough for each layer to have something to stop.
const FEW: &str = "400";

/// The layers around the claim, and the rows of the table that are theirs.
const AROUND: [(&str, &[&str]); 4] =
    [("button", &["button"]), ("token", &["token"]), ("gate", &["gate"]), ("cas", &["unique-while", "CAS"])];

on_each_engine!(check_engine);

#[test]
fn ten_thousand_deliveries() {
    let report = checkout(&Engine { name: "sqlite", url: None }, &[]);
    check_right(&report);
    assert_eq!(report.count("deliveries"), 10_000, "{report}");
    for layer in ["button", "token", "claim"] {
        assert!(stopped(&report, layer) > 100, "{layer} in {report}");
    }
    assert!(redis().is_none() || stopped(&report, "gate") > 100, "{report}");
    assert!(stopped(&report, "cut, undone") > 0, "{report}");
    // A token lets the same request through again, so that it hears of the first one from the claim; and no other click.
    let claimed = &rows(&report)["claim"];
    assert!(claimed[2] > 100 && claimed[1] == 0, "{report}");
}

#[test]
fn without_redis_nothing_else_changes() {
    let arguments = ["--redis", "redis://127.0.0.1:1", "--deliveries", FEW];
    let report = run("checkout", &Engine { name: "sqlite", url: None }, &arguments);
    check_right(&report);
    assert_eq!(stopped(&report, "gate"), 0, "{report}");
    assert!(report.text.contains("knew 0 calls to have ended; "), "{report}");
}

#[test]
fn wrong_arguments_exit_with_2() {
    refuses("checkout", &[["--database-url", "oracle://x"], ["--deliveries", "0"], ["--redis", "http://x"]]);
    for arguments in [&["--without", "claim,clain"][..], &["--only", "token", "--without", "claim"]] {
        let output = example::command("checkout").args(arguments).output().expect("the example starts");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
    let output = example::command("checkout").args(["--only", "clain"]).output().expect("the example starts");
    let says = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(says.contains("button, token, gate, claim, cas"), "{says}");
}

fn check_engine(engine: &Engine) {
    for subset in 0..1 << AROUND.len() {
        check_with_claim(engine, |layer| subset >> layer & 1 == 1);
    }
    check_without_claim(engine);
    check_leak(engine);
}

/// The claim with some of the layers around it: one charge an order.
fn check_with_claim(engine: &Engine, is_on: impl Fn(usize) -> bool) {
    let (on, off): (Vec<_>, Vec<_>) = (0..AROUND.len()).partition(|layer| is_on(*layer));
    let names = on.iter().map(|layer| AROUND[*layer].0).collect::<Vec<_>>();
    let only = [&["claim"], &names[..]].concat().join(",");
    let report = checkout(engine, &["--deliveries", FEW, "--only", &only]);
    check_right(&report);
    assert!(stopped(&report, "claim") > 0, "{report}");
    for row in off.into_iter().flat_map(|layer| AROUND[layer].1) {
        assert_eq!(stopped(&report, row), 0, "{row} in {report}");
    }
    // Those behind the claim have nothing left to do.
    for layer in names.into_iter().filter(|layer| *layer != "cas" && (*layer != "gate" || redis().is_some())) {
        assert!(stopped(&report, layer) > 0, "{layer} in {report}");
    }
}

/// Then those behind it are at work, and there is nothing that a gate could be a hint to.
fn check_without_claim(engine: &Engine) {
    let report = checkout(engine, &["--deliveries", FEW, "--without", "claim"]);
    check_right(&report);
    for row in ["button", "token", "unique-while", "CAS"] {
        assert!(stopped(&report, row) > 0, "{row} in {report}");
    }
    assert_eq!(stopped(&report, "gate") + stopped(&report, "claim"), 0, "{report}");
}

/// The upper layers alone stop what comes by them, and everything else is charged again. Nothing is lost.
fn check_leak(engine: &Engine) {
    let report = checkout(engine, &["--deliveries", FEW, "--only", "button,token,gate"]);
    report.is_right(&["lost"]);
    check_sums(&report);
    assert!(report.count("duplicated") > 0 && report.text.contains("charges too many"), "{report}");
    assert_eq!(stopped(&report, "charged again"), report.count("duplicated"), "{report}");
    assert!(stopped(&report, "button") > 0 && stopped(&report, "token") > 0, "{report}");
}

fn checkout(engine: &Engine, arguments: &[&str]) -> Report {
    let redis = redis();
    let redis: Vec<_> = redis.iter().flat_map(|url| ["--redis", url]).collect();
    run("checkout", engine, &[arguments, &redis].concat())
}

/// An absent server leaves the gate off; where every engine was asked for it is a failure.
fn redis() -> Option<String> {
    let url = std::env::var("IDEM_TEST_REDIS_URL").ok();
    let is_needed = std::env::var("IDEM_TEST_ENGINES").as_deref() == Ok("all");
    assert!(url.is_some() || !is_needed, "IDEM_TEST_REDIS_URL is not set");
    url
}

/// Each purchase is charged once, and each delivery is charged or stopped.
fn check_right(report: &Report) {
    report.is_right(&["duplicated", "lost"]);
    check_sums(report);
    let purchases = report.text.split(' ').next().and_then(|count| count.parse().ok());
    assert_eq!(Some(report.count("charged")), purchases, "{report}");
}

/// The sums of the table's rows and of its columns, and those of the last line.
fn check_sums(report: &Report) {
    let rows = rows(report);
    for (name, cells) in &rows {
        assert_eq!(cells[..8].iter().sum::<u64>(), cells[8], "{name} in {report}");
    }
    let sent = &rows["deliveries"];
    for (column, sent) in sent.iter().enumerate() {
        let sum: u64 = rows.iter().filter(|(name, _)| *name != "deliveries").map(|(_, cells)| cells[column]).sum();
        assert_eq!(sum, *sent, "column {column} of {report}");
    }
    let ends = ["charged", "stopped", "duplicated"].map(|end| report.count(end));
    assert_eq!((sent[8], ends.iter().sum()), (report.count("deliveries"), report.count("deliveries")), "{report}");
}

/// How many a layer has stopped.
fn stopped(report: &Report, row: &str) -> u64 {
    rows(report)[row][8]
}

/// The rows of the table: seven sources, the click before them, and all together.
fn rows(report: &Report) -> HashMap<String, Vec<u64>> {
    let rows: HashMap<_, _> = report.text.lines().filter_map(row).collect();
    assert_eq!(rows.len(), 10, "{report}");
    rows
}

fn row(line: &str) -> Option<(String, Vec<u64>)> {
    let (name, cells) = line.split_at_checked(14)?;
    let cells = cells.split_whitespace().map(|cell| if cell == "-" { Some(0) } else { cell.parse().ok() });
    let cells = cells.collect::<Option<Vec<_>>>()?;
    (cells.len() == 9).then(|| (name.trim().to_owned(), cells))
}
