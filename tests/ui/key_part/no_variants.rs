//! An enum without variants has no value that a key could hold.

use idem_runtime::KeyPart;

#[derive(KeyPart)]
enum Channel {}

fn main() {}
