use crate::{Engine, Report, on_each_engine, refuses, run, seeds};

/// What `--break` knows, how many users show it for certain, what the last line counts then, and the finding that shows it.
const MUTANTS: [(&str, &str, &str, &str); 5] = [
    ("no-dedup", "60", "duplicated", "something that was granted twice"),
    ("look-first", "60", "duplicated", "something that was granted twice"),
    ("request-in-key", "60", "duplicated", "senders that were told of different grants"),
    ("after-commit", "200", "lost", "something that was asked for and not granted"),
    ("one-scope", "60", "lost", "something that was asked for and not granted"),
];

/// What the report counts by words. A run in which one of them never came would show nothing.
const TOLD: [&str; 3] = [
    "were told of a grant that an earlier one had got",
    "asked for another number of points than the first one",
    "were cut off or did not get their answer, and came again",
];

on_each_engine!(check_engine);

#[test]
fn wrong_arguments_exit_with_2() {
    refuses("reward", &[["--database-url", "oracle://x"], ["--break", "everything"], ["--users", "0"]]);
}

fn check_engine(engine: &Engine) {
    for seed in 1..=seeds(2) {
        check_right(&run("reward", engine, &["--users", "60", "--seed", &seed.to_string()]));
    }
    for (mutant, users, count, finding) in MUTANTS {
        let report = run("reward", engine, &["--users", users, "--break", mutant]);
        report.is_wrong(count);
        assert!(report.line(finding).contains("FOUND"), "{report}");
    }
}

fn check_right(report: &Report) {
    report.is_right(&["duplicated", "lost"]);
    // Points and a badge for each of two activities.
    assert_eq!(report.count("granted"), 60 * 4, "{report}");
    assert!(report.count("replayed") > 0 && report.count("requests") > 3 * 240, "{report}");
    for told in TOLD {
        let count = report.line(told).split_whitespace().next();
        assert!(count.is_some_and(|count| count != "0"), "{told} in {report}");
    }
}
