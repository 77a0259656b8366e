//! What the run prints, within 100 columns.

use std::io::Write;

use clap::ValueEnum;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use idem_runtime::machine::Transition;
use idem_runtime::prelude::*;
use idem_runtime::schema;

use crate::check::{Books, Count, Finding, Life, count};
use crate::machines::{OrderStatus, PaymentStatus};
use crate::money::Money;
use crate::network::{Answer, Tally, Weather};
use crate::service::{Reason, Verdict};

const WIDTH: u16 = 100;

/// `println!` that a closed pipe does not stop: a run that began goes on to its end, and drops its database.
macro_rules! say {
    ($($text:tt)*) => {
        let _ = writeln!(std::io::stdout(), $($text)*);
    };
}

/// The two machines and the record, each with its SQL.
pub(crate) fn machines(dialect: Dialect) {
    say!("A payment channel pushes its callbacks late, repeated and out of order; each trade counts once.");
    say!("The code: examples/payment/machines.rs (two enums) and service.rs (one function).\n");
    machine::<PaymentStatus>(dialect, "PAYMENT: what becomes of a trade's money");
    machine::<OrderStatus>(dialect, "ORDER: what becomes of an order");
    record(dialect);
    say!("These and all other statements, for each database: examples/payment/sql/\n");
}

fn record(dialect: Dialect) {
    heading("RECORD: what `#[idempotent]` runs around the function, in its transaction");
    for (name, sql) in schema::transaction_statements(dialect) {
        say!("-- {name}\n{};\n", folded(sql));
    }
}

fn machine<M: StateMachine + Copy + Eq>(dialect: Dialect, title: &str) {
    heading(title);
    say!("{}", diagram::<M>());
    say!("{}\n", transitions::<M>());
    say!("The SQL that `#[derive(StateMachine)]` wrote for {}:\n", dialect.name());
    for (event, sql) in M::EVENTS {
        say!("-- {event}");
        if let Some(enter) = sql.enter.of(dialect) {
            say!("{};", folded(enter.sql));
        }
        say!("{};\n", folded(sql.fire.of(dialect).sql));
    }
}

/// The transitions as chains, each transition drawn once. A terminal state ends in a square.
fn diagram<M: StateMachine + Copy + Eq>() -> String {
    let mut left: Vec<_> = M::TRANSITIONS.iter().collect();
    let mut chains = Vec::new();
    while let Some(first) = left.iter().find(|edge| edge.source == M::INITIAL).or(left.first()) {
        chains.push(chain(first.source, &mut left) + "\n");
    }
    chains.concat()
}

/// Follows the transitions that are left, from one state to where they end.
fn chain<M: StateMachine + Copy + Eq>(start: M, left: &mut Vec<&Transition<M>>) -> String {
    let (mut at, mut links) = (start, vec![format!("  {}", mark(start))]);
    while let Some(next) = left.iter().position(|edge| edge.source == at) {
        let edge = left.remove(next);
        links.push(format!(" ─{}→ {}", edge.event, mark(edge.target)));
        at = edge.target;
    }
    links.concat()
}

fn mark<M: StateMachine + Copy + Eq>(state: M) -> String {
    let is_terminal = M::TRANSITIONS.iter().all(|edge| edge.source != state);
    format!("{}{}", state.name(), if is_terminal { " ■" } else { "" })
}

fn transitions<M: StateMachine>() -> Table {
    let mut table = table(&["event", "from", "to", "stored as"]);
    for edge in M::TRANSITIONS {
        table.add_row([edge.event, edge.source.name(), edge.target.name(), edge.target.stored()]);
    }
    table
}

/// A statement within the width.
fn folded(sql: &str) -> String {
    sql.lines().map(fold).collect::<Vec<_>>().join("\n")
}

/// A long line goes on in the next one: after a comma, and never inside of quotes.
fn fold(line: &str) -> String {
    match fold_at(line) {
        Some(end) => format!("{}\n{}", &line[..end], fold(&format!("      {}", &line[end..]))),
        None => line.to_owned(),
    }
}

fn fold_at(line: &str) -> Option<usize> {
    let width = usize::from(WIDTH) - 1;
    let outside = |end: &usize| line[..*end].matches('\'').count().is_multiple_of(2);
    let commas = line.match_indices(", ").map(|(comma, _)| comma + 1);
    (line.chars().count() > width).then(|| commas.filter(outside).take_while(|end| *end <= width).last())?
}

/// What is about to happen.
pub(crate) fn deliveries(lines: usize, orders: usize, weather: Weather, place: &str) {
    heading("CALLBACKS");
    say!("{lines} lines of examples/payment/callbacks.jsonl, for {orders} orders.");
    say!("The shop's database is {place}.");
    say!(
        "{} workers deliver each line {} times, shuffled with seed {}; what is answered \"resend\" comes again.",
        weather.workers,
        weather.repeat,
        weather.seed
    );
    if let Some(broken) = weather.broken.as_ref().and_then(ValueEnum::to_possible_value) {
        say!("BROKEN ON PURPOSE (--break {}): {}.", broken.get_name(), broken.get_help().unwrap_or_default());
    }
    say!("");
}

/// A line for each outcome.
pub(crate) fn outcomes(tally: &Tally) {
    let mut table = table(&["outcome", "deliveries", "what it means"]);
    for (name, count, meaning) in rows(tally) {
        table.add_row([name, &count.to_string(), meaning]);
    }
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    say!("{table}\n");
    say!("{} deliveries met another one of the same order that was under way.", tally.overlaps);
    if let Some(error) = &tally.last_error {
        say!("{} were given up, the last one with: {error}", tally.given_up);
    }
}

/// The order with the most deliveries, and how little came of them.
pub(crate) fn busiest(tally: &Tally, life: &Life) {
    let (order, deliveries) = &tally.busiest;
    say!("The busiest order, {order}, got {deliveries} of them. What came of it:\n");
    say!("  history  {}", life.history.join(", "));
    say!("  ledger   {}\n", life.ledger.join(", "));
}

fn rows(tally: &Tally) -> [(&'static str, usize, &'static str); 11] {
    let first = |verdict| tally.sum(|answer| answer == Answer::Settled { verdict, replay: false });
    let aside = |reason| first(Verdict::SetAside(reason));
    [
        ("executed", first(Verdict::Executed), "it moved the machines and wrote the ledger"),
        ("replayed", tally.replayed(), "the same notify_id again: the stored verdict, no second run"),
        ("already", first(Verdict::Already), "another notify_id, and the trade had told it before"),
        ("noted", first(Verdict::Noted), "nobody has paid yet"),
        ("other cause set aside", aside(Reason::OtherCause), "another trade has paid the order"),
        ("illegal set aside", aside(Reason::Illegal), "the order's state does not accept a payment"),
        ("amount refused", aside(Reason::Amount), "the order costs another amount; set aside"),
        ("not found", aside(Reason::NotFound), "there is no such order; set aside"),
        ("mismatch", first(Verdict::Mismatch), "the trade was booked for another order before"),
        ("resend: too early", tally.sum(|answer| answer == Answer::Early), "a refund overtook its payment"),
        (
            "resend: busy",
            tally.sum(|answer| answer == Answer::Busy),
            "the row moved on meanwhile, or the database gave up",
        ),
    ]
}

/// Each check with its SQL, then what each has found, then the sums.
pub(crate) fn findings(findings: &[Finding], books: &Books, how_to_run: &str) {
    heading("CHECKER: plain SQL that must find nothing");
    say!("{how_to_run}\n");
    for finding in findings {
        say!("-- examples/payment/check/{}\n{};\n", finding.check.file, finding.check.sql());
    }
    for finding in findings {
        let mark = if finding.found.is_empty() { "ok" } else { "FOUND" };
        say!("{mark:>5} {:>3}  {}", finding.found.len(), finding.check.finds());
        if !finding.found.is_empty() {
            say!("{:>11}{}", "", shortened(&finding.found));
        }
    }
    sums(books);
}

fn shortened(found: &[String]) -> String {
    let first = found.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(", ");
    if found.len() > 3 { format!("{first} and {} more", found.len() - 3) } else { first }
}

fn sums(books: &Books) {
    let [came, charged, aside] = [books.money_in, books.charged, books.set_aside].map(Money);
    let sign = if came == Money(charged.0 + aside.0) { '=' } else { '≠' };
    say!("\nmoney in {came} {sign} charged {charged} + set aside {aside}");
    say!("given back {}, goodwill {}\n", Money(books.refunded), Money(books.goodwill));
}

/// What the books miss, and what was never acknowledged.
fn lost(tally: &Tally, findings: &[Finding]) -> usize {
    count(findings, Count::Lost) + tally.given_up
}

/// Whether the last three counts of the last line are zero.
pub(crate) fn is_right(tally: &Tally, findings: &[Finding]) -> bool {
    findings.iter().all(|finding| finding.found.is_empty()) && tally.given_up == 0
}

/// The last line.
pub(crate) fn last_line(tally: &Tally, findings: &[Finding]) {
    say!(
        "callbacks={} executed={} replayed={} set_aside={} overlaps={} charged_twice={} wrongly_refunded={} lost={}",
        tally.sum(|_| true),
        tally.sum(|answer| answer == Answer::Settled { verdict: Verdict::Executed, replay: false }),
        tally.replayed(),
        tally.set_aside(),
        tally.overlaps,
        count(findings, Count::ChargedTwice),
        count(findings, Count::WronglyRefunded),
        lost(tally, findings),
    );
}

fn heading(title: &str) {
    say!("━━ {title} {}\n", "━".repeat(usize::from(WIDTH) - 4 - title.chars().count()));
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH);
    table.set_header(header);
    table
}
