use crate::{Engine, Report, example, on_each_engine, refuses, run, seeds};

/// What `--break` knows, how often each line has to come to show it, and the count that shows it.
const MUTANTS: [(&str, &str, &str); 4] = [
    ("unconditional-update", "1", "charged_twice"),
    ("claim-after-body", "3", "wrongly_refunded"),
    ("cause-notify-id", "1", "wrongly_refunded"),
    ("no-claim", "1", "wrongly_refunded"),
];

on_each_engine!(check_engine);

#[test]
fn wrong_arguments_exit_with_2() {
    refuses("payment", &[["--database-url", "oracle://x"], ["--break", "everything"], ["--workers", "0"]]);
}

#[test]
fn help_lists_the_mutants() {
    let output = example::command("payment").arg("--help").output().expect("the example starts");
    let help = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(MUTANTS.iter().all(|(mutant, ..)| help.contains(mutant)), "{help}");
}

fn check_engine(engine: &Engine) {
    for seed in 1..=seeds(3) {
        check_right(&run("payment", engine, &["--seed", &seed.to_string()]));
    }
    for (mutant, repeat, count) in MUTANTS {
        run("payment", engine, &["--break", mutant, "--repeat", repeat]).is_wrong(count);
    }
}

fn check_right(report: &Report) {
    report.is_right(&["charged_twice", "wrongly_refunded", "lost"]);
    assert!(report.count("overlaps") >= 1_000, "{report}");
    check_width(&report.text);
}

/// The report is read in a terminal, all but its last line, which is for programs.
fn check_width(text: &str) {
    let report = text.trim_end().rsplit_once('\n').map_or("", |(report, _)| report);
    let widest = report.lines().max_by_key(|line| line.chars().count()).unwrap_or_default();
    assert!(widest.chars().count() <= 100, "wider than 100 columns: {widest}");
}
