//! Graphs that keep the rules: every state can be reached, and exactly those that nothing leads out of are terminal.

use rand::RngExt as _;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;

use super::{maybe, one};

pub(super) struct Graph {
    pub(super) states: usize,
    pub(super) initial: usize,
    pub(super) edges: Vec<Edge>,
}

/// What an event is in the graph.
pub(super) struct Edge {
    pub(super) sources: Vec<usize>,
    pub(super) target: usize,
}

pub(super) fn random(random: &mut ChaCha8Rng) -> Graph {
    let states = random.random_range(1..=8);
    let mut order: Vec<_> = (0..states).collect();
    order.shuffle(random);
    Graph { states, initial: order[0], edges: edges(random, &order) }
}

/// Enough edges to reach every state from the first in `order`, and some more.
fn edges(random: &mut ChaCha8Rng, order: &[usize]) -> Vec<Edge> {
    // What is not open is never a source.
    let open = &order[..random.random_range(1..=order.len())];
    // Where events lead forth only, no row comes back.
    let forth = maybe(random, 0.3);
    let mut edges: Vec<_> = (1..order.len()).map(|at| edge(random, open, order, at, forth)).collect();
    for _ in 0..random.random_range(0..=3) {
        let at = random.random_range(usize::from(forth)..=order.len()).min(order.len() - 1);
        if at > 0 || !forth {
            edges.push(edge(random, open, order, at, forth));
        }
    }
    edges.shuffle(random);
    edges
}

/// An edge to the state at this place, from at least one before it (the first one: from any).
fn edge(random: &mut ChaCha8Rng, open: &[usize], order: &[usize], at: usize, forth: bool) -> Edge {
    let before = if at == 0 { open } else { &open[..at.min(open.len())] };
    let first = one(random, before);
    let others = if forth { before } else { open };
    let mut sources: Vec<_> = others.iter().copied().filter(|state| *state != first && maybe(random, 0.2)).collect();
    sources.push(first);
    sources.shuffle(random);
    Edge { sources, target: order[at] }
}

impl Graph {
    pub(super) fn is_terminal(&self, state: usize) -> bool {
        !self.edges.iter().any(|edge| edge.sources.contains(&state))
    }

    /// Whether a row can come back to where it was.
    pub(super) fn has_cycle(&self) -> bool {
        (0..self.states).any(|state| self.reached_from(state).contains(&state))
    }

    /// Where the edges that start at `state` can lead.
    fn reached_from(&self, state: usize) -> Vec<usize> {
        let (mut reached, mut queue) = (Vec::new(), vec![state]);
        while let Some(from) = queue.pop() {
            for edge in self.edges.iter().filter(|edge| edge.sources.contains(&from)) {
                if !reached.contains(&edge.target) {
                    reached.push(edge.target);
                    queue.push(edge.target);
                }
            }
        }
        reached
    }
}
