//! The way to the shop: messages come late, repeated, out of order and many at a time, until they are answered.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use idem_runtime::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::broken::{self, Break};
use crate::script::{News, Order};
use crate::service::{self, Answer, ShopError};
use crate::store::Shop;

/// How often each message is sent.
const COPIES: usize = 3;

const CARRIER: &str = "parcel post";

/// How often a sender tries before it gives up.
const TRIES: u32 = 100;

/// The counts of a run.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Messages that came, each time that one came.
    pub(crate) messages: usize,
    pub(crate) shipped: usize,
    pub(crate) refunded: usize,
    pub(crate) called_off: usize,
    /// Messages that told what an earlier one had told.
    pub(crate) replayed: usize,
    pub(crate) refused: usize,
    /// Messages that were sent again: too early, or too many at once.
    pub(crate) resent: usize,
    /// Messages that were never answered.
    pub(crate) given_up: usize,
}

/// A message on its way, and how often it was tried.
#[derive(Debug, Clone, Copy)]
struct Letter {
    order_id: i64,
    price: i64,
    news: News,
    tries: u32,
}

/// What the workers share.
#[derive(Debug, Default)]
struct Street {
    waiting: Mutex<VecDeque<Letter>>,
    tally: Mutex<Tally>,
}

/// Delivers every message several times.
pub(crate) async fn deliver<DB: Shop>(
    idem: &Idem<DB>,
    orders: &[Order],
    seed: u64,
    workers: u16,
    broken: Option<Break>,
) -> Tally {
    let street = Arc::new(Street { waiting: Mutex::new(plan(orders, seed)), tally: Mutex::default() });
    let workers: Vec<_> = (0..workers).map(|_| tokio::spawn(work(Arc::clone(&street), idem.clone(), broken))).collect();
    for worker in workers {
        // A worker that panicked must not pass for one that had nothing to do.
        worker.await.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
    }
    std::mem::take(&mut lock(&street.tally))
}

/// Each copy of each message: near its own place, and now and then far behind it.
fn plan(orders: &[Order], seed: u64) -> VecDeque<Letter> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut planned = Vec::new();
    let all = orders.iter().flat_map(|order| order.news.iter().map(move |news| (order, *news)));
    for (place, (order, news)) in all.enumerate() {
        for _ in 0..COPIES {
            let reach = if rng.random_bool(0.2) { 60 } else { 4 };
            let letter = Letter { order_id: order.id, price: order.price, news, tries: 0 };
            planned.push((place + rng.random_range(0..=reach), letter));
        }
    }
    planned.sort_by_key(|(place, _)| *place);
    planned.into_iter().map(|(_, letter)| letter).collect()
}

/// Works until nothing waits: what another worker has in hand, that one sees through itself.
async fn work<DB: Shop>(street: Arc<Street>, idem: Idem<DB>, broken: Option<Break>) {
    while let Some(letter) = street.next() {
        let answer = receive(&idem, letter, broken).await;
        if street.count(letter, &answer) {
            tokio::time::sleep(Duration::from_millis(1)).await;
            lock(&street.waiting).push_back(Letter { tries: letter.tries + 1, ..letter });
        }
    }
}

impl Street {
    fn next(&self) -> Option<Letter> {
        lock(&self.waiting).pop_front()
    }

    /// Counts the answer to a message; whether it has to be sent again.
    fn count(&self, letter: Letter, answer: &Result<Answer, ShopError>) -> bool {
        let mut tally = lock(&self.tally);
        tally.messages += 1;
        let counted = match (answer, letter.news) {
            (Ok(Answer::Again), _) => &mut tally.replayed,
            (Ok(Answer::Refused) | Err(ShopError::TooMuch), _) => &mut tally.refused,
            (Ok(Answer::Done), News::Parcel(_)) => &mut tally.shipped,
            (Ok(Answer::Done), News::Refund(..)) => &mut tally.refunded,
            (Ok(Answer::Done), News::CalledOff) => &mut tally.called_off,
            (Ok(Answer::Done), News::Paid | News::Delivered) => return false,
            (Err(error), _) => return tally.send_again(letter, error),
        };
        *counted += 1;
        false
    }
}

impl Tally {
    fn send_again(&mut self, letter: Letter, error: &ShopError) -> bool {
        self.resent += 1;
        if letter.tries < TRIES {
            return true;
        }
        eprintln!("{:?} of order {} was never answered: {error}", letter.news, letter.order_id);
        self.given_up += 1;
        false
    }
}

/// A count is whole at any moment, so a panic elsewhere spoils nothing.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The shop's door: what has a key goes to its function, the rest gets a transaction here.
async fn receive<DB: Shop>(idem: &Idem<DB>, letter: Letter, broken: Option<Break>) -> Result<Answer, ShopError> {
    let order_id = letter.order_id;
    match letter.news {
        News::Paid => Ok(first(service::pay(idem, order_id, &format!("T{order_id}"), letter.price).await?)),
        News::CalledOff => Ok(first(service::call_off(idem, order_id, &format!("C{order_id}")).await?)),
        News::Parcel(_) | News::Delivered | News::Refund(..) => {
            let mut tx = idem.begin().await?;
            let answer = book(&mut tx, letter, broken).await?;
            tx.commit().await?;
            Ok(answer)
        }
    }
}

/// The answer of a function with a key tells what the first message did, whichever asks.
fn first(answer: Once<Answer>) -> Answer {
    if answer.is_replay() { Answer::Again } else { *answer }
}

async fn book<DB: Shop>(tx: &mut Tx<'_, DB>, letter: Letter, broken: Option<Break>) -> Result<Answer, ShopError> {
    let id = letter.order_id;
    match (letter.news, broken) {
        (News::Parcel(no), Some(Break::NoCause)) => broken::ship(tx, id, &format!("P{id}-{no}"), CARRIER).await,
        (News::Parcel(no), _) => service::ship(tx, id, &format!("P{id}-{no}"), CARRIER).await,
        (News::Refund(no, sum), Some(Break::IgnoreOutcome)) => {
            broken::refund(tx, id, &format!("R{id}-{no}"), sum).await
        }
        (News::Refund(no, sum), _) => service::refund(tx, id, &format!("R{id}-{no}"), sum).await,
        _ => service::deliver(tx, id).await,
    }
}
