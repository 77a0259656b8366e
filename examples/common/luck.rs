//! What may become of a message on its way.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use rand::{Rng, RngExt};

/// In how many of its tries a sender may hang up.
const UNSTEADY: u32 = 3;

/// What becomes of a try, whatever the receiver does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Luck {
    Good,
    /// The receiver has done its work, and its answer does not arrive.
    AnswerLost,
    /// The call is dropped when it has waited for the database so often and waits again.
    HungUp(u32),
}

impl Luck {
    /// Of ten tries two go wrong.
    pub(crate) fn of(tries: u32, rng: &mut impl Rng) -> Self {
        match rng.random_range(0..10) {
            0 if tries < UNSTEADY => Self::AnswerLost,
            1 if tries < UNSTEADY => Self::HungUp(rng.random_range(0..20)),
            _ => Self::Good,
        }
    }

    /// What the sender hears of a call. An error says that nothing was done; it is not lost, so that it stays to be seen.
    pub(crate) async fn hears<T, E>(self, call: impl Future<Output = Result<T, E>>) -> Option<Result<T, E>> {
        match self {
            Self::Good => Some(call.await),
            Self::AnswerLost => call.await.err().map(Err),
            Self::HungUp(waits) => hang_up(call, waits).await,
        }
    }
}

/// Drops a call when it has waited so often and waits again.
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
