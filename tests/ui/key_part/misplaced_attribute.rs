//! An attribute that nobody reads would be ignored in silence.

use idem_runtime::KeyPart;

#[derive(KeyPart)]
struct OrderId {
    #[key(rename = "order")]
    raw: i64,
}

fn main() {}
