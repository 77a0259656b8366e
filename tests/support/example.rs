//! Builds and names the example `payment`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A command that runs the example. `cargo test --test ..` alone builds no example, so it is built here, once.
pub(crate) fn payment() -> Command {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let mut command = Command::new(BUILT.get_or_init(build));
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

fn build() -> PathBuf {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--example", "payment"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(built.expect("cargo starts").success(), "the example does not build");
    folder_of_this_test().join("../examples/payment").with_extension(std::env::consts::EXE_EXTENSION)
}

/// `target/debug/deps`, whatever the target folder is called.
fn folder_of_this_test() -> PathBuf {
    let test = std::env::current_exe().expect("this test has a path");
    test.parent().map(Path::to_path_buf).expect("it lies in a folder")
}
