//! A part of a key is one value: two fields are two parts.

use std::marker::PhantomData;

use idem_runtime::KeyPart;

#[derive(KeyPart)]
struct Order {
    tenant_id: i64,
    order_id: i64,
}

#[derive(KeyPart)]
struct Pair<T>(T, T, PhantomData<T>);

#[derive(KeyPart)]
struct Unit;

#[derive(KeyPart)]
struct Marker<T>(PhantomData<T>);

fn is_part<T: KeyPart>(_: &T) {}

fn main() {
    is_part(&Order { tenant_id: 7, order_id: 42 });
}
