//! Names for the `help:` line of an error.

/// The candidate closest to `name`, if it is close enough to be a slip of the pen.
pub(crate) fn similar<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().max(name.len()) / 3)
        .min()
        .map(|(_, candidate)| candidate)
}

/// What a `help:` line says of a name that is none of the candidates: the one that is `what` with a similar name, else
/// `all` of them.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str> + Clone,
    what: &str,
    all: &str,
) -> String {
    match similar(name, candidates.clone()) {
        Some(similar) => format!("{what} with a similar name exists: `{similar}`"),
        None => format!("{all}: {}", list(candidates)),
    }
}

/// The names in backticks, separated by commas.
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// How many characters have to be added, removed, changed or swapped with their neighbour.
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut table = vec![vec![0; to.len() + 1]; from.len() + 1];
    for i in 0..=from.len() {
        for j in 0..=to.len() {
            table[i][j] = match (i, j) {
                (0, other) | (other, 0) => other,
                _ => {
                    let change = table[i - 1][j - 1] + usize::from(from[i - 1] != to[j - 1]);
                    let shift = table[i - 1][j].min(table[i][j - 1]) + 1;
                    let swapped = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
                    let swap = if swapped { table[i - 2][j - 2] + 1 } else { usize::MAX };
                    change.min(shift).min(swap)
                }
            };
        }
    }
    table[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_wins_and_a_far_one_is_not_offered() {
        assert_eq!(similar("Piad", ["Pending", "Paid", "Shipped"]), Some("Paid"));
        assert_eq!(similar("ordr", ["order", "amount"]), Some("order"));
        assert_eq!(similar("Unrelated", ["Pending", "Paid"]), None);
    }
}
