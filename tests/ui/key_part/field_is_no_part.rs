//! A newtype is as stable as what it holds: its field is a part of a key itself.

use idem_runtime::KeyPart;

#[derive(KeyPart)]
struct Price(f64);

fn is_part<T: KeyPart>(_: &T) {}

fn main() {
    is_part(&Price(1.0));
}
