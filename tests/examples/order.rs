use crate::{Engine, on_each_engine, refuses, run, seeds};

/// What `--break` knows, and the finding that shows it.
const MUTANTS: [(&str, &str); 2] = [("no-cause", "a parcel counted twice"), ("ignore-outcome", "a refund paid twice")];

on_each_engine!(check_engine);

#[test]
fn wrong_arguments_exit_with_2() {
    refuses("order", &[["--database-url", "oracle://x"], ["--break", "everything"], ["--orders", "0"]]);
}

fn check_engine(engine: &Engine) {
    for seed in 1..=seeds(2) {
        check_right(engine, &seed.to_string());
    }
    for (mutant, finding) in MUTANTS {
        let report = run("order", engine, &["--orders", "80", "--break", mutant]);
        report.is_wrong("double");
        assert!(report.line(finding).contains("FOUND"), "{report}");
    }
}

fn check_right(engine: &Engine, seed: &str) {
    let report = run("order", engine, &["--orders", "80", "--seed", seed]);
    report.is_right(&["double", "lost"]);
    // A run in which nothing came twice or too late would show nothing.
    for count in ["shipped", "refunded", "called_off", "replayed", "refused", "resent"] {
        assert!(report.count(count) > 0, "{count} of {report}");
    }
}
