//! The way to the shop: requests come late, repeated and many at a time, their senders hang up and answers are lost.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use idem_runtime::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::broken::{self, Break};
use crate::luck::Luck;
use crate::script::{self, Delivery, Kind, Wish};
use crate::service::{self, Grant, RewardError};
use crate::store::{Bank, Value};

/// How often a sender tries before it gives up.
const TRIES: u32 = 100;

/// The counts of a run.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Requests that came, each time that one came.
    pub(crate) requests: usize,
    /// Those that were told of a grant that an earlier one had got.
    pub(crate) replayed: usize,
    /// Those that asked for another number of points than the first one.
    pub(crate) refused: usize,
    /// Those whose sender hung up, or did not get the answer.
    pub(crate) unanswered: usize,
    /// Those that were told to come again.
    pub(crate) resent: usize,
    /// Those that were never answered.
    pub(crate) given_up: usize,
}

/// What the workers share.
struct Street {
    waiting: Mutex<VecDeque<Delivery>>,
    tally: Mutex<Tally>,
    told: Mutex<Vec<(Wish, Grant)>>,
    luck: Mutex<ChaCha8Rng>,
}

/// Delivers every request several times, and writes down for the checker what their senders were told.
pub(crate) async fn deliver<DB: Bank>(
    idem: &Idem<DB>,
    wishes: &[Wish],
    seed: u64,
    workers: u16,
    broken: Option<Break>,
) -> Result<Tally, RewardError> {
    let street = Arc::new(Street::new(wishes, seed));
    let workers: Vec<_> = (0..workers).map(|_| tokio::spawn(work(Arc::clone(&street), idem.clone(), broken))).collect();
    for worker in workers {
        // A worker that panicked must not pass for one that had nothing to do.
        worker.await.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
    }
    let told = std::mem::take(&mut *lock(&street.told));
    let mut tx = idem.begin().await?;
    write_down(&told, &mut tx).await?;
    tx.commit().await?;
    Ok(std::mem::take(&mut lock(&street.tally)))
}

/// Works until nothing waits: what another worker has in hand, that one sees through itself.
async fn work<DB: Bank>(street: Arc<Street>, idem: Idem<DB>, broken: Option<Break>) {
    while let Some((delivery, luck)) = street.next() {
        if street.count(delivery, luck.hears(receive(&idem, delivery, broken)).await) {
            tokio::time::sleep(Duration::from_millis(1)).await;
            lock(&street.waiting).push_back(Delivery { tries: delivery.tries + 1, ..delivery });
        }
    }
}

/// The shop's door.
async fn receive<DB: Bank>(
    idem: &Idem<DB>,
    delivery: Delivery,
    broken: Option<Break>,
) -> Result<Once<Grant>, RewardError> {
    let Wish { kind, activity_id, user_id, points } = delivery.wish;
    match (broken, kind) {
        (Some(how), _) => broken::receive(how, idem, delivery).await,
        (None, Kind::Points) => service::grant_points(idem, activity_id, user_id, points).await,
        (None, Kind::Badge) => service::grant_badge(idem, activity_id, user_id).await,
    }
}

/// A count is whole at any moment, so a panic elsewhere spoils nothing.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Street {
    fn new(wishes: &[Wish], seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let waiting = Mutex::new(script::deliveries(wishes, &mut rng));
        Self { waiting, tally: Mutex::default(), told: Mutex::default(), luck: Mutex::new(rng) }
    }

    fn next(&self) -> Option<(Delivery, Luck)> {
        let delivery = lock(&self.waiting).pop_front()?;
        Some((delivery, Luck::of(delivery.tries, &mut *lock(&self.luck))))
    }

    /// Counts the answer to a delivery; whether it has to be sent again.
    fn count(&self, delivery: Delivery, answer: Option<Result<Once<Grant>, RewardError>>) -> bool {
        let mut tally = lock(&self.tally);
        tally.requests += 1;
        match answer {
            Some(Ok(once)) => {
                tally.replayed += usize::from(once.is_replay());
                drop(tally);
                lock(&self.told).push((delivery.wish, once.into_inner()));
                false
            }
            Some(Err(RewardError::Idem(Error::Mismatch))) => {
                tally.refused += 1;
                false
            }
            Some(Err(error)) => tally.send_again(delivery, &error),
            None => {
                tally.unanswered += 1;
                true
            }
        }
    }
}

impl Tally {
    /// What the database gave up comes again, and what another call is at; nothing else will mend itself.
    fn send_again(&mut self, delivery: Delivery, error: &RewardError) -> bool {
        let mends = match error {
            RewardError::Idem(error) => error.is_retryable(),
            RewardError::Sql(_) => true,
            RewardError::NoAccount(_) => false,
        };
        if mends && delivery.tries < TRIES {
            self.resent += 1;
            return true;
        }
        eprintln!("{} was never answered: {error}", delivery.wish.name());
        self.given_up += 1;
        false
    }
}

/// Writes down what the senders were told, for the checker.
async fn write_down<DB: Bank>(told: &[(Wish, Grant)], tx: &mut Tx<'_, DB>) -> sqlx::Result<()> {
    let insert = "INSERT INTO told (number, kind, activity_id, user_id, points) VALUES (?, ?, ?, ?, ?)";
    for (wish, Grant { number, points }) in told {
        let [activity, user, points] = [wish.activity_id, wish.user_id, *points].map(Value::Number);
        let values = [Value::Text(number), Value::Text(wish.kind.name()), activity, user, points];
        DB::write(&mut *tx, insert, &values).await?;
    }
    Ok(())
}
