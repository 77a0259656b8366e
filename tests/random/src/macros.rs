//! The macro as a function, and texts for it.

use proc_macro2::TokenStream;
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;

/// What `#[derive(StateMachine)]` makes of the item.
#[must_use]
pub fn derive(item: TokenStream) -> TokenStream {
    crate::machine::derive(item)
}

/// The text of a machine that keeps every rule.
#[must_use]
pub fn valid(seed: u64, number: u64) -> String {
    crate::generate::machine(seed, number).source
}

/// The text of a machine that keeps them no longer, or only by chance.
#[must_use]
pub fn broken(seed: u64, number: u64) -> String {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(u64::MAX - number);
    crate::mutate::broken(&mut random, seed, number)
}
