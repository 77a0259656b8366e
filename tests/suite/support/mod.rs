//! What the behaviour suite stands on: engines, the list of tests, and the harnesses that cut, kill, race and count.

mod count;
mod cut;
mod engines;
pub(crate) mod gate;
mod kill;
mod proxy;
mod race;
mod redis;
mod scenario;
mod sql;
mod suite;

pub(crate) mod self_tests;

pub(crate) use count::{StatementTable, count_statements};
pub(crate) use cut::{Ended, drop_at_every_await, leave_one_operation};
pub(crate) use engines::{Engine, TestDb};
pub(crate) use kill::{Errand, Killable, kill_at_every_step, kill_at_steps};
pub(crate) use proxy::{Held, Proxy};
pub(crate) use race::{ROUNDS, TASKS, release_many, release_together};
pub(crate) use redis::{Fault, Faulty, redis_cluster, redis_prefix};
pub(crate) use scenario::{Called, NoAnswer, Scenario};
pub(crate) use sql::sql;
pub(crate) use suite::{Suite, on_engines, on_every_engine, scenarios};

/// Any error, so that tests can use `?` on everything.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What a test returns.
pub(crate) type TestResult = Result<(), BoxError>;

/// Fails the test with a formatted message unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+).into());
        }
    };
}
pub(crate) use ensure;
