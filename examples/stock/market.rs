//! The way to the warehouse: messages come late, repeated and many at a time, their senders hang up and answers are lost.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use idem_runtime::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use uuid::Uuid;

use crate::broken::{self, Break};
use crate::letters::{self, Letter, Message};
use crate::luck::Luck;
use crate::script::{Line, News};
use crate::service::{self, Answer, StockError};
use crate::store::{Value, Warehouse};

/// How often a sender tries before it gives up.
const TRIES: u32 = 100;

/// The counts of a run.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Messages that came, each time that one came.
    pub(crate) requests: usize,
    /// Those that told what an earlier one had told.
    pub(crate) replayed: usize,
    pub(crate) sold_out: usize,
    /// Those that a reservation did not take: it had another request, another payment or another end.
    pub(crate) refused: usize,
    /// Reservations that a sweep released.
    pub(crate) swept: usize,
    /// Those whose sender hung up, or did not get the answer.
    pub(crate) unanswered: usize,
    /// Those that were sent again because the database had given them up.
    pub(crate) resent: usize,
    /// Those that were never answered.
    pub(crate) given_up: usize,
}

/// What a sender was told of a reservation.
#[derive(Debug)]
struct Told {
    cause: String,
    event: &'static str,
    id: Uuid,
    accepted: bool,
}

/// What the workers share.
struct Street {
    lines: Vec<Line>,
    seed: u64,
    waiting: Mutex<VecDeque<Letter>>,
    /// The lines whose buyers know of a reservation.
    known: Mutex<HashSet<usize>>,
    tally: Mutex<Tally>,
    told: Mutex<Vec<Told>>,
    luck: Mutex<ChaCha8Rng>,
}

/// Delivers every message several times, and writes down for the checker what their senders were told.
pub(crate) async fn deliver<DB: Warehouse>(
    idem: &Idem<DB>,
    lines: Vec<Line>,
    seed: u64,
    workers: u16,
    broken: Option<Break>,
) -> Result<Tally, StockError> {
    let street = Arc::new(Street::new(lines, seed));
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
async fn work<DB: Warehouse>(street: Arc<Street>, idem: Idem<DB>, broken: Option<Break>) {
    while let Some((letter, luck)) = street.next() {
        let call = street.receive(&idem, letter.message, broken);
        if street.count(letter, luck.hears(call).await) {
            tokio::time::sleep(Duration::from_millis(1)).await;
            lock(&street.waiting).push_back(Letter { tries: letter.tries + 1, ..letter });
        }
    }
}

/// A count is whole at any moment, so a panic elsewhere spoils nothing.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Street {
    fn new(lines: Vec<Line>, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let waiting = Mutex::new(letters::plan(&lines, &mut rng));
        let (known, tally, told) = (Mutex::default(), Mutex::default(), Mutex::default());
        Self { lines, seed, waiting, known, tally, told, luck: Mutex::new(rng) }
    }

    fn next(&self) -> Option<(Letter, Luck)> {
        let letter = lock(&self.waiting).pop_front()?;
        Some((letter, Luck::of(letter.tries, &mut *lock(&self.luck))))
    }

    /// The warehouse's door: each message gets a transaction.
    async fn receive<DB: Warehouse>(
        &self,
        idem: &Idem<DB>,
        message: Message,
        broken: Option<Break>,
    ) -> Result<Answer, StockError> {
        let cause = message.cause(&self.lines);
        if let Some(how) = broken
            && let Some(answer) = broken::receive(how, idem, message, &cause, &self.lines).await
        {
            return answer;
        }
        // A job finds its rows before it has a transaction: by the time that it fires at them some have moved.
        let overdue = match message {
            Message::Sweep(now) => DB::overdue(idem.pool(), now).await?,
            _ => Vec::new(),
        };
        let mut tx = idem.begin().await?;
        let answer = match message {
            Message::Reserve { line, .. } => service::reserve(&mut tx, &cause, self.lines[line].asked_for()).await?,
            Message::Tell { id, news: News::Paid(_), .. } => service::deduct(&mut tx, id, &cause).await?,
            Message::Tell { id, news: News::CalledOff, .. } => service::release(&mut tx, id, &cause).await?,
            Message::Sweep(_) => service::sweep(&mut tx, overdue, &cause).await?,
        };
        tx.commit().await?;
        Ok(answer)
    }

    /// Counts the answer to a message; whether it has to be sent again.
    fn count(&self, letter: Letter, answer: Option<Result<Answer, StockError>>) -> bool {
        let mut tally = lock(&self.tally);
        tally.requests += 1;
        match answer {
            Some(Ok(answer)) => {
                tally.count(answer);
                drop(tally);
                self.tell(letter.message, answer);
                false
            }
            Some(Err(StockError::SoldOut)) => {
                tally.sold_out += 1;
                false
            }
            Some(Err(error)) => tally.send_again(letter, &error),
            None => {
                tally.unanswered += 1;
                true
            }
        }
    }

    /// The sender knows now, and the buyer of a line that was reserved goes on.
    fn tell(&self, message: Message, answer: Answer) {
        let (Answer::Done(id) | Answer::Again(id) | Answer::Refused(id)) = answer else { return };
        let accepted = !matches!(answer, Answer::Refused(_));
        let event = match message {
            Message::Reserve { line, .. } => {
                self.go_on(line, id);
                "create"
            }
            Message::Tell { news: News::Paid(_), .. } => "deduct",
            Message::Tell { news: News::CalledOff, .. } => "release",
            Message::Sweep(_) => return,
        };
        // A click that found the reservation of another one may reserve by itself after that was released.
        if accepted || event != "create" {
            lock(&self.told).push(Told { cause: message.cause(&self.lines), event, id, accepted });
        }
    }

    /// Sends what is to be told of a line's first reservation. What is told of one reservation comes at one time.
    fn go_on(&self, line: usize, id: Uuid) {
        if !lock(&self.known).insert(line) {
            return;
        }
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed ^ line as u64);
        let mut waiting = lock(&self.waiting);
        for (delay, letter) in letters::news(&self.lines[line], line, id, &mut rng) {
            let place = delay.min(waiting.len());
            waiting.insert(place, letter);
        }
    }
}

impl Tally {
    fn count(&mut self, answer: Answer) {
        match answer {
            Answer::Done(_) => {}
            Answer::Again(_) => self.replayed += 1,
            Answer::Refused(_) => self.refused += 1,
            Answer::Swept(released) => self.swept += released,
        }
    }

    /// What the database gave up comes again; that the quantities do not fit will not mend itself.
    fn send_again(&mut self, letter: Letter, error: &StockError) -> bool {
        if letter.tries < TRIES && !matches!(error, StockError::Torn) {
            self.resent += 1;
            return true;
        }
        eprintln!("{:?} was never answered: {error}", letter.message);
        self.given_up += 1;
        false
    }
}

/// Writes down what the senders were told, for the checker.
async fn write_down<DB: Warehouse>(told: &[Told], tx: &mut Tx<'_, DB>) -> sqlx::Result<()> {
    let insert = "INSERT INTO told (cause, event, reservation_id, accepted) VALUES (?, ?, ?, ?)";
    for Told { cause, event, id, accepted } in told {
        let accepted = Value::Number((*accepted).into());
        DB::write(&mut *tx, insert, &[Value::Text(cause), Value::Text(event), Value::Id(*id), accepted]).await?;
    }
    Ok(())
}
