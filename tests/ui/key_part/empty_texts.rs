//! An empty part is an error in every key, so no variant is written as nothing.

use idem_runtime::KeyPart;

#[derive(KeyPart)]
enum Channel {
    #[key(rename = "")]
    Cash,
    #[key(rename = " ")]
    Card,
    Other,
}

fn main() {}
