//! Who asks for transfers: each request goes to an instance of the service, again and again until there is an answer, and
//! the instances are killed under way.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, sleep, sleep_until};

use crate::service::Receipt;
use crate::worker::{Answer, Delivery, Errand, Told, WORKER};

/// Instances of the service that run at the same time.
const INSTANCES: usize = 2;

/// Requests that are under way in one of them.
const UNDER_WAY: usize = 12;

/// Far more than bad luck needs.
const MOST_TRIES: usize = 500;

/// The counts of a run.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Requests that were made, each time that one was.
    pub(crate) requests: usize,
    pub(crate) replayed: usize,
    /// Told to come again.
    pub(crate) resent: usize,
    /// Under way in an instance that was killed.
    pub(crate) cut_off: usize,
    /// Instances that were killed.
    pub(crate) kills: usize,
    /// What the senders of each transfer were told.
    pub(crate) told: HashMap<i64, Vec<Receipt>>,
    /// Transfers whose senders were told that nobody knows.
    pub(crate) indeterminate: HashSet<i64>,
    /// What must not be.
    pub(crate) failed: Vec<String>,
}

/// What the instances' keepers share.
struct Street {
    waiting: Mutex<VecDeque<(Delivery, usize)>>,
    /// Requests without a final answer.
    open: Mutex<usize>,
    tally: Mutex<Tally>,
    luck: Mutex<ChaCha8Rng>,
    kills_left: Mutex<usize>,
}

/// Sees every request through to its answer.
pub(crate) async fn deliver(
    deliveries: Vec<Delivery>,
    errand: &Errand,
    seed: u64,
    most_kills: usize,
) -> io::Result<Tally> {
    let open = Mutex::new(deliveries.len());
    let waiting = Mutex::new(deliveries.into_iter().map(|delivery| (delivery, 0)).collect());
    let luck = Mutex::new(ChaCha8Rng::seed_from_u64(seed));
    let kills_left = Mutex::new(most_kills);
    let street = Arc::new(Street { waiting, open, tally: Mutex::default(), luck, kills_left });
    let keepers = (0..INSTANCES).map(|_| keep_one_up(&street, errand));
    futures_util::future::try_join_all(keepers).await?;
    Ok(std::mem::take(&mut *lock(&street.tally)))
}

/// Starts an instance whenever the one before it is dead.
async fn keep_one_up(street: &Street, errand: &Errand) -> io::Result<()> {
    while street.is_open() {
        let mut instance = Instance::start(errand).await?;
        let death = street.death();
        let was_killed = instance.serve(street, death).await?;
        street.lay_down(instance.end(was_killed).await?, was_killed);
    }
    Ok(())
}

/// A process that runs the service.
struct Instance {
    process: Child,
    requests: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    under_way: HashMap<usize, (Delivery, usize)>,
}

impl Instance {
    async fn start(errand: &Errand) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        let piped = command.arg(WORKER).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut process = piped.spawn()?;
        let missing = || io::Error::other("a pipe of the instance is missing");
        let mut requests = process.stdin.take().ok_or_else(missing)?;
        let answers = BufReader::new(process.stdout.take().ok_or_else(missing)?).lines();
        requests.write_all(format!("{}\n", serde_json::to_string(errand)?).as_bytes()).await?;
        Ok(Self { process, requests, answers, under_way: HashMap::new() })
    }

    /// Until everything is answered, or its death. Says which.
    async fn serve(&mut self, street: &Street, death: Instant) -> io::Result<bool> {
        while street.is_open() {
            self.take_requests(street).await?;
            let answer = tokio::select! {
                answer = self.answers.next_line(), if !self.under_way.is_empty() => answer?,
                () = sleep_until(death) => return Ok(true),
                // Another instance may die and leave something to do.
                () = sleep(Duration::from_millis(10)), if self.under_way.is_empty() => continue,
            };
            let Some(answer) = answer else { return Err(io::Error::other("an instance has ended by itself")) };
            let Answer { number, told } = serde_json::from_str(&answer)?;
            if let Some((delivery, tries)) = self.under_way.remove(&number) {
                street.count(delivery, tries, told);
            }
        }
        Ok(false)
    }

    async fn take_requests(&mut self, street: &Street) -> io::Result<()> {
        while self.under_way.len() < UNDER_WAY
            && let Some((delivery, tries)) = street.next()
        {
            let line = format!("{}\n", serde_json::to_string(&delivery)?);
            self.under_way.insert(delivery.number, (delivery, tries));
            self.requests.write_all(line.as_bytes()).await?;
        }
        Ok(())
    }

    /// kill -9, or the end of its input. Gives what was under way.
    async fn end(self, kill: bool) -> io::Result<Vec<(Delivery, usize)>> {
        let Self { mut process, requests, under_way, .. } = self;
        if kill {
            process.kill().await?;
        } else {
            drop(requests);
            process.wait().await?;
        }
        Ok(under_way.into_values().collect())
    }
}

impl Street {
    fn is_open(&self) -> bool {
        *lock(&self.open) > 0
    }

    fn next(&self) -> Option<(Delivery, usize)> {
        lock(&self.waiting).pop_front()
    }

    /// When the next instance is to die.
    fn death(&self) -> Instant {
        let mut left = lock(&self.kills_left);
        if *left == 0 {
            return Instant::now() + Duration::from_hours(1);
        }
        *left -= 1;
        Instant::now() + Duration::from_millis(lock(&self.luck).random_range(60..260))
    }

    /// What was under way in an instance that was killed comes again.
    fn lay_down(&self, under_way: Vec<(Delivery, usize)>, was_killed: bool) {
        let mut tally = lock(&self.tally);
        tally.kills += usize::from(was_killed);
        tally.cut_off += under_way.len();
        tally.requests += under_way.len();
        drop(tally);
        lock(&self.waiting).extend(under_way);
    }

    fn count(&self, delivery: Delivery, tries: usize, told: Told) {
        let mut tally = lock(&self.tally);
        tally.requests += 1;
        match told {
            Told::Sent { receipt, is_replay } => {
                tally.replayed += usize::from(is_replay);
                tally.told.entry(delivery.transfer_id).or_default().push(receipt);
            }
            Told::Later if tries < MOST_TRIES => {
                tally.resent += 1;
                drop(tally);
                lock(&self.waiting).push_back((delivery, tries + 1));
                return;
            }
            Told::Later => tally.failed.push(format!("transfer {} was never answered", delivery.transfer_id)),
            Told::Indeterminate => {
                tally.indeterminate.insert(delivery.transfer_id);
            }
            Told::Failed(error) => tally.failed.push(format!("transfer {}: {error}", delivery.transfer_id)),
        }
        drop(tally);
        *lock(&self.open) -= 1;
    }
}

/// A count is whole at any moment, so a panic elsewhere spoils nothing.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
