//! The transfers of a run, and the requests that ask for them.

use rand::seq::SliceRandom as _;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::provider::Kind;
use crate::worker::Delivery;

/// How often each transfer is asked for: a double click, a client's retry, a message that is delivered again.
const COPIES: usize = 3;

/// A transfer that somebody wants.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Transfer {
    pub(crate) id: i64,
    pub(crate) kind: Kind,
    pub(crate) amount: i64,
}

/// As many for each provider, always the same ones for a seed.
pub(crate) fn transfers(seed: u64, each: u16) -> Vec<Transfer> {
    let mut luck = ChaCha8Rng::seed_from_u64(seed);
    let kinds = (0..each).flat_map(|_| Kind::ALL);
    kinds.zip(1..).map(|(kind, id)| Transfer { id, kind, amount: luck.random_range(1..=100_000) }).collect()
}

/// The requests, near to the place of their transfer and in no order.
pub(crate) fn deliveries(seed: u64, transfers: &[Transfer]) -> Vec<Delivery> {
    const REACH: usize = 30;
    let mut luck = ChaCha8Rng::seed_from_u64(seed.wrapping_add(1));
    let mut deliveries: Vec<_> = transfers.iter().flat_map(|transfer| [*transfer; COPIES]).collect();
    for near in deliveries.chunks_mut(REACH) {
        near.shuffle(&mut luck);
    }
    let numbered = deliveries.into_iter().enumerate();
    numbered.map(|(number, Transfer { id, kind, amount })| Delivery { number, kind, transfer_id: id, amount }).collect()
}
