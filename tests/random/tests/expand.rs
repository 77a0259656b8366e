//! A thousand machines that keep every rule expand; how many of them are compiled is said in `build.rs`.

use std::thread;

use idem_random_machines::macros;

#[test]
fn valid_machines_expand() {
    thread::scope(|scope| {
        for first in 0..4 {
            scope.spawn(move || (first..1000).step_by(4).for_each(check));
        }
    });
}

fn check(number: u64) {
    let source = macros::valid(1, number);
    let item = source.parse().unwrap_or_else(|error| panic!("machine {number}: {error}\n{source}"));
    let expansion = macros::derive(item).to_string();
    // Errors come first.
    let beginning: String = expansion.chars().take(400).collect();
    assert!(beginning.starts_with("# [doc = \"The states and events of"), "machine {number}: {beginning}\n{source}");
    assert!(!expansion.contains("compile_error"), "machine {number}\n{source}");
}
