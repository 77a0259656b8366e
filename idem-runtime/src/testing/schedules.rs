//! All orders in which callers can go on, one after the other.

/// A walk through the tree of choices, depth first: each run follows the path and goes on with the first who can.
#[derive(Debug, Default)]
pub(super) struct Schedules {
    path: Vec<Choice>,
    /// How far along the path this run is.
    depth: usize,
}

#[derive(Debug)]
struct Choice {
    taken: usize,
    /// Who could have gone on as well, and has not been tried.
    left: Vec<usize>,
}

impl Schedules {
    /// One schedule alone.
    pub(super) fn only(path: impl IntoIterator<Item = usize>) -> Self {
        let path = path.into_iter().map(|taken| Choice { taken, left: Vec::new() });
        Self { path: path.collect(), depth: 0 }
    }

    /// Who goes on, of those who can.
    ///
    /// Where the path cannot be followed, for example since the database chose another victim of a deadlock, the run is
    /// one of its own from there on.
    pub(super) fn choose(&mut self, ready: &[usize]) -> usize {
        self.depth += 1;
        match self.path.get_mut(self.depth - 1) {
            Some(choice) if ready.contains(&choice.taken) => return choice.taken,
            Some(choice) => {
                choice.taken = ready[0];
                self.path.truncate(self.depth);
            }
            None => self.path.push(Choice { taken: ready[0], left: ready[1..].to_vec() }),
        }
        ready[0]
    }

    /// Goes to the next schedule; says whether there is one.
    pub(super) fn advance(&mut self) -> bool {
        self.depth = 0;
        while let Some(choice) = self.path.last_mut() {
            if !choice.left.is_empty() {
                choice.taken = choice.left.remove(0);
                return true;
            }
            self.path.pop();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays callers with these numbers of steps; gives who went on, in order.
    fn play(schedules: &mut Schedules, mut steps: Vec<usize>) -> Vec<usize> {
        let mut taken = Vec::new();
        loop {
            let ready: Vec<_> = (0..steps.len()).filter(|caller| steps[*caller] > 0).collect();
            if ready.is_empty() {
                return taken;
            }
            taken.push(schedules.choose(&ready));
            steps[taken[taken.len() - 1]] -= 1;
        }
    }

    #[test]
    fn every_order_once() {
        for (steps, expected) in [(vec![3, 3], 20), (vec![2, 1], 3), (vec![2, 2, 2], 90), (vec![4], 1)] {
            let (mut schedules, mut seen) = (Schedules::default(), std::collections::BTreeSet::new());
            loop {
                assert!(seen.insert(play(&mut schedules, steps.clone())), "twice");
                if !schedules.advance() {
                    break;
                }
            }
            assert_eq!(seen.len(), expected, "{steps:?}");
        }
    }

    #[test]
    fn one_schedule_alone() {
        let mut schedules = Schedules::only([1, 0, 0, 1]);
        assert_eq!(play(&mut schedules, vec![2, 2]), [1, 0, 0, 1]);
        assert!(!schedules.advance());
    }

    #[test]
    fn a_path_that_cannot_be_followed_ends_all_the_same() {
        let mut schedules = Schedules::default();
        let mut runs = 0;
        loop {
            // The second caller has a step in every other run only.
            play(&mut schedules, vec![2, (runs + 1) % 2]);
            runs += 1;
            if !schedules.advance() {
                break;
            }
            assert!(runs < 100, "no end");
        }
        assert!(runs > 1, "nothing was left to try");
    }
}
