//! Two variants with one text would be one key.

use idem_runtime::KeyPart;

#[derive(KeyPart)]
enum Channel {
    AliPay,
    #[key(rename = "AliPay")]
    AliPayGlobal,
    #[key(rename = "WeChat")]
    WeChatPay,
    WeChat,
}

fn main() {}
