//! The channel and the network between it and the shop: late, repeated, out of order, many at a time.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use idem_runtime::prelude::*;
use indicatif::ProgressBar;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::broken::{self, Break, Broken};
use crate::callbacks::{Notification, OrderLine, ShopAction};
use crate::machines::OrderStatus;
use crate::machines::order_status::{Cancel, Finish, Ship};
use crate::service::{self, NotifyError, Verdict};

/// How many lines of the file a delivery can be overtaken by.
const REACH: usize = 40;

/// How often the channel tries before it gives up.
const TRIES: u32 = 20;

/// What became of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Answer {
    /// The body ran for the first time, or the stored verdict was replayed.
    Settled { verdict: Verdict, replay: bool },
    /// A refund before its payment: to be sent again.
    Early,
    /// Too many at once, for the row or for the database: to be sent again.
    Busy,
}

/// The counts of a run.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Deliveries by what became of them.
    pub(crate) answers: HashMap<Answer, usize>,
    /// Deliveries that met another one of the same order.
    pub(crate) overlaps: usize,
    /// The order that got the most deliveries, and how many.
    pub(crate) busiest: (String, usize),
    /// Deliveries that were never settled: the channel stopped sending. And the last error of one of them.
    pub(crate) given_up: usize,
    pub(crate) last_error: Option<String>,
}

impl Tally {
    /// How many deliveries were answered so.
    pub(crate) fn sum(&self, chosen: impl Fn(Answer) -> bool) -> usize {
        self.answers.iter().filter(|(answer, _)| chosen(**answer)).map(|(_, count)| count).sum()
    }

    /// How many trades were set aside.
    pub(crate) fn set_aside(&self) -> usize {
        self.sum(|answer| matches!(answer, Answer::Settled { verdict: Verdict::SetAside(_), replay: false }))
    }

    /// How many got a stored verdict.
    pub(crate) fn replayed(&self) -> usize {
        self.sum(|answer| matches!(answer, Answer::Settled { replay: true, .. }))
    }
}

/// How to deliver.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weather {
    pub(crate) seed: u64,
    pub(crate) workers: usize,
    pub(crate) repeat: usize,
    pub(crate) broken: Option<Break>,
}

/// Delivers every notification several times while the shop goes on with its work.
pub(crate) async fn deliver<DB: Broken>(
    idem: &Idem<DB>,
    notifications: &[Notification],
    orders: &[OrderLine],
    weather: Weather,
    bar: ProgressBar,
) -> Result<Tally, TransitionError> {
    for order in orders.iter().filter(|order| order.shop == Some(ShopAction::CancelFirst)) {
        let _ = OrderStatus::row(order.out_trade_no.clone()).fire(Cancel).run(idem).await?;
    }
    let jobs = plan(notifications, orders, weather);
    bar.set_length(jobs.len() as u64);
    let street = Arc::new(Street::new(jobs, orders, bar));
    let workers: Vec<_> =
        (0..weather.workers).map(|_| tokio::spawn(work(Arc::clone(&street), idem.clone(), weather.broken))).collect();
    for worker in workers {
        // A worker that panicked must not pass for one that had nothing to do.
        worker.await.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
    }
    street.bar.finish_and_clear();
    Ok(street.result())
}

/// Every delivery at its place: near the line's own place, and now and then far behind it.
fn plan(notifications: &[Notification], orders: &[OrderLine], weather: Weather) -> VecDeque<Job> {
    let mut rng = ChaCha8Rng::seed_from_u64(weather.seed);
    let mut planned = Vec::new();
    for (line, notification) in notifications.iter().enumerate() {
        let notification = Arc::new(notification.clone());
        for _ in 0..weather.repeat {
            let reach = if rng.random_bool(0.3) { REACH } else { 4 };
            planned.push((line + rng.random_range(0..=reach), Task::Deliver(Arc::clone(&notification))));
        }
    }
    for (order, action) in orders.iter().filter_map(|order| Some((order, order.shop?))) {
        if action != ShopAction::CancelFirst {
            planned.push((rng.random_range(0..notifications.len()), Task::Act(order.out_trade_no.clone(), action)));
        }
    }
    planned.sort_by_key(|(place, _)| *place);
    planned.into_iter().map(|(_, task)| Job { task, tries: 0 }).collect()
}

/// Something to do, and how often it was tried.
#[derive(Debug)]
struct Job {
    task: Task,
    tries: u32,
}

#[derive(Debug)]
enum Task {
    Deliver(Arc<Notification>),
    Act(String, ShopAction),
}

#[derive(Debug, Default)]
struct Traffic {
    under_way: AtomicUsize,
    come: AtomicUsize,
}

/// What the workers share.
struct Street {
    waiting: Mutex<VecDeque<Job>>,
    /// Jobs that are not done: those that wait, and those that a worker has.
    open: AtomicUsize,
    /// By order, the deliveries that are under way and those that have come.
    traffic: HashMap<String, Traffic>,
    tally: Mutex<Tally>,
    bar: ProgressBar,
}

impl Street {
    fn new(jobs: VecDeque<Job>, orders: &[OrderLine], bar: ProgressBar) -> Self {
        let traffic = orders.iter().map(|order| (order.out_trade_no.clone(), Traffic::default())).collect();
        let open = AtomicUsize::new(jobs.len());
        Self { waiting: Mutex::new(jobs), open, traffic, tally: Mutex::default(), bar }
    }

    fn next(&self) -> Option<Job> {
        lock(&self.waiting).pop_front()
    }

    fn is_done(&self) -> bool {
        self.open.load(Ordering::SeqCst) == 0
    }

    fn finish(&self) {
        self.open.fetch_sub(1, Ordering::SeqCst);
        self.bar.inc(1);
    }

    /// What is not settled comes again, each time later, until its sender gives up.
    async fn again(&self, job: Job, why: &str) {
        if job.tries + 1 == TRIES {
            let mut tally = lock(&self.tally);
            tally.given_up += 1;
            tally.last_error = Some(why.to_owned());
            return self.finish();
        }
        tokio::time::sleep(Duration::from_millis(u64::from(job.tries))).await;
        let tries = job.tries + 1;
        let mut waiting = lock(&self.waiting);
        let place = waiting.len().min(REACH * tries as usize);
        waiting.insert(place, Job { tries, ..job });
    }

    /// Counts a delivery in; it overlaps when another one of its order is under way.
    fn enter(&self, order: &str) {
        let Some(traffic) = self.traffic.get(order) else { return };
        traffic.come.fetch_add(1, Ordering::SeqCst);
        if traffic.under_way.fetch_add(1, Ordering::SeqCst) > 0 {
            lock(&self.tally).overlaps += 1;
        }
    }

    /// Counts it out, with its answer.
    fn leave(&self, order: &str, answer: Answer) {
        if let Some(traffic) = self.traffic.get(order) {
            traffic.under_way.fetch_sub(1, Ordering::SeqCst);
        }
        *lock(&self.tally).answers.entry(answer).or_default() += 1;
    }

    fn result(&self) -> Tally {
        let come = self.traffic.iter().map(|(order, traffic)| (order.clone(), traffic.come.load(Ordering::SeqCst)));
        let busiest = come.max_by_key(|(_, come)| *come).unwrap_or_default();
        Tally { busiest, ..std::mem::take(&mut lock(&self.tally)) }
    }
}

/// A count is whole at any moment, so a panic elsewhere spoils nothing.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn work<DB: Broken>(street: Arc<Street>, idem: Idem<DB>, broken: Option<Break>) {
    while !street.is_done() {
        match street.next() {
            Some(job) => attempt(&street, &idem, broken, job).await,
            None => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    }
}

async fn attempt<DB: Broken>(street: &Street, idem: &Idem<DB>, broken: Option<Break>, job: Job) {
    let unsettled = match &job.task {
        Task::Deliver(notify) => receive(street, idem, broken, notify).await.err(),
        Task::Act(order, action) => act(idem, order, *action).await.err().map(|error| error.to_string()),
    };
    match unsettled {
        None => street.finish(),
        Some(why) => street.again(job, &why).await,
    }
}

/// Delivers one notification and counts the answer; `Err` when it has to come again.
async fn receive<DB: Broken>(
    street: &Street,
    idem: &Idem<DB>,
    broken: Option<Break>,
    notify: &Notification,
) -> Result<(), String> {
    street.enter(&notify.out_trade_no);
    let settled = settle(idem, broken, notify).await;
    street.leave(&notify.out_trade_no, Answer::of(&settled));
    match settled {
        Err(error) if error.reply() == Reply::Resend => Err(error.to_string()),
        _ => Ok(()),
    }
}

impl Answer {
    const fn of(settled: &Result<(Verdict, bool), NotifyError>) -> Self {
        match settled {
            Ok((verdict, replay)) => Self::Settled { verdict: *verdict, replay: *replay },
            Err(NotifyError::Early) => Self::Early,
            Err(NotifyError::Idem(Error::Mismatch)) => Self::Settled { verdict: Verdict::Mismatch, replay: false },
            Err(_) => Self::Busy,
        }
    }
}

async fn settle<DB: Broken>(
    idem: &Idem<DB>,
    broken: Option<Break>,
    notify: &Notification,
) -> Result<(Verdict, bool), NotifyError> {
    if let Some(how) = broken {
        return broken::settle(how, idem, notify).await;
    }
    let once = service::settle(idem, notify).await?;
    Ok((*once, once.is_replay()))
}

/// The shop's own work on an order; `Err` when it has to be tried again, such as shipping before the payment.
async fn act<DB: Broken>(idem: &Idem<DB>, order: &str, action: ShopAction) -> Result<(), TransitionError> {
    let row = || OrderStatus::row(order.to_owned());
    match action {
        ShopAction::Cancel | ShopAction::CancelFirst => too_late(row().fire(Cancel).run(idem).await),
        ShopAction::Ship => too_late(row().fire(Ship).run(idem).await),
        ShopAction::ShipAndFinish => {
            let shipped = row().fire(Ship).run(idem).await;
            too_late(shipped)?;
            too_late(row().fire(Finish).run(idem).await)
        }
    }
}

/// What the order has passed cannot be done any more, and that is an end too.
fn too_late<T>(result: Result<Outcome<OrderStatus, T>, TransitionError>) -> Result<(), TransitionError> {
    match result {
        Ok(_) => Ok(()),
        Err(TransitionError::Illegal { current, .. }) if current != OrderStatus::INITIAL.name() => Ok(()),
        Err(error) => Err(error),
    }
}
