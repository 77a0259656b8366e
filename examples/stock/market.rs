//! The way to the warehouse: messages come late, repeated and many at a time, their senders hang up and answers are lost.

use std::collections::{HashSet, VecDeque};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use idem_runtime::prelude::*;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use uuid::Uuid;

use crate::broken::{self, Break};
use crate::machine::reservation::New;
use crate::script::{Line, News};
use crate::service::{self, Answer, StockError};
use crate::store::{Value, Warehouse};

/// How often each message is sent.
const COPIES: usize = 3;

/// How many messages a late copy can be overtaken by.
const REACH: usize = 150;

/// How often a sweep starts, in lines of the script. Each starts twice.
const SWEEP_EVERY: usize = 20;

/// How often a sender tries before it gives up, and in how many of the tries it may hang up.
const TRIES: u32 = 100;
const UNSTEADY: u32 = 3;

/// A message on its way, and how often it was tried.
#[derive(Debug, Clone, Copy)]
struct Letter {
    message: Message,
    tries: u32,
}

#[derive(Debug, Clone, Copy)]
enum Message {
    /// One of the clicks that ask for a line.
    Reserve { line: usize, click: u8 },
    /// News of a line's reservation.
    Tell { line: usize, id: Uuid, news: News },
    /// The sweep of this moment.
    Sweep(i64),
}

/// What becomes of a try, whatever the warehouse does.
#[derive(Debug, Clone, Copy)]
enum Luck {
    Good,
    /// The warehouse has done its work, and its answer does not arrive.
    AnswerLost,
    /// The call is dropped when it waits for the database for the so manieth time.
    HungUp(u32),
}

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
        let answer = match luck {
            Luck::Good => Some(call.await),
            Luck::AnswerLost => call.await.err().map(Err),
            Luck::HungUp(waits) => hang_up(call, waits).await,
        };
        if street.count(letter, answer) {
            tokio::time::sleep(Duration::from_millis(1)).await;
            lock(&street.waiting).push_back(Letter { tries: letter.tries + 1, ..letter });
        }
    }
}

/// Drops a call when it waits for the so manieth time.
async fn hang_up<F: Future>(call: F, waits: u32) -> Option<F::Output> {
    let (mut call, mut left) = (pin!(call), waits);
    poll_fn(|context| match call.as_mut().poll(context) {
        Poll::Ready(answer) => Poll::Ready(Some(answer)),
        Poll::Pending if left == 0 => Poll::Ready(None),
        Poll::Pending => {
            left -= 1;
            Poll::Pending
        }
    })
    .await
}

/// A copy of a message comes near its own place, or far behind it.
fn delay(rng: &mut impl Rng) -> usize {
    if rng.random_bool(0.3) { rng.random_range(0..=REACH) } else { rng.random_range(0..=3) }
}

/// A count is whole at any moment, so a panic elsewhere spoils nothing.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Each copy of each request at its place, and the sweeps between them.
fn plan(lines: &[Line], rng: &mut impl Rng) -> VecDeque<Letter> {
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

impl Street {
    fn new(lines: Vec<Line>, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let waiting = Mutex::new(plan(&lines, &mut rng));
        let (known, tally, told) = (Mutex::default(), Mutex::default(), Mutex::default());
        Self { lines, seed, waiting, known, tally, told, luck: Mutex::new(rng) }
    }

    fn next(&self) -> Option<(Letter, Luck)> {
        let letter = lock(&self.waiting).pop_front()?;
        let mut rng = lock(&self.luck);
        let luck = match rng.random_range(0..10) {
            0 if letter.tries < UNSTEADY => Luck::AnswerLost,
            1 if letter.tries < UNSTEADY => Luck::HungUp(rng.random_range(0..20)),
            _ => Luck::Good,
        };
        Some((letter, luck))
    }

    /// The warehouse's door: each message gets a transaction.
    async fn receive<DB: Warehouse>(
        &self,
        idem: &Idem<DB>,
        message: Message,
        broken: Option<Break>,
    ) -> Result<Answer, StockError> {
        let cause = self.cause(message);
        if let Some(how) = broken
            && let Some(answer) = self.receive_broken(how, idem, message, &cause).await
        {
            return answer;
        }
        let mut tx = idem.begin().await?;
        let answer = match message {
            Message::Reserve { line, .. } => service::reserve(&mut tx, &cause, self.lines[line].new()).await?,
            Message::Tell { id, news: News::Paid(_), .. } => service::deduct(&mut tx, id, &cause).await?,
            Message::Tell { id, news: News::CalledOff, .. } => service::release(&mut tx, id, &cause).await?,
            Message::Sweep(now) => service::sweep(&mut tx, now).await?,
        };
        tx.commit().await?;
        Ok(answer)
    }

    /// The messages that the broken warehouse gets wrong.
    async fn receive_broken<DB: Warehouse>(
        &self,
        how: Break,
        idem: &Idem<DB>,
        message: Message,
        cause: &str,
    ) -> Option<Result<Answer, StockError>> {
        let answer = match (message, how) {
            (Message::Tell { id, news: News::Paid(_), .. }, Break::IgnoreOutcome) => {
                broken::deduct_each_time(idem, id, cause).await
            }
            (Message::Reserve { line, .. }, how) => {
                let new = self.lines[line].new();
                match how {
                    Break::NoCause => broken::reserve_without_cause(idem, new).await,
                    Break::ReadThenWrite => broken::reserve_what_was_read(idem, cause, new).await,
                    Break::TwoTransactions => broken::reserve_in_two_transactions(idem, cause, new).await,
                    Break::IgnoreOutcome => return None,
                }
            }
            _ => return None,
        };
        Some(answer)
    }

    /// What in the world a message tells of: the same on each of its copies.
    fn cause(&self, message: Message) -> String {
        let of = |line: usize, kind, number| {
            let Line { order_id, line, .. } = &self.lines[line];
            format!("{kind}{order_id}-{line}-{number}")
        };
        match message {
            Message::Reserve { line, click } => of(line, "Q", click),
            Message::Tell { line, news: News::Paid(trade), .. } => of(line, "T", trade),
            Message::Tell { line, news: News::CalledOff, .. } => of(line, "C", 1),
            Message::Sweep(now) => format!("sweep {now}"),
        }
    }

    /// Counts the answer to a message; whether it has to be sent again.
    fn count(&self, letter: Letter, answer: Option<Result<Answer, StockError>>) -> bool {
        let mut tally = lock(&self.tally);
        tally.requests += 1;
        match answer {
            None => tally.unanswered += 1,
            Some(Ok(answer)) => {
                tally.count(answer);
                drop(tally);
                self.tell(letter.message, answer);
                return false;
            }
            Some(Err(StockError::SoldOut)) => {
                tally.sold_out += 1;
                return false;
            }
            Some(Err(error)) => return tally.send_again(letter, &error),
        }
        true
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
            lock(&self.told).push(Told { cause: self.cause(message), event, id, accepted });
        }
    }

    /// Sends what is to be told of a line's first reservation. What is told of one reservation comes at one time.
    fn go_on(&self, line: usize, id: Uuid) {
        if !lock(&self.known).insert(line) {
            return;
        }
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed ^ line as u64);
        let mut waiting = lock(&self.waiting);
        for _ in 0..COPIES {
            let place = delay(&mut rng).min(waiting.len());
            for &news in &self.lines[line].news {
                waiting.insert(place, Letter { message: Message::Tell { line, id, news }, tries: 0 });
            }
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

impl Line {
    /// What each request for the line asks for.
    fn new(&self) -> New {
        New {
            reservation_id: Uuid::new_v4(),
            order_id: self.order_id,
            line: self.line,
            sku: self.sku.clone(),
            quantity: self.quantity,
            pay_until: self.pay_until,
        }
    }
}
