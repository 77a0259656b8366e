//! The layers, each of which can be switched off.

use std::fmt;

use clap::ValueEnum;

/// A layer, from the outermost to the innermost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Layer {
    /// The page's button greys out. Scripts and retries go around it
    Button,
    /// The page's one-time token is used up with the purchase. Messages and callbacks have none
    Token,
    /// Redis is asked whether the call has ended. It is a hint to the claim, and nothing without it
    Gate,
    /// The record of the purchase: `#[idempotent]`
    Claim,
    /// One order a cart, and one payment an order: unique-while and compare-and-swap
    Cas,
}

/// Those that are on.
#[derive(Debug, Clone)]
pub(crate) struct Layers(Vec<Layer>);

impl Layers {
    /// All of them, but for those that are not wanted.
    pub(crate) fn chosen(without: &[Layer], only: &[Layer]) -> Self {
        let all = Layer::value_variants().iter().copied();
        let wanted = |layer: &Layer| !without.contains(layer) && (only.is_empty() || only.contains(layer));
        Self(all.filter(wanted).collect())
    }

    pub(crate) fn has(&self, layer: Layer) -> bool {
        self.0.contains(&layer)
    }

    /// Takes the gate out where there is nobody to ask or to tell, and says why.
    pub(crate) fn without_idle_gate(mut self, has_redis: bool) -> (Self, Option<&'static str>) {
        let why = if !self.has(Layer::Claim) {
            "the gate is off: it is a hint to the claim, and that is off"
        } else if !has_redis {
            "the gate is off: there is no Redis (--redis redis://.. or REDIS_URL)"
        } else {
            return (self, None);
        };
        let was_on = self.has(Layer::Gate);
        self.0.retain(|layer| *layer != Layer::Gate);
        (self, was_on.then_some(why))
    }

    /// Whether one that decides is on. The others only stop what comes by them.
    pub(crate) fn decide(&self) -> bool {
        self.has(Layer::Claim) || self.has(Layer::Cas)
    }
}

impl fmt::Display for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.iter().filter_map(ValueEnum::to_possible_value);
        let names: Vec<_> = names.map(|name| name.get_name().to_owned()).collect();
        if names.is_empty() { f.write_str("none") } else { f.write_str(&names.join(", ")) }
    }
}
