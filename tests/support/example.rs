//! Builds and names the examples.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A command that runs an example. `cargo test --test ..` alone builds none, so they are built here, once, with the
/// features of the whole workspace: those of one package would be another build of the runtime.
pub(crate) fn command(name: &str) -> Command {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let program = BUILT.get_or_init(build).join(name).with_extension(std::env::consts::EXE_EXTENSION);
    let mut command = Command::new(program);
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

fn build() -> PathBuf {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--workspace", "--examples"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(built.expect("cargo starts").success(), "the examples do not build");
    folder_of_this_test().join("../examples")
}

/// `target/debug/deps`, whatever the target folder is called.
fn folder_of_this_test() -> PathBuf {
    let test = std::env::current_exe().expect("this test has a path");
    test.parent().map(Path::to_path_buf).expect("it lies in a folder")
}
