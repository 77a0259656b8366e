//! The orders of a run: what each one is told, and what must hold in the end, whatever arrives first and however often.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// An order, and what it is told.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) id: i64,
    /// In minor units.
    pub(crate) price: i64,
    pub(crate) parcels: i64,
    /// Whether an older release took the payment and sent the first parcel.
    pub(crate) is_old: bool,
    /// How many payments it takes or sets aside.
    pub(crate) payments: i64,
    /// How often money goes back, what is set aside included.
    pub(crate) repayments: i64,
    pub(crate) news: Vec<News>,
}

/// What a message tells. It has no number of its own: what it tells of has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum News {
    /// The price was paid.
    Paid,
    /// This parcel has left the house.
    Parcel(i64),
    /// All parcels have arrived.
    Delivered,
    /// This refund, of this amount.
    Refund(i64, i64),
    /// The buyer does not want it any more.
    CalledOff,
}

/// Every order, always the same ones for a seed.
pub(crate) fn orders(seed: u64, count: u16) -> Vec<Order> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (1..=i64::from(count))
        .map(|id| {
            let (price, parcels) = (rng.random_range(1_000..50_000), rng.random_range(2..=4));
            let order = Order { id, price, parcels, is_old: false, payments: 1, repayments: 0, news: Vec::new() };
            match rng.random_range(0..20) {
                0..8 => delivered(order),
                8..12 => out_of_stock(order),
                12..15 => sent_back(order),
                15..17 => refunded_too_much(order),
                17..19 => called_off(order),
                _ => taken_over(order),
            }
        })
        .collect()
}

fn delivered(order: Order) -> Order {
    order.tell([News::Paid]).sent().tell([News::Delivered])
}

/// The last parcel never comes, and its share goes back. If the refund is faster than a parcel, that one stays too.
fn out_of_stock(order: Order) -> Order {
    let share = order.price / order.parcels;
    let mut order = order.tell([News::Paid]).sent();
    order.news.pop();
    Order { repayments: 1, ..order.tell([News::Refund(1, share)]) }
}

/// Everything comes back, one half after the other.
fn sent_back(order: Order) -> Order {
    let half = order.price / 2;
    let halves = [News::Refund(1, half), News::Refund(2, order.price - half)];
    Order { repayments: 2, ..delivered(order).tell(halves) }
}

/// Two clerks each give most of it back: one of them must not.
fn refunded_too_much(order: Order) -> Order {
    let most = order.price * 3 / 5;
    Order { repayments: 1, ..delivered(order).tell([News::Refund(1, most), News::Refund(2, most)]) }
}

/// Before the payment or after it: either way the money goes back once.
fn called_off(order: Order) -> Order {
    Order { repayments: 1, ..order.tell([News::Paid, News::CalledOff]) }
}

/// An order that was under way when idem came. Its history begins with the next parcel.
fn taken_over(order: Order) -> Order {
    let mut order = order.sent().tell([News::Delivered]);
    order.news.remove(0);
    Order { is_old: true, payments: 0, ..order }
}

impl Order {
    fn tell(mut self, news: impl IntoIterator<Item = News>) -> Self {
        self.news.extend(news);
        self
    }

    /// All parcels leave the house.
    fn sent(self) -> Self {
        let parcels = (1..=self.parcels).map(News::Parcel);
        self.tell(parcels)
    }
}
