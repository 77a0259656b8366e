//! Compile errors, as users see them. `TRYBUILD=overwrite cargo test --test ui` renews the texts. What has to compile is
//! in `tests/ui/pass`, each a test target: with a case that has to be built, trybuild would build all the others too.

use std::env;
use std::process::Command;

/// The flags of rustc, as cargo reads them, and the variable that it looks at before anything else.
const VARIABLE: &str = "CARGO_ENCODED_RUSTFLAGS";
const FLAGS: [&str; 5] = ["--cfg=trybuild", "--verbose", "-A", "dead_code", "--diagnostic-width=140"];

/// In a process of its own, with the flags for the cases also where trybuild checks the dependencies: it would leave one
/// out there, so that cargo checks every one of them twice.
#[test]
fn ui() {
    let flags = FLAGS.join("\x1f");
    if env::var(VARIABLE).is_ok_and(|found| found == flags) {
        return check_cases();
    }
    let mut again = Command::new(env::current_exe().expect("this test has a path"));
    again.args(env::args_os().skip(1)).args(["--exact", "ui", "--nocapture"]).env(VARIABLE, flags);
    assert!(again.status().expect("this test starts once more").success(), "the errors are others");
}

fn check_cases() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/machine/*.rs");
    cases.compile_fail("tests/ui/echo/*.rs");
    cases.compile_fail("tests/ui/idempotent/*.rs");
    cases.compile_fail("tests/ui/key_part/*.rs");
}
