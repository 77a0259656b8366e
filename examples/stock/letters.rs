//! The messages of a run, and what may become of each on its way.

use std::collections::VecDeque;

use rand::{Rng, RngExt};
use uuid::Uuid;

use crate::machine::reservation::New;
use crate::script::{Line, News};

/// How often each message is sent.
const COPIES: usize = 3;

/// How many messages a late copy can be overtaken by.
const REACH: usize = 150;

/// How often a sweep starts, in lines of the script. Each starts twice.
const SWEEP_EVERY: usize = 20;

/// A message on its way, and how often it was tried.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Letter {
    pub(crate) message: Message,
    pub(crate) tries: u32,
}

/// What reaches the warehouse; a line is its place in the script.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Message {
    /// One of the clicks that ask for a line.
    Reserve { line: usize, click: u8 },
    /// News of a line's reservation.
    Tell { line: usize, id: Uuid, news: News },
    /// The sweep of this moment.
    Sweep(i64),
}

/// Each copy of each request at its place, and the sweeps between them.
pub(crate) fn plan(lines: &[Line], rng: &mut impl Rng) -> VecDeque<Letter> {
    let mut planned = Vec::new();
    for (place, line) in lines.iter().enumerate() {
        for click in (0..COPIES).flat_map(|_| 1..=line.clicks) {
            planned.push((place + delay(rng), Message::Reserve { line: place, click }));
        }
        if place % SWEEP_EVERY == 0 {
            let sweep = Message::Sweep(i64::try_from(place).unwrap_or(i64::MAX));
            planned.extend([(place, sweep), (place, sweep)]);
        }
    }
    planned.sort_by_key(|(place, _)| *place);
    planned.into_iter().map(|(_, message)| Letter { message, tries: 0 }).collect()
}

/// Each copy of what is told of a line's reservation, and how many others come before it. All that is told of one comes at
/// one time.
pub(crate) fn news(line: &Line, place: usize, id: Uuid, rng: &mut impl Rng) -> Vec<(usize, Letter)> {
    let delays = (0..COPIES).map(|_| delay(rng));
    let copies = delays.flat_map(|delay| line.news.iter().map(move |&news| (delay, news)));
    let letter = |news| Letter { message: Message::Tell { line: place, id, news }, tries: 0 };
    copies.map(|(delay, news)| (delay, letter(news))).collect()
}

/// A copy of a message comes near its own place, or far behind it.
fn delay(rng: &mut impl Rng) -> usize {
    if rng.random_bool(0.3) { rng.random_range(0..=REACH) } else { rng.random_range(0..=3) }
}

impl Message {
    /// What in the world a message tells of: the same on each of its copies.
    pub(crate) fn cause(self, lines: &[Line]) -> String {
        let of = |line: usize, kind, number| {
            let Line { order_id, number: line, .. } = &lines[line];
            format!("{kind}{order_id}-{line}-{number}")
        };
        match self {
            Self::Reserve { line, click } => of(line, "Q", click),
            Self::Tell { line, news: News::Paid(trade), .. } => of(line, "T", trade),
            Self::Tell { line, news: News::CalledOff, .. } => of(line, "C", 1),
            Self::Sweep(now) => format!("sweep {now}"),
        }
    }
}

impl Line {
    /// What each request for the line asks for.
    pub(crate) fn asked_for(&self) -> New {
        New {
            reservation_id: Uuid::new_v4(),
            order_id: self.order_id,
            line: self.number,
            sku: self.sku.clone(),
            quantity: self.quantity,
            pay_until: self.pay_until,
        }
    }
}
