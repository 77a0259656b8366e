use crate::{Engine, Report, on_each_engine, refuses, run, seeds};

/// What the report counts by words. A run in which one of them never came would show nothing.
const TOLD: [&str; 4] = [
    "instances of the service were killed",
    "were told of a transfer that an earlier one had sent",
    "had no answer from their provider or were too early, and came again",
    "were under way in an instance that was killed, and came again",
];

on_each_engine!(check_engine);

#[test]
fn wrong_arguments_exit_with_2() {
    refuses("transfer", &[["--database-url", "oracle://x"], ["--break", "everything"], ["--transfers", "0"]]);
}

/// Each kill strikes transfers of all three providers.
fn check_engine(engine: &Engine) {
    for seed in 1..=seeds(1) {
        let report = run("transfer", engine, &["--transfers", "300", "--kills", "200", "--seed", &seed.to_string()]);
        check_right(&report, "300", 200);
    }
    check_right(&run("transfer", engine, &["--seed", "2"]), "40", 20);
    let broken = run("transfer", engine, &["--transfers", "60", "--break", "release-after-external"]);
    broken.is_wrong("duplicated");
    assert!(broken.line("a transfer that was sent twice").contains("FOUND"), "{broken}");
}

fn check_right(report: &Report, transfers: &str, kills: u64) {
    report.is_right(&["duplicated", "lost"]);
    for told in TOLD {
        let count = report.line(told).split_whitespace().next();
        assert!(count.is_some_and(|count| count != "0"), "{told} in {report}");
    }
    let killed = report.line(TOLD[0]).split_whitespace().next().and_then(|count| count.parse().ok());
    assert_eq!(killed, Some(kills), "{report}");
    // Those of the two that can tell are sent, each once; of the third one those that nobody doubts, at least.
    let transfers: u64 = transfers.parse().expect("a number");
    let (effects, indeterminate) = (report.count("effects"), report.count("indeterminate"));
    assert!(indeterminate > 0 && indeterminate < transfers, "{report}");
    assert!(effects <= 3 * transfers && effects + indeterminate >= 3 * transfers, "{report}");
}
