//! Which layer has stopped how many, by where they came from.

use std::collections::{HashMap, HashSet};
use std::fmt;

use crate::sources::{Delivery, Source};
use crate::store::Charge;

/// What became of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Button,
    Token,
    Gate,
    Claim,
    UniqueWhile,
    Cas,
    /// Its instance was cut in the middle, and the transaction undid what was there.
    RolledBack,
    Charged,
    /// Another delivery of the same purchase was charged as well.
    ChargedAgain,
}

impl Fate {
    /// As the rows of the table.
    const ALL: [Self; 9] = [
        Self::Button,
        Self::Token,
        Self::Gate,
        Self::Claim,
        Self::UniqueWhile,
        Self::Cas,
        Self::RolledBack,
        Self::Charged,
        Self::ChargedAgain,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Button => "button",
            Self::Token => "token",
            Self::Gate => "gate",
            Self::Claim => "claim",
            Self::UniqueWhile => "unique-while",
            Self::Cas => "CAS",
            Self::RolledBack => "cut, undone",
            Self::Charged => "charged",
            Self::ChargedAgain => "charged again",
        }
    }

    fn is_stopped(self) -> bool {
        !matches!(self, Self::Charged | Self::ChargedAgain)
    }
}

/// The heads of the columns, two lines each.
const HEADS: [(Source, [&str; 2]); 8] = [
    (Source::Click, ["", "click"]),
    (Source::DoubleClick, ["double", "click"]),
    (Source::ClientRetry, ["client", "retry"]),
    (Source::GatewayRetry, ["gateway", "retry"]),
    (Source::Failover, ["", "failover"]),
    (Source::RpcRetry, ["RPC", "retry"]),
    (Source::Message, ["message", "again"]),
    (Source::Callback, ["", "callback"]),
];

/// The counts of a run.
#[derive(Debug)]
pub(crate) struct Table {
    fates: Vec<(Source, Fate)>,
    /// Carts that are charged.
    charged: usize,
    /// Charges beyond the first one of a cart.
    duplicated: usize,
}

impl Table {
    /// What became of each delivery. Who was charged is what the database says: a click that was cut may be.
    pub(crate) fn new(answered: &[(Delivery, Fate)], charges: &[Charge]) -> Self {
        let mut carts = HashSet::new();
        let charged_by: HashMap<_, _> =
            charges.iter().map(|(delivery_id, cart_id)| (delivery_id, carts.insert(cart_id))).collect();
        let fate = |(delivery, answered): &(Delivery, Fate)| match charged_by.get(&delivery.id) {
            Some(true) => Some(Fate::Charged),
            Some(false) => Some(Fate::ChargedAgain),
            // It was told that it was charged, and is not: it is missing in the sums.
            None if *answered == Fate::Charged => None,
            None => Some(*answered),
        };
        let fates = answered.iter().filter_map(|it| Some((it.0.source, fate(it)?))).collect();
        Self { fates, charged: carts.len(), duplicated: charges.len() - carts.len() }
    }

    fn count(&self, is_counted: impl Fn(Source, Fate) -> bool) -> usize {
        self.fates.iter().filter(|(source, fate)| is_counted(*source, *fate)).count()
    }

    /// The sums, of so many purchases and of what was to be delivered.
    pub(crate) fn totals(&self, purchases: usize, planned: &[Source]) -> Totals {
        let unanswered = planned.len() - self.fates.len();
        Totals {
            deliveries: planned.len(),
            charged: self.charged,
            stopped: self.count(|_, fate| fate.is_stopped()),
            duplicated: self.duplicated,
            lost: purchases - self.charged + unanswered,
        }
    }

    /// Whether each column has as many as were sent, and the charges are those that the database has.
    pub(crate) fn adds_up(&self, planned: &[Source]) -> bool {
        let sent = |column| planned.iter().filter(|source| **source == column).count();
        let is_whole = |column| self.count(|source, _| source == column) == sent(column);
        let charged = [(Fate::Charged, self.charged), (Fate::ChargedAgain, self.duplicated)];
        Source::ALL.into_iter().all(is_whole)
            && charged.into_iter().all(|(row, charges)| self.count(|_, fate| fate == row) == charges)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in 0..2 {
            let heads: Vec<_> = HEADS.iter().map(|(_, head)| head[line]).collect();
            row(f, "", &heads, ["", "all"][line])?;
        }
        for fate in Fate::ALL {
            let cells = HEADS.map(|(column, _)| cell(self.count(|source, it| source == column && it == fate)));
            row(f, fate.name(), &cells, &cell(self.count(|_, it| it == fate)))?;
        }
        let sums = HEADS.map(|(column, _)| cell(self.count(|source, _| source == column)));
        row(f, "deliveries", &sums, &cell(self.fates.len()))
    }
}

/// Nothing is easier to overlook than a zero.
fn cell(count: usize) -> String {
    if count == 0 { "-".to_owned() } else { count.to_string() }
}

fn row(f: &mut fmt::Formatter<'_>, name: &str, cells: &[impl fmt::Display], all: &str) -> fmt::Result {
    write!(f, "{name:<14}")?;
    for cell in cells {
        write!(f, "{cell:>9}")?;
    }
    writeln!(f, "{all:>8}")
}

/// The last line of a run, for programs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Totals {
    pub(crate) deliveries: usize,
    pub(crate) charged: usize,
    pub(crate) stopped: usize,
    pub(crate) duplicated: usize,
    pub(crate) lost: usize,
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { deliveries, charged, stopped, duplicated, lost } = self;
        write!(f, "deliveries={deliveries} charged={charged} stopped={stopped} duplicated={duplicated} lost={lost}")
    }
}
