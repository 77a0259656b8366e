//! Makes the files of this folder. The seed is fixed, so that they are the same each time.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use crate::callbacks::{Expected, ExpectedTrade, Fate, Notification, OrderLine, ShopAction, TradeStatus};
use crate::money::Money;
use crate::stories::STORIES;

const SEED: u64 = 2;

/// When the channel pushes a notification again that was not acknowledged, in seconds after the first push.
const PUSHES: [u32; 8] = [0, 240, 840, 1_440, 5_040, 12_240, 33_840, 87_840];

/// The files, each with its name.
pub(crate) fn files() -> [(&'static str, String); 3] {
    let mut maker = Maker::new();
    let mut stories: Vec<_> = STORIES.iter().flat_map(|(times, story)| vec![*story; *times]).collect();
    stories.shuffle(&mut maker.rng);
    for story in stories {
        story(&mut maker);
        maker.clock += maker.rng.random_range(20..60);
    }
    maker.pushes.sort_by(|one, other| one.notify_time.cmp(&other.notify_time));
    [
        ("callbacks.jsonl", lines(&maker.pushes)),
        ("orders.jsonl", lines(&maker.orders)),
        ("expected.jsonl", lines(&maker.expected)),
    ]
}

fn lines<T: Serialize>(entries: &[T]) -> String {
    let line = |entry| serde_json::to_string(entry).expect("the entries are plain structs") + "\n";
    entries.iter().map(line).collect()
}

/// What the stories write into.
pub(crate) struct Maker {
    rng: ChaCha8Rng,
    /// Seconds since the first midnight.
    clock: u32,
    /// Counts what needs a number of its own.
    numbers: u64,
    pushes: Vec<Notification>,
    orders: Vec<OrderLine>,
    expected: Vec<Expected>,
}

/// A trade of the channel, as the stories hold it.
#[derive(Debug, Clone)]
pub(crate) struct Trade {
    number: String,
    pub(crate) order: String,
    amount: Money,
    paid_at: String,
}

impl Maker {
    fn new() -> Self {
        let rng = ChaCha8Rng::seed_from_u64(SEED);
        let (pushes, orders, expected) = (Vec::new(), Vec::new(), Vec::new());
        Self { rng, clock: 36_000, numbers: 0, pushes, orders, expected }
    }

    /// A price between 10.00 and 500.00, a multiple of 0.20 so that it has a half and a tenth.
    pub(crate) fn price(&mut self) -> Money {
        Money(self.rng.random_range(50..2_500) * 20)
    }

    /// An order of the shop; the answer is its number.
    pub(crate) fn order(&mut self, amount: Money, shop: Option<ShopAction>) -> String {
        let out_trade_no = self.order_number();
        self.orders.push(OrderLine { out_trade_no: out_trade_no.clone(), amount, shop });
        out_trade_no
    }

    /// The number of an order that does not exist yet.
    pub(crate) fn order_number(&mut self) -> String {
        format!("20260302{:06}", self.number())
    }

    /// A trade that wants to pay an order.
    pub(crate) fn trade(&mut self, order: &str, amount: Money) -> Trade {
        let number = format!("2026030222001{:015}", self.number() * 7_919);
        Trade { number, order: order.to_owned(), amount, paid_at: time(self.clock) }
    }

    /// The channel tells that the trade is open.
    pub(crate) fn waiting(&mut self, trade: &Trade) {
        self.tell(trade, TradeStatus::WaitBuyerPay, None, 3);
    }

    /// The channel tells that the money is there.
    pub(crate) fn success(&mut self, trade: &Trade) {
        self.tell(trade, TradeStatus::TradeSuccess, None, 8);
    }

    /// The channel tells that the money is there for good.
    pub(crate) fn finished(&mut self, trade: &Trade) {
        self.tell(trade, TradeStatus::TradeFinished, None, 4);
    }

    /// The channel tells that part of the money went back; `sum` is the sum of all parts.
    pub(crate) fn part_back(&mut self, trade: &Trade, sum: Money) {
        self.tell(trade, TradeStatus::TradeSuccess, Some(sum), 5);
    }

    /// The channel tells that all of the money went back.
    pub(crate) fn all_back(&mut self, trade: &Trade) {
        self.tell(trade, TradeStatus::TradeClosed, Some(trade.amount), 5);
    }

    /// The channel tells that nobody paid.
    pub(crate) fn closed(&mut self, trade: &Trade) {
        self.tell(trade, TradeStatus::TradeClosed, None, 4);
    }

    /// What must hold for the order in the end.
    pub(crate) fn expect(
        &mut self,
        story: &str,
        out_trade_no: &str,
        end: &[&str],
        charges: std::ops::RangeInclusive<i64>,
        trades: Vec<ExpectedTrade>,
    ) {
        self.expected.push(Expected {
            out_trade_no: out_trade_no.to_owned(),
            story: story.to_owned(),
            end: end.iter().map(|&state| state.to_owned()).collect(),
            min_charges: *charges.start(),
            max_charges: *charges.end(),
            trades,
        });
    }

    /// One notification, pushed up to `most` times.
    fn tell(&mut self, trade: &Trade, status: TradeStatus, refund_fee: Option<Money>, most: usize) {
        self.clock += self.rng.random_range(3..20);
        let paid = !(status == TradeStatus::WaitBuyerPay || status == TradeStatus::TradeClosed && refund_fee.is_none());
        let notify_id = format!("20260302002222{:020}", self.number() * 104_729);
        for delay in PUSHES.iter().take(self.rng.random_range(1..=most)) {
            self.pushes.push(Notification {
                notify_id: notify_id.clone(),
                notify_time: time(self.clock + delay),
                trade_no: trade.number.clone(),
                out_trade_no: trade.order.clone(),
                trade_status: status,
                total_amount: trade.amount,
                gmt_payment: paid.then(|| trade.paid_at.clone()),
                refund_fee,
                gmt_refund: refund_fee.map(|_| time(self.clock)),
            });
        }
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }
}

impl Trade {
    /// What must become of its money.
    pub(crate) fn is(&self, fate: Fate) -> ExpectedTrade {
        let (trade_no, amount) = (self.number.clone(), self.amount);
        ExpectedTrade { trade_no, fate, amount, refunded: Money(0), partial_refunds: 0 }
    }
}

impl ExpectedTrade {
    /// How much of it must have gone back, and in how many partial refunds.
    pub(crate) fn refunded(self, refunded: Money, partial_refunds: i64) -> Self {
        Self { refunded, partial_refunds, ..self }
    }
}

fn time(clock: u32) -> String {
    let (day, hour, minute, second) = (clock / 86_400 + 2, clock / 3_600 % 24, clock / 60 % 60, clock % 60);
    format!("2026-03-{day:02} {hour:02}:{minute:02}:{second:02}")
}
