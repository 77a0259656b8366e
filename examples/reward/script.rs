//! The wishes of a run, and the requests that carry them.

use std::collections::VecDeque;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Everybody takes part in each of them.
const ACTIVITIES: i64 = 2;

/// How often each request is delivered.
const COPIES: usize = 3;

/// How many requests a late copy can be overtaken by.
const REACH: usize = 200;

/// What is granted: one function for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Points,
    Badge,
}

/// One thing that one user is to get for one activity.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wish {
    pub(crate) kind: Kind,
    pub(crate) activity_id: i64,
    pub(crate) user_id: i64,
    /// None for a badge.
    pub(crate) points: i64,
}

/// A delivery of a request, and how often it was tried.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delivery {
    pub(crate) wish: Wish,
    /// Which request for the wish it is: the app and the web page ask with numbers of their own.
    pub(crate) request: u8,
    pub(crate) tries: u32,
}

impl Kind {
    /// As the tables call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Points => "points",
            Self::Badge => "badge",
        }
    }
}

/// Each user's points and badge of every activity, always the same ones for a seed.
pub(crate) fn wishes(seed: u64, users: u16) -> Vec<Wish> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let pairs =
        (1..=i64::from(users)).flat_map(|user_id| (1..=ACTIVITIES).map(move |activity_id| (activity_id, user_id)));
    let both = pairs.flat_map(|(activity_id, user_id)| {
        let points = rng.random_range(1..=50);
        let wish = |kind, points| Wish { kind, activity_id, user_id, points };
        [wish(Kind::Points, points), wish(Kind::Badge, 0)]
    });
    both.collect()
}

/// The deliveries in the order in which they leave: late, repeated, and some with another number of points.
pub(crate) fn deliveries(wishes: &[Wish], rng: &mut impl Rng) -> VecDeque<Delivery> {
    let mut planned = Vec::new();
    for (place, &wish) in wishes.iter().enumerate() {
        for (request, wish) in (1..).zip(requests(wish, rng)) {
            let delivery = Delivery { wish, request, tries: 0 };
            planned.extend((0..COPIES).map(|_| (place + delay(rng), delivery)));
        }
    }
    planned.sort_by_key(|(place, _)| *place);
    planned.into_iter().map(|(_, delivery)| delivery).collect()
}

/// One request, or two at the same time; of ten second ones, three ask for more points by a newer rule.
fn requests(wish: Wish, rng: &mut impl Rng) -> Vec<Wish> {
    if !rng.random_bool(0.3) {
        return vec![wish];
    }
    let raised = wish.kind == Kind::Points && rng.random_bool(0.3);
    vec![wish, Wish { points: wish.points + i64::from(raised), ..wish }]
}

/// A copy comes near its own place, or far behind it.
fn delay(rng: &mut impl Rng) -> usize {
    if rng.random_bool(0.3) { rng.random_range(0..=REACH) } else { rng.random_range(0..=3) }
}

impl Wish {
    /// What the reports call it.
    pub(crate) fn name(&self) -> String {
        format!("{} of user {} for activity {}", self.kind.name(), self.user_id, self.activity_id)
    }
}
