//! The articles and the orders of a run: there is less than is asked for.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Each is in several orders, so that their transactions meet.
const ARTICLES: usize = 6;

/// How long after its place in the script a line may be paid, in lines of the script.
const TIME_TO_PAY: std::ops::Range<i64> = 15..90;

/// An article, and how much of it there is in the beginning.
#[derive(Debug, Clone)]
pub(crate) struct Article {
    pub(crate) sku: String,
    pub(crate) quantity: i64,
}

/// A line of an order.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) order_id: i64,
    pub(crate) number: i64,
    pub(crate) sku: String,
    pub(crate) quantity: i64,
    /// The order's deadline. It comes with the order, so that a request that comes again asks for the same.
    pub(crate) pay_until: i64,
    /// How many requests ask for it: a double click is two.
    pub(crate) clicks: u8,
    /// What is told of the reservation, once there is one.
    pub(crate) news: Vec<News>,
}

/// What a message tells of a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum News {
    /// Its line was paid, by this trade.
    Paid(u8),
    /// The buyer does not want it any more.
    CalledOff,
}

/// The articles of a run. A third of what is ordered can be had, more when some of it is released.
pub(crate) fn articles(lines: &[Line]) -> Vec<Article> {
    let skus = (0..ARTICLES).map(sku);
    skus.map(|sku| {
        let ordered = lines.iter().filter(|line| line.sku == sku).map(|line| line.quantity).sum::<i64>();
        Article { sku, quantity: ordered / 3 + 1 }
    })
    .collect()
}

/// Every line of every order, always the same ones for a seed.
pub(crate) fn lines(seed: u64, orders: u16) -> Vec<Line> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut lines = Vec::new();
    for order_id in 1..=i64::from(orders) {
        for number in 1..=rng.random_range(1..=2) {
            let place = i64::try_from(lines.len()).unwrap_or(i64::MAX);
            lines.push(one_line(&mut rng, order_id, number, place));
        }
    }
    lines
}

fn one_line(rng: &mut ChaCha8Rng, order_id: i64, number: i64, place: i64) -> Line {
    let news = match rng.random_range(0..20) {
        0..8 => vec![News::Paid(1)],
        // Two payments for one line, at the same time.
        8..11 => vec![News::Paid(1), News::Paid(2)],
        // The payment and the call race.
        11..15 => vec![News::Paid(1), News::CalledOff],
        15..18 => vec![News::CalledOff],
        // Nobody comes back to it, and a sweep finds it.
        _ => Vec::new(),
    };
    let (sku, quantity) = (sku(rng.random_range(0..ARTICLES)), rng.random_range(1..=4));
    let (pay_until, clicks) = (place + rng.random_range(TIME_TO_PAY), if rng.random_bool(0.3) { 2 } else { 1 });
    Line { order_id, number, sku, quantity, pay_until, clicks, news }
}

fn sku(number: usize) -> String {
    format!("article-{}", number + 1)
}
