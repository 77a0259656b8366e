//! Each place has its option: a type `crate`, a variant `rename`.

use idem_runtime::KeyPart;

#[derive(KeyPart)]
#[key(rename_all = "snake_case")]
enum Channel {
    #[key(renam = "AliPay")]
    AliPay,
    #[key(skip)]
    WeChat,
    #[key(rename = "cash", rename = "bar")]
    Cash,
    #[key]
    Card,
    #[key(rename)]
    Points,
}

fn main() {}
