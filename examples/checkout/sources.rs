//! Where deliveries come from: a purchase is one click, and whatever repeats it.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// What a delivery is, and where it enters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The click that all others repeat, with the page's token and a request's number.
    Click,
    /// At the page: another click at once. The same token, another request.
    DoubleClick,
    /// At the page: the app asks once more, as it did not hear the answer. The same token and request.
    ClientRetry,
    /// Behind the page: the gateway sends what it has in hand to the other instance too, at the same time.
    GatewayRetry,
    /// Behind the page: the instance was cut in the middle of the click, and the other one gets the same request.
    Failover,
    /// Inside of the back end: the same call by another service of the shop. No token from here on.
    RpcRetry,
    /// Inside of the back end: "the order is placed", redelivered.
    Message,
    /// From outside: the payment provider's notice, pushed again and again.
    Callback,
}

impl Source {
    /// As the columns of the table.
    pub(crate) const ALL: [Self; 8] = [
        Self::Click,
        Self::DoubleClick,
        Self::ClientRetry,
        Self::GatewayRetry,
        Self::Failover,
        Self::RpcRetry,
        Self::Message,
        Self::Callback,
    ];

    /// Whether it carries the page's token.
    pub(crate) fn is_from_page(self) -> bool {
        !matches!(self, Self::RpcRetry | Self::Message | Self::Callback)
    }

    /// When it comes. What the back end and the provider send may come early, and mostly comes late.
    fn moment(self, rng: &mut impl Rng) -> Moment {
        match self {
            Self::Click | Self::DoubleClick | Self::GatewayRetry => Moment::AtOnce,
            Self::ClientRetry | Self::Failover => Moment::Soon,
            Self::RpcRetry | Self::Message | Self::Callback if rng.random_bool(0.2) => Moment::Soon,
            Self::RpcRetry | Self::Message | Self::Callback => Moment::Late,
        }
    }

    /// Whether it may make the cart's order: messages and notices tell of one that is there.
    pub(crate) fn makes_order(self) -> bool {
        !matches!(self, Self::Message | Self::Callback)
    }

    /// How often one purchase is repeated by it at most. A provider pushes until it is tired of it.
    fn most(self) -> usize {
        match self {
            Self::Click => 0,
            Self::Failover => 1,
            Self::DoubleClick | Self::ClientRetry | Self::GatewayRetry | Self::RpcRetry => 2,
            Self::Message => 3,
            Self::Callback => 5,
        }
    }
}

/// When a delivery comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// With the click.
    AtOnce,
    /// When the click has been answered or cut; all of these at once.
    Soon,
    /// After that, one after another.
    Late,
}

/// One arrival.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delivery {
    pub(crate) id: i64,
    pub(crate) source: Source,
    pub(crate) moment: Moment,
    /// That of the click that it is or repeats.
    pub(crate) request_id: i64,
    /// Which instance of the service gets it.
    pub(crate) instance: usize,
    /// Whether it is sent without the button: by a script, or before the page's code has loaded.
    pub(crate) is_past_button: bool,
    /// After how many waits for the database the instance is cut.
    pub(crate) is_cut_after: Option<u32>,
}

/// A cart that is bought once, and every delivery that asks for it.
#[derive(Debug)]
pub(crate) struct Purchase {
    pub(crate) cart_id: i64,
    pub(crate) user_id: i64,
    pub(crate) amount: i64,
    pub(crate) deliveries: Vec<Delivery>,
}

/// Purchases until there are so many deliveries: always the same ones for a seed.
pub(crate) fn purchases(seed: u64, deliveries: usize) -> Vec<Purchase> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut purchases, mut left) = (Vec::new(), deliveries);
    let mut next_id = 1;
    for cart_id in 1.. {
        if left == 0 {
            break;
        }
        let purchase = Purchase::of(cart_id, next_id, left, &mut rng);
        left -= purchase.deliveries.len();
        next_id += i64::try_from(purchase.deliveries.len()).unwrap_or(i64::MAX);
        purchases.push(purchase);
    }
    purchases
}

/// What is to be delivered.
pub(crate) fn planned(purchases: &[Purchase]) -> Vec<Source> {
    purchases.iter().flat_map(|purchase| &purchase.deliveries).map(|delivery| delivery.source).collect()
}

impl Purchase {
    fn of(cart_id: i64, first_id: i64, most: usize, rng: &mut impl Rng) -> Self {
        let repeats = Source::ALL[1..].iter().flat_map(|&source| vec![source; rng.random_range(0..=source.most())]);
        let sources: Vec<_> = std::iter::once(Source::Click).chain(repeats).take(most).collect();
        let home = rng.random_range(0..2);
        let delivery = |(id, &source)| Delivery::of(id, source, first_id, home, rng);
        let mut deliveries: Vec<_> = (first_id..).zip(&sources).map(delivery).collect();
        if sources.contains(&Source::Failover) {
            deliveries[0].is_cut_after = Some(rng.random_range(0..20));
        }
        Self { cart_id, user_id: cart_id % 100, amount: rng.random_range(100..100_000), deliveries }
    }
}

impl Delivery {
    /// The click's request goes to its home; what the gateway sends again goes to the other instance.
    fn of(id: i64, source: Source, click: i64, home: usize, rng: &mut impl Rng) -> Self {
        let (instance, request_id) = match source {
            Source::Click => (home, click),
            Source::GatewayRetry | Source::Failover => (1 - home, click),
            Source::DoubleClick => (rng.random_range(0..2), id),
            _ => (rng.random_range(0..2), click),
        };
        let is_past_button = source != Source::DoubleClick || rng.random_bool(0.5);
        let moment = source.moment(rng);
        Self { id, source, moment, request_id, instance, is_past_button, is_cut_after: None }
    }
}
