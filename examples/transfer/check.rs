//! The checker: what the providers have sent against what the senders were told and the service has booked.

use std::collections::HashMap;

use crate::provider::{Effect, Kind};
use crate::script::Transfer;
use crate::store::Booked;
use crate::street::Tally;

/// What a finding counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    Duplicated,
    Lost,
}

/// A check, and the transfers that it found.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) counts_as: Count,
    pub(crate) what: &'static str,
    pub(crate) found: Vec<i64>,
}

/// All that is known of one transfer.
struct Case<'a> {
    transfer: Transfer,
    sent: Vec<&'a Effect>,
    told: Vec<&'a str>,
    is_in_doubt: bool,
    booked: Option<&'a str>,
}

impl Case<'_> {
    fn was_sent(&self, number: &str) -> bool {
        self.sent.iter().any(|effect| effect.number == number)
    }
}

/// A rule of the checker, which says when it is broken.
type Rule = (Count, &'static str, fn(&Case<'_>) -> bool);

const RULES: [Rule; 7] = [
    (Count::Duplicated, "a transfer that was sent twice", |it| it.sent.len() > 1),
    (Count::Duplicated, "senders that were told of different transfers", |it| {
        it.told.windows(2).any(|pair| pair[0] != pair[1])
    }),
    (Count::Lost, "a sender that was told of a transfer which was not sent", |it| {
        it.told.iter().any(|number| !it.was_sent(number))
    }),
    (Count::Lost, "another amount than the one that was asked for", |it| {
        it.sent.iter().any(|effect| effect.amount != it.transfer.amount)
    }),
    (Count::Lost, "a transfer that was told and not booked, or booked as another one", |it| {
        it.told.first().is_some_and(|told| it.booked != Some(told))
    }),
    (Count::Lost, "a transfer that is neither sent nor in doubt", |it| it.told.is_empty() && !it.is_in_doubt),
    (Count::Lost, "a transfer in doubt whose provider could have told", |it| {
        it.is_in_doubt && it.transfer.kind != Kind::Silent
    }),
];

/// Applies every rule.
pub(crate) fn run(transfers: &[Transfer], effects: &[Effect], tally: &Tally, booked: &[Booked]) -> Vec<Finding> {
    let cases = cases(transfers, effects, tally, booked);
    let findings = RULES.iter().map(|(counts_as, what, is_broken)| {
        let found = cases.iter().filter(|case| is_broken(case)).map(|case| case.transfer.id).collect();
        Finding { counts_as: *counts_as, what, found }
    });
    findings.collect()
}

fn cases<'a>(transfers: &[Transfer], effects: &'a [Effect], tally: &'a Tally, booked: &'a [Booked]) -> Vec<Case<'a>> {
    let mut sent: HashMap<_, Vec<_>> = HashMap::new();
    for effect in effects {
        sent.entry(effect.transfer_id).or_default().push(effect);
    }
    let booked: HashMap<_, _> = booked.iter().map(|(id, _, number)| (*id, number.as_deref())).collect();
    let told = |id| tally.told.get(&id).into_iter().flatten().map(|receipt| receipt.number.as_str()).collect();
    let case = |transfer: &Transfer| Case {
        transfer: *transfer,
        sent: sent.remove(&transfer.id).unwrap_or_default(),
        told: told(transfer.id),
        is_in_doubt: tally.indeterminate.contains(&transfer.id),
        booked: booked.get(&transfer.id).copied().flatten(),
    };
    transfers.iter().map(case).collect()
}
