//! A type of which only its user knows what it holds cannot be written into a key.

use idem_runtime::KeyPart;

#[derive(KeyPart)]
union Number {
    small: u32,
    large: u64,
}

fn main() {}
