//! What runs once is a function.

use idem_runtime::idempotent;

struct Shop;

#[idempotent(scope = "order.pay", key = order_id)]
impl Shop {
    async fn pay(&self, order_id: i64) -> i64 {
        order_id
    }
}

#[idempotent(scope = "order.pay", key = id)]
struct Order {
    id: i64,
}

fn main() {
    let _ = (Shop.pay(1), Order { id: 1 }.id);
}
