use crate::{Engine, Report, on_each_engine, refuses, run, seeds};

/// What `--break` knows, how many orders show it for certain, and the finding that shows it.
const MUTANTS: [(&str, &str, &str); 4] = [
    ("no-cause", "200", "a request that reserved twice"),
    ("read-then-write", "60", "articles whose quantities are not what was counted"),
    ("two-transactions", "60", "more promised than there is"),
    ("ignore-outcome", "60", "a reservation whose quantity was moved twice"),
];

/// What the report counts by words. A run in which one of them never came would show nothing.
const TOLD: [&str; 5] = [
    "told what an earlier one had told",
    "asked for more than there was",
    "came to a reservation that did not take them",
    "were cut off or did not get their answer, and came again",
    "reservations were released by a sweep",
];

on_each_engine!(check_engine);

#[test]
fn wrong_arguments_exit_with_2() {
    refuses("stock", &[["--database-url", "oracle://x"], ["--break", "everything"], ["--orders", "0"]]);
}

fn check_engine(engine: &Engine) {
    for seed in 1..=seeds(2) {
        check_right(&run("stock", engine, &["--orders", "80", "--seed", &seed.to_string()]));
    }
    for (mutant, orders, finding) in MUTANTS {
        let report = run("stock", engine, &["--orders", orders, "--break", mutant]);
        assert_eq!(report.code, Some(1), "{report}");
        assert!(report.count("oversold") + report.count("lost") > 0, "{report}");
        assert!(report.line(finding).contains("FOUND"), "{report}");
    }
}

fn check_right(report: &Report) {
    report.is_right(&["oversold", "lost"]);
    assert!(report.count("requests") > report.count("replayed"), "{report}");
    assert!(report.count("deducted") > 0, "{report}");
    for told in TOLD {
        let count = report.line(told).split_whitespace().next();
        assert!(count.is_some_and(|count| count != "0"), "{told} in {report}");
    }
}
