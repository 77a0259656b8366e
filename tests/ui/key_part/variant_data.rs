//! A variant is one text in a key: what it carries is a part of its own.

use idem_runtime::KeyPart;

#[derive(KeyPart)]
enum Payer {
    Guest,
    User(i64),
    Shop { tenant_id: i64, shop_id: i64 },
}

fn is_part<T: KeyPart>(_: &T) {}

fn main() {
    is_part(&Payer::Guest);
}
