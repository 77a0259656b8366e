/// Which states follow which, as bits: `allows` is constant in time and usable in `const`.
#[derive(Debug, Clone, Copy)]
pub struct Graph<const N: usize> {
    /// For each source the set of its targets, 64 states a word.
    targets: [[u64; WORDS]; N],
}

/// Room for 256 states.
const WORDS: usize = 4;

impl<const N: usize> Graph<N> {
    /// The graph of these edges, each a source and a target by their place in the enum.
    #[must_use]
    pub const fn new(edges: &[(usize, usize)]) -> Self {
        let mut targets = [[0; WORDS]; N];
        let mut at = 0;
        while at < edges.len() {
            let (source, target) = edges[at];
            targets[source][target / 64] |= 1 << (target % 64);
            at += 1;
        }
        Self { targets }
    }

    /// Whether an edge leads from one state to the other.
    #[must_use]
    pub const fn allows(&self, source: usize, target: usize) -> bool {
        self.targets[source][target / 64] >> (target % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_has_a_direction() {
        const GRAPH: Graph<200> = Graph::new(&[(0, 199), (199, 64), (63, 63)]);
        for source in 0..200 {
            for target in 0..200 {
                let declared = [(0, 199), (199, 64), (63, 63)].contains(&(source, target));
                assert_eq!(GRAPH.allows(source, target), declared, "{source} to {target}");
            }
        }
    }
}
